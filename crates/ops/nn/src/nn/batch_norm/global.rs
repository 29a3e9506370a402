//! `BatchNormWithGlobalNormalization` and its gradient, which old graphs have.

use crate::elementwise::for_chunks_of;
use crate::narrow::in_float;
use crate::prelude::*;

pub static BATCH_NORM_WITH_GLOBAL_NORMALIZATION: Op = Op {
    name: "BatchNormWithGlobalNormalization",
    doc: "(t - m) / sqrt(v + variance_epsilon), times gamma if scale_after_normalization, plus beta, by channel.",
    inputs: &["t: T", "m: T", "v: T", "beta: T", "gamma: T"],
    outputs: &["result: T"],
    attrs: &["T: numbertype", "variance_epsilon: float", "scale_after_normalization: bool"],
    shape: |c| {
        let t = c.rank(0, 4)?;
        let depth = (1..5).try_fold(t.dim(3), |d, i| merge_dim(d, c.rank(i, 1)?.dim(0)))?;
        Ok(vec![[t.dim(0), t.dim(1), t.dim(2), depth].into_iter().collect()])
    },
    grad: Rule(|g| {
        let dy = g.dy()?;
        let attrs = ["variance_epsilon", "scale_after_normalization"]
            .map(|name| (name, g.attrs.get(name).cloned().unwrap_or(Attr::Bool(false))));
        let args = [g.x[0], g.x[1], g.x[2], g.x[4], dy].map(Arg::from);
        let all = g.ops("BatchNormWithGlobalNormalizationGrad", args, &attrs)?;
        Ok(all.into_iter().map(Grad::from).collect())
    }),
    kernels: cpu!(make prepare: T in f32, f64; prepare_narrow: T in f16),
    cases: |r| {
        let mut case = |scale: bool| {
            let [m, beta, gamma] = [(); 3].map(|()| r.tensor(&[3]));
            let inputs = vec![r.tensor(&[2, 2, 3, 3]), m, r.positive(&[3]), beta, gamma];
            Case::new(inputs)
                .attr("variance_epsilon", Attr::Float(0.1))
                .attr("scale_after_normalization", scale)
        };
        vec![case(true), case(false)]
    },
    expensive: true,
    ..Op::PURE
};

pub static BATCH_NORM_WITH_GLOBAL_NORMALIZATION_GRAD: Op = Op {
    name: "BatchNormWithGlobalNormalizationGrad",
    doc: "The gradients of BatchNormWithGlobalNormalization by its five inputs.",
    inputs: &["t: T", "m: T", "v: T", "gamma: T", "backprop: T"],
    outputs: &["dx: T", "dm: T", "dv: T", "db: T", "dg: T"],
    shape: |c| {
        let t = c.rank(0, 4)?.merge(&c.rank(4, 4)?)?;
        let depth = (1..4).try_fold(t.dim(3), |d, i| merge_dim(d, c.rank(i, 1)?.dim(0)))?;
        let vector = PartialShape::vector(depth);
        Ok(vec![t, vector.clone(), vector.clone(), vector.clone(), vector])
    },
    grad: Missing,
    kernels: cpu!(make prepare_grad: T in f32, f64; prepare_narrow_grad: T in f16),
    cases: |r| {
        let mut case = |scale: bool| {
            let inputs = vec![
                r.tensor(&[2, 2, 3, 3]),
                r.tensor(&[3]),
                r.positive(&[3]),
                r.tensor(&[3]),
                r.tensor(&[2, 2, 3, 3]),
            ];
            Case::new(inputs)
                .attr("variance_epsilon", Attr::Float(0.1))
                .attr("scale_after_normalization", scale)
        };
        vec![case(true), case(false)]
    },
    ..BATCH_NORM_WITH_GLOBAL_NORMALIZATION
};

/// The attrs: epsilon, and whether gamma is used.
#[derive(Clone, Copy)]
struct Norm {
    epsilon: f64,
    scaled: bool,
}

impl Norm {
    fn of(attrs: &Attrs) -> Result<Norm> {
        let epsilon = f64::from(attrs.float("variance_epsilon")?);
        Ok(Norm { epsilon, scaled: attrs.bool("scale_after_normalization")? })
    }
}

fn prepare<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let norm = Norm::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run::<T>(c, norm)))
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let norm = Norm::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run::<f32>(c, norm))))
}

fn prepare_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let norm = Norm::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run_grad::<T>(c, norm)))
}

fn prepare_narrow_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let norm = Norm::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run_grad::<f32>(c, norm))))
}

/// The channels of t, which inputs `vectors` must have a number for.
fn channels(c: &OpCall<'_>, vectors: std::ops::Range<usize>) -> Result<usize> {
    let &[_, _, _, depth] = c.shape(0)?.dims() else {
        return Err(invalid!("input must be 4-dimensional, got {}", c.shape(0)?));
    };
    for i in vectors {
        if c.shape(i)?.dims() != [depth] {
            return Err(invalid!(
                "{} must have a number for each of {depth} channels, got {}",
                c.input_name(i),
                c.shape(i)?
            ));
        }
    }
    Ok(depth)
}

fn run<T: Float>(c: &mut OpCall<'_>, norm: Norm) -> Result<()> {
    let depth = channels(c, 1..5)?;
    let mut out = Tensor::uninit(T::DTYPE, c.shape(0)?.clone())?;
    let (x, m, v) = (c.slice::<T>(0)?, c.slice::<T>(1)?, c.slice::<T>(2)?);
    let (beta, gamma) = (c.slice::<T>(3)?, c.slice::<T>(4)?);
    let scales = reserve::collect(v.iter().zip(gamma).map(|(v, gamma)| {
        let inverse = 1.0 / (v.to_f64() + norm.epsilon).sqrt();
        T::from_f64(if norm.scaled { inverse * gamma.to_f64() } else { inverse })
    }))?;
    for_chunks_of(
        c.par(),
        out.as_mut_slice::<T>()?,
        depth,
        4096usize.div_ceil(depth.max(1)),
        &|rows, out| {
            let pixels = x[rows.start * depth..].chunks_exact(depth.max(1));
            for (x, out) in pixels.zip(out.chunks_exact_mut(depth.max(1))) {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = x[i].sub(m[i]).mul(scales[i]).add(beta[i]);
                }
            }
        },
    );
    c.set(0, out);
    Ok(())
}

/// With s = 1 / sqrt(v + epsilon) and g the gamma or 1: dx = dy s g, dm = -sum(dy) s g, dv = -1/2 s^3 g sum(dy (t - m)),
/// db = sum(dy), dg = s sum(dy (t - m)).
fn run_grad<T: Float>(c: &mut OpCall<'_>, norm: Norm) -> Result<()> {
    let depth = channels(c, 1..4)?;
    if c.shape(4)? != c.shape(0)? {
        return Err(invalid!("backprop must be shaped as t: {} and {}", c.shape(4)?, c.shape(0)?));
    }
    let (x, m, v, gamma) = (c.slice::<T>(0)?, c.slice::<T>(1)?, c.slice::<T>(2)?, c.slice::<T>(3)?);
    let dy = c.slice::<T>(4)?;
    let (mut sums, mut products) = (reserve::filled(depth, 0f64)?, reserve::filled(depth, 0f64)?);
    for (x, dy) in x.chunks_exact(depth.max(1)).zip(dy.chunks_exact(depth.max(1))) {
        for i in 0..depth {
            sums[i] += dy[i].to_f64();
            products[i] += dy[i].to_f64() * x[i].sub(m[i]).to_f64();
        }
    }
    let inverse = reserve::collect(v.iter().map(|v| 1.0 / (v.to_f64() + norm.epsilon).sqrt()))?;
    let factor = |i: usize| if norm.scaled { gamma[i].to_f64() } else { 1.0 };
    let scales = reserve::collect((0..depth).map(|i| T::from_f64(inverse[i] * factor(i))))?;
    let mut dx = Tensor::uninit(T::DTYPE, c.shape(0)?.clone())?;
    for_chunks_of(c.par(), dx.as_mut_slice::<T>()?, depth, 4096usize.div_ceil(depth.max(1)), &|rows, out| {
        let pixels = dy[rows.start * depth..].chunks_exact(depth.max(1));
        for (dy, out) in pixels.zip(out.chunks_exact_mut(depth.max(1))) {
            out.iter_mut().zip(dy).zip(&scales).for_each(|((out, dy), scale)| *out = dy.mul(*scale));
        }
    });
    let vector = |f: &dyn Fn(usize) -> f64| {
        Tensor::build(Shape::vector(depth), |out: &mut [T]| {
            out.iter_mut().enumerate().for_each(|(i, out)| *out = T::from_f64(f(i)));
        })
    };
    let dm = vector(&|i| -sums[i] * inverse[i] * factor(i))?;
    let dv = vector(&|i| -0.5 * products[i] * inverse[i].powi(3) * factor(i))?;
    let dg = vector(&|i| if norm.scaled { products[i] * inverse[i] } else { 0.0 })?;
    let db = vector(&|i| sums[i])?;
    for (i, t) in [dx, dm, dv, db, dg].into_iter().enumerate() {
        c.set(i, t);
    }
    Ok(())
}
