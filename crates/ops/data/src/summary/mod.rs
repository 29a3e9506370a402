//! Summaries: what event files hold, as serialized `Summary` messages.

mod audio_summary;
mod histogram_summary;
mod image_summary;
mod merge_summary;
mod scalar_summary;
mod tensor_summary;
mod tensor_summary_v2;
#[cfg(test)]
mod tests;
mod writer;

use crate::prelude::*;
use bytes::Bytes;
use thalweg_proto::{Message, Summary, summary};

pub static OPS: &[&Op] = join![writer::OPS, SINGLE];

static SINGLE: &[&Op] = &[
    &audio_summary::AUDIO_SUMMARY,
    &audio_summary::AUDIO_SUMMARY_V2,
    &histogram_summary::HISTOGRAM_SUMMARY,
    &image_summary::IMAGE_SUMMARY,
    &merge_summary::MERGE_SUMMARY,
    &scalar_summary::SCALAR_SUMMARY,
    &tensor_summary::TENSOR_SUMMARY,
    &tensor_summary_v2::TENSOR_SUMMARY_V2,
];

/// A scalar string input.
fn scalar_bytes<'a>(c: &'a OpCall<'_>, i: usize) -> Result<&'a Bytes> {
    match c.input(i)?.strings()? {
        [one] if c.shape(i)?.is_scalar() => Ok(one),
        _ => Err(invalid!("{} must be a scalar, got shape {}", c.input_name(i), c.shape(i)?)),
    }
}

/// A tag, which messages hold as text.
fn tag(c: &OpCall<'_>, i: usize) -> Result<String> {
    as_tag(scalar_bytes(c, i)?)
}

/// A value with its tag.
fn value(tag: String, value: summary::value::Value) -> summary::Value {
    summary::Value { tag, value: Some(value), ..Default::default() }
}

/// A serialized message.
fn serialized(summary: &Summary) -> Result<Tensor> {
    let mut bytes = reserve::with_capacity(summary.encoded_len())?;
    summary.encode(&mut bytes).map_err(|_| internal("a message is longer than it said"))?;
    Ok(Tensor::string(bytes))
}

fn as_tag(bytes: &[u8]) -> Result<String> {
    String::from_utf8(reserve::copied(bytes)?)
        .map_err(|_| invalid!("the tag '{}' is not UTF-8", bytes.escape_ascii()))
}
