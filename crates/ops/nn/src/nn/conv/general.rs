//! `Conv`: the convolution in two or three dimensions, of input with any number of batch dimensions.

use super::conv2d::convolved;
use super::product::Multiplied;
use super::sizes::output_shape;
use crate::narrow::in_float;
use crate::prelude::*;
use crate::windows::{Layout, Sliding};
use thalweg_math::gemm::Epilogue;

pub static CONV: Op = Op {
    name: "Conv",
    doc: "The convolution of images or volumes with the filters. The first batch_dims dimensions are the batch.",
    inputs: &["input: T", "filter: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: {half, bfloat16, float, double, int32}",
        "strides: list(int)",
        "padding: {'SAME', 'VALID', 'EXPLICIT'}",
        "explicit_paddings: list(int) = []",
        "data_format: {'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST'",
        "dilations: list(int) = []",
        "batch_dims: int = 1",
        "groups: int = 1",
    ],
    shape,
    grad: Missing,
    kernels: cpu!(make prepare: T in f32, f64, i32; prepare_narrow: T in f16, bf16),
    cases: |r| {
        let mut case = |x: &[usize], f: &[usize], strides: &[i64]| {
            Case::new(vec![r.tensor(x), r.tensor(f)]).attr("strides", Attr::ints(strides))
        };
        vec![
            case(&[2, 4, 3, 2], &[2, 3, 2, 3], &[1, 1, 1, 1]).attr("padding", "VALID"),
            case(&[2, 3, 4, 3, 2], &[2, 2, 2, 2, 3], &[1, 1, 2, 1, 1]).attr("padding", "SAME"),
            case(&[2, 1, 4, 3, 2], &[2, 2, 2, 1], &[1, 1, 2, 1])
                .attr("padding", "EXPLICIT")
                .attr("explicit_paddings", Attr::ints(&[0, 0, 1, 0, 2, 1, 0, 0]))
                .attr("batch_dims", 2),
        ]
    },
    expensive: true,
    ..Op::PURE
};

/// The number of batch dimensions, and whether there are planes, of input of this rank.
fn split(attrs: &Attrs, rank: usize) -> Result<(usize, Layout)> {
    let batch = attrs.int("batch_dims")?;
    let space = (rank as i64).saturating_sub(batch).saturating_sub(1);
    let layout = match space {
        2 => Layout::NHWC,
        3 => Layout::NDHWC,
        n => return Err(invalid!("The input must have 2 or 3 spatial dimensions but got {n}")),
    };
    match usize::try_from(batch) {
        Ok(batch) => Ok((batch, layout)),
        Err(_) => Err(invalid!("batch_dims must be non-negative, got {batch}")),
    }
}

fn sliding(attrs: &Attrs, layout: Layout) -> Result<Sliding> {
    let groups = attrs.int("groups")?;
    if groups < 1 {
        return Err(invalid!("groups must be positive, got {groups}"));
    }
    if groups > 1 {
        return Err(unimplemented("grouped convolutions by Conv are not supported"));
    }
    if attrs.str("data_format")? != "CHANNELS_LAST" {
        return Err(unimplemented("Conv on the CPU needs data_format CHANNELS_LAST"));
    }
    Sliding::over(layout, attrs, &attrs.ints("strides")?)
}

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let Some(dims) = c.input(0).dims().map(<[i64]>::to_vec) else {
        return Ok(vec![PartialShape::unknown()]);
    };
    let (batch, layout) = split(c.attrs, dims.len())?;
    let filter = c.rank(1, layout.rank())?;
    if c.attrs.str("data_format")? != "CHANNELS_LAST" {
        return Ok(vec![PartialShape::unknown_of_rank(dims.len())]);
    }
    let (before, rest) = dims.split_at(batch);
    merge_dim(dims[dims.len() - 1], filter.dim(layout.rank() - 2))?;
    let images: PartialShape = [1].into_iter().chain(rest.iter().copied()).collect();
    let sliding = sliding(c.attrs, layout)?;
    let out = output_shape(&sliding, &images, &filter)?;
    let after = (1..layout.rank()).map(|axis| out.dim(axis));
    Ok(vec![before.iter().copied().chain(after).collect()])
}

fn prepare<T: Multiplied>(_: &KernelNode) -> Result<Box<dyn Kernel>> {
    Ok(Box::new(run::<T>))
}

fn prepare_narrow<T: Float>(_: &KernelNode) -> Result<Box<dyn Kernel>> {
    Ok(Box::new(|c: &mut OpCall<'_>| in_float::<T>(c, &run::<f32>)))
}

fn run<T: Multiplied>(c: &mut OpCall<'_>) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let (batch, layout) = split(c.attrs(), shape.rank())?;
    let sliding = sliding(c.attrs(), layout)?;
    let (depth, taken) = (shape.dim(shape.rank() - 1)?, c.shape(1)?);
    if taken.rank() != layout.rank() || taken.dim(layout.rank() - 2)? != depth {
        return Err(invalid!("Input depth must be equal to filter depth: shapes {shape} and {taken}"));
    }
    let (before, rest) = shape.dims().split_at(batch);
    let images = before.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    let images = images.ok_or_else(|| invalid!("a batch of shape {before:?} is too large"))?;
    let flat: Vec<usize> = [images].into_iter().chain(rest.iter().copied()).collect();
    let input = c.take(0)?.reshape(Shape::new(&flat)?)?;
    c.inputs[0] = Input::Owned(input);
    let out = convolved::<T>(c, &sliding, Epilogue::default())?;
    let dims: Vec<usize> = before.iter().chain(&out.shape().dims()[1..]).copied().collect();
    c.set(0, out.reshape(Shape::new(&dims)?)?);
    Ok(())
}
