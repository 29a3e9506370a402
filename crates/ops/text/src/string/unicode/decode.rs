//! `UnicodeDecode`, `UnicodeDecodeWithOffsets`, `UnicodeTranscode`: text of any encoding as code points, or in another encoding.

use super::charset::Charset;
use super::encode::Target;
use super::errors::ErrorOptions;
use crate::prelude::*;
use crate::string::mapped::{map_strings, words};
use bytes::Bytes;

pub static OPS: &[&Op] = &[&UNICODE_DECODE, &UNICODE_DECODE_WITH_OFFSETS, &UNICODE_TRANSCODE];

static UNICODE_DECODE: Op = Op {
    name: "UnicodeDecode",
    doc: "The code points of each string, as a ragged tensor: row splits and values.",
    inputs: &["input: string"],
    outputs: &["row_splits: Tsplits", "char_values: int32"],
    attrs: &[
        "input_encoding: string",
        "errors: {'strict', 'replace', 'ignore'} = 'replace'",
        "replacement_char: int = 65533",
        "replace_control_characters: bool = false",
        "Tsplits: {int32, int64} = DT_INT64",
    ],
    shape: |c| {
        let rows = c.input(0).elements().map_or(-1, |n| n.saturating_add(1));
        let mut all = vec![PartialShape::vector(-1); c.outputs];
        all[0] = PartialShape::vector(rows);
        Ok(all)
    },
    grad: Stops,
    kernels: cpu!(make decode),
    cases: decode_cases,
    ..Op::PURE
};

static UNICODE_DECODE_WITH_OFFSETS: Op = Op {
    name: "UnicodeDecodeWithOffsets",
    doc: "The code points of each string and the offsets of their first bytes, as a ragged tensor.",
    outputs: &["row_splits: Tsplits", "char_values: int32", "char_to_byte_starts: int64"],
    ..UNICODE_DECODE
};

fn decode_cases(_: &mut CaseGen) -> Vec<Case> {
    let text = words(&[3], &["aé𝄞", "", "\u{1}日"]);
    vec![
        Case::new(vec![text.clone()]).attr("input_encoding", "UTF-8"),
        Case::new(vec![text.clone()])
            .attr("input_encoding", "UTF-8")
            .attr("replace_control_characters", true)
            .attr("errors", "ignore"),
        // Splits of int64: with int32 TensorFlow's process aborts.
        Case::new(vec![text]).attr("input_encoding", "KOI8-R"),
        Case::new(vec![words(&[2], &["\0a\0b", "\u{4e}\u{2d}x"])]).attr("input_encoding", "UTF-16-BE"),
    ]
}

fn decode(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let options = ErrorOptions::of(&node.attrs)?;
    let charset = Charset::named(node.attrs.str("input_encoding")?)?;
    let (offsets, splits_type) = (node.outputs.len() > 2, node.attrs.dtype("Tsplits")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let strings = c.input(0)?.strings()?;
        let (mut codes, mut starts) = (Vec::new(), Vec::new());
        let mut splits = reserve::with_capacity(strings.len() + 1)?;
        splits.push(0i64);
        for s in strings {
            options.decode(charset, s, |code, at| {
                if offsets {
                    reserve::push(&mut starts, at as i64)?;
                }
                reserve::push(&mut codes, code as i32)
            })?;
            splits.push(codes.len() as i64);
        }
        let splits = match splits_type {
            DataType::Int64 => Tensor::vector(&splits)?,
            _ => {
                let narrow =
                    |v: &i64| i32::try_from(*v).map_err(|_| invalid!("{v} code points for int32 splits"));
                Tensor::vector(&reserve::try_collect(splits.iter().map(narrow))?)?
            }
        };
        c.set(0, splits);
        c.set(1, Tensor::vector(&codes)?);
        if offsets {
            c.set(2, Tensor::vector(&starts)?);
        }
        Ok(())
    }))
}

static UNICODE_TRANSCODE: Op = Op {
    name: "UnicodeTranscode",
    doc: "The text of each string in another encoding.",
    inputs: &["input: string"],
    outputs: &["output: string"],
    attrs: &[
        "input_encoding: string",
        "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}",
        "errors: {'strict', 'replace', 'ignore'} = 'replace'",
        "replacement_char: int = 65533",
        "replace_control_characters: bool = false",
    ],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(make transcode),
    cases: |_| {
        let text = words(&[2, 1], &["aé𝄞", "\u{1}日"]);
        let case = |from: &'static str, to: &'static str| {
            Case::new(vec![text.clone()]).attr("input_encoding", from).attr("output_encoding", to)
        };
        vec![
            case("UTF-8", "UTF-16-BE"),
            case("ISO-8859-1", "UTF-8"),
            case("windows-1251", "UTF-32-BE"),
            case("UTF-8", "UTF-8").attr("replace_control_characters", true),
            case("US-ASCII", "UTF-8").attr("errors", "ignore"),
        ]
    },
    ..Op::PURE
};

fn transcode(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let options = ErrorOptions::of(&node.attrs)?;
    let charset = Charset::named(node.attrs.str("input_encoding")?)?;
    let target = Target::named(node.attrs.str("output_encoding")?);
    let is_same = matches!((charset, target), (Charset::Utf8, Target::Utf8));
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        map_strings(c, |s| {
            let clean = || !options.replace_controls || s.iter().all(|b| *b > 0x1F);
            if is_same && std::str::from_utf8(s).is_ok() && clean() {
                return Ok(s.clone());
            }
            let mut out = reserve::with_capacity(s.len())?;
            options.decode(charset, s, |code, _| target.put(&mut out, code))?;
            Ok(Bytes::from(out))
        })
    }))
}
