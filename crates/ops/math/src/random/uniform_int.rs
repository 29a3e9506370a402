//! `RandomUniformInt`, its stateless forms and `StatelessRandomUniformFullInt`: uniform integers.

use super::drawn::{
    KEYED, SEEDED, STATELESS, Seeded, draw, drawn_shape, key_stream, keyed, keyed_shape, seed_stream,
    stateless, stateless_shape, wanted_shape,
};
use super::stateless_key::example_key;
use crate::prelude::*;
use thalweg_math::random::{FullInt, Int, Philox, UniformInt};

pub static RANDOM_UNIFORM_INT: Op = Op {
    name: "RandomUniformInt",
    doc: "Uniform integers in [minval, maxval).",
    inputs: &["shape: T", "minval: Tout", "maxval: Tout"],
    outputs: &["output: Tout"],
    attrs: &["seed: int = 0", "seed2: int = 0", "Tout: {int32, int64}", "T: {int32, int64}"],
    shape: |c| {
        c.scalar(1)?;
        c.scalar(2)?;
        drawn_shape(c)
    },
    kernels: cpu!(make own: Tout in i32, i64),
    cases: |_| {
        let inputs = vec![int_vector(&[2, 3]), Tensor::scalar(-5i32), Tensor::scalar(100i32)];
        vec![Case::new(inputs).attr("seed", 4).attr("seed2", 9)]
    },
    ..SEEDED
};

fn own<T: Int + Element + PartialOrd + std::fmt::Display>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let own = Seeded::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = wanted_shape(c, 0)?;
        let Some(dist) = bounds::<T>(c, &shape, 1)? else { return empty::<T>(c, shape) };
        let part = own.reserve(c, |s| s.reserve_outputs(shape.elements() as u64));
        draw(c, shape, part, &dist)
    }))
}

pub static STATELESS_RANDOM_UNIFORM_INT: Op = Op {
    name: "StatelessRandomUniformInt",
    doc: "Uniform integers in [minval, maxval), by a seed alone.",
    inputs: &["shape: T", "seed: Tseed", "minval: dtype", "maxval: dtype"],
    attrs: &["dtype: {int32, int64}", "T: {int32, int64}", "Tseed: {int32, int64} = DT_INT64"],
    shape: |c| {
        c.scalar(2)?;
        c.scalar(3)?;
        stateless_shape(c)
    },
    kernels: cpu!(by_seed: dtype in i32, i64),
    cases: |_| {
        let seed = vec![int_vector(&[5]), int_vector(&[1, 2])];
        vec![Case::new([seed, vec![Tensor::scalar(-5i64), Tensor::scalar(1i64 << 40)]].concat())]
    },
    ..STATELESS
};

fn by_seed<T: Int + Element + PartialOrd + std::fmt::Display>(c: &mut OpCall<'_>) -> Result<()> {
    let stream = seed_stream(c, 1)?;
    within::<T>(c, stream, 2)
}

pub static STATELESS_RANDOM_UNIFORM_INT_V2: Op = Op {
    name: "StatelessRandomUniformIntV2",
    doc: "Uniform integers in [minval, maxval), by a key and a counter.",
    inputs: &[
        "shape: Tshape",
        "key: uint64",
        "counter: uint64",
        "alg: int32",
        "minval: dtype",
        "maxval: dtype",
    ],
    attrs: &["dtype: {int32, int64, uint32, uint64}", "Tshape: {int32, int64} = DT_INT32"],
    shape: |c| {
        c.scalar(4)?;
        c.scalar(5)?;
        keyed_shape(c)
    },
    kernels: cpu!(by_key: dtype in i32, i64, u32, u64),
    cases: |_| {
        let bounds = vec![Tensor::scalar(3i64), Tensor::scalar(i64::MAX)];
        vec![Case::new([vec![int_vector(&[5])], example_key(), bounds].concat())]
    },
    ..KEYED
};

fn by_key<T: Int + Element + PartialOrd + std::fmt::Display>(c: &mut OpCall<'_>) -> Result<()> {
    let stream = key_stream(c, 1)?;
    within::<T>(c, stream, 4)
}

pub static STATELESS_RANDOM_UNIFORM_FULL_INT: Op = Op {
    name: "StatelessRandomUniformFullInt",
    doc: "Uniform integers over all values of the type, by a seed alone.",
    attrs: &[
        "dtype: {int32, int64, uint32, uint64} = DT_UINT64",
        "T: {int32, int64} = DT_INT32",
        "Tseed: {int32, int64, uint32, uint64} = DT_INT64",
    ],
    kernels: cpu!(full_by_seed: dtype in i32, i64, u32, u64),
    ..STATELESS
};

fn full_by_seed<T: Int + Element>(c: &mut OpCall<'_>) -> Result<()> {
    stateless::<FullInt<T>>(c)
}

pub static STATELESS_RANDOM_UNIFORM_FULL_INT_V2: Op = Op {
    name: "StatelessRandomUniformFullIntV2",
    doc: "Uniform integers over all values of the type, by a key and a counter.",
    attrs: &["dtype: {int32, int64, uint32, uint64} = DT_UINT64", "Tshape: {int32, int64} = DT_INT32"],
    kernels: cpu!(full_by_key: dtype in i32, i64, u32, u64),
    ..KEYED
};

fn full_by_key<T: Int + Element>(c: &mut OpCall<'_>) -> Result<()> {
    keyed::<FullInt<T>>(c)
}

fn within<T: Int + Element + PartialOrd + std::fmt::Display>(
    c: &mut OpCall<'_>,
    stream: Philox,
    at: usize,
) -> Result<()> {
    let shape = wanted_shape(c, 0)?;
    match bounds::<T>(c, &shape, at)? {
        Some(dist) => draw(c, shape, stream, &dist),
        None => empty::<T>(c, shape),
    }
}

pub fn empty<T: Element>(c: &mut OpCall<'_>, shape: Shape) -> Result<()> {
    c.set(0, Tensor::uninit(T::DTYPE, shape)?);
    Ok(())
}

/// The range in inputs `at` and `at + 1`; `None`, without validation, if the output is empty.
pub fn bounds<T: Int + Element + PartialOrd + std::fmt::Display>(
    c: &OpCall<'_>,
    shape: &Shape,
    at: usize,
) -> Result<Option<UniformInt<T>>> {
    let (low, high) = (c.scalar::<T>(at)?, c.scalar::<T>(at + 1)?);
    if shape.elements() == 0 {
        return Ok(None);
    }
    if low >= high {
        return Err(invalid!("Need minval < maxval, got {low} >= {high}"));
    }
    Ok(Some(UniformInt { low, high }))
}
