//! The properties of ops that passes and executors use.

use crate::common::ops;
use thalweg_core::op::{CallKind, Class, Epilogue, Op, StackUse};

#[track_caller]
fn only(property: &str, has: impl Fn(&Op) -> bool, want: &[&str]) {
    let mut found: Vec<&str> = ops().filter(|op| has(op)).map(|op| op.name).collect();
    found.sort_unstable();
    assert_eq!(found, want, "{property}");
}

/// An op cloned from another inherits its properties, unless overridden.
#[test]
fn every_property_belongs_to_its_ops() {
    only("identity", |op| op.identity, &["Identity"]);
    only(
        "identity_if_same_shape",
        |op| op.identity_if_same_shape,
        &["BroadcastTo", "Reshape", "Sum", "Tile"],
    );
    only("never_dead", |op| op.never_dead, &["ControlTrigger"]);
    only("always_produces", |op| op.always_produces, &["ReadVariableOp", "VarHandleOp"]);
    only("handle_contents", |op| op.handle_contents.is_some(), &["VarHandleOp"]);
    only("fills", |op| op.fills, &["OnesLike", "ZerosLike"]);
    only("shape_value", |op| op.shape_value.is_some(), &["Rank", "Shape", "ShapeN", "Size"]);
    only(
        "partial_value",
        |op| op.partial_value.is_some(),
        &["Cast", "ConcatV2", "Identity", "Pack", "Shape", "ShapeN", "StridedSlice"],
    );
    only("transposed_by", |op| !op.transposed_by.is_empty(), &["MatMul"]);
    only("fused_as", |op| op.fused_as.is_some(), &["Conv2D", "MatMul"]);
}

#[test]
fn epilogues_are_sums_and_what_may_follow_them() {
    let first = |op: &Op| op.epilogue.is_some_and(|e| !e.after_another);
    only("sums", first, &["Add", "AddN", "AddV2", "BiasAdd"]);
    only("activations", |op| op.epilogue.is_some_and(|e| e.after_another), &["Relu"]);
    for op in ops() {
        let Some(Epilogue { product, .. }) = op.epilogue else { continue };
        assert!(!product.is_empty() && product.iter().all(|i| *i < 2), "{}: {product:?}", op.name);
    }
}

#[test]
fn stacks_and_calls_are_of_each_kind() {
    only("creates a stack", |op| op.stack == Some(StackUse::Create), &["StackV2"]);
    only("pushes", |op| op.stack == Some(StackUse::Push), &["StackPushV2"]);
    only("pops", |op| op.stack == Some(StackUse::Pop), &["StackPopV2"]);
    let calls = |kind| move |op: &Op| op.class == Class::Call(kind);
    only("calls", calls(CallKind::Function), &["PartitionedCall", "StatefulPartitionedCall"]);
    only("branches", calls(CallKind::If), &["If", "StatelessIf"]);
    only("cases", calls(CallKind::Case), &["Case", "StatelessCase"]);
    only("loops", calls(CallKind::While), &["StatelessWhile", "While"]);
    only("gradients", calls(CallKind::Gradient), &["SymbolicGradient"]);
    only("calls elsewhere", calls(CallKind::Remote), &["RemoteCall"]);
}

/// Properties that exclude each other, and their attrs.
#[test]
fn properties_fit_the_signature() {
    for op in ops() {
        let attrs: Vec<&str> = op.attrs.iter().filter_map(|a| a.split(':').next()).collect();
        assert!(op.transposed_by.iter().all(|a| attrs.contains(a)), "{}", op.name);
        let stateless = op.identity || op.fills || op.shape_value.is_some() || op.epilogue.is_some();
        assert!(!(stateless && op.stateful), "{} is stateful", op.name);
        assert!(!op.always_produces || op.stateful, "{} is not stateful", op.name);
        let one_to_one = !op.identity && !op.fills || (op.inputs.len() == 1 && op.outputs.len() == 1);
        assert!(one_to_one, "{}", op.name);
        assert!(op.shape_value.is_none() || op.inputs.len() == op.outputs.len(), "{}", op.name);
    }
}
