//! Variables over several ops.

use crate::prelude::*;
use crate::testing::{call_in, call_values, code, floats, ints, step};
use thalweg_core::step::StepContext;

/// A new resource variable with this value; the handle.
pub fn resource_variable(step: &Arc<StepContext>, value: Tensor) -> Tensor {
    let name = format!("v{}", step.fresh());
    let attrs = [
        ("dtype", Attr::Type(value.dtype())),
        ("shape", Attr::Shape(PartialShape::unknown())),
        ("shared_name", Attr::str(&name)),
    ];
    let handle = call_in(step, "VarHandleOp", &[], &attrs).unwrap().remove(0);
    call_in(step, "AssignVariableOp", &[handle.clone(), value], &[]).unwrap();
    handle
}

pub fn value_of(step: &Arc<StepContext>, handle: &Tensor) -> Tensor {
    let dtype =
        call_in(step, "VarIsInitializedOp", &[handle.clone()], &[]).unwrap()[0].to_scalar::<bool>().unwrap();
    assert!(dtype);
    step.device.resources.resolve::<Variable>(&handle.resources().unwrap()[0]).unwrap().read().unwrap()
}

fn reference(step: &Arc<StepContext>, dims: &[i64]) -> Value {
    let attrs = [
        ("dtype", Attr::Type(DataType::Float)),
        ("shape", Attr::Shape(PartialShape::new(dims).unwrap())),
        ("shared_name", Attr::str(&format!("r{}", step.fresh()))),
    ];
    call_values(step, "VariableV2", &[], &attrs).unwrap()[0].clone().unwrap()
}

fn read(v: &Value) -> Tensor {
    v.clone().into_tensor().unwrap()
}

#[test]
fn assign_compares_with_the_present_value() {
    let step = step(1);
    let v = reference(&step, &[2]);
    let assign = |value: Tensor, validate: bool| {
        call_values(&step, "Assign", &[v.clone(), value.into()], &[("validate_shape", Attr::Bool(validate))])
    };
    let initialised =
        || call_values(&step, "IsVariableInitialized", &[v.clone()], &[]).unwrap()[0].clone().unwrap();
    assert!(!read(&initialised()).to_scalar::<bool>().unwrap());
    let refused = assign(floats(&[3], &[1., 2., 3.]), true).err().unwrap();
    assert!(refused.message().contains("Assign requires shapes of both tensors to match"), "{refused}");
    assign(floats(&[2], &[1., 2.]), true).unwrap();
    assign(floats(&[3], &[1., 2., 3.]), false).unwrap();
    // The variable was made for [2], but now holds [3].
    assign(floats(&[3], &[4., 5., 6.]), true).unwrap();
    assert!(assign(floats(&[2], &[1., 2.]), true).is_err());
    assert_eq!(read(&v).as_slice::<f32>().unwrap(), [4., 5., 6.]);
}

#[test]
fn scatter_gives_back_the_reference() {
    let step = step(1);
    let v = reference(&step, &[3]);
    let uninitialised = call_values(
        &step,
        "ScatterAdd",
        &[v.clone(), ints(&[1], &[1]).into(), floats(&[1], &[5.]).into()],
        &[],
    );
    assert_eq!(uninitialised.err().unwrap().code(), Code::FailedPrecondition);
    call_values(&step, "Assign", &[v.clone(), floats(&[3], &[1., 2., 3.]).into()], &[]).unwrap();
    let out =
        call_values(&step, "ScatterMul", &[v, ints(&[1], &[1]).into(), floats(&[1], &[5.]).into()], &[])
            .unwrap();
    assert_eq!(read(out[0].as_ref().unwrap()).as_slice::<f32>().unwrap(), [1., 10., 3.]);
}

#[test]
fn counting_stops_at_the_limit() {
    let step = step(1);
    let v = resource_variable(&step, Tensor::scalar(3i32));
    let attrs = [("limit", Attr::Int(4)), ("T", Attr::Type(DataType::Int32))];
    let count = || call_in(&step, "ResourceCountUpTo", &[v.clone()], &attrs);
    assert_eq!(count().unwrap()[0].to_scalar::<i32>().unwrap(), 3);
    assert_eq!(code(count()), Code::OutOfRange);
    assert_eq!(value_of(&step, &v).to_scalar::<i32>().unwrap(), 4);
}

#[test]
fn a_temporary_variable_ends_when_destroyed() {
    let step = step(1);
    let attrs = [
        ("dtype", Attr::Type(DataType::Float)),
        ("shape", Attr::Shape(PartialShape::vector(2))),
        ("var_name", Attr::str("t")),
    ];
    let v = call_values(&step, "TemporaryVariable", &[], &attrs).unwrap()[0].clone().unwrap();
    assert_eq!(
        call_values(&step, "TemporaryVariable", &[], &attrs).err().unwrap().code(),
        Code::AlreadyExists
    );
    call_values(&step, "AssignAdd", &[v.clone(), floats(&[2], &[1., 2.]).into()], &[]).unwrap();
    let last = call_values(&step, "DestroyTemporaryVariable", &[v], &attrs[2..]).unwrap()[0].clone().unwrap();
    assert_eq!(read(&last).as_slice::<f32>().unwrap(), [1., 2.]);
    assert!(call_values(&step, "TemporaryVariable", &[], &attrs).is_ok());
}

#[test]
fn a_destroyed_variable_is_gone() {
    let step = step(1);
    let v = resource_variable(&step, Tensor::scalar(1f32));
    let shape = call_in(&step, "VariableShape", &[v.clone()], &[]).unwrap();
    assert_eq!(shape[0].shape().to_string(), "[0]");
    call_in(&step, "DestroyResourceOp", &[v.clone()], &[]).unwrap();
    let gone = call_in(&step, "ReadVariableOp", &[v.clone()], &[("dtype", Attr::Type(DataType::Float))]);
    assert_eq!(code(gone), Code::FailedPrecondition);
    call_in(&step, "DestroyResourceOp", &[v.clone()], &[]).unwrap();
    let strict = [("ignore_lookup_error", Attr::Bool(false))];
    assert_eq!(code(call_in(&step, "DestroyResourceOp", &[v], &strict)), Code::NotFound);
}
