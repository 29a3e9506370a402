//! `MaxPoolWithArgmax`: the maximum under a window, and its index; and the gradient from that.

use super::max_pool_grad::long_places;
use super::parameters::{Pool, check_shape, window_attrs, with_window};
use crate::convert::int_tensor;
use crate::prelude::*;

pub static MAX_POOL_WITH_ARGMAX: Op = Op {
    name: "MaxPoolWithArgmax",
    doc: "The maximum of each channel over each window position, and its index in its image or in the batch.",
    inputs: &["input: T"],
    outputs: &["output: T", "argmax: Targmax"],
    attrs: &[
        "ksize: list(int) >= 4",
        "strides: list(int) >= 4",
        "Targmax: {int32, int64} = DT_INT64",
        "padding: {'SAME', 'VALID'}",
        "include_batch_in_index: bool = false",
        "T: realnumbertype",
    ],
    shape: |c| c.all(Pool::of(c.attrs)?.known_output(&c.rank(0, 4)?)?),
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, i32, i64, u8, i16, i8, u16, u32, u64, f16, bf16),
    cases: |r| {
        let mut case = |x: &[usize]| Case::new(vec![r.tensor(x)]);
        vec![
            with_window(case(&[2, 4, 5, 3]), [2, 2], [2, 2], "VALID"),
            with_window(case(&[2, 5, 5, 2]), [3, 2], [2, 1], "SAME")
                .attr("include_batch_in_index", true)
                .attr("Targmax", DataType::Int32),
        ]
    },
    expensive: true,
    ..Op::PURE
};

pub static MAX_POOL_GRAD_WITH_ARGMAX: Op = Op {
    name: "MaxPoolGradWithArgmax",
    doc: "The gradient of MaxPoolWithArgmax: the gradient of each window goes to the element that argmax names.",
    inputs: &["input: T", "grad: T", "argmax: Targmax"],
    outputs: &["output: T"],
    attrs: &[
        "ksize: list(int) >= 4",
        "strides: list(int) >= 4",
        "padding: {'SAME', 'VALID'}",
        "include_batch_in_index: bool = false",
        "Targmax: {int32, int64}",
        "T: realnumbertype",
    ],
    shape: |c| Ok(vec![c.rank(0, 4)?]),
    grad: Missing,
    kernels: cpu!(make prepare_grad: T in f32, f64, i32, i64, u8, i16, i8, u16, u32, u64, f16, bf16),
    cases: |r| {
        let argmax = Tensor::vector(&[5i64, 7, 5, 15]).and_then(|t| t.reshape(Shape::new(&[1, 2, 2, 1])?));
        let inputs = [r.tensor(&[1, 4, 4, 1]), r.tensor(&[1, 2, 2, 1])].into_iter().chain(argmax);
        vec![with_window(Case::new(inputs.collect()), [2, 2], [2, 2], "SAME")]
    },
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let attrs = window_attrs(g.attrs, &["ksize", "strides", "padding", "include_batch_in_index"]);
    let (x, argmax, dy) = (g.x[0], g.y[1], g.dy()?);
    Ok(vec![g.op("MaxPoolGradWithArgmax", [x.into(), dy.into(), argmax.into()], &attrs)?.into()])
}

fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let pool = Pool::of(&node.attrs)?;
    let all_images = node.attrs.bool("include_batch_in_index")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let images = c.shape(0)?;
        let (grid, shape) = (pool.grid_of_planes(images)?, pool.output(images)?);
        let mut out = Tensor::zeros(T::DTYPE, shape.clone())?;
        let mut places;
        if out.elements() == 0 || images.elements() == 0 {
            places = Tensor::zeros(DataType::Int64, shape)?;
        } else {
            places = long_places::<T>(c, &grid, images, &shape)?;
            let (x, depth) = (c.slice::<T>(0)?, images.dim(3)?);
            let (per_image, per_output) = (x.len() / grid.batch, out.elements() / grid.batch);
            let at = places.as_mut_slice::<i64>()?;
            let images = out.as_mut_slice::<T>()?.chunks_mut(per_output).zip(at.chunks_mut(per_output));
            for (image, (out, at)) in images.enumerate() {
                let image = image * per_image;
                for (out, at) in out.chunks_mut(depth).zip(at.chunks_mut(depth)) {
                    for (channel, (out, at)) in out.iter_mut().zip(at).enumerate() {
                        let inside = *at as usize * depth + channel;
                        *out = x[image + inside];
                        *at = (if all_images { image + inside } else { inside }) as i64;
                    }
                }
            }
        }
        let argmax = match c.output_type(1)? {
            DataType::Int64 => places,
            other => int_tensor(other, places.as_slice::<i64>()?)?.reshape(places.shape().clone())?,
        };
        c.set(0, out);
        c.set(1, argmax);
        Ok(())
    }))
}

fn prepare_grad<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let pool = Pool::of(&node.attrs)?;
    let all_images = node.attrs.bool("include_batch_in_index")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let images = c.shape(0)?;
        let mut out = Tensor::zeros(T::DTYPE, images.clone())?;
        if out.elements() == 0 && c.shape(1)?.elements() == 0 {
            c.set(0, out);
            return Ok(());
        }
        pool.grid_of_planes(images)?;
        let shape = pool.output(images)?;
        check_shape("grad", c.shape(1)?, &shape)?;
        check_shape("argmax", c.shape(2)?, &shape)?;
        let (dy, argmax) = (c.slice::<T>(1)?, c.input(2)?.to_i64s()?);
        let batch = images.dim(0)?.max(1);
        let (per_image, per_output) = (images.elements() / batch, (dy.len() / batch).max(1));
        let sums = out.as_mut_slice::<T>()?;
        for (i, (dy, at)) in dy.iter().zip(&argmax).enumerate() {
            let image = if all_images { 0 } else { i / per_output * per_image };
            let limit = if all_images { sums.len() } else { per_image };
            let Some(at) = usize::try_from(*at).ok().filter(|at| *at < limit) else {
                return Err(invalid!("argmax must be in [0, {limit}), got {at} at {i}"));
            };
            sums[image + at] = sums[image + at].add(*dy);
        }
        c.set(0, out);
        Ok(())
    }))
}
