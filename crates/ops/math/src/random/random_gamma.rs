//! `RandomGamma`, `StatelessRandomGammaV2`: samples of gamma distributions.

use super::drawn::{STATELESS, Seeded, seed_stream, wanted_shape};
use crate::prelude::*;
use thalweg_math::random::{self, Philox};

pub static RANDOM_GAMMA: Op = Op {
    name: "RandomGamma",
    doc: "For each alpha, as many numbers as `shape` says from the gamma distribution of that shape parameter.",
    inputs: &["shape: S", "alpha: T"],
    outputs: &["output: T"],
    attrs: &["seed: int = 0", "seed2: int = 0", "S: {int32, int64}", "T: {half, float, double}"],
    shape: |c| Ok(vec![c.as_shape(0)?.concat(&c.input(1))]),
    grad: Missing,
    kernels: cpu!(make own: T in f16, f32, f64),
    cases: |r| vec![Case::new(vec![int_vector(&[3]), r.positive(&[2])]).attr("seed", 3).attr("seed2", 4)],
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
    grad: Missing,
    kernels: cpu!(by_seed: dtype in f16, f32, f64),
    cases: |r| vec![Case::new(vec![int_vector(&[3, 2]), int_vector(&[3, 4]), r.positive(&[2])])],
    ..STATELESS
};

fn by_seed<T: Float + Into<f64>>(c: &mut OpCall<'_>) -> Result<()> {
    let (shape, alpha) = (wanted_shape(c, 0)?, c.shape(2)?);
    if !shape.ends_with(alpha) {
        return Err(invalid!(
            "Shape passed in must end with broadcasted shape: {shape} does not end with {alpha}"
        ));
    }
    let stream = seed_stream(c, 1)?;
    gamma::<T>(c, 2, |_, _| Ok(stream))
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
