//! `RegexReplace`, `StaticRegexReplace`: matches of a pattern rewritten.

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
        let rewrite = Rewrite::parse(one_string(c, 2, "Rewrite")?);
        map_strings(c, |s| Ok(rewrite.apply(&regex, s, global)))
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
    let (regex, rewrite) = (compile(a.bytes("pattern")?, false)?, Rewrite::parse(a.bytes("rewrite")?));
    let global = a.bool("replace_global")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| map_strings(c, |s| Ok(rewrite.apply(&regex, s, global)))))
}

/// What a match becomes: literal text and groups.
struct Rewrite(Vec<Part>);

enum Part {
    Text(u8),
    Group(usize),
}

impl Rewrite {
    /// As RE2 does, stops at a backslash that is followed by neither a digit nor a backslash.
    fn parse(text: &[u8]) -> Rewrite {
        let mut parts = Vec::new();
        let mut bytes = text.iter();
        while let Some(b) = bytes.next() {
            parts.push(match b {
                b'\\' => match bytes.next() {
                    Some(d @ b'0'..=b'9') => Part::Group((d - b'0') as usize),
                    Some(b'\\') => Part::Text(b'\\'),
                    _ => break,
                },
                other => Part::Text(*other),
            });
        }
        Rewrite(parts)
    }

    fn apply(&self, regex: &Regex, s: &Bytes, global: bool) -> Bytes {
        let groups = regex.captures_len();
        if self.0.iter().any(|p| matches!(p, Part::Group(g) if *g >= groups)) {
            return s.clone(); // A group that the pattern does not have: RE2 replaces nothing.
        }
        let replace = |m: &Captures<'_>| {
            let mut out = Vec::new();
            // The `regex` crate finds nothing between the bytes of a character, RE2 only between characters.
            if m.get(0).is_some_and(|m| m.is_empty() && within_character(s, m.start())) {
                return out;
            }
            for part in &self.0 {
                match part {
                    Part::Text(b) => out.push(*b),
                    Part::Group(g) => out.extend_from_slice(m.get(*g).map_or(&[], |m| m.as_bytes())),
                }
            }
            out
        };
        Bytes::from(regex.replacen(s, usize::from(!global), replace).into_owned())
    }
}

/// Whether a position lies between the bytes of one UTF-8 character.
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
