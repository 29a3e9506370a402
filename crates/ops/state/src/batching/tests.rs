//! Batches over several calls.

use crate::prelude::*;
use crate::testing::{begin, call_in, code, floats, step};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;
use thalweg_core::step::StepContext;

type Waits = Receiver<Result<Vec<Tensor>>>;

fn batch(step: &Arc<StepContext>, values: &[f32], timeout: i64) -> Waits {
    let attrs = [
        ("num_batch_threads", Attr::Int(1)),
        ("max_batch_size", Attr::Int(4)),
        ("batch_timeout_micros", Attr::Int(timeout)),
        ("grad_timeout_micros", Attr::Int(0)),
        ("allowed_batch_sizes", Attr::ints(&[2, 4])),
        ("shared_name", Attr::str("b")),
    ];
    begin(step, "Batch", &[floats(&[values.len()], values)], &attrs)
}

fn result(w: &Waits) -> Vec<Tensor> {
    w.recv_timeout(Duration::from_secs(10)).unwrap().unwrap()
}

#[test]
fn the_last_call_gets_the_batch_and_each_its_rows() {
    let step = step(1);
    let minute = 60_000_000;
    let first = batch(&step, &[1., 2.], minute);
    assert_eq!(first.try_recv().err(), Some(TryRecvError::Empty));
    let second = batch(&step, &[3., 4.], minute);
    let (first, second) = (result(&first), result(&second));
    assert_eq!(first[0].elements() + first[1].elements(), 0);
    assert_eq!(second[0].as_slice::<f32>().unwrap(), [1., 2., 3., 4.]);
    let timeout = [("timeout_micros", Attr::Int(minute)), ("shared_name", Attr::str("u"))];
    let early = begin(&step, "Unbatch", &first, &timeout);
    assert_eq!(early.try_recv().err(), Some(TryRecvError::Empty));
    let late = begin(&step, "Unbatch", &second, &timeout);
    assert_eq!(result(&early)[0].as_slice::<f32>().unwrap(), [1., 2.]);
    assert_eq!(result(&late)[0].as_slice::<f32>().unwrap(), [3., 4.]);
    let grad = |b: &[Tensor], g: &[f32]| {
        let inputs = [b[0].clone(), b[1].clone(), floats(&[g.len()], g), b[2].clone()];
        begin(&step, "UnbatchGrad", &inputs, &[("shared_name", Attr::str("g"))])
    };
    let whole = grad(&second, &[30., 40.]);
    assert_eq!(whole.try_recv().err(), Some(TryRecvError::Empty));
    assert_eq!(result(&grad(&first, &[10., 20.]))[0].elements(), 0);
    assert_eq!(result(&whole)[0].as_slice::<f32>().unwrap(), [10., 20., 30., 40.]);
}

#[test]
fn time_closes_a_batch_and_sizes_are_padded() {
    let step = step(1);
    let got = result(&batch(&step, &[5.], 20_000));
    assert_eq!(got[0].as_slice::<f32>().unwrap(), [5., 5.]);
    assert_eq!(got[1].as_slice::<i64>().unwrap()[1..], [0, 1]);
    let none = [got[0].rows(0, 0).unwrap(), got[1].rows(0, 0).unwrap(), Tensor::scalar(7i64)];
    let late = call_in(&step, "Unbatch", &none, &[("timeout_micros", Attr::Int(1000))]);
    assert_eq!(code(late), Code::DeadlineExceeded);
    let many = batch(&step, &[0.; 5], 0).try_recv().unwrap();
    assert_eq!(many.unwrap_err().code(), Code::InvalidArgument);
    let waits = batch(&step, &[5.], 60_000_000);
    step.cancel.cancel(cancelled("the end"));
    assert_eq!(waits.try_recv().unwrap().unwrap_err().code(), Code::Cancelled);
}
