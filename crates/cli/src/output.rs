//! Standard output that may be closed early (`thalweg ops | head`), tables, and JSON.

use crate::failure::{Failure, Outcome};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use thalweg_core::error::{Error, Result, internal};

/// Writes text to standard output.
pub fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Err(Failure::Unread),
        Err(e) => Err(Error::from(e).context("standard output").into()),
    }
}

/// Columns of what is no terminal, or does not tell.
const USUAL_WIDTH: usize = 80;

/// How many columns a terminal has now.
pub fn width_of(stream: impl AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(stream).ok();
    size.map(|s| usize::from(s.ws_col)).filter(|columns| *columns > 0).unwrap_or(USUAL_WIDTH)
}

/// How many columns standard output has.
pub fn width() -> usize {
    width_of(io::stdout())
}

#[derive(Clone, Copy, PartialEq)]
pub enum Align {
    Left,
    Right,
}

/// Rows in aligned columns, two spaces apart. A cell wider than `widest` shifts the rest of its row instead
/// of widening its column.
pub fn table(rows: &[Vec<String>], align: &[Align], widest: usize) -> String {
    let mut widths = vec![0; align.len()];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            let w = cell.chars().count();
            if w <= widest {
                *width = w.max(*width);
            }
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, width), align) in row.iter().zip(&widths).zip(align) {
            let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
            match align {
                Align::Left => line.extend([cell, pad.as_str(), "  "]),
                Align::Right => line.extend([pad.as_str(), cell, "  "]),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A line of at most so many columns: where it is cut, it says so.
pub fn cut(line: &str, width: usize) -> String {
    match line.chars().nth(width) {
        None => line.to_string(),
        Some(_) => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// A value as JSON, on one line with a space after each comma and colon.
pub fn json(value: &impl Serialize) -> Result<String> {
    let mut out = Vec::new();
    let bad = |e: &dyn std::fmt::Display| internal(format_args!("JSON: {e}"));
    value.serialize(&mut Serializer::with_formatter(&mut out, Spaced)).map_err(|e| bad(&e))?;
    String::from_utf8(out).map_err(|e| bad(&e))
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_it_does_not_fit() {
        assert_eq!(["abc", "abcd", "äöüß", ""].map(|l| cut(l, 3)), ["abc", "ab…", "äö…", ""]);
    }

    #[test]
    fn json_is_one_line_with_spaces_after_commas_and_colons() {
        let value = serde_json::json!({"a\"": "x\n\u{1}\\", "b": [1, 2.5, f64::NAN], "c": {}});
        let text = json(&value).unwrap();
        assert_eq!(text, r#"{"a\"": "x\n\u0001\\", "b": [1, 2.5, null], "c": {}}"#);
    }
}
