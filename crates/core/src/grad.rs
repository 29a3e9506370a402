//! `GradCall`: what a gradient rule is given and the graph it adds nodes to.

use crate::attr::{Attr, Attrs};
use crate::dtype::DataType;
use crate::error::{Result, internal};
use crate::shape::PartialShape;
use crate::tensor::Tensor;

/// One output of one node of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Output {
    pub node: NodeId,
    pub index: u32,
}

/// A node by its place in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    pub fn at(self) -> usize {
        self.0 as usize
    }

    pub fn output(self, index: u32) -> Output {
        Output { node: self, index }
    }
}

/// What is given for one argument of an op.
#[derive(Clone, Debug)]
pub enum Arg {
    One(Output),
    List(Vec<Output>),
}

impl From<Output> for Arg {
    fn from(o: Output) -> Arg {
        Arg::One(o)
    }
}

impl From<&Output> for Arg {
    fn from(o: &Output) -> Arg {
        Arg::One(*o)
    }
}

impl From<Vec<Output>> for Arg {
    fn from(o: Vec<Output>) -> Arg {
        Arg::List(o)
    }
}

impl From<&[Output]> for Arg {
    fn from(o: &[Output]) -> Arg {
        Arg::List(o.to_vec())
    }
}

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

/// A graph to which nodes can be added.
pub trait Builder {
    fn add(&mut self, op: &str, args: Vec<Arg>, attrs: Attrs) -> Result<Vec<Output>>;
    fn dtype(&self, o: Output) -> DataType;
    fn shape(&self, o: Output) -> PartialShape;
    /// The value, if it is known before running.
    fn constant(&self, o: Output) -> Option<Tensor>;
    /// The name of this call of `gradients`, different from those of other calls on the same graph.
    fn gradient_scope(&self) -> &str {
        "gradients"
    }
}

/// Zeros that begin the sum of the gradients of `x`. For a variable's handle: of what the variable holds, which is of type `held`.
pub fn zeros_for(graph: &mut dyn Builder, x: Output, held: DataType) -> Result<Output> {
    let one = |outputs: Vec<Output>| {
        outputs.first().copied().ok_or_else(|| internal("a node for zeros has no output"))
    };
    if graph.dtype(x) != DataType::Resource {
        return one(graph.add("ZerosLike", vec![x.into()], Attrs::new())?);
    }
    let shape = one(graph.add("VariableShape", vec![x.into()], Attrs::new())?)?;
    let zero = crate::case::number(0.0, held)?;
    let attrs = [("dtype", Attr::Type(held)), ("value", Attr::Tensor(zero))].into_iter().collect();
    let zero = one(graph.add("Const", Vec::new(), attrs)?)?;
    one(graph.add("Fill", vec![shape.into(), zero.into()], Attrs::new())?)
}

/// The node whose gradient is wanted: its inputs, outputs, and the gradients of its outputs.
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
    /// Adds a node and gives its first output.
    pub fn op<const N: usize>(
        &mut self,
        op: &str,
        args: [Arg; N],
        attrs: &[(&'static str, Attr)],
    ) -> Result<Output> {
        let outputs = self.graph.add(op, args.into(), attrs.iter().cloned().collect())?;
        outputs.first().copied().ok_or_else(|| internal(format_args!("{op} has no output")))
    }

    /// Adds a node and gives all its outputs.
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
        let t = crate::case::number(value, dtype)?;
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
