//! The values of a tensor in short, as messages show them.

use crate::prelude::*;
use crate::printf::{shortest_f32, shortest_f64};

/// The first `most` elements (all if negative), with brackets around each row: `1 2 3...`, `[1.5 2][3...]...`.
pub fn first_elements(t: &Tensor, most: i64) -> String {
    let limit = usize::try_from(most).unwrap_or(usize::MAX).min(t.elements());
    let mut out = String::new();
    if t.rank() == 0 {
        (0..limit).for_each(|i| out.push_str(&element(t, i, false)));
    } else {
        rows(t, 0, limit, &mut 0, &mut out);
    }
    if limit < t.elements() {
        out.push_str("...");
    }
    out
}

fn rows(t: &Tensor, dim: usize, limit: usize, at: &mut usize, out: &mut String) {
    if *at >= limit {
        return;
    }
    let (size, innermost) = (t.shape()[dim], dim + 1 == t.rank());
    for i in 0..size {
        if innermost {
            if *at >= limit {
                if dim != 0 {
                    out.push_str("...");
                }
                return;
            }
            if i > 0 {
                out.push(' ');
            }
            out.push_str(&element(t, *at, false));
            *at += 1;
        } else if *at < limit {
            out.push('[');
            rows(t, dim + 1, limit, at, out);
            out.push(']');
        } else {
            return;
        }
    }
}

/// Up to `ends` elements (all if negative) at both ends of each dimension, laid out in lines; strings in quotes.
pub fn both_ends(t: &Tensor, ends: i64) -> String {
    let ends = usize::try_from(ends).unwrap_or(t.elements());
    let mut out = String::new();
    block(t, 0, ends, 0, &mut out);
    out
}

fn block(t: &Tensor, dim: usize, ends: usize, at: usize, out: &mut String) {
    if dim == t.rank() {
        return out.push_str(&element(t, at, true));
    }
    let (size, step) = (t.shape()[dim], t.shape()[dim + 1..].iter().product::<usize>());
    out.push('[');
    for i in 0..size.min(ends) {
        if i > 0 {
            space(t, dim, out);
        }
        block(t, dim + 1, ends, at + i * step, out);
    }
    if size > ends.saturating_mul(2) {
        space(t, dim, out);
        out.push_str("...");
    }
    for i in ends.max(size.saturating_sub(ends))..size {
        space(t, dim, out);
        block(t, dim + 1, ends, at + i * step, out);
    }
    out.push(']');
}

fn space(t: &Tensor, dim: usize, out: &mut String) {
    if dim + 1 == t.rank() {
        return out.push(' ');
    }
    out.extend(std::iter::repeat_n('\n', t.rank() - dim - 1));
    out.extend(std::iter::repeat_n(' ', dim + 1));
}

fn element(t: &Tensor, i: usize, quoted: bool) -> String {
    fn at<T: Element>(t: &Tensor, i: usize) -> Option<T> {
        t.as_slice::<T>().ok().and_then(|s| s.get(i)).copied()
    }
    let text = match t.dtype() {
        DataType::Float => at(t, i).map(shortest_f32),
        DataType::Double => at(t, i).map(shortest_f64),
        DataType::Half => at(t, i).map(|v: f16| shortest_f32(v.to_f32())),
        DataType::Bfloat16 => at(t, i).map(|v: bf16| shortest_f32(v.to_f32())),
        DataType::Bool => at(t, i).map(|v: bool| (v as u8).to_string()),
        DataType::String => t.strings().ok().and_then(|s| s.get(i)).map(|s| {
            let text = escaped(s, !quoted);
            if quoted { format!("\"{text}\"") } else { text }
        }),
        other if other.is_integer() => Some(t.element_text(i)),
        _ => None,
    };
    text.unwrap_or_else(|| "?".into())
}

/// Text with C's escapes; bytes past ASCII too where `all` says so, else they stay if they are text.
fn escaped(bytes: &[u8], all: bool) -> String {
    let escape = |out: &mut String, b: u8| match b {
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        b'"' | b'\'' | b'\\' => out.extend(['\\', b as char]),
        0x20..=0x7e => out.push(b as char),
        b => out.push_str(&format!("\\{b:03o}")),
    };
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_ascii() || all {
                c.encode_utf8(&mut [0; 4]).bytes().for_each(|b| escape(&mut out, b));
            } else {
                out.push(c);
            }
        }
        chunk.invalid().iter().for_each(|b| escape(&mut out, *b));
    }
    out
}
