//! `TruncatedNormal` and its stateless forms: standard normal numbers less than two from zero.

use super::drawn::{RealElement, keyed, seeded, stateless};
use super::random_uniform::{RANDOM_UNIFORM, STATELESS_RANDOM_UNIFORM, STATELESS_RANDOM_UNIFORM_V2};
use crate::prelude::*;
use thalweg_math::random::TruncatedNormal;

pub static TRUNCATED_NORMAL: Op = Op {
    name: "TruncatedNormal",
    doc: "Standard normal numbers, drawn again where they lie two or more from zero.",
    kernels: cpu!(make own: dtype in f16, bf16, f32, f64),
    ..RANDOM_UNIFORM
};

pub static STATELESS_TRUNCATED_NORMAL: Op = Op {
    name: "StatelessTruncatedNormal",
    doc: "Standard normal numbers, drawn again where they lie two or more from zero, by a seed alone.",
    kernels: cpu!(by_seed: dtype in f16, bf16, f32, f64),
    ..STATELESS_RANDOM_UNIFORM
};

pub static STATELESS_TRUNCATED_NORMAL_V2: Op = Op {
    name: "StatelessTruncatedNormalV2",
    doc: "Standard normal numbers, drawn again where they lie two or more from zero, by a key and a counter.",
    kernels: cpu!(by_key: dtype in f16, bf16, f32, f64),
    ..STATELESS_RANDOM_UNIFORM_V2
};

fn own<T: RealElement>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    seeded::<TruncatedNormal<T>>(node)
}

fn by_seed<T: RealElement>(c: &mut OpCall<'_>) -> Result<()> {
    stateless::<TruncatedNormal<T>>(c)
}

fn by_key<T: RealElement>(c: &mut OpCall<'_>) -> Result<()> {
    keyed::<TruncatedNormal<T>>(c)
}
