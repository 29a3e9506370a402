//! `Softmax` and `LogSoftmax` along the last dimension.

use super::logits::RowFloat;
use crate::narrow::in_float;
use crate::prelude::*;
use thalweg_math::parallel::Parallel;
use thalweg_math::softmax;

pub static SOFTMAX: Op = Op {
    name: "Softmax",
    doc: "exp(logits) / sum(exp(logits)) along the last dimension.",
    inputs: &["logits: T"],
    outputs: &["softmax: T"],
    attrs: &["T: {half, bfloat16, float, double}"],
    shape: |c| Ok(vec![c.rank_at_least(0, 1)?]),
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64; run_narrow: T in f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 5])]), Case::new(vec![r.tensor(&[2, 2, 3])])],
    expensive: true,
    ..Op::PURE
};

pub static LOG_SOFTMAX: Op = Op {
    name: "LogSoftmax",
    doc: "logits - log(sum(exp(logits))) along the last dimension.",
    outputs: &["logsoftmax: T"],
    grad: Rule(log_grad),
    kernels: cpu!(run_log: T in f32, f64; run_narrow_log: T in f16, bf16),
    ..SOFTMAX
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (y, dy) = (g.y[0], g.dy()?);
    let product = g.binary("Mul", dy, y)?;
    let sum = sum_along_last(g, product)?;
    let rest = g.binary("Sub", dy, sum)?;
    Ok(vec![g.binary("Mul", rest, y)?.into()])
}

fn log_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (y, dy) = (g.y[0], g.dy()?);
    let softmax = g.unary("Exp", y)?;
    let sum = sum_along_last(g, dy)?;
    let product = g.binary("Mul", sum, softmax)?;
    Ok(vec![g.binary("Sub", dy, product)?.into()])
}

fn sum_along_last(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let last = g.constant(int_vector(&[-1]))?;
    g.op("Sum", [x.into(), last.into()], &[("keep_dims", Attr::Bool(true))])
}

fn run<T: RowFloat>(c: &mut OpCall<'_>) -> Result<()> {
    rows(c, softmax::softmax::<T>)
}

fn run_log<T: RowFloat>(c: &mut OpCall<'_>) -> Result<()> {
    rows(c, softmax::log_softmax::<T>)
}

fn run_narrow<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    in_float::<T>(c, &run::<f32>)
}

fn run_narrow_log<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    in_float::<T>(c, &run_log::<f32>)
}

fn rows<T: Element>(c: &mut OpCall<'_>, compute: fn(&dyn Parallel, usize, &[T], &mut [T])) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let Some(width) = shape.last().copied() else {
        return Err(invalid!("logits must have at least 1 dimension, got shape {shape}"));
    };
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    compute(c.par(), width, c.slice::<T>(0)?, out.as_mut_slice::<T>()?);
    c.set(0, out);
    Ok(())
}
