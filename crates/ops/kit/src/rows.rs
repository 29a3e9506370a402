//! Tensors as the rows of a larger one, along its first dimension.

use crate::moving::{Block, Gather, apply};
use crate::prelude::*;
use thalweg_math::parallel::Serial;

/// Concatenates `pieces` to a tensor of `shape`, which has as many elements.
pub fn join(dtype: DataType, shape: Shape, pieces: &[Tensor]) -> Result<Tensor> {
    let total: usize = pieces.iter().map(Tensor::elements).sum();
    if total != shape.elements() || pieces.iter().any(|p| p.dtype() != dtype) {
        return Err(invalid!(
            "{} tensors with {total} elements do not make a {dtype} tensor of shape {shape}",
            pieces.len()
        ));
    }
    let mut out = Tensor::uninit(dtype, shape)?;
    let mut at = 0;
    for p in pieces {
        Block::at(0, at).dim(p.elements(), 1, 1).copy(&Serial, p, &mut out)?;
        at += p.elements();
    }
    Ok(out)
}

/// Tensors of one shape, stacked along a new first dimension.
pub fn stack(dtype: DataType, each: &Shape, rows: &[Tensor]) -> Result<Tensor> {
    if let Some(odd) = rows.iter().find(|r| r.shape() != each) {
        return Err(invalid!("cannot stack a tensor of shape {} with others of shape {each}", odd.shape()));
    }
    join(dtype, Shape::new(&[&[rows.len()], each.dims()].concat())?, rows)
}

/// Row `i`, without the first dimension; shares the memory.
pub fn row(t: &Tensor, i: usize) -> Result<Tensor> {
    t.rows(i, 1)?.reshape(t.shape().without(0))
}

/// All rows.
pub fn unstack(t: &Tensor) -> Result<Vec<Tensor>> {
    reserve::try_collect((0..t.shape().dim(0)?).map(|i| row(t, i)))
}

/// The slices of `run` elements of `t` at `picks`, concatenated to `shape`. The picks are in range.
pub fn pick(c: &OpCall<'_>, t: &Tensor, run: usize, picks: &[usize], shape: Shape) -> Result<Tensor> {
    let mut out = Tensor::uninit(t.dtype(), shape)?;
    let size = t.elements() / run.max(1);
    apply(&Gather::rows(size, run, picks, c.par()), t, &mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn rows_come_apart_and_together_again() {
        let items = ["a", "b", "c", "d"].map(|s| Bytes::from_static(s.as_bytes()));
        let t = Tensor::from_objects(Shape::new(&[2, 2]).unwrap(), items.to_vec()).unwrap();
        let rows = unstack(&t).unwrap();
        assert!(stack(DataType::String, rows[0].shape(), &rows).unwrap().same_bits(&t));
        assert!(stack(DataType::String, &Shape::scalar(), &rows).is_err());
        assert!(join(DataType::Float, Shape::vector(4), &rows).is_err());
        let none = stack(DataType::Float, &Shape::vector(3), &[]).unwrap();
        assert_eq!(none.shape().to_string(), "[0,3]");
    }
}
