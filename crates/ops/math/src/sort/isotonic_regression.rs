//! `IsotonicRegression`: the nearest sequence that does not rise.

use super::top_k::last_size;
use crate::convert::converted;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use std::sync::Mutex;
use thalweg_core::sync::lock;

pub static ISOTONIC_REGRESSION: Op = Op {
    name: "IsotonicRegression",
    doc: "For each row along the last dimension, the sequence nearest in squares that does not rise, and which of its constant pieces each element is in.",
    inputs: &["input: T"],
    outputs: &["output: output_dtype", "segments: int32"],
    attrs: &["T: realnumbertype", "output_dtype: {half, bfloat16, float, double} = DT_FLOAT"],
    shape: |c| c.all(c.input(0)),
    grad: Rule(grad),
    kernels: cpu!(run: output_dtype in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 5])]), Case::new(vec![r.tensor(&[3])])],
    expensive: true,
    ..Op::PURE
};

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let values = converted(c.input(0)?, T::DTYPE)?;
    let shape = c.shape(0)?.clone();
    let width = shape.last().copied().unwrap_or(1);
    let mut out = Tensor::uninit(T::DTYPE, shape.clone())?;
    let mut segments = Tensor::uninit(DataType::Int32, shape)?;
    let values = values.as_slice::<T>()?;
    if !values.is_empty() {
        // Each row of the second output is taken with that of the first.
        let pieces = reserve::collect(segments.as_mut_slice::<i32>()?.chunks_mut(width).map(Mutex::new))?;
        let grain = (1 << 12) / width + 1;
        for_chunks_of(c.par(), out.as_mut_slice::<T>()?, width, grain, &|rows, out| {
            for (row, out) in rows.zip(out.chunks_mut(width)) {
                pool_violators(&values[row * width..][..width], out, &mut lock(&pieces[row]));
            }
        });
    }
    c.set(0, out);
    c.set(1, segments);
    Ok(())
}

/// Neighbouring pieces are joined as long as the second is above the first (Kruskal, 1964).
fn pool_violators<T: Float>(values: &[T], out: &mut [T], segments: &mut [i32]) {
    struct Piece<T> {
        end: usize,
        sum: T,
        mean: T,
    }
    let mut pieces: Vec<Piece<T>> = scratch::with_capacity(values.len());
    for (i, &value) in values.iter().enumerate() {
        pieces.push(Piece { end: i + 1, sum: value, mean: value });
        while let [.., before, last] = pieces.as_mut_slice()
            && last.mean > before.mean
        {
            (before.end, before.sum) = (last.end, before.sum.add(last.sum));
            pieces.pop();
            let start = pieces.len().checked_sub(2).map_or(0, |i| pieces[i].end);
            if let Some(joined) = pieces.last_mut() {
                joined.mean = joined.sum.div(T::from_i64((joined.end - start) as i64));
            }
        }
    }
    let mut start = 0;
    for (number, piece) in pieces.iter().enumerate() {
        out[start..piece.end].fill(piece.mean);
        segments[start..piece.end].fill(number as i32);
        start = piece.end;
    }
}

/// The gradient of an element is the mean of those of its piece.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, segments, dy) = (g.x[0], g.y[1], g.dy()?);
    let (shape, width, total) = (g.shape_of(dy)?, last_size(g, dy)?, g.unary("Size", dy)?);
    let flat = g.constant(int_vector(&[-1]))?;
    let (zero, one) = (g.number(0.0, total)?, g.number(1.0, total)?);
    // Pieces are numbered through all rows.
    let places = g.op("Range", [zero.into(), total.into(), one.into()], &[])?;
    let width = g.binary("Maximum", width, one)?;
    let row = g.binary("FloorDiv", places, width)?;
    let (start, own) = (g.binary("Mul", row, width)?, g.binary("Reshape", segments, flat)?);
    let number = g.binary("AddV2", start, own)?;
    let values = g.binary("Reshape", dy, flat)?;
    let ones = g.unary("OnesLike", values)?;
    let sum = g.op("UnsortedSegmentSum", [values.into(), number.into(), total.into()], &[])?;
    let count = g.op("UnsortedSegmentSum", [ones.into(), number.into(), total.into()], &[])?;
    let mean = g.binary("DivNoNan", sum, count)?;
    let spread = g.op("GatherV2", [mean.into(), number.into(), zero.into()], &[])?;
    let dx = g.binary("Reshape", spread, shape)?;
    Ok(vec![crate::gradients::cast(g, dx, x)?.into()])
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, floats};

    #[test]
    fn rises_become_their_mean() {
        let y = call("IsotonicRegression", &[floats(&[1, 5], &[3., 1., 2., 5., 4.])], &[]).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), [3.; 5]);
        assert_eq!(y[1].to_i64s().unwrap(), [0, 1, 1, 1, 1]);
    }
}
