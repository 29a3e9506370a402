//! Gradient rules: `GradCall` is the input of a rule, `Grad` its result for each input.

use crate::attr::{Attr, Attrs};
use crate::builder::{Arg, Builder};
use crate::dtype::DataType;
use crate::error::{Result, internal};
use crate::node::Output;
use crate::tensor::Tensor;

/// The gradient that flows into one input.
#[derive(Clone, Debug, PartialEq)]
pub enum Grad {
    None,
    Dense(Output),
    /// Rows `values` for the rows `indices` of a tensor of shape `dense_shape`; the other rows are zero.
    Slices {
        values: Output,
        indices: Output,
        dense_shape: Output,
    },
}

impl From<Output> for Grad {
    fn from(o: Output) -> Grad {
        Grad::Dense(o)
    }
}

/// Zeros that start the sum of the gradients of `x`. For a variable's handle: of its value, of type `held`.
pub fn zeros_for(graph: &mut dyn Builder, x: Output, held: DataType) -> Result<Output> {
    let one = |outputs: Vec<Output>| {
        outputs.first().copied().ok_or_else(|| internal("a node for zeros has no output"))
    };
    if graph.dtype(x) != DataType::Resource {
        return one(graph.add("ZerosLike", vec![x.into()], Attrs::new())?);
    }
    let shape = one(graph.add("VariableShape", vec![x.into()], Attrs::new())?)?;
    let zero = Tensor::number(0.0, held)?;
    let attrs = [("dtype", Attr::Type(held)), ("value", Attr::Tensor(zero))].into_iter().collect();
    let zero = one(graph.add("Const", Vec::new(), attrs)?)?;
    one(graph.add("Fill", vec![shape.into(), zero.into()], Attrs::new())?)
}

/// The node to differentiate: its inputs, outputs, and the gradients of its outputs.
pub struct GradCall<'a> {
    pub graph: &'a mut dyn Builder,
    pub op: &'a str,
    pub attrs: &'a Attrs,
    pub x: &'a [Output],
    pub y: &'a [Output],
    /// Gradients by output; `None` where nothing flowed back.
    pub dy: &'a [Option<Output>],
}

impl GradCall<'_> {
    /// Adds a node; returns its first output.
    pub fn op<const N: usize>(
        &mut self,
        op: &str,
        args: [Arg; N],
        attrs: &[(&'static str, Attr)],
    ) -> Result<Output> {
        let outputs = self.graph.add(op, args.into(), attrs.iter().cloned().collect())?;
        outputs.first().copied().ok_or_else(|| internal(format_args!("{op} has no output")))
    }

    /// Adds a node; returns all its outputs.
    pub fn ops<const N: usize>(
        &mut self,
        op: &str,
        args: [Arg; N],
        attrs: &[(&'static str, Attr)],
    ) -> Result<Vec<Output>> {
        self.graph.add(op, args.into(), attrs.iter().cloned().collect())
    }

    pub fn unary(&mut self, op: &str, x: Output) -> Result<Output> {
        self.op(op, [x.into()], &[])
    }

    pub fn binary(&mut self, op: &str, x: Output, y: Output) -> Result<Output> {
        self.op(op, [x.into(), y.into()], &[])
    }

    pub fn constant(&mut self, value: Tensor) -> Result<Output> {
        self.op("Const", [], &[("dtype", Attr::Type(value.dtype())), ("value", Attr::Tensor(value))])
    }

    /// A constant of the type of `like`.
    pub fn number(&mut self, value: f64, like: Output) -> Result<Output> {
        let dtype = self.graph.dtype(like);
        let t = Tensor::number(value, dtype)?;
        self.constant(t)
    }

    pub fn shape_of(&mut self, x: Output) -> Result<Output> {
        self.op("Shape", [x.into()], &[("out_type", Attr::Type(DataType::Int32))])
    }

    /// The gradient of an output, zeros if nothing flowed back.
    pub fn dy_or_zeros(&mut self, i: usize) -> Result<Output> {
        match self.dy.get(i).copied().flatten() {
            Some(dy) => Ok(dy),
            None => {
                let y = *self.y.get(i).ok_or_else(|| internal("gradient of an output that is not there"))?;
                let held = self.dy.iter().flatten().next().map(|dy| self.graph.dtype(*dy));
                zeros_for(self.graph, y, held.unwrap_or(DataType::Float))
            }
        }
    }

    /// The gradient of the only output.
    pub fn dy(&mut self) -> Result<Output> {
        self.dy_or_zeros(0)
    }
}
