//! Tensors as text in messages: the first elements, or those at both ends.

use crate::prelude::*;
use crate::printf::{shortest_f32, shortest_f64};
use thalweg_core::reserve::{extend, push};

/// The first `most` elements (all if negative), with brackets around each row: `1 2 3...`, `[1.5 2][3...]...`.
pub fn first_elements(t: &Tensor, most: i64) -> Result<String> {
    let limit = usize::try_from(most).unwrap_or(usize::MAX).min(t.elements());
    let mut out = Vec::new();
    if t.rank() == 0 {
        (0..limit).try_for_each(|i| element(t, i, false, &mut out))?;
    } else {
        rows(t, 0, limit, &mut 0, &mut out)?;
    }
    if limit < t.elements() {
        extend(&mut out, b"...")?;
    }
    String::from_utf8(out).map_err(|_| internal("elements are written in ASCII"))
}

fn rows(t: &Tensor, dim: usize, limit: usize, at: &mut usize, out: &mut Vec<u8>) -> Result<()> {
    if *at >= limit {
        return Ok(());
    }
    let (size, innermost) = (t.shape()[dim], dim + 1 == t.rank());
    for i in 0..size {
        if innermost {
            if *at >= limit {
                if dim != 0 {
                    extend(out, b"...")?;
                }
                return Ok(());
            }
            if i > 0 {
                push(out, b' ')?;
            }
            element(t, *at, false, out)?;
            *at += 1;
        } else if *at < limit {
            push(out, b'[')?;
            rows(t, dim + 1, limit, at, out)?;
            push(out, b']')?;
        } else {
            return Ok(());
        }
    }
    Ok(())
}

/// Up to `ends` elements (all if negative) at both ends of each dimension, one row to a line; strings in quotes.
/// Bytes, not text: non-ASCII bytes are unchanged.
pub fn both_ends(t: &Tensor, ends: i64, out: &mut Vec<u8>) -> Result<()> {
    // An empty tensor is shown as an ellipsis.
    let ends = usize::try_from(ends).unwrap_or(usize::MAX).min(t.elements());
    // TensorFlow prints no brackets for an empty tensor of booleans.
    if t.dtype() == DataType::Bool && t.elements() == 0 {
        return Ok(());
    }
    block(t, 0, ends, 0, out)
}

fn block(t: &Tensor, dim: usize, ends: usize, at: usize, out: &mut Vec<u8>) -> Result<()> {
    if dim == t.rank() {
        return element(t, at, true, out);
    }
    let (size, step) = (t.shape()[dim], t.shape()[dim + 1..].iter().product::<usize>());
    push(out, b'[')?;
    for i in 0..size.min(ends) {
        if i > 0 {
            space(t, dim, out)?;
        }
        block(t, dim + 1, ends, at + i * step, out)?;
    }
    if size > ends.saturating_mul(2) {
        space(t, dim, out)?;
        extend(out, b"...")?;
    }
    for i in ends.max(size.saturating_sub(ends))..size {
        space(t, dim, out)?;
        block(t, dim + 1, ends, at + i * step, out)?;
    }
    push(out, b']')
}

fn space(t: &Tensor, dim: usize, out: &mut Vec<u8>) -> Result<()> {
    if dim + 1 == t.rank() {
        return push(out, b' ');
    }
    reserve::room(out, t.rank())?;
    out.extend(std::iter::repeat_n(b'\n', t.rank() - dim - 1));
    out.extend(std::iter::repeat_n(b' ', dim + 1));
    Ok(())
}

fn element(t: &Tensor, i: usize, quoted: bool, out: &mut Vec<u8>) -> Result<()> {
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
            let quote: &[u8] = if quoted { b"\"" } else { b"" };
            extend(out, quote)?;
            escape(t.strings()?.get(i).map_or(&[], |s| s), !quoted, out)?;
            return extend(out, quote);
        }
        other if other.is_integer() => Some(t.element_text(i)),
        _ => None,
    };
    extend(out, text.unwrap_or_else(|| "?".into()).as_bytes())
}

/// Text with C escapes; for non-ASCII bytes too if `all`.
fn escape(bytes: &[u8], all: bool, out: &mut Vec<u8>) -> Result<()> {
    bytes.iter().try_for_each(|b| match *b {
        b'\n' => extend(out, b"\\n"),
        b'\r' => extend(out, b"\\r"),
        b'\t' => extend(out, b"\\t"),
        b @ (b'"' | b'\'' | b'\\') => extend(out, &[b'\\', b]),
        b @ 0x20..=0x7e => push(out, b),
        b if b >= 0x80 && !all => push(out, b),
        b => extend(out, format!("\\{b:03o}").as_bytes()),
    })
}
