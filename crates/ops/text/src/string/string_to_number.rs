//! `StringToNumber`: parses numbers.

use super::mapped::{map_to, words};
use crate::prelude::*;

pub static STRING_TO_NUMBER: Op = Op {
    name: "StringToNumber",
    doc: "Each string read as a number; space around it is ignored.",
    inputs: &["string_tensor: string"],
    outputs: &["output: out_type"],
    attrs: &["out_type: {float, double, int32, int64, uint32, uint64} = DT_FLOAT"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(real: out_type in f32, f64; whole: out_type in i32, i64, u32, u64),
    cases: |_| {
        let numbers = words(&[3], &[" 1 ", "-20", "+3"]);
        vec![
            Case::new(vec![numbers.clone()]),
            Case::new(vec![numbers]).attr("out_type", DataType::Int64),
            Case::new(vec![words(&[2], &["1e-3", ".5"])]).attr("out_type", DataType::Double),
        ]
    },
    ..Op::PURE
};

fn real<T: Float + std::str::FromStr>(c: &mut OpCall<'_>) -> Result<()> {
    map_to::<T>(c, |s| {
        let text = text(s)?;
        let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        match hex.map(|h| u64::from_str_radix(h, 16)) {
            Some(Ok(v)) => Ok(T::from_f64(v as f64)),
            _ => text.parse().map_err(|_| wrong(s)),
        }
    })
}

fn whole<T: Real + std::str::FromStr>(c: &mut OpCall<'_>) -> Result<()> {
    map_to::<T>(c, |s| text(s)?.parse().map_err(|_| wrong(s)))
}

fn text(s: &[u8]) -> Result<&str> {
    std::str::from_utf8(s).map(|t| t.trim_matches(|c: char| c.is_ascii_whitespace())).map_err(|_| wrong(s))
}

fn wrong(s: &[u8]) -> Error {
    invalid!("StringToNumberOp could not correctly convert string: {}", Lossy(s))
}
