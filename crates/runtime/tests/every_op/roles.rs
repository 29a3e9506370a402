//! Which ops play which role.

use crate::common::ops;
use thalweg_core::op::Class;
use thalweg_core::op::Role::{self, *};

/// An op written as another with changes takes over its role, unless it says otherwise.
#[test]
fn every_role_is_played_by_its_ops() {
    let mut found: Vec<(Role, &str)> =
        ops().filter(|op| op.role != None).map(|op| (op.role, op.name)).collect();
    found.sort_unstable();
    let want = [
        (Identity, "Identity"),
        (Cast, "Cast"),
        (ShapeOf, "Shape"),
        (RankOf, "Rank"),
        (SizeOf, "Size"),
        (Filled, "OnesLike"),
        (Filled, "ZerosLike"),
        (SameIfSameShape, "BroadcastTo"),
        (SameIfSameShape, "Reshape"),
        (SameIfSameShape, "Sum"),
        (SameIfSameShape, "Tile"),
        (Pack, "Pack"),
        (Concat, "ConcatV2"),
        (Slice, "StridedSlice"),
        (BiasAdd, "BiasAdd"),
        (Add, "Add"),
        (Add, "AddN"),
        (Add, "AddV2"),
        (Product, "MatMul"),
        (Relu, "Relu"),
        (VariableHandle, "VarHandleOp"),
        (VariableRead, "ReadVariableOp"),
        (ControlTrigger, "ControlTrigger"),
        (Stack, "StackV2"),
        (StackPush, "StackPushV2"),
        (StackPop, "StackPopV2"),
        (CallOne, "PartitionedCall"),
        (CallOne, "StatefulPartitionedCall"),
        (CallIf, "If"),
        (CallIf, "StatelessIf"),
        (CallCase, "Case"),
        (CallCase, "StatelessCase"),
        (CallWhile, "StatelessWhile"),
        (CallWhile, "While"),
    ];
    assert_eq!(found, want);
    let calls = |op: &Role| matches!(op, CallOne | CallIf | CallCase | CallWhile);
    assert!(
        ops().all(|op| calls(&op.role) == (op.class == Class::Call)),
        "every call says of what kind it is"
    );
}
