use super::*;
use crate::dtype::{Complex32, bf16, f16};

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
    let vector = |v: &[f32]| Tensor::vector(v).unwrap().to_string();
    let t = Tensor::from_slice(shape(&[2, 2]), &[1.0f32, 2.5, -3.0, f32::NAN]).unwrap();
    assert_eq!(t.to_string(), "[[ 1.   2.5]\n [-3.   nan]]");
    assert_eq!(vector(&[0.1, 1e-5]), "[1.e-01 1.e-05]");
    assert_eq!(vector(&[1e6, 1.0]), "[1.e+06 1.e+00]");
    assert_eq!(vector(&[1.0 / 3.0, 2.0 / 3.0, 1.0]), "[0.33333334 0.6666667  1.        ]");
    assert_eq!(vector(&[383.078125, 0.5]), "[383.07812   0.5    ]");
    let t = Tensor::vector(&[1.0 / 3.0, -2.0 / 3.0, f64::INFINITY]).unwrap();
    assert_eq!(t.to_string(), "[ 0.33333333 -0.66666667         inf]");
    let t = Tensor::vector(&[Complex32::new(1.0, 2.0), Complex32::new(0.0, -0.5)]).unwrap();
    assert_eq!(t.to_string(), "[1.+2.j  0.-0.5j]");
    let t = Tensor::vector(&(0..40).collect::<Vec<i32>>()).unwrap();
    let want = "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39]";
    assert_eq!(t.to_string(), want);
    let long = Tensor::from_slice(shape(&[2000]), &vec![1i32; 2000]).unwrap();
    assert_eq!(long.to_string(), "[1 1 1 ... 1 1 1]");
    assert_eq!(Tensor::vector(&[true, false]).unwrap().to_string(), "[ True False]");
    assert_eq!(Tensor::zeros(DataType::Float, shape(&[2, 0])).unwrap().to_string(), "[]");
    let deep = Tensor::zeros(DataType::Float, shape(&[1; 254])).unwrap().to_string();
    assert_eq!(deep, format!("{}0.{}", "[".repeat(254), "]".repeat(254)));
}

#[test]
fn single_numbers_look_as_python_prints_them() {
    assert_eq!(Tensor::scalar(8i32).to_string(), "8");
    for (v, text) in
        [(8.0, "8.0"), (0.1, "0.1"), (1e20, "1e+20"), (999999.9, "999999.9"), (1e6, "1e+06"), (-0.0, "-0.0")]
    {
        assert_eq!(Tensor::scalar(v as f32).to_string(), text);
    }
    assert_eq!(Tensor::scalar(1e15).to_string(), "1000000000000000.0");
    assert_eq!(Tensor::scalar(1.5e-7).to_string(), "1.5e-07");
    assert_eq!(Tensor::scalar(f16::from_f32(0.1)).to_string(), "0.1");
    assert_eq!(Tensor::scalar(bf16::from_f32(0.1)).to_string(), "0.100098");
    assert_eq!(Tensor::scalar(Complex32::new(1.0, -2.5)).to_string(), "(1-2.5j)");
    assert_eq!(Tensor::scalar(Complex32::new(0.0, 2.0)).to_string(), "2j");
}

#[test]
fn a_tensor_is_small() {
    assert!(std::mem::size_of::<Tensor>() <= 72, "{}", std::mem::size_of::<Tensor>());
}

#[test]
fn bytes_become_a_tensor_without_a_copy_where_that_can_be() {
    let raw: Vec<u8> = (0..80u8).map(|i| i % 2).collect();
    let bytes = || Tensor::from_slice(shape(&[80]), &raw).unwrap();
    let floats = bytes();
    let place = floats.bytes().unwrap().as_ptr();
    let floats = floats.bytes_as(DataType::Float, shape(&[4, 5])).unwrap();
    assert_eq!((floats.bytes().unwrap(), floats.bytes().unwrap().as_ptr()), (&raw[..], place));
    let bools = bytes().bytes_as(DataType::Bool, shape(&[80])).unwrap();
    assert_eq!(bools.as_slice::<bool>().unwrap()[..4], [false, true, false, true]);
    // Wrong length, no plain bytes, and an offset.
    assert!(bytes().bytes_as(DataType::Float, shape(&[19])).is_err());
    assert!(Tensor::scalar(1f32).bytes_as(DataType::String, Shape::scalar()).is_err());
    let part = bytes().rows(8, 8).unwrap().bytes_as(DataType::Double, shape(&[1])).unwrap();
    assert_eq!(part.bytes().unwrap(), &raw[8..16]);
}

#[test]
fn a_precision_fixes_the_digits_after_the_point() {
    assert_eq!(format!("{:.4}", Tensor::scalar(0.123456f32)), "0.1235");
    assert_eq!(format!("{:>8.2}|", Tensor::scalar(-1.5f64)), "   -1.50|");
    assert_eq!(format!("{:.2}", Tensor::scalar(f32::NAN)), "nan");
    assert_eq!(format!("{:.2}", Tensor::scalar(7i32)), "7");
    assert_eq!(
        format!("{:.2}", Tensor::vector(&[1f32, -0.125, f32::INFINITY]).unwrap()),
        "[ 1.00 -0.12   inf]"
    );
}
