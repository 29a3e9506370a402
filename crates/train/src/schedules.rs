//! Learning rates that change with the global step. Each function makes the nodes that compute the rate of the present step, a
//! float; optimizers take it in place of a number: `Adam::new(&exponential_decay(&g, 0.1, &step.value, 1000, 0.96, true))`.

use thalweg_client::{Code, DataType, Error, Output, Result, Scope};

/// `rate * decay_rate ^ (step / decay_steps)`; `staircase` rounds the exponent down.
#[track_caller]
pub fn exponential_decay(
    g: &Scope,
    rate: f64,
    step: &Output,
    decay_steps: impl Into<f64>,
    decay_rate: f64,
    staircase: bool,
) -> Output {
    let g = g.name_scope("ExponentialDecay");
    let progress = progress(&g, step, decay_steps.into(), staircase);
    number(&g, rate) * g.pow(number(&g, decay_rate), progress)
}

/// `rate * exp(-decay_rate * step / decay_steps)`.
#[track_caller]
pub fn natural_exp_decay(
    g: &Scope,
    rate: f64,
    step: &Output,
    decay_steps: impl Into<f64>,
    decay_rate: f64,
    staircase: bool,
) -> Output {
    exponential_decay(g, rate, step, decay_steps, (-decay_rate).exp(), staircase)
}

/// `rate / (1 + decay_rate * step / decay_steps)`.
#[track_caller]
pub fn inverse_time_decay(
    g: &Scope,
    rate: f64,
    step: &Output,
    decay_steps: impl Into<f64>,
    decay_rate: f64,
    staircase: bool,
) -> Output {
    let g = g.name_scope("InverseTimeDecay");
    let progress = progress(&g, step, decay_steps.into(), staircase);
    let divisor = number(&g, 1.0) + number(&g, decay_rate) * progress;
    g.div(number(&g, rate), divisor)
}

/// `values[0]` up to and including step `boundaries[0]`, then `values[1]` up to `boundaries[1]`, and so on; the last value for ever.
#[track_caller]
pub fn piecewise_constant(g: &Scope, step: &Output, boundaries: &[i64], values: &[f64]) -> Result<Output> {
    let bad =
        |text: String| Err(Error::new(Code::InvalidArgument, format_args!("piecewise_constant: {text}")));
    let Some((last, before)) = values.split_last().filter(|(_, before)| before.len() == boundaries.len())
    else {
        let (b, v) = (boundaries.len(), values.len());
        return bad(format!("needs one more value than boundaries, got {v} values and {b} boundaries"));
    };
    if boundaries.windows(2).any(|w| w[0] >= w[1]) {
        return bad(format!("boundaries must rise, got {boundaries:?}"));
    }
    let g = g.name_scope("PiecewiseConstant");
    let later = number(&g, *last);
    Ok(boundaries.iter().zip(before).rev().fold(later, |later, (boundary, value)| {
        let not_yet = g.less_equal(step, g.number(*boundary as f64, step.dtype()));
        g.select(not_yet, number(&g, *value), later)
    }))
}

/// How [`polynomial_decay`] goes from the first rate to the last.
#[derive(Clone, Copy, Debug)]
pub struct Polynomial {
    /// The rate at `decay_steps` and after.
    pub end_rate: f64,
    /// 1 for a straight line.
    pub power: f64,
    /// Restarts over longer and longer periods, instead of staying at the end.
    pub cycle: bool,
}

impl Default for Polynomial {
    fn default() -> Self {
        Polynomial { end_rate: 0.0001, power: 1.0, cycle: false }
    }
}

/// `(rate - end_rate) * (1 - step / decay_steps) ^ power + end_rate`.
#[track_caller]
pub fn polynomial_decay(
    g: &Scope,
    rate: f64,
    step: &Output,
    decay_steps: impl Into<f64>,
    to: Polynomial,
) -> Output {
    let g = g.name_scope("PolynomialDecay");
    let (step, span) = (g.cast(step, DataType::Float), number(&g, decay_steps.into()));
    let (step, span) = match to.cycle {
        false => (g.minimum(step, &span), span),
        true => {
            let rounds = g.ceil(g.div(&step, &span));
            let first = g.equal(&step, number(&g, 0.0));
            let rounds = g.select(first, number(&g, 1.0), rounds);
            (step, span * rounds)
        }
    };
    let left = number(&g, 1.0) - g.div(step, span);
    let (end, fall) = (number(&g, to.end_rate), number(&g, rate - to.end_rate));
    fall * g.pow(left, number(&g, to.power)) + end
}

/// Half a period of the cosine, from `rate` down to `alpha * rate` at `decay_steps`.
#[track_caller]
pub fn cosine_decay(g: &Scope, rate: f64, step: &Output, decay_steps: impl Into<f64>, alpha: f64) -> Output {
    let g = g.name_scope("CosineDecay");
    let done = share_done(&g, step, decay_steps.into());
    let falling = wave(&g, &number(&g, 0.5), std::f64::consts::PI, &done);
    at_least(&g, rate, alpha, &falling)
}

/// How [`cosine_decay_restarts`] restarts.
#[derive(Clone, Copy, Debug)]
pub struct Restarts {
    /// The length of each period, relative to the one before.
    pub t_mul: f64,
    /// The first rate of each period, relative to that of the one before.
    pub m_mul: f64,
    /// The lowest rate, relative to the first.
    pub alpha: f64,
}

impl Default for Restarts {
    fn default() -> Self {
        Restarts { t_mul: 2.0, m_mul: 1.0, alpha: 0.0 }
    }
}

/// Falls as [`cosine_decay`] does, over `first_decay_steps`, then restarts, over longer and longer periods.
#[track_caller]
pub fn cosine_decay_restarts(
    g: &Scope,
    rate: f64,
    step: &Output,
    first_decay_steps: impl Into<f64>,
    restarts: Restarts,
) -> Output {
    let g = g.name_scope("SGDRDecay");
    let done = progress(&g, step, first_decay_steps.into(), false);
    let Restarts { t_mul, m_mul, alpha } = restarts;
    let (count, done) = if t_mul == 1.0 {
        let count = g.floor(&done);
        (count.clone(), done - count)
    } else {
        // After n periods, 1 + t + .. + t^(n-1) = (1 - t^n) / (1 - t) times the first period has passed.
        let grown = g.log(number(&g, 1.0) - &done * number(&g, 1.0 - t_mul));
        let count = g.floor(g.div(grown, number(&g, t_mul.ln())));
        let longer = g.pow(number(&g, t_mul), &count);
        let before = g.div(number(&g, 1.0) - &longer, number(&g, 1.0 - t_mul));
        (count, g.div(done - before, longer))
    };
    let height = number(&g, 0.5) * g.pow(number(&g, m_mul), count);
    let falling = wave(&g, &height, std::f64::consts::PI, &done);
    at_least(&g, rate, alpha, &falling)
}

/// The shape of [`linear_cosine_decay`].
#[derive(Clone, Copy, Debug)]
pub struct LinearCosine {
    /// Periods of the cosine.
    pub num_periods: f64,
    /// See [`linear_cosine_decay`].
    pub alpha: f64,
    /// See [`linear_cosine_decay`].
    pub beta: f64,
}

impl Default for LinearCosine {
    fn default() -> Self {
        LinearCosine { num_periods: 0.5, alpha: 0.0, beta: 0.001 }
    }
}

/// `rate * ((alpha + 1 - done) * (1 + cos(2 pi num_periods done)) / 2 + beta)`, where `done = step / decay_steps`, at most 1.
#[track_caller]
pub fn linear_cosine_decay(
    g: &Scope,
    rate: f64,
    step: &Output,
    decay_steps: impl Into<f64>,
    by: LinearCosine,
) -> Output {
    let g = g.name_scope("LinearCosineDecay");
    let done = share_done(&g, step, decay_steps.into());
    let left = number(&g, by.alpha) + (number(&g, 1.0) - &done);
    let wave = wave(&g, &number(&g, 0.5), 2.0 * std::f64::consts::PI * by.num_periods, &done);
    number(&g, rate) * (left * wave + number(&g, by.beta))
}

/// A linear warmup before another schedule: the rate rises from `rate / warmup_steps` to `rate` in the first `warmup_steps` steps.
/// The other schedule counts from step 0, too.
#[track_caller]
pub fn linear_warmup(g: &Scope, rate: &Output, step: &Output, warmup_steps: impl Into<f64>) -> Output {
    let g = g.name_scope("LinearWarmup");
    let done = g.cast(step, DataType::Float) + number(&g, 1.0);
    let share = g.minimum(g.div(done, number(&g, warmup_steps.into().max(1.0))), number(&g, 1.0));
    rate * share
}

/// The part of `decay_steps` that has passed, at most 1.
fn share_done(g: &Scope, step: &Output, decay_steps: f64) -> Output {
    let span = number(g, decay_steps);
    g.div(g.minimum(g.cast(step, DataType::Float), &span), &span)
}

/// `height * (1 + cos(angle * done))`.
fn wave(g: &Scope, height: &Output, angle: f64, done: &Output) -> Output {
    let wave = g.cos(number(g, angle) * done);
    height * (number(g, 1.0) + wave)
}

/// Maps a decay from 1 to 0 to one from `rate` to `alpha * rate`.
fn at_least(g: &Scope, rate: f64, alpha: f64, falling: &Output) -> Output {
    let decayed = number(g, 1.0 - alpha) * falling + number(g, alpha);
    number(g, rate) * decayed
}

/// How many periods of `decay_steps` have passed.
fn progress(g: &Scope, step: &Output, decay_steps: f64, staircase: bool) -> Output {
    let done = g.div(g.cast(step, DataType::Float), number(g, decay_steps));
    if staircase { g.floor(done) } else { done }
}

fn number(g: &Scope, value: f64) -> Output {
    g.number(value, DataType::Float)
}
