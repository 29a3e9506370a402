//! `ShapeCall`: the input of a shape rule, and common checks.

use crate::attr::Attrs;
use crate::dtype::DataType;
use crate::error::Result;
use crate::invalid;
use crate::shape::{MAX_RANK, PartialShape};
use crate::tensor::Tensor;
use std::ops::Range;

/// A query of shape inference: given these input shapes and attrs, what are the outputs?
pub struct ShapeCall<'a> {
    pub inputs: &'a [PartialShape],
    pub attrs: &'a Attrs,
    /// Which inputs belong to which argument of the signature.
    pub args: &'a [Range<usize>],
    pub outputs: usize,
    pub source: &'a dyn ShapeSource,
}

/// What is known of an input beyond its shape.
pub trait ShapeSource {
    /// The input's value, if constant.
    fn constant(&self, input: usize) -> Option<Tensor>;
    /// The input's value as a shape, whose sizes may be partially known (a `Pack` of some constants, a `Shape` op).
    fn as_shape(&self, input: usize) -> Option<PartialShape>;
    /// For a resource handle: type and shape of its value.
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

    /// The input's shape, which must have this rank if known; if not, it has unknown sizes.
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

    /// The value of a constant input.
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

/// All outputs have the first input's shape.
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

/// Broadcasts two shapes, as numpy.
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

/// The output is the broadcast of the first two inputs.
pub fn broadcast(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.all(broadcast_shapes(&c.input(0), &c.input(1))?)
}

/// A position from an axis, negative from the end; the error states the allowed range.
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
