//! Tensors as text, as numpy prints arrays: columns aligned, floats with as many digits as tell them apart (at most eight
//! after the point), lines of 75 characters, long arrays abbreviated. With a precision (`{:.4}`), every float has as many digits after the
//! point.

mod float;
mod layout;

use super::Tensor;
use crate::dtype::{DataType, Element, bf16, f16};
use crate::float8;
use crate::tensor::Variant;
use float::{Column, Float, Sign};
use layout::Window;
use num_complex::{Complex32, Complex64};
use std::fmt::{self, Write};

impl Tensor {
    /// One element as text, as Python prints it.
    pub fn element_text(&self, i: usize) -> String {
        fn pick<T: Element>(t: &Tensor, i: usize, show: impl Fn(T) -> String) -> String {
            t.as_slice::<T>().ok().and_then(|s| s.get(i)).map_or_else(|| "?".into(), |v| show(*v))
        }
        match self.dtype {
            DataType::Float => pick(self, i, f32::scalar),
            DataType::Double => pick(self, i, f64::scalar),
            DataType::Half => pick(self, i, f16::scalar),
            DataType::Bfloat16 => pick(self, i, |v: bf16| float::general(v.to_f64())),
            DataType::Complex64 => pick(self, i, |v: Complex32| float::complex(v.re, v.im)),
            DataType::Complex128 => pick(self, i, |v: Complex64| float::complex(v.re, v.im)),
            DataType::Bool => pick(self, i, |v: bool| if v { "True".into() } else { "False".into() }),
            DataType::Int64 => pick(self, i, |v: i64| v.to_string()),
            DataType::Uint64 => pick(self, i, |v: u64| v.to_string()),
            DataType::Int32 | DataType::Qint32 => self.integer_text(i, |b| i32::from_ne_bytes(b).into()),
            DataType::Uint32 => self.integer_text(i, |b| u32::from_ne_bytes(b).into()),
            DataType::Int16 | DataType::Qint16 => self.integer_text(i, |b| i16::from_ne_bytes(b).into()),
            DataType::Uint16 | DataType::Quint16 => self.integer_text(i, |b| u16::from_ne_bytes(b).into()),
            DataType::Int8 | DataType::Qint8 => self.integer_text(i, |b| i8::from_ne_bytes(b).into()),
            DataType::Uint8 | DataType::Quint8 => self.integer_text(i, |b| u8::from_ne_bytes(b).into()),
            DataType::Int4 => self.integer_text(i, |[b]| i64::from((b << 4) as i8 >> 4)),
            DataType::Int2 => self.integer_text(i, |[b]| i64::from((b << 6) as i8 >> 6)),
            DataType::Uint4 | DataType::Uint2 => self.integer_text(i, |[b]| b.into()),
            DataType::Float8E5m2 => self.byte_text(i, |b| float::general(float8::e5m2_to_f64(b))),
            DataType::Float8E4m3fn => self.byte_text(i, |b| float::general(float8::e4m3fn_to_f64(b))),
            DataType::Float8E4m3fnuz
            | DataType::Float8E4m3b11fnuz
            | DataType::Float8E5m2fnuz
            | DataType::Float4E2m1fn => self.byte_text(i, |b| format!("{b:#04x}")),
            DataType::String => {
                self.strings().ok().and_then(|s| s.get(i)).map_or("?".into(), |s| bytes_literal(s))
            }
            DataType::Resource => {
                self.resources().ok().and_then(|s| s.get(i)).map_or("?".into(), |h| format!("<{}>", h.name))
            }
            DataType::Variant => {
                self.variants().ok().and_then(|s| s.get(i)).map_or("?".into(), |v: &Variant| format!("{v:?}"))
            }
        }
    }

    /// Element `i` of a type with one byte.
    fn byte_text(&self, i: usize, show: fn(u8) -> String) -> String {
        self.bytes().ok().and_then(|b| b.get(i)).map_or("?".into(), |b| show(*b))
    }

    /// Element `i` of a type with `N` bytes: an integer or a quantized one.
    fn integer_text<const N: usize>(&self, i: usize, read: fn([u8; N]) -> i64) -> String {
        let bytes = self.bytes().ok().and_then(|b| b.as_chunks::<N>().0.get(i));
        bytes.map_or("?".into(), |b| read(*b).to_string())
    }

    /// Element `i` of a real float type.
    fn real(&self, i: usize) -> Option<f64> {
        fn pick<T: Element + Float>(t: &Tensor, i: usize) -> Option<f64> {
            t.as_slice::<T>().ok()?.get(i).map(|v| v.to_f64())
        }
        match self.dtype {
            DataType::Float => pick::<f32>(self, i),
            DataType::Double => pick::<f64>(self, i),
            DataType::Half => pick::<f16>(self, i),
            DataType::Bfloat16 => self.as_slice::<bf16>().ok()?.get(i).map(|v| v.to_f64()),
            _ => None,
        }
    }

    /// The floats at these indices with so many digits after the point, padded to column width; `None` for other types.
    fn fixed_cells(&self, at: &[usize], places: usize) -> Option<Vec<String>> {
        let values: Vec<f64> = at.iter().map(|i| self.real(*i)).collect::<Option<_>>()?;
        let cells: Vec<String> = values.iter().map(|v| float::fixed(*v, places)).collect();
        let width = cells.iter().map(String::len).max().unwrap_or(0);
        Some(cells.into_iter().map(|c| format!("{c:>width$}")).collect())
    }

    /// The elements at these indices, padded to column width.
    fn cells(&self, at: &[usize]) -> Vec<String> {
        match self.dtype {
            DataType::Float => float_cells::<f32>(self, at),
            DataType::Double => float_cells::<f64>(self, at),
            DataType::Half => float_cells::<f16>(self, at),
            DataType::Complex64 => complex_cells(self, at, |v: &Complex32| (v.re, v.im)),
            DataType::Complex128 => complex_cells(self, at, |v: &Complex64| (v.re, v.im)),
            // Non-numbers are not aligned, and numpy has no bfloat16.
            DataType::String | DataType::Resource | DataType::Variant | DataType::Bfloat16 => {
                at.iter().map(|i| self.element_text(*i)).collect()
            }
            _ => {
                let cells: Vec<String> = at.iter().map(|i| self.element_text(*i)).collect();
                let least = if self.dtype == DataType::Bool { 5 } else { 0 };
                let width = cells.iter().map(String::len).max().unwrap_or(0).max(least);
                cells.into_iter().map(|c| format!("{c:>width$}")).collect()
            }
        }
    }
}

fn float_cells<T: Element + Float>(t: &Tensor, at: &[usize]) -> Vec<String> {
    let Ok(values) = t.as_slice::<T>() else { return Vec::new() };
    let shown: Vec<T> = at.iter().filter_map(|i| values.get(*i).copied()).collect();
    let column = Column::new(&shown, Sign::WhereNegative);
    shown.iter().map(|v| column.cell(*v)).collect()
}

fn complex_cells<C: Element, T: Float>(t: &Tensor, at: &[usize], parts: fn(&C) -> (T, T)) -> Vec<String> {
    let Ok(values) = t.as_slice::<C>() else { return Vec::new() };
    let (re, im): (Vec<T>, Vec<T>) = at.iter().filter_map(|i| values.get(*i)).map(parts).unzip();
    let (re_column, im_column) = (Column::new(&re, Sign::WhereNegative), Column::new(&im, Sign::Always));
    let cell = |(re, im): (&T, &T)| {
        let im = im_column.cell(*im);
        let text = im.trim_end();
        format!("{}{text}j{}", re_column.cell(*re), &im[text.len()..])
    };
    re.iter().zip(&im).map(cell).collect()
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
        if self.shape.is_scalar() {
            return match (f.precision(), self.real(0)) {
                // With width and sign, as other numbers.
                (Some(_), Some(v)) if v.is_finite() => fmt::Display::fmt(&v, f),
                _ => f.write_str(&self.element_text(0)),
            };
        }
        if self.elements() == 0 {
            return f.write_str("[]");
        }
        let window = Window::of(&self.shape);
        let at = window.indices();
        let fixed = f.precision().and_then(|places| self.fixed_cells(&at, places));
        f.write_str(&window.lay_out(fixed.unwrap_or_else(|| self.cells(&at))))
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}, {}>", self.dtype, self.shape)?;
        if self.elements() <= 16 { write!(f, "({self})") } else { Ok(()) }
    }
}
