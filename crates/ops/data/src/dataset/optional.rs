//! `OptionalFromValue`, `OptionalNone`, `OptionalHasValue`, `OptionalGetValue`: an element or none.

use super::get_next::{components, declared};
use super::sequence::Tuple;
use crate::prelude::*;
use crate::variants;
use std::any::Any;
use thalweg_core::tensor::VariantValue;

pub static OPTIONAL_FROM_VALUE: Op = Op {
    name: "OptionalFromValue",
    doc: "An optional with a value: `components`.",
    inputs: &["components: Toutput_types"],
    outputs: &["optional: variant"],
    attrs: &["Toutput_types: list(type) >= 1"],
    shape: shape_call::scalar,
    kernels: cpu!(from_value),
    ..Op::PURE
};

pub static OPTIONAL_NONE: Op = Op {
    name: "OptionalNone",
    doc: "An optional without a value.",
    outputs: &["optional: variant"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(none),
    ..Op::PURE
};

pub static OPTIONAL_HAS_VALUE: Op = Op {
    name: "OptionalHasValue",
    doc: "Whether an optional has a value.",
    inputs: &["optional: variant"],
    outputs: &["has_value: bool"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(has_value),
    ..Op::PURE
};

pub static OPTIONAL_GET_VALUE: Op = Op {
    name: "OptionalGetValue",
    doc: "The value of an optional; an error if it has none.",
    inputs: &["optional: variant"],
    outputs: &["components: output_types"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    shape: declared,
    kernels: cpu!(get_value),
    ..Op::PURE
};

pub struct Optional(pub Option<Tuple>);

impl Optional {
    pub fn into_tensor(self) -> Tensor {
        Tensor::from_object(Variant::new(self))
    }
}

impl VariantValue for Optional {
    fn type_name(&self) -> &'static str {
        "tensorflow::OptionalVariant"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn zeros_like(&self, depth: u32) -> Result<Variant> {
        let zeros = |t: &Tensor| match t.dtype() {
            DataType::String => {
                Err(invalid!("zeros_like for unsupported dtype {} in an optional", DataType::String))
            }
            _ => variants::zeros_like(t, depth),
        };
        let value = self.0.as_ref().map(|components| components.iter().map(zeros).collect()).transpose()?;
        Ok(Variant::new(Optional(value)))
    }
    fn plus(self: Arc<Self>, other: Variant, depth: u32) -> Result<Variant> {
        let Some(other) = other.get::<Optional>() else {
            return Err(invalid!("cannot add an optional and {other:?}"));
        };
        let sum = match (&self.0, &other.0) {
            (None, None) => None,
            (Some(a), Some(b)) if a.len() == b.len() => {
                let sums = a.iter().zip(b.iter()).map(|(a, b)| variants::sum(a.clone(), b.clone(), depth));
                Some(sums.collect::<Result<_>>()?)
            }
            (Some(a), Some(b)) => {
                return Err(invalid!("cannot add optionals of {} and {} components", a.len(), b.len()));
            }
            _ => {
                return Err(invalid!("Cannot add optionals because one has a value and the other doesn't."));
            }
        };
        Ok(Variant::new(Optional(sum)))
    }
}

fn of<'a>(c: &'a OpCall<'_>) -> Result<&'a Optional> {
    match c.input(0)?.variants()? {
        [one] => one.get().ok_or_else(|| invalid!("Input is not an optional, but {one:?}")),
        _ => Err(invalid!("an optional must be a scalar, got shape {}", c.shape(0)?)),
    }
}

fn from_value(c: &mut OpCall<'_>) -> Result<()> {
    let tuple: Tuple = (0..c.inputs.len()).map(|i| c.take(i)).collect::<Result<_>>()?;
    c.set(0, Optional(Some(tuple)).into_tensor());
    Ok(())
}

fn none(c: &mut OpCall<'_>) -> Result<()> {
    c.set(0, Optional(None).into_tensor());
    Ok(())
}

fn has_value(c: &mut OpCall<'_>) -> Result<()> {
    let has = of(c)?.0.is_some();
    c.set(0, Tensor::scalar(has));
    Ok(())
}

fn get_value(c: &mut OpCall<'_>) -> Result<()> {
    let Some(tuple) = of(c)?.0.clone() else {
        return Err(invalid!("The given optional does not have a value."));
    };
    for (i, t) in components(c.node, tuple)?.into_iter().enumerate() {
        c.set(i, t);
    }
    Ok(())
}
