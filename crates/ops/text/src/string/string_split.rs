//! `StringSplit`, `StringSplitV2`: split strings, as a sparse matrix with a row for each string.

use super::mapped::{one_string, words};
use super::string_strip::is_space;
use crate::prelude::*;
use bytes::Bytes;
use std::ops::Range;

pub static STRING_SPLIT: Op = Op {
    name: "StringSplit",
    doc: "Splits each string at any delimiter byte, or after each byte if there is none.",
    inputs: &["input: string", "delimiter: string"],
    outputs: &["indices: int64", "values: string", "shape: int64"],
    attrs: &["skip_empty: bool = true"],
    shape: |c| {
        c.scalar(1)?;
        c.rank(0, 1)?;
        sparse_shape()
    },
    grad: Stops,
    kernels: cpu!(split),
    cases: |_| {
        let text = words(&[3], &["a b  c", "", "d"]);
        vec![
            Case::new(vec![text.clone(), words(&[], &[" "])]),
            Case::new(vec![text.clone(), words(&[], &[" "])]).attr("skip_empty", false),
            Case::new(vec![text, words(&[], &[""])]),
        ]
    },
    ..Op::PURE
};

fn sparse_shape() -> Result<Vec<PartialShape>> {
    Ok(vec![[-1, 2].into_iter().collect(), PartialShape::vector(-1), PartialShape::vector(2)])
}

fn split(c: &mut OpCall<'_>) -> Result<()> {
    let (delimiter, skip) = (one_string(c, 1, "delimiter")?.clone(), c.attrs().bool("skip_empty")?);
    set_pieces(c, |s| {
        if s.is_empty() {
            return Ok(vec![]);
        }
        if delimiter.is_empty() {
            return reserve::collect((0..s.len()).map(|i| i..i + 1));
        }
        let mut pieces = Vec::new();
        let mut from = 0;
        for (i, b) in s.iter().enumerate() {
            if delimiter.contains(b) {
                reserve::push(&mut pieces, from..i)?;
                from = i + 1;
            }
        }
        reserve::push(&mut pieces, from..s.len())?;
        pieces.retain(|p| !skip || !p.is_empty());
        Ok(pieces)
    })
}

pub static STRING_SPLIT_V2: Op = Op {
    name: "StringSplitV2",
    doc: "Splits each string at the separator (white space if empty), at most maxsplit times.",
    inputs: &["input: string", "sep: string"],
    attrs: &["maxsplit: int = -1"],
    kernels: cpu!(split_v2),
    cases: |_| {
        let text = words(&[3], &[" a<>b<>c<> ", "", "d"]);
        vec![
            Case::new(vec![text.clone(), words(&[], &["<>"])]),
            Case::new(vec![text.clone(), words(&[], &["<>"])]).attr("maxsplit", 1),
            Case::new(vec![text.clone(), words(&[], &[""])]).attr("maxsplit", 1),
            Case::new(vec![text, words(&[], &[""])]),
        ]
    },
    ..STRING_SPLIT
};

fn split_v2(c: &mut OpCall<'_>) -> Result<()> {
    let (separator, most) = (one_string(c, 1, "sep")?.clone(), c.attrs().int("maxsplit")?);
    set_pieces(c, |s| match (most, separator.is_empty()) {
        (0, _) => Ok(std::iter::once(0..s.len()).collect()),
        (_, true) => at_space(s, most),
        _ => at_separator(s, &separator, most),
    })
}

/// After `maxsplit` splits the rest is one piece, even if empty.
fn at_space(s: &[u8], most: i64) -> Result<Vec<Range<usize>>> {
    let skip = |from: usize| s[from..].iter().position(|b| !is_space(*b)).map_or(s.len(), |n| from + n);
    let mut pieces = Vec::new();
    let mut at = skip(0);
    while at < s.len() {
        let end = s[at..].iter().position(|b| is_space(*b)).map_or(s.len(), |n| at + n);
        reserve::push(&mut pieces, at..end)?;
        at = skip(end);
        if most > 0 && pieces.len() as i64 == most {
            reserve::push(&mut pieces, at..s.len())?;
            break;
        }
    }
    Ok(pieces)
}

fn at_separator(s: &[u8], separator: &[u8], most: i64) -> Result<Vec<Range<usize>>> {
    let mut pieces = Vec::new();
    let mut from = 0;
    while most <= 0 || (pieces.len() as i64) < most {
        let found = s[from..].windows(separator.len()).position(|w| w == separator);
        let Some(n) = found else { break };
        reserve::push(&mut pieces, from..from + n)?;
        from += n + separator.len();
    }
    reserve::push(&mut pieces, from..s.len())?;
    Ok(pieces)
}

/// The pieces of each string of input 0 as the three outputs.
fn set_pieces(c: &mut OpCall<'_>, cut: impl Fn(&[u8]) -> Result<Vec<Range<usize>>>) -> Result<()> {
    let input = c.input(0)?;
    if input.rank() != 1 {
        return Err(invalid!("input must be a vector, got shape: {}", input.shape()));
    }
    let (mut indices, mut values, mut widest) = (Vec::new(), Vec::new(), 0);
    for (row, s) in input.strings()?.iter().enumerate() {
        let pieces = cut(s)?;
        widest = widest.max(pieces.len());
        for (column, piece) in pieces.into_iter().enumerate() {
            reserve::extend(&mut indices, &[row as i64, column as i64])?;
            reserve::push(&mut values, Bytes::slice(s, piece))?;
        }
    }
    let rows = input.elements() as i64;
    c.set(0, Tensor::from_slice(Shape::new(&[values.len(), 2])?, &indices)?);
    c.set(1, Tensor::from_objects(Shape::vector(values.len()), values)?);
    c.set(2, Tensor::vector(&[rows, widest as i64])?);
    Ok(())
}
