//! Accumulators over several ops and steps. Values are compared with TensorFlow's in the differential tests, not
//! here.

use crate::prelude::*;
use crate::testing::{begin, call_in, call_values, code, floats, step};
use std::sync::mpsc::{Receiver, TryRecvError};
use thalweg_core::step::StepContext;

struct A {
    step: Arc<StepContext>,
    handle: Tensor,
}

fn accumulator(op: &str, dims: &[i64], reduction: &str) -> A {
    let step = step(1);
    let attrs = [
        ("dtype", Attr::Type(DataType::Float)),
        ("shape", Attr::Shape(PartialShape::new(dims).unwrap())),
        ("shared_name", Attr::str("a")),
        ("reduction_type", Attr::str(reduction)),
    ];
    let handle = call_values(&step, op, &[], &attrs).unwrap()[0].clone().unwrap().into_tensor().unwrap();
    A { step, handle }
}

type Waiting = Receiver<Result<Vec<Tensor>>>;

impl A {
    fn apply(&self, local_step: i64, values: &[f32]) -> Result<Vec<Tensor>> {
        let inputs = [self.handle.clone(), Tensor::scalar(local_step), floats(&[values.len()], values)];
        call_in(&self.step, "AccumulatorApplyGradient", &inputs, &[])
    }

    /// As `apply`, by a replica with a number.
    fn apply_of(&self, replica: i64, local_step: i64, values: &[f32]) -> Result<Vec<Tensor>> {
        let inputs = [self.handle.clone(), Tensor::scalar(local_step), floats(&[values.len()], values)];
        call_in(&self.step, "AccumulatorApplyGradient", &inputs, &[("_replica", Attr::Int(replica))])
    }

    fn apply_rows(&self, indices: &[i64], values: &[f32]) -> Result<Vec<Tensor>> {
        let columns = values.len() / indices.len();
        let inputs = [
            self.handle.clone(),
            Tensor::scalar(9i64),
            Tensor::vector(indices).unwrap(),
            floats(&[indices.len(), columns], values),
            Tensor::vector(&[5i64, columns as i64]).unwrap(),
        ];
        call_in(
            &self.step,
            "SparseAccumulatorApplyGradient",
            &inputs,
            &[("has_known_shape", Attr::Bool(true))],
        )
    }

    fn take(&self, op: &str, n: i32) -> Waiting {
        let attrs = [("dtype", Attr::Type(DataType::Float))];
        begin(&self.step, op, &[self.handle.clone(), Tensor::scalar(n)], &attrs)
    }

    fn number(&self, op: &str) -> i64 {
        call_in(&self.step, op, &[self.handle.clone()], &[]).unwrap()[0].to_i64s().unwrap()[0]
    }
}

fn dense(w: &Waiting) -> Vec<f32> {
    w.try_recv().expect("should have answered").unwrap()[0].as_slice::<f32>().unwrap().to_vec()
}

fn waits(w: &Waiting) -> bool {
    matches!(w.try_recv(), Err(TryRecvError::Empty))
}

const TAKE: &str = "AccumulatorTakeGradient";

#[test]
fn takers_wait_in_line_and_each_mean_raises_the_step() {
    let a = accumulator("ConditionalAccumulator", &[2], "MEAN");
    let (first, second) = (a.take(TAKE, 2), a.take(TAKE, 1));
    a.apply(0, &[1., 2.]).unwrap();
    assert!(waits(&first) && waits(&second), "nobody overtakes");
    a.apply(0, &[3., 6.]).unwrap();
    assert_eq!(dense(&first), [2., 4.]);
    assert!(waits(&second));
    // The global step is 1 now: a gradient computed at 0 is stale.
    a.apply(0, &[100., 100.]).unwrap();
    assert!(waits(&second));
    assert_eq!((a.number("AccumulatorNumStale"), a.number("AccumulatorNumAccumulated")), (1, 0));
    a.apply(1, &[5., 5.]).unwrap();
    assert_eq!(dense(&second), [5., 5.]);
    assert_eq!(a.number("AccumulatorNumStale"), 1);
}

#[test]
fn more_gradients_than_required_are_all_in_the_mean() {
    let a = accumulator("ConditionalAccumulator", &[-1], "MEAN");
    (0..4).for_each(|i| drop(a.apply(0, &[i as f32]).unwrap()));
    assert_eq!(dense(&a.take(TAKE, 2)), [1.5]);
    assert_eq!(a.number("AccumulatorNumAccumulated"), 0);
}

#[test]
fn a_bad_gradient_changes_nothing() {
    let a = accumulator("ConditionalAccumulator", &[-1], "SUM");
    a.apply(0, &[1., 2.]).unwrap();
    let e = a.apply(0, &[1.]).unwrap_err();
    assert_eq!(e.message(), "Shape mismatch: expected [2], got [1]");
    let rows = a.apply_rows(&[0], &[1.]);
    assert_eq!(code(rows), Code::InvalidArgument);
    a.apply(0, &[1., 2.]).unwrap();
    assert_eq!(dense(&a.take(TAKE, 2)), [2., 4.]);
    let zero = a.take(TAKE, 0).recv().unwrap().unwrap_err();
    assert_eq!(zero.message(), "Argument num_required must be positive, but was 0");
    assert!(a.take("SparseAccumulatorTakeGradient", 1).recv().unwrap().is_err());
}

#[test]
fn a_row_is_divided_by_the_gradients_that_had_it() {
    let a = accumulator("SparseConditionalAccumulator", &[5, 2], "MEAN");
    a.apply_rows(&[1, 3], &[1., 1., 3., 3.]).unwrap();
    a.apply_rows(&[0, 3], &[2., 2., 5., 5.]).unwrap();
    assert_eq!(code(a.apply_rows(&[5], &[1., 1.])), Code::InvalidArgument);
    let got = a.take("SparseAccumulatorTakeGradient", 2).recv().unwrap().unwrap();
    assert_eq!(got[0].as_slice::<i64>().unwrap(), [0, 1, 3]);
    assert_eq!(got[1].as_slice::<f32>().unwrap(), [2., 2., 1., 1., 4., 4.]);
    assert_eq!(got[2].as_slice::<i64>().unwrap(), [5, 2]);
}

#[test]
fn a_cancelled_taker_leaves_the_line() {
    let a = accumulator("ConditionalAccumulator", &[1], "MEAN");
    let doomed = {
        let mut s = StepContext::new(2, a.step.device.clone());
        s.cancel = Arc::default();
        A { step: Arc::new(s), handle: a.handle.clone() }
    };
    let (gone, stays) = (doomed.take(TAKE, 5), a.take(TAKE, 1));
    a.apply(0, &[1.]).unwrap();
    assert!(waits(&gone) && waits(&stays));
    doomed.step.cancel.cancel(cancelled("stop"));
    assert_eq!(gone.recv().unwrap().unwrap_err().code(), Code::Cancelled);
    assert_eq!(dense(&stays), [1.]);
    assert_eq!(doomed.take(TAKE, 1).recv().unwrap().unwrap_err().code(), Code::Cancelled);
}

#[test]
fn clearing_the_container_wakes_all() {
    let a = accumulator("ConditionalAccumulator", &[1], "MEAN");
    let waiting = a.take(TAKE, 1);
    a.step.device.resources.clear(&[]);
    assert_eq!(waiting.recv().unwrap().unwrap_err().code(), Code::Cancelled);
}

#[test]
fn a_shared_name_means_the_same_accumulator() {
    let a = accumulator("ConditionalAccumulator", &[1], "MEAN");
    let attrs = |dims: &[i64]| {
        [
            ("dtype", Attr::Type(DataType::Float)),
            ("shape", Attr::Shape(PartialShape::new(dims).unwrap())),
            ("shared_name", Attr::str("a")),
        ]
    };
    a.apply(0, &[1.]).unwrap();
    let same = call_values(&a.step, "ConditionalAccumulator", &[], &attrs(&[1])).unwrap()[0].clone().unwrap();
    let n = call_values(&a.step, "AccumulatorNumAccumulated", &[same], &[]).unwrap()[0].clone().unwrap();
    assert_eq!(n.into_tensor().unwrap().to_scalar::<i32>().unwrap(), 1);
    let other = call_values(&a.step, "ConditionalAccumulator", &[], &attrs(&[2])).err().unwrap();
    assert_eq!(other.code(), Code::InvalidArgument);
}

#[test]
fn a_replica_with_a_number_is_in_a_sum_once() {
    let a = accumulator("ConditionalAccumulator", &[1], "MEAN");
    a.apply_of(0, 0, &[1.]).unwrap();
    a.apply_of(0, 0, &[100.]).unwrap();
    assert_eq!((a.number("AccumulatorNumStale"), a.number("AccumulatorNumAccumulated")), (1, 1));
    // Other replicas, and those without a number, are not limited.
    a.apply_of(1, 0, &[3.]).unwrap();
    (0..2).for_each(|_| drop(a.apply(0, &[4.]).unwrap()));
    assert_eq!(dense(&a.take(TAKE, 4)), [3.]);
    // The next sum.
    a.apply_of(0, 1, &[5.]).unwrap();
    assert_eq!(dense(&a.take(TAKE, 1)), [5.]);
}
