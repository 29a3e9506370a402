//! `StringLength`: lengths of strings.

use super::mapped::{begins_char, map_to, words};
use crate::prelude::*;

pub static STRING_LENGTH: Op = Op {
    name: "StringLength",
    doc: "The number of bytes, or UTF-8 characters, of each.",
    inputs: &["input: string"],
    outputs: &["output: int32"],
    attrs: &["unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        let text = words(&[2, 1], &["héllo wörld", ""]);
        vec![Case::new(vec![text.clone()]), Case::new(vec![text]).attr("unit", "UTF8_CHAR")]
    },
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let chars = c.attrs().str("unit")? == "UTF8_CHAR";
    map_to(c, |s| {
        let n = if chars { s.iter().filter(|b| begins_char(b)).count() } else { s.len() };
        i32::try_from(n).map_err(|_| invalid!("a string of {n} bytes: its length does not fit int32"))
    })
}
