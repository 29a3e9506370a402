//! `AvgPool` and its gradient: the window average, excluding padding.

use super::parameters::{Pool, check_shape, window_attrs, with_window};
use crate::narrow::in_float;
use crate::prelude::*;
use thalweg_math::reduce::Number as Summed;
use thalweg_math::window::{avg_pool, avg_pool_gradient};

pub static AVG_POOL: Op = Op {
    name: "AvgPool",
    doc: "The average of each channel over each window position, padding excluded.",
    inputs: &["value: T"],
    outputs: &["output: T"],
    attrs: ATTRS,
    shape: |c| Ok(vec![Pool::of(c.attrs)?.known_output(&c.rank(0, 4)?)?]),
    grad: Rule(|g| {
        let (x, dy, attrs) = (g.x[0], g.dy()?, window_attrs(g.attrs, WINDOW));
        let sizes = g.shape_of(x)?;
        Ok(vec![g.op("AvgPoolGrad", [sizes.into(), dy.into()], &attrs)?.into()])
    }),
    kernels: cpu!(make prepare: T in f32, f64; prepare_narrow: T in f16, bf16),
    cases: |r| {
        let mut case = |x: &[usize]| Case::new(vec![r.tensor(x)]);
        vec![
            with_window(case(&[2, 4, 5, 3]), [2, 2], [2, 2], "VALID"),
            with_window(case(&[1, 5, 5, 2]), [3, 2], [2, 1], "SAME"),
        ]
    },
    expensive: true,
    ..Op::PURE
};

pub static AVG_POOL_GRAD: Op = Op {
    name: "AvgPoolGrad",
    doc: "The gradient of AvgPool by images of shape orig_input_shape.",
    inputs: &["orig_input_shape: int32", "grad: T"],
    shape: |c| {
        c.rank(1, 4)?;
        Ok(vec![c.as_shape(0)?.merge(&PartialShape::unknown_of_rank(4))?])
    },
    grad: Rule(|g| {
        let (d, attrs) = (g.dy()?, window_attrs(g.attrs, WINDOW));
        Ok(vec![Grad::None, g.op("AvgPool", [d.into()], &attrs)?.into()])
    }),
    kernels: cpu!(make prepare_grad: T in f32, f64; prepare_narrow_grad: T in f16, bf16),
    cases: |r| {
        let mut case = |x: &[i32], dy: &[usize]| Case::new(vec![int_vector(x), r.tensor(dy)]);
        vec![
            with_window(case(&[2, 4, 5, 3], &[2, 2, 2, 3]), [2, 2], [2, 2], "VALID"),
            with_window(case(&[1, 5, 5, 2], &[1, 3, 5, 2]), [3, 2], [2, 1], "SAME"),
        ]
    },
    host_inputs: &["orig_input_shape"],
    ..AVG_POOL
};

const ATTRS: &[&str] = &[
    "ksize: list(int) >= 4",
    "strides: list(int) >= 4",
    "padding: {'SAME', 'VALID'}",
    "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
    "T: {half, bfloat16, float, double}",
];
const WINDOW: &[&str] = &["ksize", "strides", "padding", "data_format"];

fn prepare<T: Element + Summed>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let pool = Pool::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run::<T>(c, &pool)))
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let pool = Pool::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run::<f32>(c, &pool))))
}

fn prepare_grad<T: Element + Summed>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let pool = Pool::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run_grad::<T>(c, &pool)))
}

fn prepare_narrow_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let pool = Pool::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run_grad::<f32>(c, &pool))))
}

fn run<T: Element + Summed>(c: &mut OpCall<'_>, pool: &Pool) -> Result<()> {
    let out = averages::<T>(c, pool)?;
    c.set(0, out);
    Ok(())
}

fn run_grad<T: Element + Summed>(c: &mut OpCall<'_>, pool: &Pool) -> Result<()> {
    let out = gradient::<T>(c, pool)?;
    c.set(0, out);
    Ok(())
}

pub fn averages<T: Element + Summed>(c: &OpCall<'_>, pool: &Pool) -> Result<Tensor> {
    let images = c.shape(0)?;
    let grid = pool.grid_of_planes(images)?;
    let mut out = Tensor::zeros(T::DTYPE, pool.output(images)?)?;
    if images.elements() > 0 && out.elements() > 0 {
        avg_pool(c.par(), &grid, pool.channels(images)?, c.slice::<T>(0)?, out.as_mut_slice::<T>()?);
    }
    Ok(out)
}

pub fn gradient<T: Element + Summed>(c: &OpCall<'_>, pool: &Pool) -> Result<Tensor> {
    let sizes = c.int_vector(0)?;
    if sizes.len() != pool.rank() {
        return Err(invalid!("orig_input_shape must have {} elements, got {sizes:?}", pool.rank()));
    }
    let images = Shape::from_i64(&sizes)?;
    let grid = pool.grid_of_planes(&images)?;
    check_shape("grad", c.shape(1)?, &pool.output(&images)?)?;
    let mut out = Tensor::zeros(T::DTYPE, images.clone())?;
    if out.elements() > 0 && c.shape(1)?.elements() > 0 {
        let (channels, dy) = (pool.channels(&images)?, c.slice::<T>(1)?);
        avg_pool_gradient(c.par(), &grid, channels, dy, out.as_mut_slice::<T>()?);
    }
    Ok(out)
}
