//! Staging areas and maps over several ops.

use crate::prelude::*;
use crate::testing::{begin, call_in, code, step};
use std::sync::mpsc::{Receiver, TryRecvError};
use thalweg_core::step::StepContext;

const NAME: (&str, Attr) = ("capacity", Attr::Int(1));

fn attrs(types: usize) -> Vec<(&'static str, Attr)> {
    vec![NAME, ("dtypes", Attr::types(&vec![DataType::Int32; types])), ("shared_name", Attr::str("s"))]
}

fn put(step: &Arc<StepContext>, v: i32) -> Receiver<Result<Vec<Tensor>>> {
    begin(step, "Stage", &[Tensor::scalar(v)], &attrs(1))
}

fn taken(r: &Receiver<Result<Vec<Tensor>>>) -> i32 {
    r.try_recv().expect("should have answered").unwrap()[0].to_scalar().unwrap()
}

#[test]
fn a_full_area_makes_wait_and_so_does_an_empty_one() {
    let step = step(1);
    assert!(put(&step, 1).try_recv().unwrap().is_ok());
    let second = put(&step, 2);
    assert_eq!(second.try_recv().err(), Some(TryRecvError::Empty));
    let get = || begin(&step, "Unstage", &[], &attrs(1));
    assert_eq!(taken(&get()), 1);
    assert!(second.try_recv().unwrap().is_ok());
    assert_eq!(taken(&get()), 2);
    let third = get();
    assert_eq!(third.try_recv().err(), Some(TryRecvError::Empty));
    put(&step, 3);
    assert_eq!(taken(&third), 3);
    let fourth = get();
    step.cancel.cancel(cancelled("the end"));
    assert_eq!(fourth.try_recv().unwrap().unwrap_err().code(), Code::Cancelled);
    assert_eq!(call_in(&step, "StageSize", &[], &attrs(1)).unwrap()[0].to_scalar::<i32>().unwrap(), 0);
}

#[test]
fn a_tuple_larger_than_the_limit_is_refused() {
    let mut all = attrs(1);
    all.push(("memory_limit", Attr::Int(3)));
    assert_eq!(code(call_in(&step(1), "Stage", &[Tensor::scalar(1i32)], &all)), Code::ResourceExhausted);
}

#[test]
fn tuples_of_keys_are_completed_and_taken_in_parts() {
    let step = step(1);
    let stage = |key: i64, places: &[i32], values: &[i32]| {
        let mut inputs = vec![Tensor::scalar(key), Tensor::vector(places).unwrap()];
        inputs.extend(values.iter().map(|v| Tensor::scalar(*v)));
        let mut all = attrs(2);
        all.push(("fake_dtypes", Attr::types(&vec![DataType::Int32; values.len()])));
        all.remove(0);
        call_in(&step, "MapStage", &inputs, &all)
    };
    let get = |key: i64, place: i32| {
        let mut all = attrs(1);
        all.remove(0);
        begin(&step, "MapUnstage", &[Tensor::scalar(key), Tensor::vector(&[place]).unwrap()], &all)
    };
    let waits = get(7, 1);
    stage(7, &[1], &[5]).unwrap();
    assert_eq!(waits.try_recv().err(), Some(TryRecvError::Empty));
    let again = stage(7, &[1], &[6]).unwrap_err();
    assert!(again.message().contains("already initialized"), "{again}");
    stage(7, &[0], &[4]).unwrap();
    assert_eq!(taken(&waits), 5);
    let gone = get(7, 1).try_recv().unwrap().unwrap_err();
    assert!(gone.message().contains("has already been removed"), "{gone}");
    assert_eq!(get(7, 2).try_recv().unwrap().unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(taken(&get(7, 0)), 4);
    assert_eq!(get(7, 0).try_recv().err(), Some(TryRecvError::Empty));
    assert_eq!(code(stage(8, &[1, 0], &[1, 2])), Code::InvalidArgument);
}
