//! `LRN`: local response normalisation, and its gradient.

use crate::elementwise::for_chunks_of;
use crate::narrow::in_float;
use crate::prelude::*;

pub static LRN: Op = Op {
    name: "LRN",
    doc: "Each element / (bias + alpha * the sum of squares of the channels up to depth_radius away) ^ beta.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: ATTRS,
    shape: |c| Ok(vec![c.rank(0, 4)?]),
    grad: Rule(|g| {
        let attrs: Vec<(&'static str, Attr)> = ["depth_radius", "bias", "alpha", "beta"]
            .iter()
            .filter_map(|name| Some((*name, g.attrs.get(name)?.clone())))
            .collect();
        let (x, y, dy) = (g.x[0], g.y[0], g.dy()?);
        Ok(vec![g.op("LRNGrad", [dy.into(), x.into(), y.into()], &attrs)?.into()])
    }),
    kernels: cpu!(make prepare: T in f32, f16, bf16),
    cases: |r| {
        let case = |x: Tensor| Case::new(vec![x]).attr("depth_radius", 1).attr("alpha", 0.5f32);
        vec![
            case(r.tensor(&[2, 1, 3, 4])),
            case(r.tensor(&[1, 2, 1, 5])).attr("beta", 0.75f32).attr("bias", 2f32),
        ]
    },
    expensive: true,
    ..Op::PURE
};

pub static LRN_GRAD: Op = Op {
    name: "LRNGrad",
    doc: "The gradient of LRN.",
    inputs: &["input_grads: T", "input_image: T", "output_image: T"],
    shape: |c| {
        let mut all = c.rank(0, 4)?;
        for i in 1..3 {
            all = all.merge(&c.rank(i, 4)?)?;
        }
        Ok(vec![all])
    },
    grad: Missing,
    kernels: cpu!(make prepare_grad: T in f32, f16, bf16),
    cases: |r| {
        let mut image = || r.tensor(&[2, 1, 3, 4]);
        vec![Case::new(vec![image(), image(), image()]).attr("depth_radius", 1).attr("alpha", 0.5f32)]
    },
    ..LRN
};

const ATTRS: &[&str] = &[
    "depth_radius: int = 5",
    "bias: float = 1.0",
    "alpha: float = 1.0",
    "beta: float = 0.5",
    "T: {half, bfloat16, float} = DT_FLOAT",
];

#[derive(Clone, Copy)]
struct Norm {
    radius: usize,
    bias: f32,
    alpha: f32,
    beta: f32,
}

impl Norm {
    fn of(attrs: &Attrs) -> Result<Norm> {
        let radius = attrs.int("depth_radius")?;
        let radius = usize::try_from(radius)
            .map_err(|_| invalid!("depth_radius must not be negative, got {radius}"))?;
        let (bias, alpha, beta) = (attrs.float("bias")?, attrs.float("alpha")?, attrs.float("beta")?);
        Ok(Norm { radius, bias, alpha, beta })
    }

    /// bias + alpha * sum of squares of adjacent channels.
    fn around(&self, x: &[f32], out: &mut [f32]) {
        for (i, out) in out.iter_mut().enumerate() {
            let near = &x
                [i.saturating_sub(self.radius)..x.len().min(i.saturating_add(self.radius).saturating_add(1))];
            *out = self.bias + self.alpha * near.iter().map(|v| v * v).sum::<f32>();
        }
    }
}

fn prepare<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let norm = Norm::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run(c, &norm))))
}

fn prepare_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let norm = Norm::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run_grad(c, &norm))))
}

/// The channels of the images, which must be 4-D.
fn depth(shape: &Shape) -> Result<usize> {
    match *shape.dims() {
        [_, _, _, depth] => Ok(depth.max(1)),
        _ => Err(invalid!("in must be 4-dimensional, got shape {shape}")),
    }
}

fn run(c: &mut OpCall<'_>, norm: &Norm) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let depth = depth(&shape)?;
    let mut out = Tensor::uninit(DataType::Float, shape)?;
    let x = c.slice::<f32>(0)?;
    for_chunks_of(c.par(), out.as_mut_slice::<f32>()?, depth, 4096_usize.div_ceil(depth), &|pixels, out| {
        for (pixel, out) in pixels.zip(out.chunks_exact_mut(depth)) {
            let x = &x[pixel * depth..][..depth];
            norm.around(x, out);
            out.iter_mut().zip(x).for_each(|(out, x)| *out = x * out.powf(-norm.beta));
        }
    });
    c.set(0, out);
    Ok(())
}

/// With n the norm, y = x n^-beta: dx = dy n^-beta - 2 alpha beta x * the sum of dy y / n around.
fn run_grad(c: &mut OpCall<'_>, norm: &Norm) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let depth = depth(&shape)?;
    if (1..3).any(|i| c.shape(i).is_ok_and(|s| *s != shape)) {
        return Err(invalid!(
            "input_grads, input_image, and out_image should have the same shape, got {shape}, {} and {}",
            c.shape(1)?,
            c.shape(2)?
        ));
    }
    let mut out = Tensor::uninit(DataType::Float, shape)?;
    let (dy, x, y) = (c.slice::<f32>(0)?, c.slice::<f32>(1)?, c.slice::<f32>(2)?);
    for_chunks_of(c.par(), out.as_mut_slice::<f32>()?, depth, 4096_usize.div_ceil(depth), &|pixels, out| {
        let (mut around, mut terms) = (scratch::filled(depth, 0f32), scratch::filled(depth, 0f32));
        for (pixel, out) in pixels.zip(out.chunks_exact_mut(depth)) {
            let [dy, x, y] = [dy, x, y].map(|all| &all[pixel * depth..][..depth]);
            norm.around(x, &mut around);
            for (i, term) in terms.iter_mut().enumerate() {
                *term = dy[i] * y[i] / around[i];
            }
            for (i, out) in out.iter_mut().enumerate() {
                let near =
                    i.saturating_sub(norm.radius)..depth.min(i.saturating_add(norm.radius).saturating_add(1));
                let sum: f32 = terms[near].iter().sum();
                *out = dy[i] * around[i].powf(-norm.beta) - 2.0 * norm.alpha * norm.beta * x[i] * sum;
            }
        }
    });
    c.set(0, out);
    Ok(())
}
