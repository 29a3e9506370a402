//! `StatelessRandomGetKeyCounter`, `StatelessRandomGetAlg`: from a seed to the inputs of V2 stateless ops.

use super::drawn::{PHILOX, seed_stream};
use crate::prelude::*;

pub static STATELESS_RANDOM_GET_KEY_COUNTER: Op = Op {
    name: "StatelessRandomGetKeyCounter",
    doc: "The key and counter that a seed of two numbers is scrambled to.",
    inputs: &["seed: Tseed"],
    outputs: &["key: uint64", "counter: uint64"],
    attrs: &["Tseed: {int32, int64} = DT_INT64"],
    shape: |c| {
        PartialShape::vector(2).merge(&c.input(0))?;
        Ok(vec![PartialShape::vector(1), PartialShape::vector(2)])
    },
    grad: Stops,
    kernels: cpu!(key_counter),
    cases: |_| vec![Case::new(vec![int_vector(&[3, -9])])],
    ..Op::PURE
};

pub static STATELESS_RANDOM_GET_KEY_COUNTER_ALG: Op = Op {
    name: "StatelessRandomGetKeyCounterAlg",
    doc: "The key and counter that a seed is scrambled to, and the algorithm that this device prefers.",
    outputs: &["key: uint64", "counter: uint64", "alg: int32"],
    shape: |c| {
        PartialShape::vector(2).merge(&c.input(0))?;
        Ok(vec![PartialShape::vector(1), PartialShape::vector(2), PartialShape::scalar()])
    },
    kernels: cpu!(key_counter_alg),
    ..STATELESS_RANDOM_GET_KEY_COUNTER
};

pub static STATELESS_RANDOM_GET_ALG: Op = Op {
    name: "StatelessRandomGetAlg",
    doc: "The random algorithm that this device prefers: Philox, 1.",
    outputs: &["alg: int32"],
    shape: shape_call::scalar,
    kernels: cpu!(alg),
    cases: |_| vec![Case::new(vec![])],
    ..Op::STATEFUL
};

fn key_counter(c: &mut OpCall<'_>) -> Result<()> {
    let stream = seed_stream(c, 0)?;
    c.set(0, Tensor::vector(&[stream.key()])?);
    c.set(1, Tensor::vector(&stream.counter())?);
    Ok(())
}

fn key_counter_alg(c: &mut OpCall<'_>) -> Result<()> {
    key_counter(c)?;
    c.set(2, Tensor::scalar(PHILOX));
    Ok(())
}

fn alg(c: &mut OpCall<'_>) -> Result<()> {
    c.set(0, Tensor::scalar(PHILOX));
    Ok(())
}

/// A key, a counter and an algorithm, for cases.
pub fn example_key() -> Vec<Tensor> {
    let vector = |v: &[u64]| Tensor::vector(v).unwrap_or_else(|_| Tensor::scalar(0u64));
    vec![vector(&[0xFEDC_BA98_7654_3210]), vector(&[u64::MAX - 4, 17]), Tensor::scalar(PHILOX)]
}
