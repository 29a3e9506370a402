//! `Conv3D`: 3-D convolution, with its input and filter gradients, each in two versions.

use super::Gradients;
use super::conv2d::convolved;
use super::conv2d_backprop_filter::by_filter;
use super::conv2d_backprop_input::by_images;
use super::product::Multiplied;
use super::sizes::output_shape;
use crate::narrow::in_float;
use crate::nn::batch_norm::Channels;
use crate::nn::volumes::in_channels_last;
use crate::prelude::*;
use crate::windows::{Layout, Sliding};
use thalweg_math::gemm::Epilogue;

pub static CONV3D: Op = Op {
    name: "Conv3D",
    doc: "The 3-D convolution (cross-correlation) of the volumes with the filters.",
    inputs: &["input: T", "filter: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: {half, bfloat16, float, double}",
        "strides: list(int) >= 5",
        "padding: {'SAME', 'VALID'}",
        "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
        "dilations: list(int) = [1, 1, 1, 1, 1]",
    ],
    shape: |c| {
        let (volumes, filter) = (c.rank(0, 5)?, c.rank(1, 5)?);
        Ok(vec![output_shape(&sliding(c.attrs)?, &volumes, &filter)?])
    },
    grad: Rule(|g| Gradients::new(g, OPS).of_output()),
    kernels: cpu!(make prepare: T in f32, f64; prepare_narrow: T in f16, bf16),
    cases: |r| {
        let mut case = |x: &[usize], f: &[usize]| Case::new(vec![r.tensor(x), r.tensor(f)]);
        vec![
            with_windows(case(&[2, 3, 4, 3, 2], &[2, 3, 2, 2, 3]), [1, 1, 1], "VALID"),
            with_windows(case(&[1, 4, 3, 5, 2], &[3, 2, 3, 2, 1]), [2, 1, 2], "SAME"),
            with_windows(case(&[2, 2, 3, 2, 3], &[1, 1, 1, 3, 2]), [1, 1, 1], "SAME"),
        ]
    },
    expensive: true,
    ..Op::PURE
};

pub static CONV3D_BACKPROP_INPUT_V2: Op = Op {
    name: "Conv3DBackpropInputV2",
    doc: "The gradient of Conv3D by volumes of shape input_sizes.",
    inputs: &["input_sizes: Tshape", "filter: T", "out_backprop: T"],
    attrs: &[
        "T: {half, bfloat16, float, double}",
        "strides: list(int) >= 5",
        "padding: {'SAME', 'VALID'}",
        "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
        "dilations: list(int) = [1, 1, 1, 1, 1]",
        "Tshape: {int32, int64} = DT_INT32",
    ],
    shape: |c| {
        c.rank(2, 5)?;
        Ok(vec![c.as_shape(0)?.merge(&PartialShape::unknown_of_rank(5))?])
    },
    grad: Rule(|g| Gradients::new(g, OPS).of_images()),
    kernels: cpu!(make prepare_by_images: T in f32, f64; prepare_narrow_by_images: T in f16, bf16),
    cases: |r| {
        let mut case =
            |x: &[i32], f: &[usize], dy: &[usize]| Case::new(vec![int_vector(x), r.tensor(f), r.tensor(dy)]);
        vec![
            with_windows(case(&[2, 3, 4, 3, 2], &[2, 3, 2, 2, 3], &[2, 2, 2, 2, 3]), [1, 1, 1], "VALID"),
            with_windows(case(&[1, 4, 3, 5, 2], &[3, 2, 3, 2, 1], &[1, 2, 3, 3, 1]), [2, 1, 2], "SAME"),
            with_windows(case(&[2, 2, 3, 2, 3], &[1, 1, 1, 3, 2], &[2, 2, 3, 2, 2]), [1, 1, 1], "SAME"),
        ]
    },
    host_inputs: &["input_sizes"],
    ..CONV3D
};

pub static CONV3D_BACKPROP_FILTER_V2: Op = Op {
    name: "Conv3DBackpropFilterV2",
    doc: "The gradient of Conv3D by a filter of shape filter_sizes.",
    inputs: &["input: T", "filter_sizes: int32", "out_backprop: T"],
    shape: |c| {
        c.rank(0, 5)?;
        c.rank(2, 5)?;
        Ok(vec![c.as_shape(1)?.merge(&PartialShape::unknown_of_rank(5))?])
    },
    grad: Rule(|g| Gradients::new(g, OPS).of_filter()),
    kernels: cpu!(make prepare_by_filter: T in f32, f64; prepare_narrow_by_filter: T in f16, bf16),
    cases: |r| {
        let mut case =
            |x: &[usize], f: &[i32], dy: &[usize]| Case::new(vec![r.tensor(x), int_vector(f), r.tensor(dy)]);
        vec![
            with_windows(case(&[2, 3, 4, 3, 2], &[2, 3, 2, 2, 3], &[2, 2, 2, 2, 3]), [1, 1, 1], "VALID"),
            with_windows(case(&[1, 4, 3, 5, 2], &[3, 2, 3, 2, 1], &[1, 2, 3, 3, 1]), [2, 1, 2], "SAME"),
        ]
    },
    host_inputs: &["filter_sizes"],
    ..CONV3D
};

pub static CONV3D_BACKPROP_INPUT: Op = Op {
    name: "Conv3DBackpropInput",
    doc: "The gradient of Conv3D by volumes of the shape of input.",
    inputs: &["input: T", "filter: T", "out_backprop: T"],
    attrs: &[
        "T: {half, float, double}",
        "strides: list(int) >= 5",
        "padding: {'SAME', 'VALID'}",
        "dilations: list(int) = [1, 1, 1, 1, 1]",
    ],
    shape: |c| Ok(vec![c.rank(0, 5)?]),
    grad: Missing,
    kernels: cpu!(make prepare_by_images: T in f32, f64; prepare_narrow_by_images: T in f16),
    cases: |r| {
        let inputs = [[2, 3, 4, 3, 2], [2, 3, 2, 2, 3], [2, 2, 2, 2, 3]].map(|s| r.tensor(&s));
        vec![with_windows(Case::new(inputs.to_vec()), [1, 1, 1], "VALID")]
    },
    ..CONV3D
};

pub static CONV3D_BACKPROP_FILTER: Op = Op {
    name: "Conv3DBackpropFilter",
    doc: "The gradient of Conv3D by a filter of the shape of filter.",
    shape: |c| Ok(vec![c.rank(1, 5)?]),
    kernels: cpu!(make prepare_by_filter: T in f32, f64; prepare_narrow_by_filter: T in f16),
    ..CONV3D_BACKPROP_INPUT
};

/// The convolution, and its input and filter gradients.
const OPS: [&str; 3] = ["Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"];

/// A case with these strides and padding.
fn with_windows(case: Case, [d, h, w]: [i64; 3], padding: &str) -> Case {
    case.attr("strides", Attr::ints(&[1, d, h, w, 1])).attr("padding", padding)
}

/// Ops without data_format are NDHWC.
fn sliding(attrs: &Attrs) -> Result<Sliding> {
    let layout = if attrs.get("data_format").is_some() { Layout::of(attrs)? } else { Layout::NDHWC };
    Sliding::over(layout, attrs, &attrs.ints("strides")?)
}

type Run = fn(&OpCall<'_>, &Sliding) -> Result<Tensor>;

/// A kernel, which computes with channels last: the volumes of other layouts are transposed.
struct Volumes {
    sliding: Sliding,
    channels: Channels,
    run: Run,
}

impl Volumes {
    fn of(node: &KernelNode, run: Run) -> Result<Volumes> {
        let mut sliding = sliding(&node.attrs)?;
        let channels = Channels { first: !sliding.layout.channels_last(), rank: 5 };
        sliding.layout = Layout::NDHWC;
        Ok(Volumes { sliding, channels, run })
    }

    fn run(&self, c: &mut OpCall<'_>) -> Result<()> {
        in_channels_last(c, self.channels, Some(1), &|c| (self.run)(c, &self.sliding))
    }
}

fn kernel(node: &KernelNode, run: Run) -> Result<Box<dyn Kernel>> {
    let volumes = Volumes::of(node, run)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| volumes.run(c)))
}

/// As `kernel`, for halves: `run` is for float.
fn narrow_kernel<T: Float>(node: &KernelNode, run: Run) -> Result<Box<dyn Kernel>> {
    let volumes = Volumes::of(node, run)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| volumes.run(c))))
}

fn prepare<T: Multiplied>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, run::<T>)
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, run::<f32>)
}

fn prepare_by_images<T: Multiplied>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, run_by_images::<T>)
}

fn prepare_narrow_by_images<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, run_by_images::<f32>)
}

fn prepare_by_filter<T: Multiplied>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel(node, run_by_filter::<T>)
}

fn prepare_narrow_by_filter<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    narrow_kernel::<T>(node, run_by_filter::<f32>)
}

fn run<T: Multiplied>(c: &OpCall<'_>, sliding: &Sliding) -> Result<Tensor> {
    convolved::<T>(c, sliding, Epilogue::default())
}

fn run_by_images<T: Multiplied>(c: &OpCall<'_>, sliding: &Sliding) -> Result<Tensor> {
    by_images::<T>(c, sliding, shape_input(c, 0)?)
}

fn run_by_filter<T: Multiplied>(c: &OpCall<'_>, sliding: &Sliding) -> Result<Tensor> {
    by_filter::<T>(c, sliding, shape_input(c, 1)?)
}

/// The shape of input `i`, or in it if it is a vector of sizes.
fn shape_input(c: &OpCall<'_>, i: usize) -> Result<Shape> {
    if c.input(i)?.dtype().is_float() {
        return Ok(c.shape(i)?.clone());
    }
    let sizes = c.int_vector(i)?;
    match sizes.len() {
        5 => Shape::from_i64(&sizes),
        n => Err(invalid!("{} must have 5 elements, got {n}", c.input_name(i))),
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::call;

    fn values(dims: &[usize], salt: u64) -> Tensor {
        let mut r = CaseGen::new(salt);
        Tensor::build(Shape::new(dims).unwrap(), |out: &mut [f64]| out.fill_with(|| r.unit() - 0.5)).unwrap()
    }

    fn dot(a: &Tensor, b: &Tensor) -> f64 {
        a.as_slice::<f64>().unwrap().iter().zip(b.as_slice::<f64>().unwrap()).map(|(a, b)| a * b).sum()
    }

    fn swapped(x: &Tensor) -> Tensor {
        let [n, c, d, h, w] = *x.shape().dims() else { panic!("{}", x.shape()) };
        let from = x.as_slice::<f64>().unwrap();
        Tensor::build(Shape::new(&[n, d, h, w, c]).unwrap(), |out: &mut [f64]| {
            for (i, out) in out.iter_mut().enumerate() {
                let (channel, place) = (i % c, i / c);
                *out = from[(place / (d * h * w) * c + channel) * d * h * w + place % (d * h * w)];
            }
        })
        .unwrap()
    }

    /// <conv(x, f), g> = <x, by_images(f, g)> = <f, by_filter(x, g)>, with dilations, which TensorFlow has with oneDNN only.
    #[test]
    fn gradients_are_transposes_and_layouts_agree() {
        let attrs = |format: &str, around: fn(i64, i64, i64) -> [i64; 5]| {
            [
                ("strides", Attr::ints(&around(1, 2, 1))),
                ("dilations", Attr::ints(&around(2, 1, 2))),
                ("padding", "SAME".into()),
                ("data_format", format.into()),
            ]
        };
        let first = attrs("NCDHW", |d, h, w| [1, 1, d, h, w]);
        let last = attrs("NDHWC", |d, h, w| [1, d, h, w, 1]);
        let (x, f) = (values(&[2, 3, 5, 4, 6], 1), values(&[2, 3, 2, 3, 4], 2));
        let y = call("Conv3D", &[x.clone(), f.clone()], &first).unwrap().remove(0);
        assert_eq!(y.shape().dims(), [2, 4, 5, 2, 6]);
        let same = call("Conv3D", &[swapped(&x), f.clone()], &last).unwrap().remove(0);
        assert!(swapped(&y).same_bits(&same));
        let g = values(y.shape(), 3);
        let sizes = |dims: &[i32]| Tensor::vector(dims).unwrap();
        let dx = call("Conv3DBackpropInputV2", &[sizes(&[2, 3, 5, 4, 6]), f.clone(), g.clone()], &first);
        let df = call("Conv3DBackpropFilterV2", &[x.clone(), sizes(&[2, 3, 2, 3, 4]), g.clone()], &first);
        let want = dot(&y, &g);
        for got in [dot(&x, &dx.unwrap()[0]), dot(&f, &df.unwrap()[0])] {
            assert!((got - want).abs() < 1e-9, "{got}, not {want}");
        }
    }
}
