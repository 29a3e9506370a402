//! `Conv2D`: 2-D convolution with filters over all channels.

use super::product::{Multiplied, convolve};
use super::sizes::{Sizes, empty_filter, output_shape};
use super::{Gradients, kernel, narrow_kernel, with_windows};
use crate::prelude::*;
use crate::windows::Sliding;
use thalweg_math::gemm::Epilogue;
use thalweg_math::parallel::Parallel;

pub static CONV2D: Op = Op {
    name: "Conv2D",
    doc: "The 2-D convolution (cross-correlation) of the images with the filters.",
    inputs: &["input: T", "filter: T"],
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
    shape: |c| {
        let (images, filter) = (c.rank(0, 4)?, c.rank(1, 4)?);
        Ok(vec![output_shape(&Sliding::of(c.attrs)?, &images, &filter)?])
    },
    grad: Rule(|g| Gradients::new(g, OPS).of_output()),
    kernels: cpu!(make prepare: T in f32, f64, i32; prepare_narrow: T in f16, bf16),
    cases: |r| {
        let mut case = |x: &[usize], f: &[usize]| Case::new(vec![r.tensor(x), r.tensor(f)]);
        vec![
            with_windows(case(&[2, 5, 4, 3], &[3, 2, 3, 4]), [1, 1], [1, 1], "VALID"),
            with_windows(case(&[1, 5, 6, 2], &[3, 3, 2, 2]), [2, 2], [1, 1], "SAME"),
            with_windows(case(&[2, 6, 7, 2], &[2, 3, 2, 3]), [1, 1], [2, 2], "SAME"),
            with_windows(case(&[2, 3, 3, 4], &[1, 1, 4, 5]), [1, 1], [1, 1], "VALID"),
            with_windows(case(&[1, 4, 4, 4], &[2, 2, 2, 6]), [1, 1], [1, 1], "SAME"),
            with_windows(case(&[1, 4, 5, 2], &[3, 2, 2, 2]), [2, 1], [1, 1], "EXPLICIT")
                .attr("explicit_paddings", Attr::ints(&[0, 0, 2, 1, 0, 3, 0, 0])),
        ]
    },
    expensive: true,
    fused_as: Some("_FusedConv2D"),
    ..Op::PURE
};

/// The convolution, and its input and filter gradients.
pub const OPS: [&str; 3] = ["Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"];

fn prepare<T: Multiplied>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, run::<T>)
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, run::<f32>)
}

fn run<T: Multiplied>(c: &mut OpCall<'_>, sliding: &Sliding) -> Result<()> {
    let out = convolved::<T>(c, sliding, Epilogue::default())?;
    c.set(0, out);
    Ok(())
}

/// The convolution of inputs 0 and 1, with the epilogue applied to each output channel.
pub fn convolved<T: Multiplied>(
    c: &OpCall<'_>,
    sliding: &Sliding,
    epilogue: Epilogue<'_, T>,
) -> Result<Tensor> {
    convolved_tensors(c.par(), sliding, c.input(0)?, c.input(1)?, epilogue)
}

pub fn convolved_tensors<T: Multiplied>(
    par: &dyn Parallel,
    sliding: &Sliding,
    images: &Tensor,
    filter: &Tensor,
    epilogue: Epilogue<'_, T>,
) -> Result<Tensor> {
    if filter.elements() == 0 {
        return Err(empty_filter());
    }
    let sizes = Sizes::new(sliding, images.shape(), filter.shape())?;
    if images.elements() == 0 {
        return Tensor::zeros(T::DTYPE, sizes.output_shape()?);
    }
    let mut out = Tensor::uninit(T::DTYPE, sizes.output_shape()?)?;
    if out.elements() > 0 {
        let (images, filter) = (images.as_slice::<T>()?, filter.as_slice::<T>()?);
        convolve(par, &sizes, images, filter, out.as_mut_slice::<T>()?, epilogue)?;
    }
    Ok(out)
}
