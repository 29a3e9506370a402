//! Literals to tensors of a given type.

use super::Literal;
use std::str::FromStr;
use thalweg_core::dtype::{Complex32, ComplexDouble, DataType, Element, bf16, f16};
use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;

impl Literal {
    /// The value as a tensor of this type; its shape follows from the nesting of the lists.
    pub fn to_tensor(&self, dtype: DataType) -> Result<Tensor> {
        let mut dims = Vec::new();
        let mut first = self;
        while let Literal::List(items) = first {
            dims.push(items.len());
            let Some(item) = items.first() else { break };
            first = item;
        }
        let shape = Shape::new(&dims)?;
        let mut flat = Vec::new();
        self.flatten(&dims, &mut flat)?;
        match dtype {
            DataType::Float => plain(shape, &flat, |l| number(l, dtype, |s| s.parse::<f32>().ok())),
            DataType::Double => plain(shape, &flat, |l| number(l, dtype, |s| s.parse::<f64>().ok())),
            DataType::Half => {
                plain(shape, &flat, |l| number(l, dtype, |s| s.parse().ok().map(f16::from_f64)))
            }
            DataType::Bfloat16 => {
                plain(shape, &flat, |l| number(l, dtype, |s| s.parse().ok().map(bf16::from_f64)))
            }
            DataType::Complex64 => plain(shape, &flat, |l| {
                number(l, dtype, |s| complex(s).map(|c| Complex32::new(c.re as f32, c.im as f32)))
            }),
            DataType::Complex128 => plain(shape, &flat, |l| number(l, dtype, complex)),
            DataType::Int8 => plain(shape, &flat, |l| integer::<i8>(l, dtype)),
            DataType::Int16 => plain(shape, &flat, |l| integer::<i16>(l, dtype)),
            DataType::Int32 => plain(shape, &flat, |l| integer::<i32>(l, dtype)),
            DataType::Int64 => plain(shape, &flat, |l| integer::<i64>(l, dtype)),
            DataType::Uint8 => plain(shape, &flat, |l| integer::<u8>(l, dtype)),
            DataType::Uint16 => plain(shape, &flat, |l| integer::<u16>(l, dtype)),
            DataType::Uint32 => plain(shape, &flat, |l| integer::<u32>(l, dtype)),
            DataType::Uint64 => plain(shape, &flat, |l| integer::<u64>(l, dtype)),
            DataType::Bool => plain(shape, &flat, boolean),
            DataType::String => {
                let items = flat.iter().map(|l| match l {
                    Literal::Text(t) => Ok(t.clone().into()),
                    other => Err(unfit(other, dtype)),
                });
                Tensor::from_objects::<bytes::Bytes>(shape, items.collect::<Result<_>>()?)
            }
            other => Err(invalid!("a {other} tensor cannot be given as a literal")),
        }
    }

    /// The scalars in order; lists of one level must have the same length.
    fn flatten<'a>(&'a self, dims: &[usize], out: &mut Vec<&'a Literal>) -> Result<()> {
        match (self, dims) {
            (Literal::List(items), [n, rest @ ..]) if items.len() == *n => {
                items.iter().try_for_each(|item| item.flatten(rest, out))
            }
            (Literal::List(items), [n, ..]) => {
                Err(invalid!("the lists are ragged: one has {n} items, one beside it {}", items.len()))
            }
            (Literal::List(_), []) => Err(invalid!("a list stands where a number stands beside it")),
            (_, []) => {
                out.push(self);
                Ok(())
            }
            (_, _) => Err(invalid!("{} stands where a list stands beside it", self.shown())),
        }
    }

    fn shown(&self) -> String {
        match self {
            Literal::Number(n) => n.clone(),
            Literal::Bool(b) => b.to_string(),
            Literal::Text(t) => format!("\"{}\"", t.escape_ascii()),
            Literal::List(_) => "a list".into(),
        }
    }
}

fn plain<T: Element>(
    shape: Shape,
    items: &[&Literal],
    cast: impl Fn(&Literal) -> Result<T>,
) -> Result<Tensor> {
    let values: Vec<T> = items.iter().map(|l| cast(l)).collect::<Result<_>>()?;
    Tensor::from_slice(shape, &values)
}

fn unfit(literal: &Literal, dtype: DataType) -> Error {
    let shown = literal.shown();
    let whole = dtype.is_integer() && matches!(literal, Literal::Number(n) if n.parse::<f64>().is_ok());
    match literal {
        Literal::Number(n) if whole && n.parse::<i128>().is_ok() => {
            invalid!("{shown} is out of the range of {dtype}")
        }
        Literal::Number(_) if whole => invalid!("{shown} is not a whole number, but the tensor is {dtype}"),
        _ => invalid!("{shown} is not a {dtype}"),
    }
}

fn number<T>(literal: &Literal, dtype: DataType, read: impl Fn(&str) -> Option<T>) -> Result<T> {
    match literal {
        Literal::Number(n) => read(n).ok_or_else(|| unfit(literal, dtype)),
        other => Err(unfit(other, dtype)),
    }
}

fn integer<T: FromStr>(literal: &Literal, dtype: DataType) -> Result<T> {
    number(literal, dtype, |s| s.parse().ok())
}

fn boolean(literal: &Literal) -> Result<bool> {
    match literal {
        Literal::Bool(b) => Ok(*b),
        Literal::Number(n) if n == "1" => Ok(true),
        Literal::Number(n) if n == "0" => Ok(false),
        other => Err(unfit(other, DataType::Bool)),
    }
}

/// `2`, `-1.5e3`, `inf`, `2j`, `1+2j`: any number, as a complex one.
pub fn complex(text: &str) -> Option<ComplexDouble> {
    if let Ok(re) = text.parse::<f64>() {
        return Some(ComplexDouble::new(re, 0.0));
    }
    let body = text.strip_suffix('j')?;
    if let Ok(im) = body.parse::<f64>() {
        return Some(ComplexDouble::new(0.0, im));
    }
    // The last sign that is not an exponent's separates the parts.
    let bytes = body.as_bytes();
    let signs = (1..bytes.len()).rev().filter(|i| matches!(bytes[*i], b'+' | b'-'));
    let at = signs.into_iter().find(|i| !matches!(bytes[i - 1], b'e' | b'E'))?;
    Some(ComplexDouble::new(body[..at].parse().ok()?, body[at..].parse().ok()?))
}
