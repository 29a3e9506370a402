//! `ResizeBilinear`: resizing, each pixel interpolated from four; and its gradient.

use super::resize_axis::{
    Mapping, four, mapping_attrs, not_empty, resized_shape, size_input, size_of, with_each_mapping,
};
use crate::elementwise::for_chunks_of;
use crate::prelude::*;

pub static RESIZE_BILINEAR: Op = Op {
    name: "ResizeBilinear",
    doc: "Resized images, by bilinear interpolation.",
    inputs: &["images: T", "size: int32"],
    outputs: &["resized_images: float"],
    attrs: &[
        "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double, bfloat16}",
        "align_corners: bool = false",
        "half_pixel_centers: bool = false",
    ],
    shape: resized_shape,
    grad: Rule(|g| {
        let (x, dy, attrs) = (g.x[0], g.dy()?, mapping_attrs(g.attrs));
        if !g.graph.dtype(x).is_float() {
            return Ok(vec![Grad::None, Grad::None]);
        }
        Ok(vec![g.op("ResizeBilinearGrad", [dy.into(), x.into()], &attrs)?.into(), Grad::None])
    }),
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16, i8, u8, i16, u16, i32, i64),
    cases: |r| with_each_mapping(|| Case::new(vec![r.tensor(&[2, 3, 4, 2]), int_vector(&[5, 3])])),
    expensive: true,
    host_inputs: &["size"],
    ..Op::PURE
};

pub static RESIZE_BILINEAR_GRAD: Op = Op {
    name: "ResizeBilinearGrad",
    doc: "The gradient of ResizeBilinear by images that are shaped as original_image.",
    inputs: &["grads: float", "original_image: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: {float, bfloat16, half, double}",
        "align_corners: bool = false",
        "half_pixel_centers: bool = false",
    ],
    shape: |c| {
        let (dy, x) = (c.rank(0, 4)?, c.rank(1, 4)?);
        Ok(vec![
            [merge_dim(dy.dim(0), x.dim(0))?, x.dim(1), x.dim(2), merge_dim(dy.dim(3), x.dim(3))?]
                .into_iter()
                .collect(),
        ])
    },
    grad: Rule(|g| {
        let (dy, d, attrs) = (g.x[0], g.dy()?, mapping_attrs(g.attrs));
        let size = size_of(g, dy)?;
        Ok(vec![g.op("ResizeBilinear", [d.into(), size.into()], &attrs)?.into(), Grad::None])
    }),
    kernels: cpu!(make prepare_grad: T in f32, f64, f16, bf16),
    cases: |r| with_each_mapping(|| Case::new(vec![r.tensor(&[2, 5, 3, 2]), r.tensor(&[2, 3, 4, 2])])),
    expensive: true,
    ..Op::PURE
};

fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let mapping = Mapping::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (dims, [rows, cols]) = (four(c, 0)?, size_input(c, 1)?);
        not_empty(&dims)?;
        let [batch, height, width, depth] = dims;
        let mut out = Tensor::uninit(DataType::Float, Shape::new(&[batch, rows, cols, depth])?)?;
        let (down, across) = (mapping.linear(height, rows)?, mapping.linear(width, cols)?);
        let x = c.slice::<T>(0)?;
        for_chunks_of(c.par(), out.as_mut_slice::<f32>()?, cols * depth, 8, &|range, out| {
            for (row, out) in range.zip(out.chunks_exact_mut((cols * depth).max(1))) {
                let (low, high, y) = down[row % rows];
                let line = |at: usize| &x[(row / rows * height + at) * width * depth..][..width * depth];
                let (low, high) = (line(low), line(high));
                for ((left, right, x), out) in across.iter().zip(out.chunks_exact_mut(depth.max(1))) {
                    for (i, out) in out.iter_mut().enumerate() {
                        let get = |line: &[T], at: usize| line[at * depth + i].to_f64() as f32;
                        let between =
                            |line: &[T]| get(line, *left) + (get(line, *right) - get(line, *left)) * x;
                        let (top, bottom) = (between(low), between(high));
                        *out = top + (bottom - top) * y;
                    }
                }
            }
        });
        c.set(0, out);
        Ok(())
    }))
}

fn prepare_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let mapping = Mapping::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let ([batch, rows, cols, depth], dims) = (four(c, 0)?, four(c, 1)?);
        let [_, height, width, _] = dims;
        if (dims[0], dims[3]) != (batch, depth) || rows == 0 || cols == 0 {
            return Err(invalid!(
                "grads of shape {} do not belong to an image of shape {}",
                c.shape(0)?,
                c.shape(1)?
            ));
        }
        not_empty(&dims)?;
        let (down, across) = (mapping.linear(height, rows)?, mapping.linear(width, cols)?);
        let dy = c.slice::<f32>(0)?;
        let mut sums = Tensor::zeros(DataType::Double, c.shape(1)?.clone())?;
        // An image at a time, so that the order of summation does not depend on the number of threads.
        for_chunks_of(c.par(), sums.as_mut_slice::<f64>()?, height * width * depth, 1, &|images, sums| {
            for (image, sums) in images.zip(sums.chunks_exact_mut((height * width * depth).max(1))) {
                for (row, (low, high, y)) in down.iter().enumerate() {
                    for (col, (left, right, x)) in across.iter().enumerate() {
                        let dy = &dy[((image * rows + row) * cols + col) * depth..][..depth];
                        for (at_row, wy) in [(*low, 1.0 - y), (*high, *y)] {
                            for (at_col, wx) in [(*left, 1.0 - x), (*right, *x)] {
                                let weight = f64::from(wy * wx);
                                let to = &mut sums[(at_row * width + at_col) * depth..][..depth];
                                to.iter_mut().zip(dy).for_each(|(to, dy)| *to += weight * f64::from(*dy));
                            }
                        }
                    }
                }
            }
        });
        let out = crate::convert::converted(&sums, T::DTYPE)?;
        c.set(0, out);
        Ok(())
    }))
}
