//! `FusedPadConv2D` and `FusedResizeAndPadConv2D`: images are mirrored beyond their edges, and resized before that, and convolved.

use super::conv2d::convolved;
use super::product::Multiplied;
use super::sizes::output_shape;
use crate::elementwise::for_chunks_of;
use crate::narrow::in_float;
use crate::paddings::{padded_size, paddings, paddings_input};
use crate::prelude::*;
use crate::windows::{Layout, Sliding};
use thalweg_math::gemm::Epilogue;

pub static FUSED_PAD_CONV2D: Op = Op {
    name: "FusedPadConv2D",
    doc: "The convolution of the images after MirrorPad.",
    inputs: &["input: T", "paddings: int32", "filter: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: {half, bfloat16, float, double}",
        "mode: {'REFLECT', 'SYMMETRIC'}",
        "strides: list(int)",
        "padding: {'SAME', 'VALID'}",
    ],
    shape,
    grad: Missing,
    kernels: cpu!(make prepare: T in f32, f64; prepare_narrow: T in f16, bf16),
    cases: |r| cases(r, None),
    expensive: true,
    host_inputs: &["paddings"],
    ..Op::PURE
};

pub static FUSED_RESIZE_AND_PAD_CONV2D: Op = Op {
    name: "FusedResizeAndPadConv2D",
    doc: "The convolution of the images after ResizeBilinear and MirrorPad.",
    inputs: &["input: T", "size: int32", "paddings: int32", "filter: T"],
    attrs: &[
        "T: {half, float, double}",
        "resize_align_corners: bool = false",
        "mode: {'REFLECT', 'SYMMETRIC'}",
        "strides: list(int)",
        "padding: {'SAME', 'VALID'}",
    ],
    kernels: cpu!(make prepare: T in f32, f64; prepare_narrow: T in f16),
    cases: |r| cases(r, Some(&[5, 4])),
    host_inputs: &["size", "paddings"],
    ..FUSED_PAD_CONV2D
};

fn cases(r: &mut CaseGen, size: Option<&[i32]>) -> Vec<Case> {
    let mut case = |mode: &str, around: [i32; 4], padding: &str| {
        let [top, bottom, left, right] = around;
        let paddings = [0, 0, top, bottom, left, right, 0, 0];
        let paddings = Tensor::from_slice(Shape::new(&[4, 2]).unwrap_or_default(), &paddings);
        // One image: TensorFlow's results of the others are wrong.
        let mut inputs = vec![r.tensor(&[1, 3, 4, 2])];
        inputs.extend(size.map(int_vector));
        inputs.extend(paddings);
        inputs.push(r.tensor(&[2, 3, 2, 2]));
        let case = Case::new(inputs).attr("mode", mode).attr("padding", padding);
        case.attr("strides", Attr::ints(&[1, 1, 2, 1]))
    };
    vec![case("REFLECT", [1, 2, 0, 1], "VALID"), case("SYMMETRIC", [2, 0, 1, 2], "SAME")]
}

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (images, last) = (c.rank(0, 4)?, c.inputs.len() - 1);
    let filter = c.rank(last, 4)?;
    let mut dims = [0, 1, 2, 3].map(|axis| images.dim(axis));
    if last == 3 {
        let size = c.as_shape(1)?.merge(&PartialShape::unknown_of_rank(2))?;
        (dims[1], dims[2]) = (size.dim(0), size.dim(1));
    }
    match c.ints(last - 1) {
        Some(values) => {
            for (size, (before, after)) in dims.iter_mut().zip(paddings(&values, 4)?) {
                if *size >= 0 {
                    *size = padded_size(*size as usize, before, after)? as i64;
                }
            }
        }
        None => dims = [-1; 4],
    }
    merge_dim(dims[3], filter.dim(2))?;
    Ok(vec![output_shape(&sliding(c.attrs)?, &dims.into_iter().collect(), &filter)?])
}

fn sliding(attrs: &Attrs) -> Result<Sliding> {
    let strides = attrs.ints("strides")?;
    if matches!(strides.as_slice(), [a, _, _, b] if *a != 1 || *b != 1) {
        return Err(invalid!("strides in the batch and depth dimensions must be 1, got {strides:?}"));
    }
    Sliding::over(Layout::NHWC, attrs, &strides)
}

fn prepare<T: Multiplied + Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let kernel = PaddedConv::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| kernel.run::<T>(c)))
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let kernel = PaddedConv::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| kernel.run::<f32>(c))))
}

struct PaddedConv {
    sliding: Sliding,
    /// 1 if the edge itself is not repeated.
    offset: usize,
    align_corners: bool,
}

impl PaddedConv {
    fn of(attrs: &Attrs) -> Result<PaddedConv> {
        Ok(PaddedConv {
            sliding: sliding(attrs)?,
            offset: (attrs.str("mode")? == "REFLECT") as usize,
            align_corners: attrs.bool("resize_align_corners").unwrap_or(false),
        })
    }

    fn run<T: Multiplied + Float>(&self, c: &mut OpCall<'_>) -> Result<()> {
        let last = c.inputs.len() - 1;
        let &[batch, height, width, depth] = c.shape(0)?.dims() else {
            return Err(invalid!("input must be 4-dimensional, got shape {}", c.shape(0)?));
        };
        if c.shape(last)?.rank() != 4 || c.shape(last)?.dim(2)? != depth {
            return Err(invalid!("input and filter must have the same depth: {depth}, {}", c.shape(last)?));
        }
        let mut images = c.take(0)?;
        let (mut rows, mut cols) = (height, width);
        if last == 3 {
            [rows, cols] = size_input(c, 1)?;
            if height == 0 || width == 0 {
                return Err(invalid!("images to resize must not be empty, got {}", images.shape()));
            }
            let (down, across) = (self.linear::<T>(height, rows)?, self.linear::<T>(width, cols)?);
            images = resized::<T>(c, &images, &down, &across)?;
        }
        let around = paddings_input(c, last - 1, 4)?;
        let sources = [batch, rows, cols, depth].into_iter().zip(around);
        let sources = reserve::try_collect(
            sources.map(|(size, (before, after))| mirrored(size, before, after, self.offset)),
        )?;
        let padded = picked::<T>(c, &images, &sources)?;
        let filter = c.take(last)?;
        c.inputs[0] = Input::Owned(padded);
        c.inputs[1] = Input::Owned(filter);
        let out = convolved::<T>(c, &self.sliding, Epilogue::default())?;
        c.set(0, out);
        Ok(())
    }

    /// For each resized position: the two that it lies between, and its distance from the first.
    fn linear<T: Float>(&self, from: usize, to: usize) -> Result<Vec<(usize, usize, T)>> {
        let scale = match (self.align_corners, to) {
            (true, 2..) => (from - 1) as f32 / (to - 1) as f32,
            _ => from as f32 / to as f32,
        };
        reserve::collect((0..to).map(|i| {
            let at = i as f32 * scale;
            let low = (at.floor() as usize).min(from - 1);
            (low, (low + 1).min(from - 1), T::from_f64(f64::from(at - at.floor())))
        }))
    }
}

fn size_input(c: &OpCall<'_>, i: usize) -> Result<[usize; 2]> {
    match c.int_vector(i)?.as_slice() {
        [rows, cols] if *rows > 0 && *cols > 0 => Ok([*rows as usize, *cols as usize]),
        [_, _] => Err(invalid!("output dimensions must be positive")),
        other => Err(invalid!("size must have two elements, got {}", other.len())),
    }
}

/// The images interpolated between pixels.
fn resized<T: Float>(
    c: &OpCall<'_>,
    images: &Tensor,
    down: &[(usize, usize, T)],
    across: &[(usize, usize, T)],
) -> Result<Tensor> {
    let &[batch, height, width, depth] = images.shape().dims() else {
        return Err(internal("images have four dimensions"));
    };
    let (rows, cols) = (down.len(), across.len());
    let mut out = Tensor::uninit(T::DTYPE, Shape::new(&[batch, rows, cols, depth])?)?;
    let (x, line) = (images.as_slice::<T>()?, cols * depth);
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, line, 8, &|range, out| {
        for (row, out) in range.zip(out.chunks_exact_mut(line.max(1))) {
            let (low, high, y) = down[row % rows];
            let from = |at: usize| &x[(row / rows * height + at) * width * depth..][..width * depth];
            let (top, bottom) = (from(low), from(high));
            for ((left, right, x), out) in across.iter().zip(out.chunks_exact_mut(depth.max(1))) {
                for (i, out) in out.iter_mut().enumerate() {
                    let between = |line: &[T]| {
                        let (a, b) = (line[left * depth + i], line[right * depth + i]);
                        a.add(b.sub(a).mul(*x))
                    };
                    let (top, bottom) = (between(top), between(bottom));
                    *out = top.add(bottom.sub(top).mul(y));
                }
            }
        }
    });
    Ok(out)
}

/// The position that each padded position mirrors.
fn mirrored(size: usize, before: usize, after: usize, offset: usize) -> Result<Vec<usize>> {
    if before.max(after) >= (size + 1).saturating_sub(offset) {
        return Err(match offset {
            0 => invalid!(
                "paddings must be no greater than the dimension size: {before}, {after} greater than {size}"
            ),
            _ => invalid!(
                "paddings must be less than the dimension size: {before}, {after} not less than {size}"
            ),
        });
    }
    let ahead = (0..before).rev().map(|i| i + offset);
    let behind = (0..after).map(|i| size - 1 - offset - i);
    reserve::collect(ahead.chain(0..size).chain(behind))
}

/// The images with these positions along each dimension.
fn picked<T: Element>(c: &OpCall<'_>, images: &Tensor, sources: &[Vec<usize>]) -> Result<Tensor> {
    let (&[_, height, width, depth], [batch, rows, cols, channels]) = (images.shape().dims(), sources) else {
        return Err(internal("images have four dimensions"));
    };
    let dims = [batch.len(), rows.len(), cols.len(), channels.len()];
    let mut out = Tensor::uninit(T::DTYPE, Shape::new(&dims)?)?;
    let (x, line) = (images.as_slice::<T>()?, cols.len() * channels.len());
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, line, 8, &|range, out| {
        for (row, out) in range.zip(out.chunks_exact_mut(line.max(1))) {
            let first = batch[row / rows.len()] * height + rows[row % rows.len()];
            for (col, out) in cols.iter().zip(out.chunks_exact_mut(channels.len().max(1))) {
                let pixel = &x[(first * width + col) * depth..][..depth];
                out.iter_mut().zip(channels).for_each(|(out, channel)| *out = pixel[*channel]);
            }
        }
    });
    Ok(out)
}
