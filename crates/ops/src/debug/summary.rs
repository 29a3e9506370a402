//! The values of a tensor in short, as messages show them.

use crate::prelude::*;
use crate::printf::{shortest_f32, shortest_f64};

/// The first `most` elements (all if negative), with brackets around each row: `1 2 3...`, `[1.5 2][3...]...`.
pub fn first_elements(t: &Tensor, most: i64) -> String {
    let limit = usize::try_from(most).unwrap_or(usize::MAX).min(t.elements());
    let mut out = String::new();
    if t.rank() == 0 {
        (0..limit).for_each(|i| out.push_str(&String::from_utf8_lossy(&element(t, i, false))));
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
            out.push_str(&String::from_utf8_lossy(&element(t, *at, false)));
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
/// Bytes and not text: those past ASCII stay as they are.
pub fn both_ends(t: &Tensor, ends: i64) -> Vec<u8> {
    // Nothing is shown of a tensor without elements, but that there is more.
    let ends = usize::try_from(ends).unwrap_or(usize::MAX).min(t.elements());
    let mut out = Vec::new();
    // Of no booleans TensorFlow shows not even the brackets.
    if t.dtype() == DataType::Bool && t.elements() == 0 {
        return out;
    }
    block(t, 0, ends, 0, &mut out);
    out
}

fn block(t: &Tensor, dim: usize, ends: usize, at: usize, out: &mut Vec<u8>) {
    if dim == t.rank() {
        return out.extend(element(t, at, true));
    }
    let (size, step) = (t.shape()[dim], t.shape()[dim + 1..].iter().product::<usize>());
    out.push(b'[');
    for i in 0..size.min(ends) {
        if i > 0 {
            space(t, dim, out);
        }
        block(t, dim + 1, ends, at + i * step, out);
    }
    if size > ends.saturating_mul(2) {
        space(t, dim, out);
        out.extend(b"...");
    }
    for i in ends.max(size.saturating_sub(ends))..size {
        space(t, dim, out);
        block(t, dim + 1, ends, at + i * step, out);
    }
    out.push(b']');
}

fn space(t: &Tensor, dim: usize, out: &mut Vec<u8>) {
    if dim + 1 == t.rank() {
        return out.push(b' ');
    }
    out.extend(std::iter::repeat_n(b'\n', t.rank() - dim - 1));
    out.extend(std::iter::repeat_n(b' ', dim + 1));
}

fn element(t: &Tensor, i: usize, quoted: bool) -> Vec<u8> {
    fn at<T: Element>(t: &Tensor, i: usize) -> Option<T> {
        t.as_slice::<T>().ok().and_then(|s| s.get(i)).copied()
    }
    let text = match t.dtype() {
        DataType::Float => at(t, i).map(shortest_f32),
        DataType::Double => at(t, i).map(shortest_f64),
        DataType::Half => at(t, i).map(|v: f16| shortest_f32(v.to_f32())),
        DataType::Bfloat16 => at(t, i).map(|v: bf16| shortest_f32(v.to_f32())),
        DataType::Bool => at(t, i).map(|v: bool| (v as u8).to_string()),
        DataType::String => {
            let text =
                t.strings().ok().and_then(|s| s.get(i)).map(|s| escaped(s, !quoted)).unwrap_or_default();
            return if quoted { [b"\"", &text[..], b"\""].concat() } else { text };
        }
        other if other.is_integer() => Some(t.element_text(i)),
        _ => None,
    };
    text.unwrap_or_else(|| "?".into()).into_bytes()
}

/// Text with C's escapes; bytes past ASCII too where `all` says so.
fn escaped(bytes: &[u8], all: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for b in bytes {
        match *b {
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            b @ (b'"' | b'\'' | b'\\') => out.extend([b'\\', b]),
            b @ 0x20..=0x7e => out.push(b),
            b if b >= 0x80 && !all => out.push(b),
            b => out.extend(format!("\\{b:03o}").into_bytes()),
        }
    }
    out
}
