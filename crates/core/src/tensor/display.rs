//! Tensors as text, laid out as numpy lays them out: brackets per dimension, long ones abbreviated.

use super::Tensor;
use crate::dtype::{DataType, bf16, f16};
use crate::tensor::Variant;
use num_complex::{Complex32, Complex64};
use std::fmt::{self, Write};

/// From this many elements on only the edges are shown, three at each end.
const SUMMARISE_FROM: usize = 1000;
const EDGE: usize = 3;

impl Tensor {
    /// One element as text, as Python would print it.
    pub fn element_text(&self, i: usize) -> String {
        fn float(v: f64, short: String) -> String {
            if v.is_nan() {
                "nan".into()
            } else if v.is_infinite() {
                if v > 0.0 { "inf".into() } else { "-inf".into() }
            } else if short.contains(['.', 'e']) {
                short
            } else {
                short + "."
            }
        }
        fn number<T: crate::dtype::Element>(t: &Tensor, i: usize, show: impl Fn(T) -> String) -> String {
            t.as_slice::<T>().ok().and_then(|s| s.get(i)).map_or_else(|| "?".into(), |v| show(*v))
        }
        fn scientific(v: f64, text: String, exp: String) -> String {
            let a = v.abs();
            if a != 0.0 && (a >= 1e16 || a < 1e-4) { exp } else { text }
        }
        match self.dtype {
            DataType::Float => number(self, i, |v: f32| {
                float(v as f64, scientific(v as f64, v.to_string(), format!("{v:e}")))
            }),
            DataType::Double => {
                number(self, i, |v: f64| float(v, scientific(v, v.to_string(), format!("{v:e}"))))
            }
            DataType::Half => number(self, i, |v: f16| float(v.to_f64(), v.to_string())),
            DataType::Bfloat16 => number(self, i, |v: bf16| float(v.to_f64(), v.to_string())),
            DataType::Int32 => number(self, i, |v: i32| v.to_string()),
            DataType::Int64 => number(self, i, |v: i64| v.to_string()),
            DataType::Int16 => number(self, i, |v: i16| v.to_string()),
            DataType::Int8 => number(self, i, |v: i8| v.to_string()),
            DataType::Uint8 => number(self, i, |v: u8| v.to_string()),
            DataType::Uint16 => number(self, i, |v: u16| v.to_string()),
            DataType::Uint32 => number(self, i, |v: u32| v.to_string()),
            DataType::Uint64 => number(self, i, |v: u64| v.to_string()),
            DataType::Bool => number(self, i, |v: bool| if v { "True".into() } else { "False".into() }),
            DataType::Complex64 => number(self, i, |v: Complex32| format!("({}{:+}j)", v.re, v.im)),
            DataType::Complex128 => number(self, i, |v: Complex64| format!("({}{:+}j)", v.re, v.im)),
            DataType::String => {
                self.strings().ok().and_then(|s| s.get(i)).map_or("?".into(), |s| bytes_literal(s))
            }
            DataType::Resource => {
                self.resources().ok().and_then(|s| s.get(i)).map_or("?".into(), |h| format!("<{}>", h.name))
            }
            DataType::Variant => {
                self.variants().ok().and_then(|s| s.get(i)).map_or("?".into(), |v: &Variant| format!("{v:?}"))
            }
            quantized => self
                .bytes()
                .ok()
                .and_then(|b| b.get(i * quantized.size()..(i + 1) * quantized.size()))
                .map_or("?".into(), |b| format!("{b:?}")),
        }
    }
}

/// `b'text'` with Python's escapes.
fn bytes_literal(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut out = format!("b{quote}");
    for b in bytes {
        match b {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'\\' => out.push_str("\\\\"),
            b if *b as char == quote => {
                out.push('\\');
                out.push(quote);
            }
            0x20..=0x7e => out.push(*b as char),
            b => {
                let _ = write!(out, "\\x{b:02x}");
            }
        }
    }
    out.push(quote);
    out
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = self.elements() > SUMMARISE_FROM;
        let shown = |n: usize| -> Vec<Option<usize>> {
            if short && n > 2 * EDGE {
                (0..EDGE).map(Some).chain([None]).chain((n - EDGE..n).map(Some)).collect()
            } else {
                (0..n).map(Some).collect()
            }
        };
        if self.shape.is_scalar() {
            return f.write_str(&self.element_text(0));
        }
        // Walks the dimensions with an explicit stack of positions: depth is the input's choice.
        let per_dim: Vec<Vec<Option<usize>>> = self.shape.iter().map(|n| shown(*n)).collect();
        let strides = self.shape.strides();
        let last = per_dim.len() - 1;
        let mut at = vec![0usize; per_dim.len()];
        let mut depth = 0;
        f.write_char('[')?;
        loop {
            match per_dim[depth].get(at[depth]) {
                Some(entry) => {
                    if at[depth] > 0 {
                        if depth == last {
                            f.write_char(' ')?;
                        } else {
                            for _ in 0..last - depth {
                                f.write_char('\n')?;
                            }
                            for _ in 0..=depth {
                                f.write_char(' ')?;
                            }
                        }
                    }
                    match entry {
                        None => f.write_str("...")?,
                        Some(_) if depth < last => {
                            f.write_char('[')?;
                            depth += 1;
                            at[depth] = 0;
                            continue;
                        }
                        Some(_) => {
                            let index: usize =
                                (0..=last).map(|d| per_dim[d][at[d]].unwrap_or(0) * strides[d]).sum();
                            f.write_str(&self.element_text(index))?;
                        }
                    }
                    at[depth] += 1;
                }
                None => {
                    f.write_char(']')?;
                    if depth == 0 {
                        return Ok(());
                    }
                    depth -= 1;
                    at[depth] += 1;
                }
            }
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}, {}>", self.dtype, self.shape)?;
        if self.elements() <= 16 { write!(f, "({self})") } else { Ok(()) }
    }
}
