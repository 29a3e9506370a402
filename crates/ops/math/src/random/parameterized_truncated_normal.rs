//! `ParameterizedTruncatedNormal`, `StatelessParameterizedTruncatedNormal`: normal distributions between bounds.

use super::drawn::{SEEDED, STATELESS, Seeded, seed_stream, wanted_shape};
use super::random_poisson::numbers;
use crate::broadcast::broadcast_shape;
use crate::gradients::sum_to_shape_of;
use crate::prelude::*;
use thalweg_math::random::{self, Between, MAX_REJECTED, Philox};

pub static OPS: &[&Op] = &[&PARAMETERIZED_TRUNCATED_NORMAL, &STATELESS_PARAMETERIZED_TRUNCATED_NORMAL];

static PARAMETERIZED_TRUNCATED_NORMAL: Op = Op {
    name: "ParameterizedTruncatedNormal",
    doc: "Normal numbers between bounds. Parameters are scalars, or vectors with an element for each row of the output.",
    inputs: &["shape: T", "means: dtype", "stdevs: dtype", "minvals: dtype", "maxvals: dtype"],
    kernels: cpu!(make own: dtype in f16, f32, f64),
    cases: |_| {
        let parameters = [0.5f32, 2.0, -1.0, 3.0].map(Tensor::scalar);
        let inputs = [vec![int_vector(&[2, 3])], parameters.to_vec()].concat();
        vec![Case::new(inputs).attr("seed", 4).attr("seed2", 9)]
    },
    ..SEEDED
};

static STATELESS_PARAMETERIZED_TRUNCATED_NORMAL: Op = Op {
    name: "StatelessParameterizedTruncatedNormal",
    doc: "Normal numbers between bounds, by a seed alone; `shape` ends with the broadcast shape of the parameters.",
    inputs: &[
        "shape: S",
        "seed: Tseed",
        "means: dtype",
        "stddevs: dtype",
        "minvals: dtype",
        "maxvals: dtype",
    ],
    attrs: &["S: {int32, int64}", "Tseed: {int32, int64} = DT_INT64", "dtype: {half, float, double}"],
    grad: Rule(grad),
    kernels: cpu!(by_seed: dtype in f16, f32, f64),
    cases: |r| {
        let (means, deviations) = (r.tensor(&[2]), r.positive(&[]));
        let bounds = vec![Tensor::scalar(-2.5f32), Tensor::scalar(3f32)];
        let inputs = [vec![int_vector(&[3, 2]), int_vector(&[3, 4]), means, deviations], bounds].concat();
        // Which candidates are rejected depends on the parameters: differences jump.
        vec![Case::new(inputs).without_difference(&[2, 3, 4, 5])]
    },
    ..STATELESS
};

/// Rows of TensorFlow's loop where all have the same parameters.
const SAMPLES_OF_A_BATCH: usize = 100;

fn own<T: random::Real + Real + Into<f64>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let own = Seeded::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = wanted_shape(c, 0)?;
        let Some((&rows, _)) = shape.dims().split_first() else {
            return Err(invalid!("Shape tensor must not be empty, got {shape}"));
        };
        let mut parameters: [Vec<f64>; 4] = Default::default();
        let mut alike = true;
        for (i, name) in ["means", "stdevs", "minvals", "maxvals"].into_iter().enumerate() {
            let t = c.input(i + 1)?;
            if t.rank() > 1 {
                return Err(invalid!("Input {name} should be a scalar or vector, got shape: {}", t.shape()));
            }
            alike &= t.rank() == 0 || (i < 2 && t.elements() == 1);
            if t.elements() != 1 && t.elements() != rows {
                return Err(invalid!(
                    "Input {name} should have length 1 or shape[0], got shape: {}",
                    t.shape()
                ));
            }
            parameters[i] = numbers(t)?;
        }
        let (batches, samples) = match (alike, shape.elements()) {
            (true, all) => (all.div_ceil(SAMPLES_OF_A_BATCH), SAMPLES_OF_A_BATCH),
            (false, all) => (rows, all.checked_div(rows).unwrap_or(0)),
        };
        let blocks =
            (batches as u64).wrapping_mul(2 * MAX_REJECTED as u64).wrapping_mul(samples as u64 + 3) / 4;
        let mut stream = own.reserve(c, |s| s.reserve(blocks));
        let mut out = Tensor::uninit(T::DTYPE, shape)?;
        for (b, values) in out.as_mut_slice::<T>()?.chunks_mut(samples.max(1)).enumerate() {
            fill::<T>(
                &parameters,
                |p| if p.len() == 1 { 0 } else { b },
                &mut stream,
                values.len(),
                |i, x| {
                    values[i] = x;
                },
            )?;
        }
        c.set(0, out);
        Ok(())
    }))
}

fn by_seed<T: random::Real + Real + Into<f64>>(c: &mut OpCall<'_>) -> Result<()> {
    let (shape, mut stream) = (wanted_shape(c, 0)?, seed_stream(c, 1)?);
    let mut batch = Shape::scalar();
    for i in 2..6 {
        batch = broadcast_shape(&batch, c.shape(i)?).map_err(|_| {
            invalid!("means, stddevs, minvals, maxvals must have compatible batch dimensions")
        })?;
    }
    if !shape.ends_with(&batch) {
        return Err(invalid!(
            "Shape passed in must end with broadcasted shape: {shape} does not end with {batch}"
        ));
    }
    let mut parameters: [Vec<f64>; 4] = Default::default();
    for (i, list) in parameters.iter_mut().enumerate() {
        *list = broadcast_to(&numbers(c.input(i + 2)?)?, c.shape(i + 2)?, &batch)?;
    }
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    let batches = batch.elements();
    let samples = out.elements().checked_div(batches).unwrap_or(0);
    let values = out.as_mut_slice::<T>()?;
    for b in 0..if samples == 0 { 0 } else { batches } {
        fill::<T>(&parameters, |_| b, &mut stream, samples, |i, x| values[i * batches + b] = x)?;
    }
    c.set(0, out);
    Ok(())
}

/// The elements of a tensor, repeated to a shape.
fn broadcast_to(values: &[f64], from: &Shape, to: &Shape) -> Result<Vec<f64>> {
    let mut out = reserve::with_capacity(to.elements())?;
    for n in 0..to.elements() {
        let (mut rest, mut at, mut stride) = (n, 0, 1);
        for d in 0..to.rank() {
            let size = to.dims()[to.rank() - 1 - d];
            if let Some(own) = from.rank().checked_sub(d + 1).map(|i| from.dims()[i]) {
                at += if own == 1 { 0 } else { rest % size * stride };
                stride *= own;
            }
            rest /= size;
        }
        out.push(values[at]);
    }
    Ok(out)
}

/// Draws `count` numbers of the distribution whose parameters are at `at` of each list.
fn fill<T: random::Real + Real + Into<f64>>(
    parameters: &[Vec<f64>; 4],
    at: impl Fn(&[f64]) -> usize,
    stream: &mut Philox,
    count: usize,
    mut put: impl FnMut(usize, T),
) -> Result<()> {
    let [mean, deviation, low, high] =
        parameters.each_ref().map(|p| p.get(at(p)).copied().unwrap_or(f64::NAN));
    let between = Between { mean, deviation, low, high };
    if !between.is_valid() {
        return Err(invalid!(
            "Invalid parameters: needs stddev > 0 and minval < maxval, one of them finite; got stddev {deviation}, minval {low}, maxval {high}"
        ));
    }
    let mut next = 0;
    let round = |x: f64| T::from_f64(x).to_f64();
    let done = between.sample::<T>(stream, count, round, |x| {
        put(next, T::from_f64(x));
        next += 1;
    });
    if done {
        return Ok(());
    }
    // TensorFlow says Internal; it is the parameters' fault (NaN, an interval far from the mean).
    Err(invalid!("TruncatedNormal rejection sampler failed to accept a sample."))
}

/// By implicit reparameterisation (Figurnov et al., 2018).
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let [mean, deviation, low, high] = [2, 3, 4, 5].map(|i| g.x[i]);
    let (sample, dy) = (g.y[0], g.dy()?);
    let [x, a, b] = [standard(g, sample)?, standard(g, low)?, standard(g, high)?];
    let [of_x, of_a, of_b] = [ndtr(g, x)?, ndtr(g, a)?, ndtr(g, b)?];
    let (above, all) = (g.binary("Sub", of_x, of_a)?, g.binary("Sub", of_b, of_a)?);
    let quantile = g.binary("RealDiv", above, all)?;
    let (tiny, epsilon) = match g.graph.dtype(mean) {
        DataType::Half => (f16::MIN_POSITIVE.to_f64(), f16::EPSILON.to_f64()),
        DataType::Float => (f32::MIN_POSITIVE.into(), f32::EPSILON.into()),
        _ => (f64::MIN_POSITIVE, f64::EPSILON),
    };
    let (least, most) = (g.number(tiny, mean)?, g.number(1.0 - epsilon, mean)?);
    let quantile = g.binary("Minimum", quantile, most)?;
    let quantile = g.binary("Maximum", quantile, least)?;
    let minus = g.unary("Neg", quantile)?;
    let (log, log_rest) = (g.unary("Log", quantile)?, g.unary("Log1p", minus)?);
    let (by_low, by_high) = (height(g, x, a, log_rest)?, height(g, x, b, log)?);
    let mut grads = vec![Grad::None, Grad::None];
    for (parameter, slope) in [(mean, None), (deviation, Some(x)), (low, Some(by_low)), (high, Some(by_high))]
    {
        let product = match slope {
            Some(slope) => g.binary("Mul", dy, slope)?,
            None => dy,
        };
        grads.push(sum_to_shape_of(g, product, parameter, sample)?.into());
    }
    Ok(grads)
}

/// (x - mean) / deviation.
fn standard(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let (mean, deviation) = (g.x[2], g.x[3]);
    let above = g.binary("Sub", x, mean)?;
    g.binary("RealDiv", above, deviation)
}

/// The normal distribution function: erfc(-x / sqrt(2)) / 2.
fn ndtr(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let (factor, half) = (g.number(-std::f64::consts::FRAC_1_SQRT_2, x)?, g.number(0.5, x)?);
    let w = g.binary("Mul", x, factor)?;
    let tail = g.unary("Erfc", w)?;
    g.binary("Mul", half, tail)
}

/// exp((x² - bound²) / 2 + log).
fn height(g: &mut GradCall<'_>, x: Output, bound: Output, log: Output) -> Result<Output> {
    let (half, x, bound) = (g.number(0.5, x)?, g.unary("Square", x)?, g.unary("Square", bound)?);
    let difference = g.binary("Sub", x, bound)?;
    let halved = g.binary("Mul", half, difference)?;
    let exponent = g.binary("AddV2", halved, log)?;
    g.unary("Exp", exponent)
}
