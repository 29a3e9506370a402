//! Standard output that may be closed early (`thalweg ops | head`), and tables.

use crate::failure::{Failure, Outcome};
use std::io::{ErrorKind, Write};
use thalweg_core::error::Error;

/// Writes text to standard output.
pub fn print(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Err(Failure::Unread),
        Err(e) => Err(Error::from(e).context("standard output").into()),
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Align {
    Left,
    Right,
}

/// Rows under one another in columns two spaces apart. A cell wider than `widest` pushes the rest of its row aside instead
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
