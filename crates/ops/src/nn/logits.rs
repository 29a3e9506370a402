//! What the two cross entropies of logits share.

use crate::prelude::*;
use thalweg_math::{reduce, softmax};

/// A type in which the softmax of rows can be computed.
pub trait RowFloat: Float + reduce::Element<Acc: softmax::Float> {}

impl<T: Float + reduce::Element<Acc: softmax::Float>> RowFloat for T {}

/// The softmax of input 0, and its logarithm.
pub struct Logits {
    pub log: Tensor,
    pub softmax: Tensor,
}

impl Logits {
    /// For a result of this size; a single row or column of logits serves for all.
    pub fn of<T: RowFloat>(c: &OpCall<'_>, rows: usize, classes: usize) -> Result<Logits> {
        let shape = Shape::new(&[rows, classes])?;
        let given = c.input(0)?;
        let repeated: Vec<T>;
        let mut x = given.as_slice::<T>()?;
        if *given.shape() != shape {
            let (r, k) = as_matrix(given.shape())
                .ok_or_else(|| invalid!("logits must be a matrix, got shape {}", given.shape()))?;
            let at = |i: usize| {
                (if r == 1 { 0 } else { i / classes * k }) + (if k == 1 { 0 } else { i % classes })
            };
            repeated = (0..shape.elements()).map(|i| x[at(i)]).collect();
            x = &repeated;
        }
        let mut log = Tensor::uninit(T::DTYPE, shape.clone())?;
        let mut soft = Tensor::uninit(T::DTYPE, shape)?;
        softmax::log_softmax(c.par(), classes, x, log.as_mut_slice::<T>()?);
        softmax::softmax(c.par(), classes, x, soft.as_mut_slice::<T>()?);
        Ok(Logits { log, softmax: soft })
    }
}

/// Rows and columns of what broadcasts to a matrix.
pub fn as_matrix(shape: &Shape) -> Option<(usize, usize)> {
    match *shape.dims() {
        [] => Some((1, 1)),
        [columns] => Some((1, columns)),
        [rows, columns] => Some((rows, columns)),
        _ => None,
    }
}

/// A loss for each row, and a gradient for each logit.
pub fn shape_of_loss(logits: PartialShape) -> Result<Vec<PartialShape>> {
    match logits.rank() {
        None => Ok(vec![PartialShape::vector(-1), PartialShape::unknown_of_rank(2)]),
        Some(2) => Ok(vec![PartialShape::vector(logits.dim(0)), logits]),
        Some(_) => Err(invalid!("logits and labels must be 2-dimensional, got {logits}")),
    }
}

/// The gradient of a cross entropy by its logits; the second output may have a gradient of its own.
pub fn loss_gradient(g: &mut GradCall<'_>) -> Result<Output> {
    let (logits, back, dloss) = (g.x[0], g.y[1], g.dy_or_zeros(0)?);
    let last = g.constant(Tensor::scalar(-1i32))?;
    let column = g.binary("ExpandDims", dloss, last)?;
    let dx = g.binary("Mul", column, back)?;
    let Some(dback) = g.dy.get(1).copied().flatten() else { return Ok(dx) };
    let softmax = g.unary("Softmax", logits)?;
    let product = g.binary("Mul", dback, softmax)?;
    let axes = g.constant(int_vector(&[-1]))?;
    let sum = g.op("Sum", [product.into(), axes.into()], &[("keep_dims", Attr::Bool(true))])?;
    let rest = g.binary("Sub", dback, sum)?;
    let second = g.binary("Mul", rest, softmax)?;
    g.binary("AddV2", dx, second)
}
