//! `ToBool`: whether a tensor counts as true in Python.

use crate::prelude::*;

pub static OPS: &[&Op] = &[&TO_BOOL];

static TO_BOOL: Op = Op {
    name: "ToBool",
    doc: "Of a scalar, whether it is not 0, or not empty if it is a string; of others, whether there are elements.",
    inputs: &["input: T"],
    outputs: &["output: bool"],
    attrs: &["T: type"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2])]),
            Case::new(vec![Tensor::scalar(0f32)]),
            Case::new(vec![Tensor::string("a")]),
        ]
    },
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let t = c.input(0)?;
    let truth = if t.rank() > 0 { t.elements() > 0 } else { scalar(t)? };
    c.set(0, Tensor::scalar(truth));
    Ok(())
}

fn scalar(t: &Tensor) -> Result<bool> {
    fn of<T: Number + PartialEq>(t: &Tensor) -> Result<bool> {
        Ok(t.to_scalar::<T>()? != T::ZERO)
    }
    match t.dtype() {
        DataType::Bool => t.to_scalar(),
        DataType::Float => of::<f32>(t),
        DataType::Double => of::<f64>(t),
        DataType::Int8 => of::<i8>(t),
        DataType::Uint8 => of::<u8>(t),
        DataType::Int16 => of::<i16>(t),
        DataType::Int32 => of::<i32>(t),
        DataType::Int64 => of::<i64>(t),
        DataType::String => Ok(t.strings()?.iter().any(|s| !s.is_empty())),
        other => Err(invalid!("{other} cannot be converted to a boolean")),
    }
}
