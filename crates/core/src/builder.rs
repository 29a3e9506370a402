//! `Builder`: a graph under construction.

use crate::attr::Attrs;
use crate::dtype::DataType;
use crate::error::Result;
use crate::node::Output;
use crate::shape::PartialShape;
use crate::tensor::Tensor;

/// A graph to which nodes can be added.
pub trait Builder {
    fn add(&mut self, op: &str, args: Vec<Arg>, attrs: Attrs) -> Result<Vec<Output>>;
    fn dtype(&self, o: Output) -> DataType;
    fn shape(&self, o: Output) -> PartialShape;
    /// The value, if it is a known constant.
    fn constant(&self, o: Output) -> Option<Tensor>;
    /// The name scope of this call of `gradients`, unique in the graph.
    fn gradient_scope(&self) -> &str {
        "gradients"
    }
}

/// The inputs for one argument of an op.
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
