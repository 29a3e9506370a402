//! `AsString`: numbers formatted as by C's printf.

use super::mapped::map_strings;
use crate::prelude::*;
use crate::printf::{fixed, general, scientific};
use bytes::Bytes;

pub static AS_STRING: Op = Op {
    name: "AsString",
    doc: "Each element as text.",
    inputs: &["input: T"],
    outputs: &["output: string"],
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, complex64, complex128, bool, variant, string}",
        "precision: int = -1",
        "scientific: bool = false",
        "shortest: bool = false",
        "width: int = -1",
        "fill: string = ''",
    ],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[3])]).attr("scientific", true).attr("precision", 3).attr("width", 14),
            Case::new(vec![r.tensor(&[3])]).attr("shortest", true).attr("fill", "-").attr("width", 12),
            Case::new(vec![r.ints(&[3], -500, 500)]).attr("fill", "0").attr("width", 6),
            Case::new(vec![r.bools(&[3])]),
        ]
    },
    ..Op::PURE
};

struct Format {
    precision: Option<usize>,
    scientific: bool,
    shortest: bool,
    width: usize,
    fill: Option<u8>,
}

/// Larger widths and precisions are rejected.
const LONGEST: i64 = 10_000;

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (a, dtype) = (&node.attrs, node.attrs.dtype("T")?);
    let (precision, width) = (a.int("precision")?, a.int("width")?);
    if precision > LONGEST || width > LONGEST {
        return Err(invalid!("precision {precision} and width {width} must be at most {LONGEST}"));
    }
    let format = Format {
        precision: usize::try_from(precision).ok(),
        scientific: a.bool("scientific")?,
        shortest: a.bool("shortest")?,
        width: usize::try_from(width).unwrap_or(0),
        fill: match a.bytes("fill")?[..] {
            [] => None,
            [f @ (b' ' | b'+' | b'-' | b'0' | b'#')] => Some(f),
            [_] => return Err(invalid!("Fill argument not supported: {:?}", a.bytes("fill")?)),
            _ => return Err(invalid!("Fill string must be one or fewer characters")),
        },
    };
    if format.scientific && format.shortest {
        return Err(invalid!("Cannot select both scientific and shortest notation"));
    }
    if !(dtype.is_float() || dtype.is_complex()) {
        if format.precision.is_some() {
            return Err(invalid!("precision not supported for datatype {dtype}"));
        }
        if format.scientific || format.shortest {
            return Err(invalid!("scientific and shortest format not supported for datatype {dtype}"));
        }
    }
    Ok(Box::new(move |c: &mut OpCall<'_>| match dtype {
        DataType::Float => format.each(c, |v: f32| format.real(v.into())),
        DataType::Double => format.each(c, |v: f64| format.real(v)),
        DataType::Half => format.each(c, |v: f16| format.real(v.into())),
        DataType::Bfloat16 => format.each(c, |v: bf16| format.real(v.into())),
        DataType::Complex64 => format.each(c, |v: Complex32| format.pair(v.re.into(), v.im.into())),
        DataType::Complex128 => format.each(c, |v: ComplexDouble| format.pair(v.re, v.im)),
        DataType::Int8 => format.each(c, |v: i8| format.signed(v.into())),
        DataType::Int16 => format.each(c, |v: i16| format.signed(v.into())),
        DataType::Int32 => format.each(c, |v: i32| format.signed(v.into())),
        DataType::Int64 => format.each(c, |v: i64| format.signed(v)),
        DataType::Uint8 => format.each(c, |v: u8| format.padded(v.to_string(), true)),
        DataType::Uint16 => format.each(c, |v: u16| format.padded(v.to_string(), true)),
        DataType::Uint32 => format.each(c, |v: u32| format.padded(v.to_string(), true)),
        DataType::Uint64 => format.each(c, |v: u64| format.padded(v.to_string(), true)),
        DataType::Bool => format.each(c, |v: bool| v.to_string()),
        DataType::String => map_strings(c, |s| Ok(format.bytes(s))),
        other => Err(unimplemented(format_args!("AsString of {other}"))),
    }))
}

impl Format {
    fn each<T: Element>(&self, c: &mut OpCall<'_>, text: impl Fn(T) -> String) -> Result<()> {
        let x = c.input(0)?;
        let items = reserve::collect(x.as_slice::<T>()?.iter().map(|v| Bytes::from(text(*v))))?;
        let out = Tensor::from_objects(x.shape().clone(), items)?;
        c.set(0, out);
        Ok(())
    }

    fn real(&self, v: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let text = match (self.scientific, self.shortest) {
            (true, _) => scientific(v, precision),
            (_, true) => general(v, precision),
            _ => fixed(v, precision),
        };
        self.padded(self.with_sign(text), v.is_finite())
    }

    fn pair(&self, re: f64, im: f64) -> String {
        format!("({},{})", self.real(re), self.real(im))
    }

    fn signed(&self, v: i64) -> String {
        self.padded(self.with_sign(v.to_string()), true)
    }

    fn with_sign(&self, text: String) -> String {
        match self.fill {
            Some(sign @ (b' ' | b'+')) if !text.starts_with('-') => format!("{}{text}", sign as char),
            _ => text,
        }
    }

    fn padded(&self, text: String, zeros_allowed: bool) -> String {
        let missing = self.width.saturating_sub(text.len());
        match self.fill {
            Some(b'-') => text + &" ".repeat(missing),
            Some(b'0') if zeros_allowed => {
                let digits = text.trim_start_matches('-');
                let sign = &text[..text.len() - digits.len()];
                format!("{sign}{}{digits}", "0".repeat(missing))
            }
            _ => " ".repeat(missing) + &text,
        }
    }

    fn bytes(&self, s: &Bytes) -> Bytes {
        let missing = self.width.saturating_sub(s.len());
        if missing == 0 {
            return s.clone();
        }
        let (pad, left) = (vec![b' '; missing], self.fill == Some(b'-'));
        Bytes::from(if left { [&s[..], &pad].concat() } else { [&pad, &s[..]].concat() })
    }
}
