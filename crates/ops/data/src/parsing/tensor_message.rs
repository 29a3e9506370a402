//! `SerializeTensor`, `ParseTensor`: tensors as serialized `TensorProto` messages.

use crate::prelude::*;
use thalweg_io::message::decode;
use thalweg_io::wire::{tensor_from_proto, tensor_to_proto};
use thalweg_proto::{Message, TensorProto};

pub static OPS: &[&Op] = &[&SERIALIZE_TENSOR, &PARSE_TENSOR];

static SERIALIZE_TENSOR: Op = Op {
    name: "SerializeTensor",
    doc: "The tensor as a serialized TensorProto.",
    inputs: &["tensor: T"],
    outputs: &["serialized: string"],
    attrs: &["T: type"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(serialize),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])]), Case::new(vec![Tensor::string("text")])],
    ..Op::PURE
};

fn serialize(c: &mut OpCall<'_>) -> Result<()> {
    let message = tensor_to_proto(c.input(0)?)?;
    let mut bytes = reserve::with_capacity(message.encoded_len())?;
    message.encode(&mut bytes).map_err(|_| internal("a message is longer than it said"))?;
    c.set(0, Tensor::string(bytes));
    Ok(())
}

static PARSE_TENSOR: Op = Op {
    name: "ParseTensor",
    doc: "The tensor of a serialized TensorProto, which must be of type `out_type`.",
    inputs: &["serialized: string"],
    outputs: &["output: out_type"],
    attrs: &["out_type: type"],
    shape: |c| {
        c.scalar(0)?;
        shape_call::unknown(c)
    },
    grad: Stops,
    kernels: cpu!(parse),
    // A vector of two floats.
    cases: |_| {
        let message = [8, 1, 18, 4, 18, 2, 8, 2, 34, 8, 0, 0, 128, 63, 0, 0, 0, 64];
        vec![Case::new(vec![Tensor::string(message.to_vec())]).attr("out_type", DataType::Float)]
    },
    ..Op::PURE
};

fn parse(c: &mut OpCall<'_>) -> Result<()> {
    let [bytes] = c.input(0)?.strings()? else {
        return Err(invalid!("Expected `serialized` to be a scalar, got shape: {}", c.shape(0)?));
    };
    if !c.shape(0)?.is_scalar() {
        return Err(invalid!("Expected `serialized` to be a scalar, got shape: {}", c.shape(0)?));
    }
    let message: TensorProto =
        decode(bytes.clone())?.map_err(|e| invalid!("Could not parse `serialized` as TensorProto: {e}"))?;
    let t = tensor_from_proto(&message).map_err(|e| e.context("Cannot parse tensor from proto"))?;
    if t.dtype() != c.output_type(0)? {
        return Err(invalid!(
            "Type mismatch between parsed tensor ({}) and dtype ({})",
            t.dtype(),
            c.output_type(0)?
        ));
    }
    c.set(0, t);
    Ok(())
}
