//! `ResizeNearestNeighbor`: resizing, each pixel the nearest of the input; and its gradient.

use super::resize_axis::{
    Mapping, four, mapping_attrs, not_empty, resized_shape, size_input, size_of, with_each_mapping,
};
use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use crate::rows::pick;

pub static RESIZE_NEAREST_NEIGHBOR: Op = Op {
    name: "ResizeNearestNeighbor",
    doc: "Resized images, each pixel the nearest of the input.",
    inputs: &["images: T", "size: int32"],
    outputs: &["resized_images: T"],
    attrs: &[
        "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}",
        "align_corners: bool = false",
        "half_pixel_centers: bool = false",
    ],
    shape: resized_shape,
    grad: Rule(|g| {
        let (x, dy, attrs) = (g.x[0], g.dy()?, mapping_attrs(g.attrs));
        let size = size_of(g, x)?;
        Ok(vec![g.op("ResizeNearestNeighborGrad", [dy.into(), size.into()], &attrs)?.into(), Grad::None])
    }),
    kernels: cpu!(make prepare),
    cases: |r| with_each_mapping(|| Case::new(vec![r.tensor(&[2, 3, 4, 2]), int_vector(&[5, 3])])),
    expensive: true,
    host_inputs: &["size"],
    ..Op::PURE
};

pub static RESIZE_NEAREST_NEIGHBOR_GRAD: Op = Op {
    name: "ResizeNearestNeighborGrad",
    doc: "The gradient of ResizeNearestNeighbor by images of this size.",
    inputs: &["grads: T", "size: int32"],
    outputs: &["output: T"],
    attrs: &[
        "T: {uint8, int8, int32, half, float, double, bfloat16}",
        "align_corners: bool = false",
        "half_pixel_centers: bool = false",
    ],
    grad: Rule(|g| {
        let (dy, d, attrs) = (g.x[0], g.dy()?, mapping_attrs(g.attrs));
        let size = size_of(g, dy)?;
        Ok(vec![g.op("ResizeNearestNeighbor", [d.into(), size.into()], &attrs)?.into(), Grad::None])
    }),
    kernels: cpu!(make prepare_grad: T in u8, i8, i32, f16, f32, f64, bf16),
    ..RESIZE_NEAREST_NEIGHBOR
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let mapping = Mapping::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (dims, [rows, cols]) = (four(c, 0)?, size_input(c, 1)?);
        not_empty(&dims)?;
        let [batch, height, width, depth] = dims;
        let shape = Shape::new(&[batch, rows, cols, depth])?;
        let (down, across) = (mapping.nearest(height, rows)?, mapping.nearest(width, cols)?);
        let pixels = Shape::new(&[batch, rows, cols])?.elements();
        let from = |i: usize| (i / (rows * cols) * height + down[i / cols % rows]) * width + across[i % cols];
        let picks = reserve::collect((0..pixels).map(from))?;
        let out = pick(c, c.input(0)?, depth, &picks, shape)?;
        c.set(0, out);
        Ok(())
    }))
}

fn prepare_grad<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let mapping = Mapping::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (dims, [height, width]) = (four(c, 0)?, size_input(c, 1)?);
        not_empty(&dims)?;
        let [batch, rows, cols, depth] = dims;
        let mut out = Tensor::zeros(T::DTYPE, Shape::new(&[batch, height, width, depth])?)?;
        let (down, across) = (mapping.nearest(height, rows)?, mapping.nearest(width, cols)?);
        let dy = c.slice::<T>(0)?;
        // An image at a time, so that the order of summation does not depend on the number of threads.
        for_chunks_of(c.par(), out.as_mut_slice::<T>()?, height * width * depth, 1, &|images, out| {
            for (image, out) in images.zip(out.chunks_exact_mut((height * width * depth).max(1))) {
                for (row, at_row) in down.iter().enumerate() {
                    for (col, at_col) in across.iter().enumerate() {
                        let dy = &dy[((image * rows + row) * cols + col) * depth..][..depth];
                        let to = &mut out[(at_row * width + at_col) * depth..][..depth];
                        to.iter_mut().zip(dy).for_each(|(to, dy)| *to = to.add(*dy));
                    }
                }
            }
        });
        c.set(0, out);
        Ok(())
    }))
}
