//! `RandomUniform` and its stateless forms: numbers drawn evenly from [0, 1).

use super::drawn::{RealElement, drawn_shape, keyed, keyed_shape, seeded, stateless, stateless_shape};
use crate::prelude::*;
use thalweg_math::random::Uniform;

pub static RANDOM_UNIFORM: Op = Op {
    name: "RandomUniform",
    doc: "Numbers drawn evenly from [0, 1)",
    inputs: &["shape: T"],
    outputs: &["output: dtype"],
    attrs: &[
        "seed: int = 0",
        "seed2: int = 0",
        "dtype: {half, bfloat16, float, double}",
        "T: {int32, int64}",
    ],
    shape: drawn_shape,
    kernels: cpu!(make own: dtype in f16, bf16, f32, f64),
    cases: |_| {
        let seeded = |dtype: DataType| {
            Case::new(vec![int_vector(&[2, 3])]).attr("seed", 87654321).attr("seed2", 7).attr("dtype", dtype)
        };
        vec![seeded(DataType::Float), seeded(DataType::Double)]
    },
    expensive: true,
    ..Op::STATEFUL
};

pub static STATELESS_RANDOM_UNIFORM: Op = Op {
    name: "StatelessRandomUniform",
    doc: "Numbers drawn evenly from [0, 1), by a seed alone.",
    inputs: &["shape: T", "seed: Tseed"],
    outputs: &["output: dtype"],
    attrs: &[
        "dtype: {half, bfloat16, float, double} = DT_FLOAT",
        "T: {int32, int64} = DT_INT32",
        "Tseed: {int32, int64} = DT_INT64",
    ],
    shape: stateless_shape,
    grad: Stops,
    kernels: cpu!(by_seed: dtype in f16, bf16, f32, f64),
    cases: |_| vec![Case::new(vec![int_vector(&[7]), int_vector(&[3, -9])])],
    expensive: true,
    ..Op::PURE
};

pub static STATELESS_RANDOM_UNIFORM_V2: Op = Op {
    name: "StatelessRandomUniformV2",
    doc: "Numbers drawn evenly from [0, 1), by a key and a counter.",
    inputs: &["shape: Tshape", "key: uint64", "counter: uint64", "alg: int32"],
    attrs: &["dtype: {half, bfloat16, float, double} = DT_FLOAT", "Tshape: {int32, int64} = DT_INT32"],
    shape: keyed_shape,
    kernels: cpu!(by_key: dtype in f16, bf16, f32, f64),
    cases: |_| vec![Case::new([vec![int_vector(&[2, 2])], super::stateless_key::example_key()].concat())],
    ..STATELESS_RANDOM_UNIFORM
};

fn own<T: RealElement>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    seeded::<Uniform<T>>(node)
}

fn by_seed<T: RealElement>(c: &mut OpCall<'_>) -> Result<()> {
    stateless::<Uniform<T>>(c)
}

fn by_key<T: RealElement>(c: &mut OpCall<'_>) -> Result<()> {
    keyed::<Uniform<T>>(c)
}
