//! `DepthwiseConv2dNative`: each channel convolved with its own filters, and its gradients.

use super::sizes::sizes_input;
use super::{Gradients, kernel, narrow_kernel, with_windows};
use crate::prelude::*;
use crate::windows::Sliding;
use thalweg_math::parallel::Parallel;
use thalweg_math::window::{Depthwise, Fused};

const ATTRS: &[&str] = &[
    "T: {half, bfloat16, float, double}",
    "strides: list(int)",
    "padding: {'SAME', 'VALID', 'EXPLICIT'}",
    "explicit_paddings: list(int) = []",
    "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
    "dilations: list(int) = [1, 1, 1, 1]",
];

pub static DEPTHWISE_CONV2D_NATIVE: Op = Op {
    name: "DepthwiseConv2dNative",
    doc: "Depthwise convolution: each channel has its own filters; outputs are channels.",
    inputs: &["input: T", "filter: T"],
    outputs: &["output: T"],
    attrs: ATTRS,
    shape: |c| Ok(vec![output_shape(&Sliding::of(c.attrs)?, &c.rank(0, 4)?, &c.rank(1, 4)?)?]),
    grad: Rule(|g| Gradients::new(g, OPS).of_output()),
    kernels: cpu!(make prepare: T in f32, f64; prepare_narrow: T in f16, bf16),
    cases: |r| {
        let mut case = |x: &[usize], f: &[usize]| Case::new(vec![r.tensor(x), r.tensor(f)]);
        vec![
            with_windows(case(&[2, 5, 4, 3], &[3, 2, 3, 1]), [1, 1], [1, 1], "VALID"),
            with_windows(case(&[1, 5, 6, 2], &[3, 3, 2, 3]), [2, 2], [1, 1], "SAME"),
            with_windows(case(&[2, 6, 7, 2], &[2, 3, 2, 2]), [1, 1], [2, 2], "SAME"),
            with_windows(case(&[1, 4, 5, 2], &[3, 2, 2, 1]), [2, 2], [1, 1], "EXPLICIT")
                .attr("explicit_paddings", Attr::ints(&[0, 0, 2, 1, 0, 1, 0, 0])),
        ]
    },
    expensive: true,
    ..Op::PURE
};

pub static DEPTHWISE_CONV2D_NATIVE_BACKPROP_INPUT: Op = Op {
    name: "DepthwiseConv2dNativeBackpropInput",
    doc: "The gradient of DepthwiseConv2dNative by images of shape input_sizes.",
    inputs: &["input_sizes: int32", "filter: T", "out_backprop: T"],
    shape: |c| {
        c.rank(1, 4)?;
        c.rank(2, 4)?;
        Ok(vec![c.as_shape(0)?.merge(&PartialShape::unknown_of_rank(4))?])
    },
    grad: Rule(|g| Gradients::new(g, OPS).of_images()),
    kernels: cpu!(make prepare_by_images: T in f32, f64; prepare_narrow_by_images: T in f16, bf16),
    cases: |r| {
        let mut case =
            |x: &[i32], f: &[usize], dy: &[usize]| Case::new(vec![int_vector(x), r.tensor(f), r.tensor(dy)]);
        vec![
            with_windows(case(&[2, 5, 4, 3], &[3, 2, 3, 1], &[2, 3, 3, 3]), [1, 1], [1, 1], "VALID"),
            with_windows(case(&[1, 5, 6, 2], &[3, 3, 2, 3], &[1, 3, 3, 6]), [2, 2], [1, 1], "SAME"),
        ]
    },
    host_inputs: &["input_sizes"],
    ..DEPTHWISE_CONV2D_NATIVE
};

pub static DEPTHWISE_CONV2D_NATIVE_BACKPROP_FILTER: Op = Op {
    name: "DepthwiseConv2dNativeBackpropFilter",
    doc: "The gradient of DepthwiseConv2dNative by a filter of shape filter_sizes.",
    inputs: &["input: T", "filter_sizes: int32", "out_backprop: T"],
    shape: |c| {
        c.rank(0, 4)?;
        c.rank(2, 4)?;
        Ok(vec![c.as_shape(1)?.merge(&PartialShape::unknown_of_rank(4))?])
    },
    grad: Rule(|g| Gradients::new(g, OPS).of_filter()),
    kernels: cpu!(make prepare_by_filter: T in f32, f64; prepare_narrow_by_filter: T in f16, bf16),
    cases: |r| {
        let mut case =
            |x: &[usize], f: &[i32], dy: &[usize]| Case::new(vec![r.tensor(x), int_vector(f), r.tensor(dy)]);
        vec![
            with_windows(case(&[2, 5, 4, 3], &[3, 2, 3, 1], &[2, 3, 3, 3]), [1, 1], [1, 1], "VALID"),
            with_windows(case(&[1, 5, 6, 2], &[3, 3, 2, 3], &[1, 3, 3, 6]), [2, 2], [1, 1], "SAME"),
        ]
    },
    host_inputs: &["filter_sizes"],
    ..DEPTHWISE_CONV2D_NATIVE
};

const OPS: [&str; 3] =
    ["DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"];

fn prepare<T: Element + Fused>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, run::<T>)
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, run::<f32>)
}

fn prepare_by_images<T: Element + Fused>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, run_by_images::<T>)
}

fn prepare_narrow_by_images<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, run_by_images::<f32>)
}

fn prepare_by_filter<T: Element + Fused>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, run_by_filter::<T>)
}

fn prepare_narrow_by_filter<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, run_by_filter::<f32>)
}

/// The shape of a depthwise convolution.
pub fn output_shape(sliding: &Sliding, images: &PartialShape, filter: &PartialShape) -> Result<PartialShape> {
    let depth = merge_dim(images.dim(sliding.layout.channels), filter.dim(2))?;
    let outputs = if depth < 0 || filter.dim(3) < 0 { -1 } else { depth.saturating_mul(filter.dim(3)) };
    sliding.shape(images, [1, filter.dim(0), filter.dim(1)], outputs)
}

/// The convolution of these shapes, and the shape of its result.
fn sizes(sliding: &Sliding, images: &Shape, filter: &Shape) -> Result<(Depthwise, Shape)> {
    let (Ok(dims), &[rows, cols, channels, multiplier]) =
        (<[usize; 4]>::try_from(images.dims()), filter.dims())
    else {
        return Err(invalid!("input and filter must be 4-dimensional, got {images} and {filter}"));
    };
    if dims[3] != channels {
        return Err(invalid!("input and filter must have the same depth: {} vs {channels}", dims[3]));
    }
    let grid = sliding.grid(&dims, [1, rows, cols])?;
    let outputs = channels.checked_mul(multiplier).ok_or_else(|| invalid!("too many channels"))?;
    let shape = Shape::new(&[dims[0], grid.rows.output, grid.cols.output, outputs])?;
    Ok((Depthwise { grid, channels, multiplier }, shape))
}

fn check_gradient(got: &Shape, want: &Shape) -> Result<()> {
    if got == want {
        return Ok(());
    }
    Err(invalid!("out_backprop must have the shape of the convolution's result, {want}, got {got}"))
}

fn run<T: Element + Fused>(c: &mut OpCall<'_>, sliding: &Sliding) -> Result<()> {
    let out = convolved_by_channel::<T>(c.par(), sliding, c.input(0)?, c.input(1)?)?;
    c.set(0, out);
    Ok(())
}

/// The depthwise convolution of images with a filter.
pub fn convolved_by_channel<T: Element + Fused>(
    par: &dyn Parallel,
    sliding: &Sliding,
    images: &Tensor,
    filter: &Tensor,
) -> Result<Tensor> {
    let (what, shape) = sizes(sliding, images.shape(), filter.shape())?;
    let mut out = Tensor::zeros(T::DTYPE, shape)?;
    if out.elements() > 0 && images.elements() > 0 {
        what.convolve(par, images.as_slice::<T>()?, filter.as_slice::<T>()?, out.as_mut_slice::<T>()?);
    }
    Ok(out)
}

fn run_by_images<T: Element + Fused>(c: &mut OpCall<'_>, sliding: &Sliding) -> Result<()> {
    let (images, filter) = (sizes_input(c, 0)?, c.shape(1)?);
    let (what, shape) = sizes(sliding, &images, filter)?;
    check_gradient(c.shape(2)?, &shape)?;
    let mut out = Tensor::zeros(T::DTYPE, images)?;
    if out.elements() > 0 && shape.elements() > 0 {
        what.input_gradient(c.par(), c.slice::<T>(2)?, c.slice::<T>(1)?, out.as_mut_slice::<T>()?);
    }
    c.set(0, out);
    Ok(())
}

fn run_by_filter<T: Element + Fused>(c: &mut OpCall<'_>, sliding: &Sliding) -> Result<()> {
    let filter = sizes_input(c, 1)?;
    let mut out = Tensor::zeros(T::DTYPE, filter.clone())?;
    if out.elements() > 0 {
        let (what, shape) = sizes(sliding, c.shape(0)?, &filter)?;
        check_gradient(c.shape(2)?, &shape)?;
        if shape.elements() > 0 && c.shape(0)?.elements() > 0 {
            what.filter_gradient(c.par(), c.slice::<T>(0)?, c.slice::<T>(2)?, out.as_mut_slice::<T>()?);
        }
    }
    c.set(0, out);
    Ok(())
}
