//! `StatelessRandomBinomial`, `StatefulRandomBinomial`: samples of binomial distributions.

use super::drawn::{STATELESS, seed_stream, wanted_shape};
use super::generator_state::reserve_of_philox;
use super::random_poisson::numbers;
use crate::broadcast::BroadcastPlan;
use crate::prelude::*;
use thalweg_math::random::{self, Binomial, Philox};

pub static OPS: &[&Op] = &[&STATELESS_RANDOM_BINOMIAL, &STATEFUL_RANDOM_BINOMIAL];

static STATELESS_RANDOM_BINOMIAL: Op = Op {
    name: "StatelessRandomBinomial",
    doc: "How many of `counts` trials succeed that do with probability `probs`, by a seed alone; `shape` ends with their broadcast shape.",
    inputs: &["shape: S", "seed: Tseed", "counts: T", "probs: T"],
    attrs: &[
        "S: {int32, int64}",
        "Tseed: {int32, int64} = DT_INT64",
        "T: {half, float, double, int32, int64} = DT_DOUBLE",
        "dtype: {half, float, double, int32, int64} = DT_INT64",
    ],
    kernels: cpu!(by_seed: dtype in f16, f32, f64, i32, i64),
    cases: |r| {
        let (counts, probs) = (r.range(&[2], 3.0, 90.0), r.range(&[], 0.1, 0.9));
        vec![Case::new(vec![int_vector(&[3, 2]), int_vector(&[3, 4]), counts, probs])]
    },
    ..STATELESS
};

static STATEFUL_RANDOM_BINOMIAL: Op = Op {
    name: "StatefulRandomBinomial",
    doc: "As StatelessRandomBinomial, by the generator state in a variable.",
    inputs: &["resource: resource", "algorithm: int64", "shape: S", "counts: T", "probs: T"],
    outputs: STATELESS.outputs,
    attrs: &[
        "S: {int32, int64}",
        "T: {half, float, double, int32, int64} = DT_DOUBLE",
        "dtype: {half, float, double, int32, int64} = DT_INT64",
    ],
    shape: |c| {
        c.rank(2, 1)?;
        Ok(vec![c.as_shape(2)?])
    },
    kernels: cpu!(by_state: dtype in f16, f32, f64, i32, i64),
    host_inputs: &["resource", "algorithm", "shape", "counts", "probs"],
    expensive: true,
    ..Op::STATEFUL
};

fn by_seed<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let stream = seed_stream(c, 1)?;
    binomial::<T>(c, 0, 2, |_, _| Ok(stream))
}

fn by_state<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    binomial::<T>(c, 2, 3, reserve_of_philox)
}

fn binomial<T: Real>(
    c: &mut OpCall<'_>,
    shape: usize,
    counts: usize,
    stream: impl FnOnce(&OpCall<'_>, u64) -> Result<Philox>,
) -> Result<()> {
    let (a, b) = (c.shape(counts)?, c.shape(counts + 1)?);
    let plan = BroadcastPlan::new(a, b)
        .map_err(|_| invalid!("counts and probs must have compatible batch dimensions: {a} vs. {b}"))?;
    let shape = wanted_shape(c, shape)?;
    if !shape.ends_with(plan.shape()) {
        return Err(invalid!(
            "Shape passed in must end with broadcasted shape: {shape} does not end with {}",
            plan.shape()
        ));
    }
    let distributions = distributions(c, &plan, counts)?;
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    let batches = distributions.len() as u64;
    let samples = (out.elements() as u64).checked_div(batches).unwrap_or(0);
    // The room that TensorFlow leaves in the stream.
    let outputs = batches.wrapping_mul(200).wrapping_mul(samples.wrapping_add(3)) / 4;
    let stream = stream(c, outputs)?;
    if !distributions.is_empty() {
        random::binomial(c.par(), stream, &distributions, T::from_f64, out.as_mut_slice::<T>()?);
    }
    c.set(0, out);
    Ok(())
}

/// The distributions of counts and probabilities, broadcast.
fn distributions(c: &OpCall<'_>, plan: &BroadcastPlan, counts: usize) -> Result<Vec<Binomial>> {
    let dtype = c.input(counts)?.dtype();
    let (counts, probs) = (numbers(c.input(counts)?)?, numbers(c.input(counts + 1)?)?);
    let (row, steps) = (plan.row(), plan.row_steps());
    let mut walk = plan.walk();
    let mut all = reserve::with_capacity(plan.shape().elements())?;
    while all.len() < plan.shape().elements() {
        let (i, j) = walk.next_offsets();
        for k in 0..row {
            all.push(distribution(counts[i + k * steps.0], probs[j + k * steps.1], dtype));
        }
    }
    Ok(all)
}

fn distribution(count: f64, p: f64, dtype: DataType) -> Binomial {
    let round = |x: f64| match dtype {
        DataType::Half => f16::from_f64(x).to_f64(),
        DataType::Float => x as f32 as f64,
        _ => x,
    };
    if count <= 0.0 || p <= 0.0 {
        Binomial::Certain(0.0)
    } else if count.is_nan() || p.is_nan() {
        Binomial::Certain(f64::NAN)
    } else if p >= 1.0 {
        Binomial::Certain(count)
    } else {
        let failures = p > 0.5;
        let p = if failures { round(1.0 - p) } else { p };
        Binomial::Trials { count, p, failures, many: round(count * p) >= 10.0 }
    }
}
