//! Summaries: what event files hold, as serialized `Summary` messages.

mod histogram_summary;
mod merge_summary;
mod tensor_summary_v2;
#[cfg(test)]
mod tests;

use crate::prelude::*;
use bytes::Bytes;

pub static OPS: &[&Op] = &[
    &histogram_summary::HISTOGRAM_SUMMARY,
    &merge_summary::MERGE_SUMMARY,
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
    let bytes = scalar_bytes(c, i)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| invalid!("the tag '{}' is not UTF-8", bytes.escape_ascii()))
}
