//! Arrays over several ops; texts and values are TensorFlow's.

use crate::prelude::*;
use crate::testing::{call_in, code, floats, ints, step};
use thalweg_core::resource::ResourceHandle;
use thalweg_core::step::StepContext;

struct Array {
    step: Arc<StepContext>,
    handle: Tensor,
}

const FLOAT: (&str, Attr) = ("dtype", Attr::Type(DataType::Float));

fn array(size: i32, attrs: &[(&'static str, Attr)]) -> Array {
    let step = step(1);
    let all = [&[FLOAT], attrs].concat();
    let handle = call_in(&step, "TensorArrayV3", &[Tensor::scalar(size)], &all).unwrap().remove(0);
    Array { step, handle }
}

impl Array {
    fn call(&self, op: &str, inputs: &[Tensor], attrs: &[(&'static str, Attr)]) -> Result<Vec<Tensor>> {
        let all = [&[self.handle.clone()], inputs, &[Tensor::scalar(0f32)]].concat();
        call_in(&self.step, op, &all, attrs)
    }
    fn write(&self, i: i32, v: Tensor) -> Result<Vec<Tensor>> {
        self.call("TensorArrayWriteV3", &[Tensor::scalar(i), v], &[])
    }
    fn read(&self, i: i32) -> Result<Vec<f32>> {
        let got = self.call("TensorArrayReadV3", &[Tensor::scalar(i)], &[FLOAT])?;
        Ok(got[0].as_slice::<f32>()?.to_vec())
    }
    fn gradients(&self) -> Array {
        let got = self.call("TensorArrayGradV3", &[], &[("source", Attr::str("g"))]).unwrap();
        Array { step: self.step.clone(), handle: got[0].clone() }
    }
}

fn text<T: std::fmt::Debug>(r: Result<T>) -> String {
    r.unwrap_err().message().to_string()
}

#[test]
fn slots_are_written_once_and_read_once() {
    let a = array(3, &[]);
    a.write(0, floats(&[2], &[1., 2.])).unwrap();
    assert!(text(a.write(0, floats(&[2], &[1., 2.]))).contains("already been written to"));
    assert_eq!(a.read(0).unwrap(), [1., 2.]);
    assert!(text(a.read(0)).contains("Could not read index 0 twice"));
    assert!(text(a.write(0, floats(&[2], &[1., 2.]))).contains("already been read"));
    assert!(text(a.read(1)).contains("the element shape is not fully defined"));
    assert_eq!(text(a.read(7)), "Tried to read from index 7 but array size is: 3");
    assert!(text(a.write(7, floats(&[], &[1.]))).contains("not resizeable and size is: 3"));
    assert!(a.write(1, Tensor::scalar(1i32)).is_err());
}

#[test]
fn arrays_grow_where_allowed() {
    let a = array(
        0,
        &[("dynamic_size", Attr::Bool(true)), ("element_shape", Attr::Shape(PartialShape::vector(1)))],
    );
    a.write(2_000_000_000, floats(&[1], &[1.])).unwrap();
    let size = a.call("TensorArraySizeV3", &[], &[]).unwrap();
    assert_eq!(size[0].to_scalar::<i32>().unwrap(), 2_000_000_001);
    assert!(a.write(-1, floats(&[1], &[1.])).is_err());
    assert!(
        text(a.write(0, floats(&[], &[1.])))
            .contains("incompatible with the TensorArray's inferred element shape: [1]")
    );
    assert_eq!(a.read(5).unwrap(), [0.]);
}

#[test]
fn gradients_add_up_and_know_their_shapes() {
    let a = array(3, &[("dynamic_size", Attr::Bool(true))]);
    a.write(0, floats(&[2], &[1., 2.])).unwrap();
    let g = a.gradients();
    g.write(0, floats(&[2], &[10., 20.])).unwrap();
    a.gradients().write(0, floats(&[2], &[1., 2.])).unwrap();
    assert!(text(g.write(0, floats(&[3], &[1., 2., 3.]))).contains("Could not aggregate"));
    let g2 = {
        let b = array(1, &[]);
        b.write(0, floats(&[2], &[1., 2.])).unwrap();
        b.gradients()
    };
    assert_eq!(g2.read(0).unwrap(), [0., 0.]);
    assert!(a.write(5, floats(&[2], &[1., 2.])).is_err());
    assert_eq!(code(g2.call("TensorArrayGradV3", &[], &[("source", Attr::str("g"))])), Code::InvalidArgument);
}

#[test]
fn rows_and_pieces() {
    let a = array(2, &[("clear_after_read", Attr::Bool(false))]);
    let rows = floats(&[2, 2], &[1., 2., 3., 4.]);
    a.call("TensorArrayScatterV3", &[ints(&[2], &[0, 1]), rows], &[]).unwrap();
    let got = a.call("TensorArrayGatherV3", &[ints(&[3], &[1, 0, 1])], &[FLOAT]).unwrap();
    assert_eq!(got[0].as_slice::<f32>().unwrap(), [3., 4., 1., 2., 3., 4.]);
    assert_eq!(code(a.call("TensorArrayGatherV3", &[ints(&[0], &[])], &[FLOAT])), Code::Unimplemented);
    let b = array(3, &[]);
    let value = floats(&[3, 1], &[1., 2., 3.]);
    let lengths = |l: &[i64]| Tensor::vector(l).unwrap();
    assert!(
        text(b.call("TensorArraySplitV3", &[value.clone(), lengths(&[1, 0, 1])], &[]))
            .contains("sum of lengths is 2")
    );
    assert!(
        text(b.call("TensorArraySplitV3", &[value.clone(), lengths(&[1, 2])], &[])).contains("(3 vs. 2)")
    );
    assert!(b.call("TensorArraySplitV3", &[value.clone(), lengths(&[i64::MAX, 2, -1])], &[]).is_err());
    b.call("TensorArraySplitV3", &[value, lengths(&[1, 0, 2])], &[]).unwrap();
    let got = b.call("TensorArrayConcatV3", &[], &[FLOAT]).unwrap();
    assert_eq!(got[0].as_slice::<f32>().unwrap(), [1., 2., 3.]);
    assert_eq!(got[1].as_slice::<i64>().unwrap(), [1, 0, 2]);
}

#[test]
fn handles_that_name_nothing_and_closed_arrays() {
    let mut a = array(3, &[]);
    call_in(&a.step, "TensorArrayCloseV3", &[a.handle.clone()], &[]).unwrap();
    assert!(text(a.read(0)).contains("has already been closed"));
    a.handle = Tensor::from_object(ResourceHandle { name: "none".into(), ..Default::default() });
    assert_eq!(a.read(0).unwrap_err().code(), Code::NotFound);
    let refused = call_in(&a.step, "TensorArrayV3", &[Tensor::scalar(-1i32)], &[FLOAT]);
    assert_eq!(code(refused), Code::InvalidArgument);
}
