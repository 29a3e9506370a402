//! `RandomPoisson`, `RandomPoissonV2`, `StatelessRandomPoisson`: samples of Poisson distributions.

use super::drawn::{SEEDED, STATELESS, Seeded, seed_stream, wanted_shape};
use crate::prelude::*;
use thalweg_math::random::{self, Philox};

pub static RANDOM_POISSON_V2: Op = Op {
    name: "RandomPoissonV2",
    doc: "For each rate, as many counts as `shape` says from the Poisson distribution of that rate.",
    inputs: &["shape: S", "rate: R"],
    attrs: &[
        "seed: int = 0",
        "seed2: int = 0",
        "S: {int32, int64}",
        "R: {half, float, double, int32, int64} = DT_DOUBLE",
        "dtype: {half, float, double, int32, int64} = DT_INT64",
    ],
    shape: |c| Ok(vec![c.as_shape(0)?.concat(&c.input(1))]),
    kernels: cpu!(make own: dtype in f16, f32, f64, i32, i64),
    cases: |r| vec![Case::new(vec![int_vector(&[3]), r.positive(&[2])]).attr("seed", 3).attr("seed2", 4)],
    ..SEEDED
};

pub static RANDOM_POISSON: Op = Op {
    name: "RandomPoisson",
    doc: "As RandomPoissonV2, with counts of the type of the rates.",
    inputs: &["shape: S", "rate: dtype"],
    attrs: &["seed: int = 0", "seed2: int = 0", "S: {int32, int64}", "dtype: {half, float, double}"],
    kernels: cpu!(make own: dtype in f16, f32, f64),
    ..RANDOM_POISSON_V2
};

fn own<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let own = Seeded::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = Shape::new(&[wanted_shape(c, 0)?.dims(), c.shape(1)?.dims()].concat())?;
        let stream = own.reserve(c, |s| s.reserve_outputs(shape.elements() as u64));
        poisson::<T>(c, shape, 1, stream)
    }))
}

pub static STATELESS_RANDOM_POISSON: Op = Op {
    name: "StatelessRandomPoisson",
    doc: "Counts from Poisson distributions, by a seed alone; `shape` ends with the shape of `lam`.",
    inputs: &["shape: T", "seed: Tseed", "lam: Rtype"],
    attrs: &[
        "Rtype: {half, float, double, int32, int64}",
        "dtype: {half, float, double, int32, int64}",
        "T: {int32, int64}",
        "Tseed: {int32, int64} = DT_INT64",
    ],
    kernels: cpu!(by_seed: dtype in f16, f32, f64, i32, i64),
    cases: |r| {
        let inputs = vec![int_vector(&[3, 2]), int_vector(&[3, 4]), r.positive(&[2])];
        vec![Case::new(inputs).attr("dtype", DataType::Int64)]
    },
    ..STATELESS
};

fn by_seed<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let (shape, rate, stream) = (wanted_shape(c, 0)?, c.shape(2)?, seed_stream(c, 1)?);
    if !shape.ends_with(rate) {
        return Err(invalid!(
            "Shape passed in must end with broadcasted shape: {shape} does not end with {rate}"
        ));
    }
    poisson::<T>(c, shape, 2, stream)
}

fn poisson<T: Real>(c: &mut OpCall<'_>, shape: Shape, rate: usize, stream: Philox) -> Result<()> {
    let mut rates = numbers(c.input(rate)?)?;
    // Samples out of range are redrawn; at such rates nearly all are.
    if let Some(rate) = rates.iter().find(|r| r.is_finite() && **r > largest::<T>()) {
        return Err(invalid!("a rate of {rate} is more than any {} can count", T::DTYPE));
    }
    let impossible =
        reserve::collect((0..rates.len()).filter(|i| !(rates[*i].is_finite() && rates[*i] >= 0.0)))?;
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    // TensorFlow uses the NaN of the rate's type: 0 for integers. Of an infinite rate all counts are infinite.
    let none = if c.input(rate)?.dtype().is_integer() { 0.0 } else { f64::NAN };
    let instead = reserve::collect(
        impossible.iter().map(|i| if rates[*i] == f64::INFINITY { rates[*i] } else { none }),
    )?;
    // Drawn at rate 0, then overwritten: the other draws keep their positions in the stream.
    impossible.iter().for_each(|i| rates[*i] = 0.0);
    let values = out.as_mut_slice::<T>()?;
    if !values.is_empty() {
        random::poisson(c.par(), stream, &rates, largest::<T>(), T::from_f64, values);
        for row in values.chunks_mut(rates.len()) {
            impossible.iter().zip(&instead).for_each(|(i, x)| row[*i] = T::from_f64(*x));
        }
    }
    c.set(0, out);
    Ok(())
}

/// The largest finite value of a type.
fn largest<T: Real>() -> f64 {
    match T::DTYPE {
        DataType::Half => f16::MAX.to_f64(),
        DataType::Float => f32::MAX.into(),
        DataType::Double => f64::MAX,
        _ => T::highest().to_f64(),
    }
}

/// Real numbers of any type.
pub fn numbers(t: &Tensor) -> Result<Vec<f64>> {
    fn of<T: Real>(t: &Tensor) -> Result<Vec<f64>> {
        reserve::collect(t.as_slice::<T>()?.iter().map(|v| v.to_f64()))
    }
    match t.dtype() {
        DataType::Half => of::<f16>(t),
        DataType::Float => of::<f32>(t),
        DataType::Double => of::<f64>(t),
        _ => reserve::collect(t.to_i64s()?.into_iter().map(|v| v as f64)),
    }
}
