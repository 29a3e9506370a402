//! `RegexReplace`, `StaticRegexReplace`: matches of a pattern replaced.

use super::mapped::{map_strings, one_string, words};
use super::regex::{LastPattern, compile};
use crate::prelude::*;
use ::regex::bytes::{Captures, Regex};
use bytes::Bytes;

pub static REGEX_REPLACE: Op = Op {
    name: "RegexReplace",
    doc: "Each string with the matches of a regular expression (RE2 syntax), or only the first, rewritten; \\1 stands for the first group.",
    inputs: &["input: string", "pattern: string", "rewrite: string"],
    outputs: &["output: string"],
    attrs: &["replace_global: bool = true"],
    shape: |c| {
        c.scalar(1)?;
        c.scalar(2)?;
        Ok(vec![c.input(0)])
    },
    grad: Stops,
    kernels: cpu!(make dynamic),
    cases: |_| {
        let inputs = vec![words(&[2], &["héllo", "abc"]), words(&[], &["([a-l])"]), words(&[], &["<\\1>"])];
        vec![Case::new(inputs.clone()), Case::new(inputs).attr("replace_global", false)]
    },
    ..Op::PURE
};

fn dynamic(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (patterns, global) = (LastPattern::new(false), node.attrs.bool("replace_global")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let regex = patterns.get(one_string(c, 1, "Pattern")?)?;
        let rewrite = Rewrite::parse(one_string(c, 2, "Rewrite")?)?;
        map_strings(c, |s| rewrite.apply(&regex, s, global))
    }))
}

pub static STATIC_REGEX_REPLACE: Op = Op {
    name: "StaticRegexReplace",
    inputs: &["input: string"],
    attrs: &["pattern: string", "rewrite: string", "replace_global: bool = true"],
    shape: same_as_input,
    kernels: cpu!(make fixed),
    cases: |_| vec![Case::new(vec![words(&[2], &["abc", ""])]).attr("pattern", "a*").attr("rewrite", "-")],
    ..REGEX_REPLACE
};

fn fixed(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let a = &node.attrs;
    let (regex, rewrite) = (compile(a.bytes("pattern")?, false)?, Rewrite::parse(a.bytes("rewrite")?)?);
    let global = a.bool("replace_global")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| map_strings(c, |s| rewrite.apply(&regex, s, global))))
}

/// The replacement: literal text and groups.
struct Rewrite(Vec<Part>);

enum Part {
    Text(Vec<u8>),
    Group(usize),
}

impl Rewrite {
    /// As RE2 does, stops at a backslash that is followed by neither a digit nor a backslash.
    fn parse(text: &[u8]) -> Result<Rewrite> {
        let (mut parts, mut run) = (Vec::new(), Vec::new());
        let mut bytes = text.iter();
        while let Some(b) = bytes.next() {
            match b {
                b'\\' => match bytes.next() {
                    Some(d @ b'0'..=b'9') => {
                        reserve::push(&mut parts, Part::Text(std::mem::take(&mut run)))?;
                        reserve::push(&mut parts, Part::Group((d - b'0') as usize))?;
                    }
                    Some(b'\\') => reserve::push(&mut run, b'\\')?,
                    _ => break,
                },
                other => reserve::push(&mut run, *other)?,
            }
        }
        reserve::push(&mut parts, Part::Text(run))?;
        Ok(Rewrite(parts))
    }

    /// Not by `Regex::replacen`, which aborts when out of memory.
    fn apply(&self, regex: &Regex, s: &Bytes, global: bool) -> Result<Bytes> {
        let groups = regex.captures_len();
        if self.0.iter().any(|p| matches!(p, Part::Group(g) if *g >= groups)) {
            return Ok(s.clone()); // A group that the pattern does not have: RE2 replaces nothing.
        }
        let (mut out, mut copied) = (Vec::new(), 0);
        for m in regex.captures_iter(s).take(if global { usize::MAX } else { 1 }) {
            let Some(whole) = m.get(0) else { continue };
            reserve::extend(&mut out, &s[copied..whole.start()])?;
            copied = whole.end();
            // The `regex` crate matches empty between bytes of a character, RE2 only between characters.
            if !(whole.is_empty() && within_character(s, whole.start())) {
                self.write(&m, &mut out)?;
            }
        }
        if copied == 0 && out.is_empty() {
            return Ok(s.clone());
        }
        reserve::extend(&mut out, &s[copied..])?;
        Ok(Bytes::from(out))
    }

    fn write(&self, m: &Captures<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(run) => reserve::extend(out, run),
            Part::Group(g) => reserve::extend(out, m.get(*g).map_or(&[], |m| m.as_bytes())),
        })
    }
}

/// Whether a position is inside a UTF-8 character.
fn within_character(s: &[u8], at: usize) -> bool {
    (at.saturating_sub(3)..at).any(|start| {
        (at + 1..=s.len().min(start + 4))
            .any(|end| std::str::from_utf8(&s[start..end]).is_ok_and(|text| text.chars().count() == 1))
    })
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::call;

    #[test]
    fn nothing_is_found_within_a_character() {
        let inputs = [Tensor::string("r\u{fc}"), Tensor::string(""), Tensor::string("-")];
        let got = call("RegexReplace", &inputs, &[]).unwrap();
        assert_eq!(&got[0].strings().unwrap()[0][..], "-r-\u{fc}-".as_bytes());
        let inputs = [Tensor::string(&b"\xff\xfe"[..]), Tensor::string(""), Tensor::string("-")];
        let got = call("RegexReplace", &inputs, &[]).unwrap();
        assert_eq!(&got[0].strings().unwrap()[0][..], b"-\xff-\xfe-");
    }
}
