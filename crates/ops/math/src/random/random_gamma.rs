//! `RandomGamma`, `StatelessRandomGammaV2`, `StatelessRandomGammaV3`: samples of gamma distributions.

use super::drawn::{STATELESS, Seeded, key_stream, keyed_shape, seed_stream, wanted_shape};
use super::stateless_key::example_key;
use crate::gradients::sum_to_shape_of;
use crate::prelude::*;
use thalweg_math::random::{self, Philox};

pub static RANDOM_GAMMA: Op = Op {
    name: "RandomGamma",
    doc: "For each alpha, as many numbers as `shape` says from the gamma distribution of that shape parameter.",
    inputs: &["shape: S", "alpha: T"],
    outputs: &["output: T"],
    attrs: &["seed: int = 0", "seed2: int = 0", "S: {int32, int64}", "T: {half, float, double}"],
    shape: |c| Ok(vec![c.as_shape(0)?.concat(&c.input(1))]),
    grad: Rule(|g| by_alpha(g, 1)),
    kernels: cpu!(make own: T in f16, f32, f64),
    cases: |r| {
        vec![
            Case::new(vec![int_vector(&[3]), r.positive(&[2])])
                .attr("seed", 3)
                .attr("seed2", 4)
                .without_difference(&[1]),
        ]
    },
    expensive: true,
    ..Op::STATEFUL
};

fn own<T: Float + Into<f64>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let own = Seeded::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        gamma::<T>(c, 1, |c, n| Ok(own.reserve(c, |s| s.reserve_outputs(n as u64))))
    }))
}

pub static STATELESS_RANDOM_GAMMA_V2: Op = Op {
    name: "StatelessRandomGammaV2",
    doc: "Numbers from gamma distributions, by a seed alone; `shape` ends with the shape of `alpha`.",
    inputs: &["shape: T", "seed: Tseed", "alpha: dtype"],
    attrs: &["dtype: {half, float, double}", "T: {int32, int64}", "Tseed: {int32, int64} = DT_INT64"],
    grad: Rule(|g| by_alpha(g, 2)),
    kernels: cpu!(by_seed: dtype in f16, f32, f64),
    cases: |r| {
        vec![
            Case::new(vec![int_vector(&[3, 2]), int_vector(&[3, 4]), r.positive(&[2])])
                .without_difference(&[2]),
        ]
    },
    ..STATELESS
};

pub static STATELESS_RANDOM_GAMMA_V3: Op = Op {
    name: "StatelessRandomGammaV3",
    doc: "Numbers from gamma distributions, by a key and a counter; `shape` ends with the shape of `alpha`.",
    inputs: &["shape: shape_dtype", "key: uint64", "counter: uint64", "alg: int32", "alpha: dtype"],
    attrs: &["dtype: {half, float, double}", "shape_dtype: {int32, int64} = DT_INT32"],
    shape: keyed_shape,
    grad: Rule(|g| by_alpha(g, 4)),
    kernels: cpu!(by_key: dtype in f16, f32, f64),
    cases: |r| {
        let inputs = [vec![int_vector(&[3, 2])], example_key(), vec![r.positive(&[2])]].concat();
        vec![Case::new(inputs).without_difference(&[4])]
    },
    ..STATELESS
};

/// By implicit reparameterisation (Figurnov et al., 2018): the samples move with alpha so that their quantiles stay.
fn by_alpha(g: &mut GradCall<'_>, alpha: usize) -> Result<Vec<Grad>> {
    let (x, sample, dy) = (g.x[alpha], g.y[0], g.dy()?);
    let slope = g.binary("RandomGammaGrad", x, sample)?;
    let product = g.binary("Mul", dy, slope)?;
    let mut grads = vec![Grad::None; alpha];
    grads.push(sum_to_shape_of(g, product, x, sample)?.into());
    Ok(grads)
}

fn by_seed<T: Float + Into<f64>>(c: &mut OpCall<'_>) -> Result<()> {
    let stream = seed_stream(c, 1)?;
    stateless::<T>(c, 2, stream)
}

fn by_key<T: Float + Into<f64>>(c: &mut OpCall<'_>) -> Result<()> {
    let stream = key_stream(c, 1)?;
    stateless::<T>(c, 4, stream)
}

/// The shape of the samples must end with that of input `i`, alpha.
fn stateless<T: Float + Into<f64>>(c: &mut OpCall<'_>, i: usize, stream: Philox) -> Result<()> {
    let (shape, alpha) = (wanted_shape(c, 0)?, c.shape(i)?);
    if !shape.ends_with(alpha) {
        return Err(invalid!(
            "Shape passed in must end with broadcasted shape: {shape} does not end with {alpha}"
        ));
    }
    gamma::<T>(c, i, |_, _| Ok(stream))
}

fn gamma<T: Float + Into<f64>>(
    c: &mut OpCall<'_>,
    alpha: usize,
    stream: impl FnOnce(&OpCall<'_>, usize) -> Result<Philox>,
) -> Result<()> {
    let mut shape = wanted_shape(c, 0)?;
    if alpha == 1 {
        shape = Shape::new(&[shape.dims(), c.shape(1)?.dims()].concat())?;
    }
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    let alphas = c.slice::<T>(alpha)?;
    if out.elements() > 0 {
        let stream = stream(c, out.elements())?;
        random::gamma(c.par(), stream, alphas, T::from_f64, out.as_mut_slice::<T>()?);
    }
    c.set(0, out);
    Ok(())
}
