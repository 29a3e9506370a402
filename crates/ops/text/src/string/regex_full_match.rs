//! `RegexFullMatch`, `StaticRegexFullMatch`: whether whole strings match a pattern.

use super::mapped::{map_to, one_string, words};
use super::regex::{LastPattern, compile};
use crate::prelude::*;

pub static REGEX_FULL_MATCH: Op = Op {
    name: "RegexFullMatch",
    doc: "Whether each string, as a whole, matches the regular expression (RE2 syntax).",
    inputs: &["input: string", "pattern: string"],
    outputs: &["output: bool"],
    shape: |c| {
        c.scalar(1)?;
        Ok(vec![c.input(0)])
    },
    grad: Stops,
    kernels: cpu!(make dynamic),
    cases: |_| vec![Case::new(vec![words(&[3], &["abc", "abcd", "a"]), words(&[], &["a.*c|a"])])],
    ..Op::PURE
};

fn dynamic(_: &KernelNode) -> Result<Box<dyn Kernel>> {
    let patterns = LastPattern::new(true);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let regex = patterns.get(one_string(c, 1, "Pattern")?)?;
        map_to(c, |s| Ok(regex.is_match(s)))
    }))
}

pub static STATIC_REGEX_FULL_MATCH: Op = Op {
    name: "StaticRegexFullMatch",
    inputs: &["input: string"],
    attrs: &["pattern: string"],
    shape: same_as_input,
    kernels: cpu!(make fixed),
    cases: |_| vec![Case::new(vec![words(&[2], &["a1", "b"])]).attr("pattern", r"\w\d+")],
    ..REGEX_FULL_MATCH
};

fn fixed(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let regex = compile(node.attrs.bytes("pattern")?, true)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| map_to(c, |s| Ok(regex.is_match(s)))))
}
