//! `RandomStandardNormal` and its stateless forms: numbers drawn from the standard normal distribution.

use super::drawn::{RealElement, keyed, seeded, stateless};
use super::random_uniform::{RANDOM_UNIFORM, STATELESS_RANDOM_UNIFORM, STATELESS_RANDOM_UNIFORM_V2};
use crate::prelude::*;
use thalweg_math::random::Normal;

pub static RANDOM_STANDARD_NORMAL: Op = Op {
    name: "RandomStandardNormal",
    doc: "Numbers drawn from the standard normal distribution.",
    kernels: cpu!(make own: dtype in f16, bf16, f32, f64),
    ..RANDOM_UNIFORM
};

pub static STATELESS_RANDOM_NORMAL: Op = Op {
    name: "StatelessRandomNormal",
    doc: "Numbers drawn from the standard normal distribution, by a seed alone.",
    kernels: cpu!(by_seed: dtype in f16, bf16, f32, f64),
    ..STATELESS_RANDOM_UNIFORM
};

pub static STATELESS_RANDOM_NORMAL_V2: Op = Op {
    name: "StatelessRandomNormalV2",
    doc: "Numbers drawn from the standard normal distribution, by a key and a counter.",
    kernels: cpu!(by_key: dtype in f16, bf16, f32, f64),
    ..STATELESS_RANDOM_UNIFORM_V2
};

fn own<T: RealElement>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    seeded::<Normal<T>>(node)
}

fn by_seed<T: RealElement>(c: &mut OpCall<'_>) -> Result<()> {
    stateless::<Normal<T>>(c)
}

fn by_key<T: RealElement>(c: &mut OpCall<'_>) -> Result<()> {
    keyed::<Normal<T>>(c)
}
