//! `QuantizedResizeBilinear`: integers between four others, by integer arithmetic.

use super::resize_axis::{Mapping, four, not_empty, resized_shape, size_input, with_each_mapping};
use crate::elementwise::for_chunks_of;
use crate::levels::{bounds, integers, quantised};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&QUANTIZED_RESIZE_BILINEAR];

static QUANTIZED_RESIZE_BILINEAR: Op = Op {
    name: "QuantizedResizeBilinear",
    doc: "Resized images, by bilinear interpolation of the integers.",
    inputs: &["images: T", "size: int32", "min: float", "max: float"],
    outputs: &["resized_images: T", "out_min: float", "out_max: float"],
    attrs: &["T: {quint8, qint32, float}", "align_corners: bool = false", "half_pixel_centers: bool = false"],
    shape: |c| {
        c.scalar(2)?;
        c.scalar(3)?;
        let shapes = resized_shape(c)?;
        Ok(shapes.into_iter().chain([PartialShape::scalar(), PartialShape::scalar()]).collect())
    },
    grad: Missing,
    kernels: &[
        cpu_row!([("T", DataType::Quint8)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Qint32)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Float)], Make::Prepared(prepare)),
    ],
    cases: |r| {
        let of = |images: Result<Tensor>| {
            let bounds = [-1f32, 2.0].map(Tensor::scalar);
            let inputs: Vec<_> = images.into_iter().chain([int_vector(&[5, 3])]).chain(bounds).collect();
            with_each_mapping(|| Case::new(inputs.clone()))
        };
        let dims = [2, 3, 4, 2];
        let (bytes, words) = (r.ints(&dims, 0, 255), r.ints(&dims, -1_000_000_000, 1_000_000_000));
        let floats = r.tensor(&dims);
        [of(quantised(bytes, DataType::Quint8)), of(quantised(words, DataType::Qint32)), of(Ok(floats))]
            .concat()
    },
    expensive: true,
    host_inputs: &["size"],
    ..Op::PURE
};

/// Weights are integers of so many bits, as many as the arithmetic of a type has room for.
const BITS_OF_BYTES: u32 = 7;
const BITS_OF_WORDS: u32 = 30;

type Taps = Vec<(usize, usize, f32)>;

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let mapping = Mapping::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (dims, [rows, cols]) = (four(c, 0)?, size_input(c, 1)?);
        let (low, high) = bounds(c, 2)?;
        not_empty(&dims)?;
        let [batch, height, width, depth] = dims;
        let shape = Shape::new(&[batch, rows, cols, depth])?;
        let dtype = c.output_type(0)?;
        let (down, across) = (mapping.linear(height, rows)?, mapping.linear(width, cols)?);
        let taps = (&down, &across);
        let out = if (rows, cols) == (height, width) {
            c.input(0)?.clone()
        } else if dtype == DataType::Float {
            let mut out = Tensor::uninit(dtype, shape)?;
            resize(c, dims, taps, c.slice::<f32>(0)?, out.as_mut_slice::<f32>()?, &between_floats);
            out
        } else {
            let stored = integers(c.input(0)?)?;
            let mut out = Tensor::uninit(DataType::Int32, shape)?;
            let bits = if dtype == DataType::Quint8 { BITS_OF_BYTES } else { BITS_OF_WORDS };
            let between = |four: [i32; 4], x: f32, y: f32| between_integers(four, x, y, bits);
            resize(c, dims, taps, stored.as_slice::<i32>()?, out.as_mut_slice::<i32>()?, &between);
            quantised(out, dtype)?
        };
        c.set(0, out);
        c.set(1, Tensor::scalar(low));
        c.set(2, Tensor::scalar(high));
        Ok(())
    }))
}

/// Between the numbers top left, top right, bottom left and bottom right.
fn between_floats([left, right, below_left, below_right]: [f32; 4], x: f32, y: f32) -> f32 {
    let (top, bottom) = (left + (right - left) * x, below_left + (below_right - below_left) * x);
    top + (bottom - top) * y
}

/// As `between_floats`, by integers alone. As in TensorFlow, these come by way of single precision, and divisions truncate.
fn between_integers(four: [i32; 4], x: f32, y: f32, bits: u32) -> i32 {
    let one = 1i64 << bits;
    let [x, y] = [x, y].map(|weight| (weight * one as f32) as i64);
    let [left, right, below_left, below_right] = four.map(|level| level as f32 as i64);
    let between =
        |left: i64, right: i64| left.wrapping_mul(one).wrapping_add(right.wrapping_sub(left).wrapping_mul(x));
    let (top, bottom) = (between(left, right), between(below_left, below_right));
    let out = top.wrapping_add((bottom.wrapping_sub(top) / one).wrapping_mul(y));
    (out.wrapping_add(one / 2) / one) as i32
}

fn resize<T: Copy + Send + Sync>(
    c: &OpCall<'_>,
    [_, height, width, depth]: [usize; 4],
    (down, across): (&Taps, &Taps),
    x: &[T],
    out: &mut [T],
    between: &(dyn Fn([T; 4], f32, f32) -> T + Sync),
) {
    let (rows, line) = (down.len(), across.len() * depth);
    for_chunks_of(c.par(), out, line, 8, &|range, out| {
        for (row, out) in range.zip(out.chunks_exact_mut(line.max(1))) {
            let (low, high, wy) = down[row % rows];
            let source = |at: usize| &x[(row / rows * height + at) * width * depth..][..width * depth];
            let (low, high) = (source(low), source(high));
            for ((left, right, wx), out) in across.iter().zip(out.chunks_exact_mut(depth.max(1))) {
                for (i, out) in out.iter_mut().enumerate() {
                    let (l, r) = (left * depth + i, right * depth + i);
                    *out = between([low[l], low[r], high[l], high[r]], *wx, wy);
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_tensorflow() {
        assert_eq!(between_integers([0, 255, 0, 255], 0.5, 0.0, BITS_OF_BYTES), 128);
        assert_eq!(between_integers([10, 10, 20, 20], 0.0, 1.0 / 3.0, BITS_OF_BYTES), 13);
        assert_eq!(between_integers([-974063977; 4], 0.0, 0.0, BITS_OF_WORDS), -974063999);
    }
}
