//! `AvgPool3D`, `MaxPool3D` and their gradients: pooling of volumes.

use super::avg_pool::{averages, gradient};
use super::max_pool_grad::other;
use super::parameters::{Pool, check_shape, window_attrs};
use crate::narrow::in_float;
use crate::nn::volumes::in_channels_last;
use crate::prelude::*;
use thalweg_math::reduce::Number as Summed;
use thalweg_math::window::{max_places_gather, max_places_gradient, max_pool};

pub static AVG_POOL3D: Op = Op {
    name: "AvgPool3D",
    doc: "The average of each channel over each window position in volumes, padding excluded.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &[
        "ksize: list(int) >= 5",
        "strides: list(int) >= 5",
        "padding: {'SAME', 'VALID'}",
        "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
        "T: {half, bfloat16, float, double}",
    ],
    shape: |c| Ok(vec![Pool::of(c.attrs)?.known_output(&c.rank(0, 5)?)?]),
    grad: Rule(|g| {
        let (x, dy, attrs) = (g.x[0], g.dy()?, window_attrs(g.attrs, WINDOW));
        let sizes = g.shape_of(x)?;
        Ok(vec![g.op("AvgPool3DGrad", [sizes.into(), dy.into()], &attrs)?.into()])
    }),
    kernels: cpu!(make prepare_avg: T in f32, f64; prepare_narrow_avg: T in f16, bf16),
    cases: |r| {
        let mut case = |x: &[usize]| Case::new(vec![r.tensor(x)]);
        vec![
            with_window(case(&[2, 3, 4, 3, 2]), [2, 2, 3], [1, 2, 1], "VALID"),
            with_window(case(&[1, 4, 3, 3, 2]), [3, 2, 2], [2, 1, 2], "SAME"),
        ]
    },
    expensive: true,
    ..Op::PURE
};

pub static AVG_POOL3D_GRAD: Op = Op {
    name: "AvgPool3DGrad",
    doc: "The gradient of AvgPool3D by volumes of shape orig_input_shape.",
    inputs: &["orig_input_shape: int32", "grad: T"],
    shape: |c| {
        c.rank(1, 5)?;
        Ok(vec![c.as_shape(0)?.merge(&PartialShape::unknown_of_rank(5))?])
    },
    grad: Rule(|g| {
        let (d, attrs) = (g.dy()?, window_attrs(g.attrs, WINDOW));
        Ok(vec![Grad::None, g.op("AvgPool3D", [d.into()], &attrs)?.into()])
    }),
    kernels: cpu!(make prepare_avg_grad: T in f32, f64; prepare_narrow_avg_grad: T in f16, bf16),
    cases: |r| {
        let mut case = |x: &[i32], dy: &[usize]| Case::new(vec![int_vector(x), r.tensor(dy)]);
        vec![
            with_window(case(&[2, 3, 4, 3, 2], &[2, 2, 2, 1, 2]), [2, 2, 3], [1, 2, 1], "VALID"),
            with_window(case(&[1, 4, 3, 3, 2], &[1, 2, 3, 2, 2]), [3, 2, 2], [2, 1, 2], "SAME"),
        ]
    },
    host_inputs: &["orig_input_shape"],
    ..AVG_POOL3D
};

pub static MAX_POOL3D: Op = Op {
    name: "MaxPool3D",
    doc: "The maximum of each channel over each window position in volumes; NaNs are ignored.",
    attrs: &[
        "ksize: list(int) >= 5",
        "strides: list(int) >= 5",
        "padding: {'SAME', 'VALID'}",
        "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
        "T: {half, bfloat16, float}",
    ],
    grad: Rule(|g| {
        let (x, y, dy, attrs) = (g.x[0], g.y[0], g.dy()?, window_attrs(g.attrs, WINDOW));
        Ok(vec![g.op("MaxPool3DGrad", [x.into(), y.into(), dy.into()], &attrs)?.into()])
    }),
    kernels: cpu!(make prepare_max: T in f32; prepare_narrow_max: T in f16, bf16),
    ..AVG_POOL3D
};

pub static MAX_POOL3D_GRAD: Op = Op {
    name: "MaxPool3DGrad",
    doc: "The gradient of MaxPool3D: the gradient of each window goes to all its elements that equal orig_output.",
    inputs: &["orig_input: TInput", "orig_output: TInput", "grad: T"],
    attrs: &[
        "ksize: list(int) >= 5",
        "strides: list(int) >= 5",
        "padding: {'SAME', 'VALID'}",
        "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
        "T: {half, bfloat16, float} = DT_FLOAT",
        "TInput: {half, bfloat16, float} = DT_FLOAT",
    ],
    shape: |c| Ok(vec![c.rank(0, 5)?]),
    grad: Rule(|g| other(g, "MaxPool3DGradGrad")),
    kernels: &[
        cpu_row!(
            [("T", DataType::Float), ("TInput", DataType::Float)],
            Make::Prepared(prepare_max_grad::<f32>)
        ),
        cpu_row!(
            [("T", DataType::Half), ("TInput", DataType::Half)],
            Make::Prepared(prepare_narrow_max_grad::<f16>)
        ),
        cpu_row!(
            [("T", DataType::Bfloat16), ("TInput", DataType::Bfloat16)],
            Make::Prepared(prepare_narrow_max_grad::<bf16>)
        ),
    ],
    cases: |r| true_results(r, |[_, y]| y),
    ..MAX_POOL3D
};

pub static MAX_POOL3D_GRAD_GRAD: Op = Op {
    name: "MaxPool3DGradGrad",
    doc: "The gradient of MaxPool3DGrad: for each window, the gradient of its first element that equals orig_output.",
    inputs: &["orig_input: T", "orig_output: T", "grad: T"],
    attrs: &[
        "ksize: list(int) >= 5",
        "strides: list(int) >= 5",
        "padding: {'SAME', 'VALID'}",
        "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
        "T: realnumbertype",
    ],
    shape: |c| {
        let x = c.rank(0, 5)?.merge(&c.rank(2, 5)?)?;
        Ok(vec![Pool::of(c.attrs)?.known_output(&x)?.merge(&c.rank(1, 5)?)?])
    },
    grad: Rule(|g| other(g, "MaxPool3DGrad")),
    kernels: cpu!(make prepare_max_grad_grad: T in f32; prepare_narrow_max_grad_grad: T in f16, bf16),
    cases: |r| true_results(r, |[x, _]| x),
    ..MAX_POOL3D
};

const WINDOW: &[&str] = &["ksize", "strides", "padding", "data_format"];

fn with_window(case: Case, size: [i64; 3], strides: [i64; 3], padding: &str) -> Case {
    let five = |[d, h, w]: [i64; 3]| Attr::ints(&[1, d, h, w, 1]);
    case.attr("ksize", five(size)).attr("strides", five(strides)).attr("padding", padding)
}

/// A volume with its max-pooled result, and a gradient of one of these shapes. The values are far apart: no ties.
fn true_results(r: &mut CaseGen, gradient: fn([[usize; 5]; 2]) -> [usize; 5]) -> Vec<Case> {
    let x: [f32; 12] = [3.0, 1.0, 4.0, 1.5, 5.0, 9.0, 2.0, 6.0, 8.0, 7.0, 0.5, -1.0];
    let y: [f32; 4] = [6.0, 9.0, 8.0, 9.0];
    let shapes = [[1, 2, 2, 3, 1], [1, 1, 2, 2, 1]];
    let tensors = [
        Tensor::from_slice(Shape::new(&shapes[0]).unwrap_or_default(), &x),
        Tensor::from_slice(Shape::new(&shapes[1]).unwrap_or_default(), &y),
    ];
    let inputs = tensors.into_iter().flatten().chain([r.tensor(&gradient(shapes))]).collect();
    vec![with_window(Case::new(inputs), [2, 1, 2], [1, 1, 1], "VALID").without_difference(&[0, 1])]
}

type Run = fn(&OpCall<'_>, &Pool) -> Result<Tensor>;

fn kernel(node: &KernelNode, run: Run) -> Result<Box<dyn Kernel>> {
    let (pool, channels) = Pool::of_volumes(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_channels_last(c, channels, None, &|c| run(c, &pool))))
}

/// As `kernel`, for halves: `run` is for float.
fn narrow_kernel<T: Float>(node: &KernelNode, run: Run) -> Result<Box<dyn Kernel>> {
    let (pool, channels) = Pool::of_volumes(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        in_float::<T>(c, &|c| in_channels_last(c, channels, None, &|c| run(c, &pool)))
    }))
}

fn prepare_avg<T: Element + Summed>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, averages::<T>)
}

fn prepare_narrow_avg<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, averages::<f32>)
}

fn prepare_avg_grad<T: Element + Summed>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, gradient::<T>)
}

fn prepare_narrow_avg_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, gradient::<f32>)
}

fn prepare_max<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, maxima::<T>)
}

fn prepare_narrow_max<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, maxima::<f32>)
}

fn prepare_max_grad<T: Real + Summed>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, scattered::<T>)
}

fn prepare_narrow_max_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, scattered::<f32>)
}

fn prepare_max_grad_grad<T: Real + Summed>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, gathered::<T>)
}

fn prepare_narrow_max_grad_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, gathered::<f32>)
}

fn maxima<T: Real>(c: &OpCall<'_>, pool: &Pool) -> Result<Tensor> {
    let volumes = c.shape(0)?;
    let (grid, channels) = (pool.grid_of_planes(volumes)?, pool.channels(volumes)?);
    let mut out = Tensor::uninit(T::DTYPE, pool.output(volumes)?)?;
    if volumes.elements() > 0 && out.elements() > 0 {
        let (x, y) = (c.slice::<T>(0)?, out.as_mut_slice::<T>()?);
        max_pool(c.par(), &grid, channels, T::least_finite(), x, y);
    }
    Ok(out)
}

fn scattered<T: Real + Summed>(c: &OpCall<'_>, pool: &Pool) -> Result<Tensor> {
    let volumes = c.shape(0)?;
    let (grid, channels, output) =
        (pool.grid_of_planes(volumes)?, pool.channels(volumes)?, pool.output(volumes)?);
    check_shape("orig_output", c.shape(1)?, &output)?;
    check_shape("grad", c.shape(2)?, &output)?;
    let mut out = Tensor::zeros(T::DTYPE, volumes.clone())?;
    if out.elements() > 0 && output.elements() > 0 {
        let inputs = [c.slice::<T>(0)?, c.slice::<T>(1)?, c.slice::<T>(2)?];
        max_places_gradient(c.par(), &grid, channels, inputs, out.as_mut_slice::<T>()?);
    }
    Ok(out)
}

fn gathered<T: Real + Summed>(c: &OpCall<'_>, pool: &Pool) -> Result<Tensor> {
    let volumes = c.shape(0)?;
    let (grid, channels, output) =
        (pool.grid_of_planes(volumes)?, pool.channels(volumes)?, pool.output(volumes)?);
    check_shape("orig_output", c.shape(1)?, &output)?;
    check_shape("grad", c.shape(2)?, volumes)?;
    let mut out = Tensor::zeros(T::DTYPE, output)?;
    if out.elements() > 0 && volumes.elements() > 0 {
        let inputs = [c.slice::<T>(0)?, c.slice::<T>(1)?, c.slice::<T>(2)?];
        max_places_gather(c.par(), &grid, channels, inputs, out.as_mut_slice::<T>()?);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, floats};

    /// Recorded from TensorFlow without oneDNN, which finds the maxima by comparing with orig_output.
    #[test]
    fn ties_share_the_gradient_and_a_wrong_output_gets_none() {
        let line = |v: &[f32]| floats(&[1, 1, 1, v.len(), 1], v);
        let five = |n: i64| Attr::ints(&[1, 1, 1, n, 1]);
        let attrs = [("ksize", five(2)), ("strides", five(1)), ("padding", "VALID".into())];
        let run = |op: &str, inputs: [&[f32]; 3]| {
            let out = call(op, &inputs.map(line), &attrs).unwrap();
            out[0].as_slice::<f32>().unwrap().to_vec()
        };
        let (x, y) = ([3.0, 3.0, 1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 1.0, 2.0, 2.0]);
        let g = [1.0, 10.0, 100.0, 1000.0, 10000.0];
        let d = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(run("MaxPool3DGrad", [&x, &y, &g]), [1.0, 11.0, 100.0, 100.0, 11000.0, 10000.0]);
        assert_eq!(run("MaxPool3DGrad", [&x, &[0.0; 5], &g]), [0.0; 6]);
        assert_eq!(run("MaxPool3DGradGrad", [&x, &y, &d]), [1.0, 2.0, 3.0, 5.0, 5.0]);
        assert_eq!(run("MaxPool3DGradGrad", [&x, &[1.0; 5], &d]), [0.0, 3.0, 3.0, 4.0, 0.0]);
    }
}
