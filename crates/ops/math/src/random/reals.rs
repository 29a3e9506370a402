//! `RandomUniform`, `RandomStandardNormal`, `TruncatedNormal` and their stateless forms: samples of real distributions.

use super::drawn::{KEYED, RealElement, SEEDED, STATELESS, keyed, seeded, stateless};
use crate::prelude::*;
use thalweg_math::random::{Distribution, Normal, TruncatedNormal, Uniform};

pub static OPS: &[&Op] = &[
    &random::<Evenly>("RandomUniform", "Numbers drawn evenly from [0, 1)"),
    &stateless_random::<Evenly>(
        "StatelessRandomUniform",
        "Numbers drawn evenly from [0, 1), by a seed alone.",
    ),
    &keyed_random::<Evenly>(
        "StatelessRandomUniformV2",
        "Numbers drawn evenly from [0, 1), by a key and a counter.",
    ),
    &random::<Normally>("RandomStandardNormal", "Numbers drawn from the standard normal distribution."),
    &stateless_random::<Normally>(
        "StatelessRandomNormal",
        "Numbers drawn from the standard normal distribution, by a seed alone.",
    ),
    &keyed_random::<Normally>(
        "StatelessRandomNormalV2",
        "Numbers drawn from the standard normal distribution, by a key and a counter.",
    ),
    &random::<Truncated>(
        "TruncatedNormal",
        "Standard normal numbers, drawn again where they lie two or more from zero.",
    ),
    &stateless_random::<Truncated>(
        "StatelessTruncatedNormal",
        "Standard normal numbers, drawn again where they lie two or more from zero, by a seed alone.",
    ),
    &keyed_random::<Truncated>(
        "StatelessTruncatedNormalV2",
        "Standard normal numbers, drawn again where they lie two or more from zero, by a key and a counter.",
    ),
];

/// A distribution of real numbers, for each element type.
trait OfReals: 'static {
    type Of<T: RealElement>: Distribution<Item = T> + Default + Send;

    const SEEDED: &[KernelRow] = &[
        cpu_row!([("dtype", DataType::Half)], Make::Prepared(seeded::<Self::Of<f16>>)),
        cpu_row!([("dtype", DataType::Bfloat16)], Make::Prepared(seeded::<Self::Of<bf16>>)),
        cpu_row!([("dtype", DataType::Float)], Make::Prepared(seeded::<Self::Of<f32>>)),
        cpu_row!([("dtype", DataType::Double)], Make::Prepared(seeded::<Self::Of<f64>>)),
    ];
    const STATELESS: &[KernelRow] = &[
        cpu_row!([("dtype", DataType::Half)], Make::Plain(stateless::<Self::Of<f16>>)),
        cpu_row!([("dtype", DataType::Bfloat16)], Make::Plain(stateless::<Self::Of<bf16>>)),
        cpu_row!([("dtype", DataType::Float)], Make::Plain(stateless::<Self::Of<f32>>)),
        cpu_row!([("dtype", DataType::Double)], Make::Plain(stateless::<Self::Of<f64>>)),
    ];
    const KEYED: &[KernelRow] = &[
        cpu_row!([("dtype", DataType::Half)], Make::Plain(keyed::<Self::Of<f16>>)),
        cpu_row!([("dtype", DataType::Bfloat16)], Make::Plain(keyed::<Self::Of<bf16>>)),
        cpu_row!([("dtype", DataType::Float)], Make::Plain(keyed::<Self::Of<f32>>)),
        cpu_row!([("dtype", DataType::Double)], Make::Plain(keyed::<Self::Of<f64>>)),
    ];
}

struct Evenly;
struct Normally;
struct Truncated;

impl OfReals for Evenly {
    type Of<T: RealElement> = Uniform<T>;
}

impl OfReals for Normally {
    type Of<T: RealElement> = Normal<T>;
}

impl OfReals for Truncated {
    type Of<T: RealElement> = TruncatedNormal<T>;
}

const fn random<D: OfReals>(name: &'static str, doc: &'static str) -> Op {
    Op { name, doc, kernels: D::SEEDED, ..SEEDED }
}

const fn stateless_random<D: OfReals>(name: &'static str, doc: &'static str) -> Op {
    Op { name, doc, kernels: D::STATELESS, ..STATELESS }
}

const fn keyed_random<D: OfReals>(name: &'static str, doc: &'static str) -> Op {
    Op { name, doc, kernels: D::KEYED, ..KEYED }
}
