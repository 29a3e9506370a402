use super::*;
use crate::dtype::f16;

fn shape(d: &[usize]) -> Shape {
    Shape::new(d).unwrap()
}

#[test]
fn clones_share_and_writing_copies() {
    let a = Tensor::from_slice(shape(&[100]), &[1.5f32; 100]).unwrap();
    let mut b = a.clone();
    assert!(a.shares_memory_with(&b));
    b.as_mut_slice::<f32>().unwrap()[3] = 9.0;
    assert_eq!(a.as_slice::<f32>().unwrap()[3], 1.5);
    assert_eq!(b.as_slice::<f32>().unwrap()[3], 9.0);
    let before = b.bytes().unwrap().as_ptr();
    b.as_mut_slice::<f32>().unwrap()[4] = 1.0;
    assert_eq!(before, b.bytes().unwrap().as_ptr(), "unique memory is written in place");
}

#[test]
fn rows_and_reshapes_share_memory() {
    let t = Tensor::from_slice(shape(&[4, 3]), &(0..12i64).collect::<Vec<_>>()).unwrap();
    let r = t.rows(1, 2).unwrap();
    assert_eq!(r.as_slice::<i64>().unwrap(), &[3, 4, 5, 6, 7, 8]);
    assert_eq!(r.shape().dims(), &[2, 3]);
    assert!(t.rows(3, 2).is_err());
    assert!(t.rows(usize::MAX, 2).is_err());
    let v = t.clone().reshape(shape(&[2, 6])).unwrap();
    assert!(v.shares_memory_with(&t));
    assert!(t.reshape(shape(&[5])).is_err());
    let s = Tensor::from_slice(shape(&[4]), &[1i32, 2, 3, 4]).unwrap().rows(2, 2).unwrap();
    assert_eq!(s.as_slice::<i32>().unwrap(), &[3, 4]);
}

#[test]
fn types_are_checked_and_bools_normalised() {
    let t = Tensor::scalar(f16::from_f32(2.0));
    assert!(t.as_slice::<f32>().is_err());
    assert_eq!(t.to_scalar::<f16>().unwrap().to_f32(), 2.0);
    let b = Tensor::from_bytes(DataType::Bool, shape(&[3]), &[0, 7, 255]).unwrap();
    assert_eq!(b.as_slice::<bool>().unwrap(), &[false, true, true]);
    assert!(Tensor::from_bytes(DataType::Float, shape(&[3]), &[0; 11]).is_err());
}

#[test]
fn strings_hold_any_bytes() {
    let t =
        Tensor::from_objects(shape(&[2]), vec![Bytes::from_static(b"a'b"), Bytes::from_static(b"\x00\xff")])
            .unwrap();
    assert_eq!(t.to_string(), r#"[b"a'b" b'\x00\xff']"#);
    assert!(t.bytes().is_err());
    assert_eq!(t.byte_len(), 5);
}

#[test]
fn printing_looks_like_numpy() {
    let t = Tensor::from_slice(shape(&[2, 2]), &[1.0f32, 2.5, -3.0, f32::NAN]).unwrap();
    assert_eq!(t.to_string(), "[[1. 2.5]\n [-3. nan]]");
    let long = Tensor::from_slice(shape(&[2000]), &vec![1i32; 2000]).unwrap();
    assert_eq!(long.to_string(), "[1 1 1 ... 1 1 1]");
    assert_eq!(Tensor::scalar(8i32).to_string(), "8");
    assert_eq!(Tensor::scalar(1e20f32).to_string(), "1e20");
    assert_eq!(Tensor::zeros(DataType::Float, shape(&[0])).unwrap().to_string(), "[]");
}

#[test]
fn a_tensor_is_small() {
    assert!(std::mem::size_of::<Tensor>() <= 72, "{}", std::mem::size_of::<Tensor>());
}
