//! `TensorSummary`: a whole tensor, by the name of its node.

use super::serialized;
use crate::prelude::*;
use thalweg_io::wire::tensor_to_proto;
use thalweg_proto::{Summary, summary};

pub static TENSOR_SUMMARY: Op = Op {
    name: "TensorSummary",
    doc: "A serialized Summary with a tensor, which has the name of this node.",
    inputs: &["tensor: T"],
    outputs: &["summary: string"],
    attrs: &["T: type", "description: string = ''", "labels: list(string) = []", "display_name: string = ''"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(run),
    // The result has the name of the node, which is not the same in every test: see the tests of this family.
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let value = summary::Value {
        node_name: reserve::text(format_args!("{}", c.node.name))?,
        value: Some(summary::value::Value::Tensor(tensor_to_proto(c.input(0)?)?)),
        ..Default::default()
    };
    c.set(0, serialized(&Summary { value: vec![value] })?);
    Ok(())
}
