//! The gradients of `MaxPool`: `MaxPoolGrad` scatters to the pixel of the maximum, `MaxPoolGradGrad` gathers from it.

use super::parameters::{Pool, Source, check_shape, window_attrs, with_window};
use crate::convert::converted;
use crate::narrow::in_float;
use crate::prelude::*;
use thalweg_math::reduce::Number as Summed;
use thalweg_math::window::{ArgmaxIndex, Grid, max_pool_argmax, max_pool_gradient};

pub static MAX_POOL_GRAD: Op = Op {
    name: "MaxPoolGrad",
    doc: "The gradient of MaxPool: the gradient of each window goes to its largest element, the first of equal ones.",
    inputs: &["orig_input: T", "orig_output: T", "grad: T"],
    outputs: &["output: T"],
    attrs: &[
        "ksize: list(int) >= 4",
        "strides: list(int) >= 4",
        "padding: {'SAME', 'VALID', 'EXPLICIT'}",
        "explicit_paddings: list(int) = []",
        "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        "T: realnumbertype = DT_FLOAT",
    ],
    shape: |c| Ok(vec![c.rank(0, 4)?]),
    grad: Rule(|g| other(g, "MaxPoolGradGrad")),
    kernels: cpu!(make prepare: T in f32, f64, i32, i64, u8, i16, i8, u16, u32, u64; prepare_narrow: T in f16, bf16),
    cases: |r| {
        let mut case = |x: &[usize], y: &[usize]| Case::new(vec![r.tensor(x), r.tensor(y), r.tensor(y)]);
        vec![
            with_window(case(&[2, 4, 5, 3], &[2, 2, 2, 3]), [2, 2], [2, 2], "VALID"),
            with_window(case(&[1, 5, 5, 2], &[1, 3, 5, 2]), [3, 2], [2, 1], "SAME"),
            true_results(r.tensor(&[1, 2, 2, 1])),
        ]
    },
    expensive: true,
    ..Op::PURE
};

pub static MAX_POOL_GRAD_V2: Op = Op {
    name: "MaxPoolGradV2",
    inputs: &["orig_input: T", "orig_output: T", "grad: T", "ksize: int32", "strides: int32"],
    attrs: &[
        "padding: {'SAME', 'VALID'}",
        "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        "T: realnumbertype = DT_FLOAT",
    ],
    grad: Rule(|g| other(g, "MaxPoolGradGradV2")),
    cases: |r| v2_cases(r, [2, 4, 5, 3], [2, 2, 5, 3], [2, 2, 5, 3]),
    host_inputs: &["ksize", "strides"],
    ..MAX_POOL_GRAD
};

pub static MAX_POOL_GRAD_GRAD: Op = Op {
    name: "MaxPoolGradGrad",
    doc: "The gradient of MaxPoolGrad: for each window, the gradient of its largest element.",
    attrs: &[
        "ksize: list(int) >= 4",
        "strides: list(int) >= 4",
        "padding: {'SAME', 'VALID'}",
        "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        "T: realnumbertype",
    ],
    shape: grad_grad_shape,
    grad: Rule(|g| other(g, "MaxPoolGrad")),
    kernels: cpu!(make prepare_grad: T in f32, f64, i32, i64, u8, i16, i8, u16, u32, u64; prepare_narrow_grad: T in f16, bf16),
    cases: |r| vec![true_results(r.tensor(&[1, 3, 3, 1]))],
    ..MAX_POOL_GRAD
};

pub static MAX_POOL_GRAD_GRAD_V2: Op = Op {
    name: "MaxPoolGradGradV2",
    inputs: MAX_POOL_GRAD_V2.inputs,
    attrs: &["padding: {'SAME', 'VALID'}", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "T: realnumbertype"],
    grad: Rule(|g| other(g, "MaxPoolGradV2")),
    cases: |_| vec![],
    host_inputs: &["ksize", "strides"],
    ..MAX_POOL_GRAD_GRAD
};

/// An image with its max-pooled result, in which TensorFlow finds the maxima.
fn true_results(grad: Tensor) -> Case {
    let x = Tensor::vector(&[3f32, 1.0, 4.0, 1.5, 5.0, 9.0, 2.0, 6.0, 8.0])
        .and_then(|t| t.reshape(Shape::new(&[1, 3, 3, 1])?));
    let y = Tensor::vector(&[5f32, 9.0, 6.0, 9.0]).and_then(|t| t.reshape(Shape::new(&[1, 2, 2, 1])?));
    let inputs = [x, y].into_iter().flatten().chain([grad]).collect();
    with_window(Case::new(inputs), [2, 2], [1, 1], "VALID")
}

fn v2_cases(r: &mut CaseGen, x: [usize; 4], y: [usize; 4], dy: [usize; 4]) -> Vec<Case> {
    let (k, s) = (int_vector(&[1, 2, 2, 1]), int_vector(&[1, 2, 1, 1]));
    vec![Case::new(vec![r.tensor(&x), r.tensor(&y), r.tensor(&dy), k, s]).attr("padding", "SAME")]
}

fn grad_grad_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (x, y, dy) = (c.rank(0, 4)?, c.rank(1, 4)?, c.rank(2, 4)?);
    let x = x.merge(&dy)?;
    Ok(vec![match Source::known(c, 3)? {
        Some(pool) => pool.known_output(&x)?.merge(&y)?,
        None => y,
    }])
}

/// Both gradients are linear in the last input, and each is the gradient of the other.
pub fn other(g: &mut GradCall<'_>, op: &str) -> Result<Vec<Grad>> {
    let padded = op == "MaxPoolGrad";
    let names: &[&'static str] = &["ksize", "strides", "padding", "data_format", "explicit_paddings"];
    let attrs = window_attrs(g.attrs, if padded { names } else { &names[..4] });
    if !padded && g.attrs.str("padding")? == "EXPLICIT" {
        return Err(unimplemented("the gradient of MaxPoolGrad with explicit padding"));
    }
    let d = g.dy()?;
    let args = [g.x[0], g.x[1], d].into_iter().chain(g.x.iter().skip(3).copied()).map(Arg::from).collect();
    let d = g.graph.add(op, args, attrs.into_iter().collect())?;
    let d = d.first().copied().ok_or_else(|| internal("a pooling has an output"))?;
    let zeros = [g.unary("ZerosLike", g.x[0])?, g.unary("ZerosLike", g.x[1])?];
    let rest = g.x.iter().skip(3).map(|_| Grad::None);
    Ok(zeros.into_iter().chain([d]).map(Grad::from).chain(rest).collect())
}

type Run = fn(&mut OpCall<'_>, &Pool) -> Result<()>;

fn kernel(node: &KernelNode, run: Run) -> Result<Box<dyn Kernel>> {
    let source = Source::of(&node.attrs, 3)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run(c, &source.pool(c)?)))
}

fn narrow_kernel<T: Float>(node: &KernelNode, run: Run) -> Result<Box<dyn Kernel>> {
    let source = Source::of(&node.attrs, 3)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run(c, &source.pool(c)?))))
}

fn prepare<T: Real + Summed>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, run::<T>)
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, run::<f32>)
}

fn prepare_grad<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, run_grad::<T>)
}

fn prepare_narrow_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, run_grad::<f32>)
}

/// The argmax of each window of input 0, from [`max_pool_argmax`].
fn places<T: Real, P: Element + ArgmaxIndex>(c: &OpCall<'_>, grid: &Grid, output: &Shape) -> Result<Tensor> {
    let mut places = Tensor::uninit(P::DTYPE, output.clone())?;
    max_pool_argmax(c.par(), grid, output.dim(3)?, c.slice::<T>(0)?, places.as_mut_slice::<P>()?);
    Ok(places)
}

/// As int64, computed as int32 where that suffices.
pub fn long_places<T: Real>(c: &OpCall<'_>, grid: &Grid, images: &Shape, output: &Shape) -> Result<Tensor> {
    match images.elements() <= i32::MAX as usize {
        true => converted(&places::<T, i32>(c, grid, output)?, DataType::Int64),
        false => places::<T, i64>(c, grid, output),
    }
}

fn run<T: Real + Summed>(c: &mut OpCall<'_>, pool: &Pool) -> Result<()> {
    let images = c.shape(0)?;
    let (grid, output) = (pool.grid_of_planes(images)?, pool.output(images)?);
    check_shape("orig_output", c.shape(1)?, &output)?;
    check_shape("grad", c.shape(2)?, &output)?;
    let out = match output.elements() {
        0 => Tensor::zeros(T::DTYPE, images.clone())?,
        _ if images.elements() == 0 => Tensor::zeros(T::DTYPE, images.clone())?,
        _ if images.elements() <= i32::MAX as usize => scattered::<T, i32>(c, &grid, images, &output)?,
        _ => scattered::<T, i64>(c, &grid, images, &output)?,
    };
    c.set(0, out);
    Ok(())
}

fn scattered<T: Real + Summed, P: Element + ArgmaxIndex>(
    c: &OpCall<'_>,
    grid: &Grid,
    images: &Shape,
    output: &Shape,
) -> Result<Tensor> {
    let places = places::<T, P>(c, grid, output)?;
    let mut out = Tensor::uninit(T::DTYPE, images.clone())?;
    let (places, dy) = (places.as_slice::<P>()?, c.slice::<T>(2)?);
    max_pool_gradient(c.par(), grid, output.dim(3)?, places, dy, out.as_mut_slice::<T>()?);
    Ok(out)
}

fn run_grad<T: Real>(c: &mut OpCall<'_>, pool: &Pool) -> Result<()> {
    let images = c.shape(0)?;
    let (grid, output) = (pool.grid_of_planes(images)?, pool.output(images)?);
    check_shape("orig_output", c.shape(1)?, &output)?;
    check_shape("grad", c.shape(2)?, images)?;
    let mut out = Tensor::zeros(T::DTYPE, output.clone())?;
    if out.elements() > 0 && images.elements() > 0 {
        let places = long_places::<T>(c, &grid, images, &output)?;
        let (dy, depth) = (c.slice::<T>(2)?, output.dim(3)?);
        let (per_output, per_image) = (output.elements() / grid.batch, images.elements() / grid.batch);
        let places = places.as_slice::<i64>()?.chunks(per_output);
        let images = out.as_mut_slice::<T>()?.chunks_mut(per_output).zip(places);
        for ((out, places), dy) in images.zip(dy.chunks(per_image)) {
            for (out, places) in out.chunks_mut(depth).zip(places.chunks(depth)) {
                for (channel, (out, place)) in out.iter_mut().zip(places).enumerate() {
                    if *place >= 0 {
                        *out = dy[*place as usize * depth + channel];
                    }
                }
            }
        }
    }
    c.set(0, out);
    Ok(())
}
