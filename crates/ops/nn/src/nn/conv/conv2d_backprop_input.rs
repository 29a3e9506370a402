//! `Conv2DBackpropInput`: the input gradient of `Conv2D`.

use super::conv2d::OPS;
use super::product::{Multiplied, add_by_images};
use super::sizes::{Sizes, empty_filter, sizes_input};
use super::{Gradients, kernel, narrow_kernel, with_windows};
use crate::prelude::*;
use crate::windows::{Layout, Sliding};

pub static CONV2D_BACKPROP_INPUT: Op = Op {
    name: "Conv2DBackpropInput",
    doc: "The gradient of Conv2D by images of shape input_sizes (or of that many rows and columns).",
    inputs: &["input_sizes: int32", "filter: T", "out_backprop: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: {half, bfloat16, float, double, int32}",
        "strides: list(int)",
        "use_cudnn_on_gpu: bool = true",
        "padding: {'SAME', 'VALID', 'EXPLICIT'}",
        "explicit_paddings: list(int) = []",
        "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        "dilations: list(int) = [1, 1, 1, 1]",
    ],
    shape,
    grad: Rule(|g| Gradients::new(g, OPS).of_images()),
    kernels: cpu!(make prepare: T in f32, f64, i32; prepare_narrow: T in f16, bf16),
    cases: |r| {
        let mut case =
            |x: &[i32], f: &[usize], dy: &[usize]| Case::new(vec![int_vector(x), r.tensor(f), r.tensor(dy)]);
        vec![
            with_windows(case(&[2, 5, 4, 3], &[3, 2, 3, 4], &[2, 3, 3, 4]), [1, 1], [1, 1], "VALID"),
            with_windows(case(&[1, 5, 6, 2], &[3, 3, 2, 2], &[1, 3, 3, 2]), [2, 2], [1, 1], "SAME"),
            with_windows(case(&[2, 6, 7, 2], &[2, 3, 2, 3], &[2, 6, 7, 3]), [1, 1], [2, 2], "SAME"),
            with_windows(case(&[2, 3, 3, 4], &[1, 1, 4, 5], &[2, 3, 3, 5]), [1, 1], [1, 1], "VALID"),
            with_windows(case(&[5, 4], &[3, 2, 3, 4], &[2, 3, 3, 4]), [1, 1], [1, 1], "VALID"),
        ]
    },
    expensive: true,
    host_inputs: &["input_sizes"],
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (filter, dy, layout) = (c.rank(1, 4)?, c.rank(2, 4)?, Layout::of(c.attrs)?);
    Sliding::of(c.attrs)?;
    let sizes = c.as_shape(0)?;
    let mut dims = [dy.dim(0), -1, -1, -1];
    match sizes.dims() {
        None => {}
        Some([rows, cols]) => {
            (dims[layout.height], dims[layout.width]) = (*rows, *cols);
            dims[layout.channels] = filter.dim(2);
        }
        Some([n, a, b, d]) => dims = [merge_dim(*n, dims[0])?, *a, *b, *d],
        Some(other) => return Err(invalid!("input_sizes must have 4 elements (or 2), got {}", other.len())),
    }
    Ok(vec![dims.into_iter().collect()])
}

fn prepare<T: Multiplied>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, run::<T>)
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, run::<f32>)
}

fn run<T: Multiplied>(c: &mut OpCall<'_>, sliding: &Sliding) -> Result<()> {
    let images = match *sizes_input(c, 0)?.dims() {
        [rows, cols] => Shape::new(&[c.shape(2)?.dim(0)?, rows, cols, c.shape(1)?.dim(2)?])?,
        ref four => Shape::new(four)?,
    };
    let out = by_images::<T>(c, sliding, images)?;
    c.set(0, out);
    Ok(())
}

/// The gradient by images of this shape, from filter and gradient, inputs 1 and 2.
pub fn by_images<T: Multiplied>(c: &OpCall<'_>, sliding: &Sliding, images: Shape) -> Result<Tensor> {
    let (filter, gradient) = (c.shape(1)?, c.shape(2)?);
    if filter.elements() == 0 {
        return Err(empty_filter());
    }
    let sizes = Sizes::new(sliding, &images, filter)?;
    sizes.check_gradient(gradient)?;
    let mut out = Tensor::zeros(T::DTYPE, images)?;
    let (filter, gradient) = (c.slice::<T>(1)?, c.slice::<T>(2)?);
    if out.elements() > 0 && !gradient.is_empty() {
        add_by_images(c.par(), &sizes, filter, gradient, out.as_mut_slice::<T>()?)?;
    }
    Ok(out)
}
