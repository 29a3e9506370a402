//! Regular expressions in RE2's syntax, run by the `regex` crate.
//!
//! They differ in a few points: RE2's `\d \w \s \b` are ASCII only, it has `\Q..\E`, and a `[`, `&&`, `--` or `~~`
//! within a class is literal. The pattern is rewritten for these.

use crate::prelude::*;
use ::regex::bytes::{Regex, RegexBuilder};
use bytes::Bytes;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::Mutex;
use thalweg_core::sync::lock;

/// Longer patterns are rejected: compiling takes some hundred times their memory, and cannot be limited.
const LONGEST: usize = 1 << 16;

/// Compiles a pattern; with `whole` it must match the whole text.
pub fn compile(pattern: &[u8], whole: bool) -> Result<Regex> {
    let wrong = |e: String| invalid!("Invalid pattern: {}, error: {e}", Lossy(pattern));
    if pattern.len() > LONGEST {
        return Err(invalid!(
            "Invalid pattern of {} bytes: at most {LONGEST} can be compiled",
            pattern.len()
        ));
    }
    let text = std::str::from_utf8(pattern).map_err(|_| wrong("invalid UTF-8".into()))?;
    let text = translated(text);
    let text = if whole { format!(r"\A(?:{text})\z") } else { text };
    RegexBuilder::new(&text).build().map_err(|e| wrong(e.to_string()))
}

/// The pattern in the syntax of the `regex` crate.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    // The state in a class: None outside; otherwise whether a `]` would be its first member.
    let mut class: Option<bool> = None;
    while let Some(c) = chars.next() {
        let first = class == Some(true);
        if class.is_some() {
            class = Some(false);
        }
        match (c, class.is_some()) {
            ('\\', inside) => match chars.next() {
                Some('Q') if !inside => quote(&mut chars, &mut out),
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('w') => out.push_str("[0-9A-Za-z_]"),
                Some('W') => out.push_str("[^0-9A-Za-z_]"),
                Some('s') => out.push_str(r"[\t\n\x0C\r ]"),
                Some('S') => out.push_str(r"[^\t\n\x0C\r ]"),
                Some('b') if !inside => out.push_str(r"(?-u:\b)"),
                Some('B') if !inside => out.push_str(r"(?-u:\B)"),
                Some('C') if !inside => out.push_str(r"(?s-u:.)"),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            ('[', false) => {
                class = Some(true);
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            (']', true) if first => out.push_str(r"\]"),
            (']', true) => {
                class = None;
                out.push(']');
            }
            ('[', true) if chars.peek() == Some(&':') => {
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            ('[' | '&' | '~', true) => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// Literal characters up to `\E`.
fn quote(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next_if_eq(&'E').is_some() {
            return;
        }
        out.push_str(&::regex::escape(c.encode_utf8(&mut [0; 4])));
    }
}

/// Cache of the last pattern, for nodes whose pattern is an input.
pub struct LastPattern {
    whole: bool,
    last: Mutex<Option<(Bytes, Regex)>>,
}

impl LastPattern {
    pub fn new(whole: bool) -> Self {
        LastPattern { whole, last: Mutex::new(None) }
    }

    pub fn get(&self, pattern: &Bytes) -> Result<Regex> {
        let mut last = lock(&self.last);
        match last.as_ref().filter(|(p, _)| p == pattern) {
            Some((_, regex)) => Ok(regex.clone()),
            None => {
                let regex = compile(pattern, self.whole)?;
                *last = Some((pattern.clone(), regex.clone()));
                Ok(regex)
            }
        }
    }
}
