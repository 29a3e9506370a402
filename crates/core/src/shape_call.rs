//! `ShapeCall`: what a shape rule may look at, and the questions most rules ask.

use crate::attr::Attrs;
use crate::dtype::DataType;
use crate::error::Result;
use crate::invalid;
use crate::shape::{MAX_RANK, PartialShape};
use crate::tensor::Tensor;
use std::ops::Range;

/// One question of shape inference: given these input shapes and attrs, what are the outputs?
pub struct ShapeCall<'a> {
    pub inputs: &'a [PartialShape],
    pub attrs: &'a Attrs,
    /// Which inputs belong to which argument of the signature.
    pub args: &'a [Range<usize>],
    pub outputs: usize,
    pub source: &'a dyn ShapeSource,
}

/// What can be found out about an input beyond its shape.
pub trait ShapeSource {
    /// The input's value, if it is known before running.
    fn constant(&self, input: usize) -> Option<Tensor>;
    /// The input's value read as a shape, whose sizes may be known in part (a `Pack` of some constants, a `Shape` of something).
    fn as_shape(&self, input: usize) -> Option<PartialShape>;
    /// For a resource handle: type and shape of what it holds.
    fn handle(&self, input: usize) -> Option<(DataType, PartialShape)>;
}

/// Knows nothing beyond shapes.
pub struct NoSource;

impl ShapeSource for NoSource {
    fn constant(&self, _: usize) -> Option<Tensor> {
        None
    }
    fn as_shape(&self, _: usize) -> Option<PartialShape> {
        None
    }
    fn handle(&self, _: usize) -> Option<(DataType, PartialShape)> {
        None
    }
}

impl ShapeCall<'_> {
    /// Shape of an input; unknown if there is no such input.
    pub fn input(&self, i: usize) -> PartialShape {
        self.inputs.get(i).cloned().unwrap_or_default()
    }

    /// The input's shape, required to have this rank if its rank is known; its dimensions are then at least listed as unknown.
    pub fn rank(&self, i: usize, rank: usize) -> Result<PartialShape> {
        let s = self.input(i);
        match s.rank() {
            None if rank > MAX_RANK => Err(invalid!(
                "input {i} must have rank {rank}, but a tensor has at most {MAX_RANK} dimensions"
            )),
            None => Ok(PartialShape::unknown_of_rank(rank)),
            Some(r) if r == rank => Ok(s),
            Some(r) => Err(invalid!("input {i} must have rank {rank}, got shape {s} of rank {r}")),
        }
    }

    pub fn rank_at_least(&self, i: usize, rank: usize) -> Result<PartialShape> {
        let s = self.input(i);
        match s.rank() {
            Some(r) if r < rank => Err(invalid!("input {i} must have rank {rank} or more, got shape {s}")),
            _ => Ok(s),
        }
    }

    pub fn scalar(&self, i: usize) -> Result<()> {
        self.rank(i, 0).map(|_| ())
    }

    /// The value of an input that is known before running.
    pub fn constant(&self, i: usize) -> Option<Tensor> {
        self.source.constant(i)
    }

    /// A constant input's elements as integers (axes, sizes, permutations).
    pub fn ints(&self, i: usize) -> Option<Vec<i64>> {
        self.constant(i).and_then(|t| t.to_i64s().ok())
    }

    /// The value of an input that holds a shape.
    pub fn as_shape(&self, i: usize) -> Result<PartialShape> {
        if let Some(ints) = self.ints(i) {
            return PartialShape::new(&ints);
        }
        if let Some(s) = self.source.as_shape(i) {
            return Ok(s);
        }
        match self.rank(i, 1)?.dim(0) {
            n @ 0..=254 => Ok(PartialShape::unknown_of_rank(n as usize)),
            _ => Ok(PartialShape::unknown()),
        }
    }

    pub fn handle(&self, i: usize) -> Option<(DataType, PartialShape)> {
        self.source.handle(i)
    }

    /// Inputs of an argument of the signature.
    pub fn arg(&self, arg: usize) -> &[PartialShape] {
        self.args.get(arg).and_then(|r| self.inputs.get(r.clone())).unwrap_or(&[])
    }

    /// The same shape for each output.
    pub fn all(&self, shape: PartialShape) -> Result<Vec<PartialShape>> {
        Ok(vec![shape; self.outputs])
    }
}

/// Nothing is known of the outputs.
pub fn unknown(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.all(PartialShape::unknown())
}

/// All outputs are scalars.
pub fn scalar(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.all(PartialShape::scalar())
}

/// All outputs are shaped as the first input.
pub fn same_as_input(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.all(c.input(0))
}

/// All inputs have one shape, and so have the outputs.
pub fn all_inputs_alike(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let mut merged = PartialShape::unknown();
    for s in c.inputs {
        merged = merged.merge(s)?;
    }
    c.all(merged)
}

/// The shape of two broadcast together, as numpy does it.
pub fn broadcast_shapes(a: &PartialShape, b: &PartialShape) -> Result<PartialShape> {
    let (Some(x), Some(y)) = (a.dims(), b.dims()) else { return Ok(PartialShape::unknown()) };
    let rank = x.len().max(y.len());
    let at = |d: &[i64], i: usize| (i + d.len()).checked_sub(rank).map_or(1, |j| d[j]);
    (0..rank)
        .map(|i| match (at(x, i), at(y, i)) {
            (1, d) | (d, 1) => Ok(d),
            (-1, d) | (d, -1) => Ok(d),
            (d, e) if d == e => Ok(d),
            _ => Err(invalid!("Incompatible shapes: {a} vs. {b}")),
        })
        .collect()
}

/// The outputs are the first two inputs broadcast together.
pub fn broadcast(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.all(broadcast_shapes(&c.input(0), &c.input(1))?)
}

/// An axis counted from either end, as a position; error texts say what range is allowed.
pub fn axis_in_range(axis: i64, rank: usize) -> Result<usize> {
    let r = rank as i64;
    if axis < -r || axis >= r {
        return Err(invalid!(
            "axis {axis} is out of range: a tensor of rank {rank} has axes in [{}, {})",
            -r,
            r
        ));
    }
    Ok(if axis < 0 { axis + r } else { axis } as usize)
}
