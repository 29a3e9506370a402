//! Records parsed to tensors: Examples, CSV, serialized tensors, protocol messages.

pub(crate) mod batch;
mod decode_bytes;
mod decode_csv;
mod decode_proto;
mod descriptor;
mod encode_proto;
mod example;
mod feature;
mod feature_lists;
mod forms;
mod json_example;
pub(crate) mod parse_example;
mod parse_sequence_example;
#[cfg(test)]
mod proto_tests;
mod proto_value;
mod samples;
mod tensor_message;
pub(crate) mod wire;

use crate::prelude::*;
use bytes::Bytes;

pub static OPS: &[&Op] =
    join![parse_example::OPS, parse_sequence_example::OPS, tensor_message::OPS, decode_bytes::OPS, SINGLE];

static SINGLE: &[&Op] = &[
    &decode_csv::DECODE_CSV,
    &json_example::DECODE_JSON_EXAMPLE,
    &decode_proto::DECODE_PROTO_V2,
    &encode_proto::ENCODE_PROTO,
];

/// A vector of keys.
fn key_vector(c: &OpCall<'_>, i: usize, name: &str) -> Result<Vec<Bytes>> {
    match c.shape(i)?.rank() {
        1 => reserve::copied(c.input(i)?.strings()?),
        _ => Err(invalid!("Expected {name} to be a vector, got shape: {}", c.shape(i)?)),
    }
}
