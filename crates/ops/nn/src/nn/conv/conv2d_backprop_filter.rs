//! `Conv2DBackpropFilter`: the filter gradient of `Conv2D`.

use super::conv2d::OPS;
use super::product::{Multiplied, add_by_filter};
use super::sizes::{Sizes, sizes_input};
use super::{Gradients, kernel, narrow_kernel, with_windows};
use crate::prelude::*;
use crate::windows::Sliding;

pub static CONV2D_BACKPROP_FILTER: Op = Op {
    name: "Conv2DBackpropFilter",
    doc: "The gradient of Conv2D by a filter of shape filter_sizes.",
    inputs: &["input: T", "filter_sizes: int32", "out_backprop: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: {half, bfloat16, float, double}",
        "strides: list(int)",
        "use_cudnn_on_gpu: bool = true",
        "padding: {'SAME', 'VALID', 'EXPLICIT'}",
        "explicit_paddings: list(int) = []",
        "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        "dilations: list(int) = [1, 1, 1, 1]",
    ],
    shape: |c| Ok(vec![c.as_shape(1)?.merge(&PartialShape::unknown_of_rank(4))?]),
    grad: Rule(|g| Gradients::new(g, OPS).of_filter()),
    kernels: cpu!(make prepare: T in f32, f64; prepare_narrow: T in f16, bf16),
    cases: |r| {
        let mut case =
            |x: &[usize], f: &[i32], dy: &[usize]| Case::new(vec![r.tensor(x), int_vector(f), r.tensor(dy)]);
        vec![
            with_windows(case(&[2, 5, 4, 3], &[3, 2, 3, 4], &[2, 3, 3, 4]), [1, 1], [1, 1], "VALID"),
            with_windows(case(&[1, 5, 6, 2], &[3, 3, 2, 2], &[1, 3, 3, 2]), [2, 2], [1, 1], "SAME"),
            with_windows(case(&[2, 6, 7, 2], &[2, 3, 2, 3], &[2, 6, 7, 3]), [1, 1], [2, 2], "SAME"),
            with_windows(case(&[2, 3, 3, 4], &[1, 1, 4, 5], &[2, 3, 3, 5]), [1, 1], [1, 1], "VALID"),
        ]
    },
    expensive: true,
    host_inputs: &["filter_sizes"],
    ..Op::PURE
};

fn prepare<T: Multiplied>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, run::<T>)
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, run::<f32>)
}

fn run<T: Multiplied>(c: &mut OpCall<'_>, sliding: &Sliding) -> Result<()> {
    let filter = sizes_input(c, 1)?;
    let out = by_filter::<T>(c, sliding, filter)?;
    c.set(0, out);
    Ok(())
}

/// The gradient by a filter of this shape, from images and gradient, inputs 0 and 2.
pub fn by_filter<T: Multiplied>(c: &OpCall<'_>, sliding: &Sliding, filter: Shape) -> Result<Tensor> {
    let mut out = Tensor::zeros(T::DTYPE, filter.clone())?;
    // An empty filter has no gradient, whatever the other sizes.
    if out.elements() > 0 {
        let sizes = Sizes::new(sliding, c.shape(0)?, &filter)?;
        sizes.check_gradient(c.shape(2)?)?;
        let (images, gradient) = (c.slice::<T>(0)?, c.slice::<T>(2)?);
        if !images.is_empty() && !gradient.is_empty() {
            add_by_filter(c.par(), &sizes, images, gradient, out.as_mut_slice::<T>()?)?;
        }
    }
    Ok(out)
}
