//! `StringStrip`: trims white space.

use super::mapped::{map_strings, words};
use crate::prelude::*;

pub static STRING_STRIP: Op = Op {
    name: "StringStrip",
    doc: "Each string without white space at its ends.",
    inputs: &["input: string"],
    outputs: &["output: string"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| vec![Case::new(vec![words(&[2], &[" \t\na b \r", "  "])])],
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    map_strings(c, |s| {
        let from = s.iter().position(|b| !is_space(*b)).unwrap_or(s.len());
        let to = s.iter().rposition(|b| !is_space(*b)).map_or(from, |at| at + 1);
        Ok(s.slice(from..to))
    })
}

/// White space as in C.
pub fn is_space(b: u8) -> bool {
    b.is_ascii_whitespace() || b == 0x0b
}
