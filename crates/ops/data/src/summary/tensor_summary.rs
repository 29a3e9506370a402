//! `TensorSummary`: a whole tensor, by the name of its node.

use crate::prelude::*;
use thalweg_io::varint;
use thalweg_io::wire::tensor_to_proto;
use thalweg_proto::Message;

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
    let tensor = tensor_to_proto(c.input(0)?)?;
    // By hand: `prost` puts the members of a oneof where the first of them would be, before the name.
    let name = c.node.name.as_bytes();
    let length = tensor.encoded_len();
    let value = field_len(name.len()).saturating_add(field_len(length));
    let mut bytes = reserve::with_capacity(field_len(value))?;
    begin(&mut bytes, VALUE, value);
    begin(&mut bytes, NODE_NAME, name.len());
    bytes.extend_from_slice(name);
    begin(&mut bytes, TENSOR, length);
    tensor.encode(&mut bytes).map_err(|_| internal("a message is longer than it said"))?;
    c.set(0, Tensor::string(bytes));
    Ok(())
}

/// The tags of the fields: in `Summary`, and in `Summary.Value`.
const VALUE: u8 = 1 << 3 | 2;
const NODE_NAME: u8 = 7 << 3 | 2;
const TENSOR: u8 = 8 << 3 | 2;

fn begin(bytes: &mut Vec<u8>, tag: u8, length: usize) {
    bytes.push(tag);
    varint::put(bytes, length as u64);
}

/// The length of a field of so many bytes: with its tag and its own length.
fn field_len(contents: usize) -> usize {
    let bits = usize::BITS - (contents | 1).leading_zeros();
    contents.saturating_add(1 + bits.div_ceil(7) as usize)
}
