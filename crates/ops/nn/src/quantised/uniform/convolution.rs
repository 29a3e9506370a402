//! `UniformQuantizedConvolution` and `UniformQuantizedConvolutionHybrid`: convolutions of 8-bit integers in one to three dimensions. In
//! the hybrid form the input is of floats, and each element of the batch is quantised by the range that it has.

use super::super::exact::convolved;
use super::affine::{Affine, limits};
use super::dimensions::{Axis, Dimensions, orders};
use super::dot::{Requantiser, quantised_rows};
use super::elements::{bytes, words};
use crate::levels::quantised;
use crate::moving::Block;
use crate::prelude::*;
use crate::windows::{Layout, Sliding};

pub static OPS: &[&Op] = &[&UNIFORM_QUANTIZED_CONVOLUTION, &UNIFORM_QUANTIZED_CONVOLUTION_HYBRID];

static UNIFORM_QUANTIZED_CONVOLUTION: Op = Op {
    name: "UniformQuantizedConvolution",
    doc: "The convolution of 8-bit integers, in 32 bits by scales and zero points of its own.",
    inputs: &[
        "lhs: Tin",
        "rhs: Tin",
        "lhs_scales: float",
        "lhs_zero_points: int32",
        "rhs_scales: float",
        "rhs_zero_points: int32",
        "output_scales: float",
        "output_zero_points: int32",
    ],
    outputs: &["output: Tout"],
    attrs: &[
        "Tin: {qint8}",
        "Tout: {qint32}",
        "window_strides: list(int) = []",
        "padding: string",
        "explicit_padding: list(int) = []",
        "lhs_dilation: list(int) = []",
        "rhs_dilation: list(int) = []",
        "batch_group_count: int = 1",
        "feature_group_count: int = 1",
        "dimension_numbers: string = ''",
        "lhs_quantization_axis: int = -1",
        "lhs_quantization_min_val: int",
        "lhs_quantization_max_val: int",
        "rhs_quantization_axis: int = -1",
        "rhs_quantization_min_val: int",
        "rhs_quantization_max_val: int",
        "output_quantization_axis: int = -1",
        "output_quantization_min_val: int",
        "output_quantization_max_val: int",
    ],
    shape,
    grad: Missing,
    kernels: &[cpu_row!([("Tin", DataType::Qint8), ("Tout", DataType::Qint32)], Make::Plain(convolution))],
    cases: |r| {
        let mut case = |lhs: &[usize], rhs: &[usize], padding: &str| {
            let stored = [lhs, rhs].map(|dims| quantised(r.ints(dims, -128, 127), DataType::Qint8));
            let rest = [
                Tensor::scalar(0.1f32),
                Tensor::scalar(3i32),
                r.range(&rhs[..1], 0.1, 0.3),
                r.ints(&rhs[..1], -5, 5),
                Tensor::scalar(0.02f32),
                Tensor::scalar(-7i32),
            ];
            let case = Case::new(stored.into_iter().flatten().chain(rest).collect()).attr("padding", padding);
            let case = case.attr("rhs_quantization_axis", 0).attr("Tout", DataType::Qint32);
            words(bytes(bytes(case, "lhs_"), "rhs_"), "output_")
        };
        vec![
            case(&[2, 3, 5, 4], &[4, 3, 2, 3], "SAME"),
            case(&[2, 4, 5], &[4, 2, 2], "VALID").attr("feature_group_count", 2),
            case(&[4, 2, 4, 3], &[4, 2, 2, 2], "EXPLICIT")
                .attr("explicit_padding", Attr::ints(&[1, 0, 2, 1]))
                .attr("lhs_dilation", Attr::ints(&[2, 1]))
                .attr("batch_group_count", 2),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static UNIFORM_QUANTIZED_CONVOLUTION_HYBRID: Op = Op {
    name: "UniformQuantizedConvolutionHybrid",
    doc: "The convolution of floats with 8-bit integers.",
    inputs: &["lhs: Tlhs", "rhs: Trhs", "rhs_scales: float", "rhs_zero_points: int32"],
    attrs: &[
        "Tlhs: {float}",
        "Trhs: {qint8}",
        "Tout: {float}",
        "window_strides: list(int) = []",
        "padding: string",
        "explicit_padding: list(int) = []",
        "lhs_dilation: list(int) = []",
        "rhs_dilation: list(int) = []",
        "batch_group_count: int = 1",
        "feature_group_count: int = 1",
        "dimension_numbers: string = ''",
        "rhs_quantization_axis: int = -1",
        "rhs_quantization_min_val: int",
        "rhs_quantization_max_val: int",
    ],
    kernels: &[cpu_row!([("Trhs", DataType::Qint8)], Make::Plain(hybrid))],
    cases: |r| {
        let stored = quantised(r.ints(&[4, 3, 2, 3], -128, 127), DataType::Qint8);
        let inputs = [vec![r.tensor(&[2, 3, 5, 4])], stored.into_iter().collect()].concat();
        let scales = vec![Tensor::scalar(0.1f32), Tensor::scalar(3i32)];
        let case = Case::new([inputs, scales].concat()).attr("padding", "SAME").attr("Tout", DataType::Float);
        vec![bytes(case, "rhs_")]
    },
    ..UNIFORM_QUANTIZED_CONVOLUTION
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (lhs, rhs) = (c.input(0), c.input(1));
    match (lhs.to_shape(), rhs.to_shape()) {
        (Some(lhs), Some(rhs)) => {
            let out = Dimensions::new(c.attrs, &lhs, &rhs)?.output_shape()?;
            Ok(vec![out.to_i64().iter().copied().collect()])
        }
        _ => Ok(vec![
            lhs.rank().or(rhs.rank()).map_or_else(PartialShape::unknown, PartialShape::unknown_of_rank),
        ]),
    }
}

fn convolution(c: &mut OpCall<'_>) -> Result<()> {
    let sizes = Dimensions::new(c.attrs(), c.shape(0)?, c.shape(1)?)?;
    let [_, kernel, output] = orders(c.attrs(), c.shape(0)?.rank())?;
    let lhs = Affine::along(c, 2, c.shape(0)?, "lhs_quantization_axis", &[])?;
    let rhs = Affine::along(c, 4, c.shape(1)?, "rhs_quantization_axis", &[kernel.first as i64])?;
    let shape = sizes.output_shape()?;
    let to = Affine::along(c, 6, &shape, "output_quantization_axis", &[output.second as i64])?;
    if rhs.axis.is_none() && to.axis.is_some() {
        return Err(invalid!("if rhs is quantized per-tensor, so must output be"));
    }
    let mut sums = sums(c, &sizes, &lhs.centred(c.par(), c.input(0)?)?, &rhs.centred(c.par(), c.input(1)?)?)?;
    let finish = Requantiser::new(&lhs, &rhs, &to, sizes.outputs, limits(c.attrs(), "output_")?)?;
    for pixel in sums.as_mut_slice::<i32>()?.chunks_exact_mut(sizes.outputs.max(1)) {
        pixel.iter_mut().enumerate().for_each(|(i, x)| *x = finish.level(*x, i));
    }
    let out = placed(c, &sizes, &sums)?;
    c.set(0, quantised(out, DataType::Qint32)?);
    Ok(())
}

fn hybrid(c: &mut OpCall<'_>) -> Result<()> {
    let sizes = Dimensions::new(c.attrs(), c.shape(0)?, c.shape(1)?)?;
    let rhs = Affine::along(c, 2, c.shape(1)?, "rhs_quantization_axis", &[sizes.kernel.first as i64])?;
    // Batch first: each of its elements has a range of its own.
    let lhs = ordered(c, c.input(0)?, &sizes)?;
    let (lhs, scales) = quantised_rows(&lhs)?;
    let lhs = put_back(c, &lhs, &sizes)?;
    let sums = sums(c, &sizes, &lhs, &rhs.centred(c.par(), c.input(1)?)?)?;
    let mut out = Tensor::uninit(DataType::Float, sums.shape().clone())?;
    let (outputs, batch) = (sizes.outputs.max(1), sizes.batch / sizes.batch_groups);
    let group = (sizes.outputs / sizes.batch_groups).max(1);
    let pixels = sizes.axes.iter().map(|axis| axis.output).product::<usize>().max(1);
    let each = out
        .as_mut_slice::<f32>()?
        .chunks_exact_mut(outputs)
        .zip(sums.as_slice::<i32>()?.chunks_exact(outputs));
    for (pixel, (out, sums)) in each.enumerate() {
        for (i, (out, sum)) in out.iter_mut().zip(sums).enumerate() {
            *out = *sum as f32 * scales[i / group * batch + pixel / pixels] * rhs.scale(i);
        }
    }
    let out = placed(c, &sizes, &out)?;
    c.set(0, out);
    Ok(())
}

/// The input with the batch first, then the channels and space.
fn ordered(c: &OpCall<'_>, x: &Tensor, sizes: &Dimensions) -> Result<Tensor> {
    let dims: Vec<usize> = order_of(sizes).into_iter().map(|dim| x.shape()[dim]).collect();
    let mut out = Tensor::uninit(x.dtype(), Shape::new(&dims)?)?;
    let (from, to) = (x.shape().strides(), out.shape().strides());
    let block = order_of(sizes)
        .into_iter()
        .enumerate()
        .fold(Block::at(0, 0), |block, (i, dim)| block.dim(dims[i], from[dim] as isize, to[i] as isize));
    block.copy(c.par(), x, &mut out)?;
    Ok(out)
}

/// The inverse of `ordered`.
fn put_back(c: &OpCall<'_>, x: &Tensor, sizes: &Dimensions) -> Result<Tensor> {
    let shape = c.shape(0)?.clone();
    let (from, to) = (x.shape().strides(), shape.strides());
    let block = order_of(sizes)
        .into_iter()
        .enumerate()
        .fold(Block::at(0, 0), |block, (i, dim)| block.dim(x.shape()[i], from[i] as isize, to[dim] as isize));
    let mut out = Tensor::uninit(x.dtype(), shape)?;
    block.copy(c.par(), x, &mut out)?;
    Ok(out)
}

fn order_of(sizes: &Dimensions) -> Vec<usize> {
    [sizes.input.first, sizes.input.second].into_iter().chain(sizes.input.space.iter().copied()).collect()
}

/// The windows along planes, rows and columns, of which the first may be missing.
fn three(sizes: &Dimensions) -> [Axis; 3] {
    const ONE: Axis =
        Axis { stride: 1, spread: 1, dilation: 1, input: 1, filter: 1, before: 0, padded: 1, output: 1 };
    let missing = 3 - sizes.axes.len();
    [0, 1, 2].map(|i| if i < missing { ONE } else { sizes.axes[i - missing] })
}

/// The sums of products, of factors less their zero points: batch, planes, rows, columns, channels.
fn sums(c: &OpCall<'_>, sizes: &Dimensions, lhs: &Tensor, rhs: &Tensor) -> Result<Tensor> {
    let axes = three(sizes);
    let groups = sizes.batch_groups.max(sizes.feature_groups);
    let (batch, depth) = (sizes.batch / sizes.batch_groups, sizes.depth / sizes.feature_groups);
    let outputs = sizes.outputs / groups;
    let mut attrs = Attrs::new();
    attrs.set(
        "dilations",
        Attr::ints(&[1, axes[0].dilation as i64, axes[1].dilation as i64, axes[2].dilation as i64, 1]),
    );
    attrs.set("padding", "VALID");
    let window = [1, axes[0].stride as i64, axes[1].stride as i64, axes[2].stride as i64, 1];
    let sliding = Sliding::over(Layout::NDHWC, &attrs, &window)?;
    let space = axes.map(|axis| axis.output);
    let all = [batch, space[0], space[1], space[2], sizes.outputs];
    let mut out = Tensor::zeros(DataType::Int32, Shape::new(&all)?)?;
    for group in 0..groups {
        let images = images(c, sizes, lhs, &axes, group)?;
        let filter = filter(c, sizes, rhs, &axes, group * outputs, [depth, outputs])?;
        let part = convolved(c.par(), &sliding, &images, &filter)?;
        let pixels = batch * space.iter().product::<usize>();
        Block::at(0, group * outputs)
            .dim(pixels, outputs as isize, sizes.outputs as isize)
            .dim(outputs, 1, 1)
            .copy(c.par(), &part, &mut out)?;
    }
    Ok(out)
}

/// The input of a group: with zeros between its elements and around them, channels last.
fn images(
    c: &OpCall<'_>,
    sizes: &Dimensions,
    lhs: &Tensor,
    axes: &[Axis; 3],
    group: usize,
) -> Result<Tensor> {
    let by_batch = sizes.batch_groups > 1;
    let (batch, depth) = (sizes.batch / sizes.batch_groups, sizes.depth / sizes.feature_groups);
    let dims = [batch, axes[0].padded, axes[1].padded, axes[2].padded, depth];
    let mut out = Tensor::zeros(DataType::Int32, Shape::new(&dims)?)?;
    let (from, to) = (lhs.shape().strides(), out.shape().strides());
    let start = match by_batch {
        true => group * batch * from[sizes.input.first],
        false => group * depth * from[sizes.input.second],
    };
    let into: usize = (0..3).map(|i| axes[i].before * to[i + 1]).sum();
    let missing = 3 - sizes.axes.len();
    let mut block = Block::at(start, into).dim(batch, from[sizes.input.first] as isize, to[0] as isize);
    for (i, dim) in sizes.input.space.iter().enumerate() {
        let axis = axes[missing + i];
        block = block.dim(axis.input, from[*dim] as isize, (to[missing + i + 1] * axis.spread) as isize);
    }
    block.dim(depth, from[sizes.input.second] as isize, 1).copy(c.par(), lhs, &mut out)?;
    Ok(out)
}

/// The filters of a group, outputs last.
fn filter(
    c: &OpCall<'_>,
    sizes: &Dimensions,
    rhs: &Tensor,
    axes: &[Axis; 3],
    first: usize,
    [depth, outputs]: [usize; 2],
) -> Result<Tensor> {
    let dims = [axes[0].filter, axes[1].filter, axes[2].filter, depth, outputs];
    let mut out = Tensor::uninit(DataType::Int32, Shape::new(&dims)?)?;
    let (from, to) = (rhs.shape().strides(), out.shape().strides());
    let missing = 3 - sizes.axes.len();
    let mut block = Block::at(first * from[sizes.kernel.first], 0);
    for (i, dim) in sizes.kernel.space.iter().enumerate() {
        block = block.dim(axes[missing + i].filter, from[*dim] as isize, to[missing + i] as isize);
    }
    let block = block.dim(depth, from[sizes.kernel.second] as isize, to[3] as isize);
    block.dim(outputs, from[sizes.kernel.first] as isize, 1).copy(c.par(), rhs, &mut out)?;
    Ok(out)
}

/// A result with channels last, in the order of the output.
fn placed(c: &OpCall<'_>, sizes: &Dimensions, x: &Tensor) -> Result<Tensor> {
    let shape = sizes.output_shape()?;
    let (from, to, missing) = (x.shape().strides(), shape.strides(), 3 - sizes.axes.len());
    let mut block = Block::at(0, 0).dim(x.shape()[0], from[0] as isize, to[sizes.output.first] as isize);
    for (i, dim) in sizes.output.space.iter().enumerate() {
        block = block.dim(shape[*dim], from[missing + i + 1] as isize, to[*dim] as isize);
    }
    let mut out = Tensor::uninit(x.dtype(), shape)?;
    block.dim(sizes.outputs, 1, to[sizes.output.second] as isize).copy(c.par(), x, &mut out)?;
    Ok(out)
}
