//! Shared by the two cross entropies of logits.

use crate::prelude::*;
use std::borrow::Cow;
use thalweg_math::softmax::{self, RowScale};

/// A type with a row softmax.
pub trait RowFloat: Float + softmax::Float {}

impl<T: Float + softmax::Float> RowFloat for T {}

/// The softmax of input 0, and the scales of its rows.
pub struct Logits<'a, T: RowFloat> {
    x: Cow<'a, [T]>,
    scales: Vec<RowScale<T>>,
    pub softmax: Tensor,
}

impl<'a, T: RowFloat> Logits<'a, T> {
    /// For a result of this size; a single row or column of logits is broadcast.
    pub fn of(c: &'a OpCall<'_>, rows: usize, classes: usize) -> Result<Self> {
        let shape = Shape::new(&[rows, classes])?;
        let given = c.input(0)?;
        // Allocated first: broadcast rows and columns may exceed memory.
        let mut softmax = Tensor::uninit(T::DTYPE, shape.clone())?;
        let mut x = Cow::Borrowed(given.as_slice::<T>()?);
        if *given.shape() != shape {
            let (r, k) = as_matrix(given.shape())
                .ok_or_else(|| invalid!("logits must be a matrix, got shape {}", given.shape()))?;
            let at = |i: usize| {
                (if r == 1 { 0 } else { i / classes * k }) + (if k == 1 { 0 } else { i % classes })
            };
            x = Cow::Owned(reserve::collect((0..shape.elements()).map(|i| x[at(i)]))?);
        }
        // Empty rows take no memory, however many, and are never read.
        let mut scales = reserve::filled(if classes == 0 { 0 } else { rows }, RowScale::UNKNOWN)?;
        softmax::softmax_with_scales(c.par(), classes, &x, softmax.as_mut_slice::<T>()?, &mut scales);
        Ok(Logits { x, scales, softmax })
    }

    /// The logarithm of the softmax at a position.
    pub fn log(&self, row: usize, at: usize) -> T {
        self.scales[row].log(self.x[at])
    }
}

/// Rows and columns of a shape, as a matrix.
pub fn as_matrix(shape: &Shape) -> Option<(usize, usize)> {
    match *shape.dims() {
        [] => Some((1, 1)),
        [columns] => Some((1, columns)),
        [rows, columns] => Some((rows, columns)),
        _ => None,
    }
}

/// Shapes: a loss per row, a gradient per logit.
pub fn shape_of_loss(logits: PartialShape) -> Result<Vec<PartialShape>> {
    match logits.rank() {
        None => Ok(vec![PartialShape::vector(-1), PartialShape::unknown_of_rank(2)]),
        Some(2) => Ok(vec![PartialShape::vector(logits.dim(0)), logits]),
        Some(_) => Err(invalid!("logits and labels must be 2-dimensional, got {logits}")),
    }
}

/// The gradient of a cross entropy by its logits, of both outputs.
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
