//! `PartialCall`: the input of a rule for partially known values.

use crate::attr::Attrs;
use crate::shape::PartialShape;
use crate::tensor::Tensor;

/// A query of shape inference: which elements of an integer output are known? Returned in row-major order, as the sizes
/// of a `PartialShape`.
pub trait PartialCall {
    /// The output in question.
    fn output(&self) -> usize;
    fn attrs(&self) -> &Attrs;
    /// How many inputs the node has.
    fn inputs(&self) -> usize;
    fn shape(&self, input: usize) -> PartialShape;
    /// The input's value, if constant.
    fn constant(&self, input: usize) -> Option<Tensor>;
    /// The input's elements, as far as known.
    fn elements(&mut self, input: usize) -> Option<PartialShape>;
}

/// The elements are those of the first input.
pub fn same_as_input(c: &mut dyn PartialCall) -> Option<PartialShape> {
    c.elements(0)
}
