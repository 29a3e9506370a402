//! Slices of all dimensions.

use crate::moving::Block;
use crate::prelude::*;

/// The slice at `begin` of this shape, in range; shares memory where its elements are contiguous.
pub fn slice_box(c: &OpCall<'_>, x: &Tensor, begin: &[usize], shape: &Shape) -> Result<Tensor> {
    if shape == x.shape() {
        return Ok(x.clone());
    }
    let whole_rows = shape.iter().zip(x.shape().iter()).skip(1).all(|(part, whole)| part == whole);
    if whole_rows && x.rank() > 0 {
        return x.rows(begin[0], shape[0]);
    }
    let mut out = Tensor::uninit(x.dtype(), shape.clone())?;
    let start = begin.iter().zip(x.shape().strides()).map(|(b, s)| b * s).sum();
    Block::at(start, 0).part(shape, x.shape(), shape).copy(c.par(), x, &mut out)?;
    Ok(out)
}
