//! `UnicodeEncode`: rows of code points as strings.

use super::errors::{ErrorOptions, OnError};
use crate::prelude::*;
use bytes::Bytes;

pub static OPS: &[&Op] = &[&UNICODE_ENCODE];

static UNICODE_ENCODE: Op = Op {
    name: "UnicodeEncode",
    doc: "A string of each row of a ragged tensor of code points.",
    inputs: &["input_values: int32", "input_splits: Tsplits"],
    outputs: &["output: string"],
    attrs: &[
        "errors: {'ignore', 'replace', 'strict'} = 'replace'",
        "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}",
        "replacement_char: int = 65533",
        "Tsplits: {int32, int64} = DT_INT64",
    ],
    shape: |c| {
        c.rank(0, 1)?;
        let splits = c.rank(1, 1)?.dim(0);
        Ok(vec![PartialShape::vector(if splits < 1 { -1 } else { splits - 1 })])
    },
    grad: Stops,
    kernels: cpu!(make encode),
    cases: |_| {
        let values = int_vector(&[97, 0xE9, 0x1D11E, -1, 0xD800, 98]);
        let case = |to: &'static str| {
            Case::new(vec![values.clone(), int_vector(&[0, 1, 1, 6])]).attr("output_encoding", to)
        };
        vec![
            case("UTF-8"),
            case("UTF-16-BE").attr("errors", "ignore"),
            case("UTF-32-BE").attr("replacement_char", 63),
        ]
    },
    ..Op::PURE
};

/// An encoding that can be written.
#[derive(Clone, Copy)]
pub enum Target {
    Utf8,
    Utf16,
    Utf32,
}

impl Target {
    pub fn named(name: &str) -> Target {
        match name {
            "UTF-16-BE" => Target::Utf16,
            "UTF-32-BE" => Target::Utf32,
            _ => Target::Utf8,
        }
    }

    /// Appends a character; what is none, as half of a surrogate pair, as U+FFFD.
    pub fn put(self, out: &mut Vec<u8>, code: u32) -> Result<()> {
        let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        match self {
            Target::Utf8 => reserve::extend(out, c.encode_utf8(&mut [0; 4]).as_bytes()),
            Target::Utf16 => {
                c.encode_utf16(&mut [0; 2]).iter().try_for_each(|u| reserve::extend(out, &u.to_be_bytes()))
            }
            Target::Utf32 => reserve::extend(out, &u32::from(c).to_be_bytes()),
        }
    }
}

fn encode(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let options = ErrorOptions::of(&node.attrs)?;
    let target = Target::named(node.attrs.str("output_encoding")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        if c.input(0)?.rank() != 1 || c.input(1)?.rank() != 1 {
            return Err(invalid!("Both the input_tensor and input_splits should be of rank 1."));
        }
        let (values, splits) = (c.slice::<i32>(0)?, c.int_vector(1)?);
        check_splits(&splits, values.len())?;
        let row = |w: &[i64]| {
            let row = values.get(w[0] as usize..w[1] as usize).unwrap_or_default();
            let mut out = reserve::with_capacity(row.len())?;
            for code in row {
                let code = u32::try_from(*code).unwrap_or(u32::MAX);
                match (char::from_u32(code), options.on_error) {
                    (Some(_), _) => target.put(&mut out, code)?,
                    (None, OnError::Strict) => {
                        return Err(invalid!("Code point is out of range for Unicode, or is a surrogate."));
                    }
                    (None, OnError::Replace) => target.put(&mut out, options.replacement)?,
                    (None, OnError::Ignore) => {}
                }
            }
            Ok(Bytes::from(out))
        };
        let rows = reserve::try_collect(splits.windows(2).map(row))?;
        let out = Tensor::from_objects(Shape::vector(rows.len()), rows)?;
        c.set(0, out);
        Ok(())
    }))
}

fn check_splits(splits: &[i64], values: usize) -> Result<()> {
    match (splits.first(), splits.last()) {
        (Some(0), Some(last)) => {
            if splits.windows(2).any(|w| w[0] > w[1]) {
                return Err(invalid!("Values in input_splits must be equal or in ascending order."));
            }
            match *last == values as i64 {
                true => Ok(()),
                false => Err(invalid!("Last value in input_splits must be equal to length of input_tensor.")),
            }
        }
        (Some(_), _) => Err(invalid!("First value in input_splits must be zero.")),
        _ => Err(invalid!("Input_splits should contain elements, but given input_values has 0 elements")),
    }
}
