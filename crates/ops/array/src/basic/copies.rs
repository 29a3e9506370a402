//! `GuaranteeConst`, `Copy`, `CopyHost`: their input.

use super::identity::IDENTITY;
use crate::prelude::*;

pub static GUARANTEE_CONST: Op = Op {
    name: "GuaranteeConst",
    doc: "The input, of which the program says that it does not change between steps.",
    grad: Missing,
    identity: false,
    partial_value: None,
    stateful: true,
    ..IDENTITY
};

pub static COPY: Op = Op {
    name: "Copy",
    doc: "A copy of the input, for debugging.",
    attrs: &["T: type", "tensor_name: string = ''", "debug_ops_spec: list(string) = []"],
    grad: Missing,
    identity: false,
    partial_value: None,
    ..IDENTITY
};

pub static COPY_HOST: Op = Op { name: "CopyHost", doc: "As Copy, to the memory of the host.", ..COPY };
