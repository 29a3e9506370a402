//! `StringLower`, `StringUpper`: letters in lower or upper case.

use super::mapped::{map_strings, words};
use crate::prelude::*;
use bytes::Bytes;

pub static STRING_LOWER: Op = Op {
    name: "StringLower",
    doc: "Each string in lower case: its ASCII letters, or with encoding 'utf-8' all letters.",
    inputs: &["input: string"],
    outputs: &["output: string"],
    attrs: &["encoding: string = ''"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(make lower),
    cases: |_| {
        let text = words(&[2], &["HÉLLO ß", "aBc"]);
        vec![Case::new(vec![text.clone()]), Case::new(vec![text]).attr("encoding", "utf-8")]
    },
    ..Op::PURE
};

pub static STRING_UPPER: Op = Op {
    name: "StringUpper",
    doc: "Each string in upper case: its ASCII letters, or with encoding 'utf-8' all letters.",
    kernels: cpu!(make upper),
    ..STRING_LOWER
};

fn lower(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    cased(node, <[u8]>::to_ascii_lowercase, str::to_lowercase)
}

fn upper(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    cased(node, <[u8]>::to_ascii_uppercase, str::to_uppercase)
}

fn cased(node: &KernelNode, ascii: fn(&[u8]) -> Vec<u8>, all: fn(&str) -> String) -> Result<Box<dyn Kernel>> {
    let utf8 = match node.attrs.str("encoding")? {
        "" => false,
        "utf-8" => true,
        other => return Err(invalid!("only utf-8 or '' (no encoding) is supported, received {other}")),
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        map_strings(c, |s| {
            Ok(if utf8 { Bytes::from(all(&String::from_utf8_lossy(s))) } else { Bytes::from(ascii(s)) })
        })
    }))
}
