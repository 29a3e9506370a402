//! Random numbers from the state in a variable (`tf.random.Generator`): counter and key of a Philox stream, as int64.

use super::drawn::{AUTO_SELECT, PHILOX, RealElement, draw, wanted_shape};
use super::uniform_int::{bounds, empty};
use crate::prelude::*;
use thalweg_math::random::{
    BLOCKS_PER_OUTPUT, Distribution, FullInt, Int, Normal, Philox, TruncatedNormal, Uniform,
};

pub static OPS: &[&Op] = &[
    &STATEFUL_UNIFORM,
    &STATEFUL_STANDARD_NORMAL,
    &STATEFUL_STANDARD_NORMAL_V2,
    &STATEFUL_TRUNCATED_NORMAL,
    &STATEFUL_UNIFORM_FULL_INT,
    &STATEFUL_UNIFORM_INT,
    &RNG_SKIP,
    &RNG_READ_AND_SKIP,
    &NON_DETERMINISTIC_INTS,
];

static STATEFUL_UNIFORM: Op = Op {
    name: "StatefulUniform",
    doc: "Numbers drawn evenly from [0, 1), by the generator state in a variable.",
    inputs: &["resource: resource", "algorithm: int64", "shape: shape_dtype"],
    outputs: &["output: dtype"],
    attrs: &["dtype: type = DT_FLOAT", "shape_dtype: type = DT_INT64"],
    shape: |c| {
        c.scalar(1)?;
        c.rank(2, 1)?;
        Ok(vec![c.as_shape(2)?])
    },
    kernels: cpu!(uniform: dtype in f32, f64, f16, bf16),
    host_inputs: &["resource", "algorithm", "shape"],
    expensive: true,
    ..Op::STATEFUL
};

static STATEFUL_STANDARD_NORMAL_V2: Op = Op {
    name: "StatefulStandardNormalV2",
    doc: "Numbers drawn from the standard normal distribution, by the generator state in a variable.",
    kernels: cpu!(normal: dtype in f32, f64, f16, bf16),
    ..STATEFUL_UNIFORM
};

static STATEFUL_TRUNCATED_NORMAL: Op = Op {
    name: "StatefulTruncatedNormal",
    doc: "Standard normal numbers, drawn again where they lie two or more from zero, by the generator state in a variable.",
    kernels: cpu!(truncated: dtype in f32, f64, f16, bf16),
    ..STATEFUL_UNIFORM
};

static STATEFUL_UNIFORM_FULL_INT: Op = Op {
    name: "StatefulUniformFullInt",
    doc: "Uniform integers over all values of the type, by the generator state in a variable.",
    attrs: &["dtype: type = DT_UINT64", "shape_dtype: type = DT_INT64"],
    kernels: cpu!(full_int: dtype in i32, i64, u32, u64),
    ..STATEFUL_UNIFORM
};

static STATEFUL_UNIFORM_INT: Op = Op {
    name: "StatefulUniformInt",
    doc: "Uniform integers in [minval, maxval), by the generator state in a variable.",
    inputs: &[
        "resource: resource",
        "algorithm: int64",
        "shape: shape_dtype",
        "minval: dtype",
        "maxval: dtype",
    ],
    attrs: &["dtype: type = DT_INT64", "shape_dtype: type = DT_INT64"],
    shape: |c| {
        c.scalar(3)?;
        c.scalar(4)?;
        (STATEFUL_UNIFORM.shape)(c)
    },
    kernels: cpu!(int: dtype in i32, i64),
    host_inputs: &["resource", "algorithm", "shape", "minval", "maxval"],
    ..STATEFUL_UNIFORM
};

static STATEFUL_STANDARD_NORMAL: Op = Op {
    name: "StatefulStandardNormal",
    doc: "As StatefulStandardNormalV2; the state in the variable begins with the number of its algorithm.",
    inputs: &["resource: resource", "shape: shape_dtype"],
    shape: |c| {
        c.rank(1, 1)?;
        Ok(vec![c.as_shape(1)?])
    },
    kernels: cpu!(tagged_normal: dtype in f32, f64, f16, bf16),
    host_inputs: &["resource", "shape"],
    ..STATEFUL_UNIFORM
};

static RNG_SKIP: Op = Op {
    name: "RngSkip",
    doc: "Advances the generator state in a variable, as by drawing `delta` numbers.",
    inputs: &["resource: resource", "algorithm: int64", "delta: int64"],
    shape: |c| {
        c.scalar(1)?;
        c.scalar(2)?;
        Ok(vec![])
    },
    kernels: cpu!(skip),
    host_inputs: &["resource", "algorithm", "delta"],
    ..Op::STATEFUL
};

static RNG_READ_AND_SKIP: Op = Op {
    name: "RngReadAndSkip",
    doc: "The generator state in a variable, which is advanced as by drawing `delta` numbers.",
    inputs: &["resource: resource", "alg: int32", "delta: uint64"],
    outputs: &["value: int64"],
    shape: |c| {
        c.scalar(1)?;
        c.scalar(2)?;
        Ok(vec![PartialShape::vector(STATE as i64)])
    },
    kernels: cpu!(read_and_skip),
    host_inputs: &["resource", "alg", "delta"],
    ..Op::STATEFUL
};

static NON_DETERMINISTIC_INTS: Op = Op {
    name: "NonDeterministicInts",
    doc: "Integers of all values of the type, other ones in every run.",
    inputs: &["shape: shape_dtype"],
    outputs: &["output: dtype"],
    attrs: &["dtype: type = DT_INT64", "shape_dtype: type = DT_INT64"],
    shape: |c| {
        c.rank(0, 1)?;
        Ok(vec![c.as_shape(0)?])
    },
    kernels: cpu!(unforeseen: dtype in i32, i64, u32, u64),
    host_inputs: &["shape"],
    ..Op::STATEFUL
};

fn uniform<T: RealElement>(c: &mut OpCall<'_>) -> Result<()> {
    drawn(c, &Uniform::<T>::default())
}

fn normal<T: RealElement>(c: &mut OpCall<'_>) -> Result<()> {
    drawn(c, &Normal::<T>::default())
}

fn truncated<T: RealElement>(c: &mut OpCall<'_>) -> Result<()> {
    drawn(c, &TruncatedNormal::<T>::default())
}

fn full_int<T: Int + Element>(c: &mut OpCall<'_>) -> Result<()> {
    drawn(c, &FullInt::<T>::default())
}

fn int<T: Int + Element + PartialOrd + std::fmt::Display>(c: &mut OpCall<'_>) -> Result<()> {
    let shape = wanted_shape(c, 2)?;
    // Invalid bounds are an error here even if nothing is drawn.
    let (low, high) = (c.scalar::<T>(3)?, c.scalar::<T>(4)?);
    if low >= high {
        return Err(invalid!("Need minval < maxval, got {low} >= {high}"));
    }
    match bounds::<T>(c, &shape, 3)? {
        Some(dist) => drawn(c, &dist),
        None => empty::<T>(c, shape),
    }
}

fn tagged_normal<T: RealElement>(c: &mut OpCall<'_>) -> Result<()> {
    let shape = wanted_shape(c, 1)?;
    let variable = c.resource::<Variable>(0)?;
    let stream = variable.update(|state| {
        let algorithm = checked(state, 0)?.first().copied();
        let algorithm =
            algorithm.ok_or_else(|| invalid!("Size of tensor must be at least 1, got an empty state"))?;
        check_algorithm(algorithm)?;
        advance(state, 1, shape.elements() as u64)
    })?;
    draw(c, shape, stream, &Normal::<T>::default())
}

/// Fills the output, of the shape in input 2, by the state in the variable.
fn drawn<D: Distribution>(c: &mut OpCall<'_>, dist: &D) -> Result<()>
where
    D::Item: Element,
{
    let shape = wanted_shape(c, 2)?;
    let stream = reserve_outputs(c, shape.elements() as u64)?;
    draw(c, shape, stream, dist)
}

/// The stream in the variable of input 0, whose algorithm is input 1, which is advanced by the blocks of so many outputs.
fn reserve_outputs(c: &OpCall<'_>, outputs: u64) -> Result<Philox> {
    check_algorithm(given_algorithm(c)?)?;
    c.resource::<Variable>(0)?.update(|state| advance(state, 0, outputs))
}

/// As `reserve_outputs`, for ops that know no other algorithm than Philox.
pub fn reserve_of_philox(c: &OpCall<'_>, outputs: u64) -> Result<Philox> {
    let algorithm = given_algorithm(c)?;
    if algorithm != i64::from(PHILOX) {
        return Err(invalid!("Unsupported algorithm id: {algorithm}"));
    }
    c.resource::<Variable>(0)?.update(|state| advance(state, 0, outputs))
}

fn given_algorithm(c: &OpCall<'_>) -> Result<i64> {
    let t = c.input(1)?;
    if !t.shape().is_scalar() {
        return Err(invalid!("input 1 (0-based) must have shape [], not {}", t.shape()));
    }
    c.scalar_int(1)
}

fn check_algorithm(algorithm: i64) -> Result<()> {
    const THREE_FRY: i64 = 2;
    match algorithm {
        THREE_FRY => Err(unimplemented(
            "Non-XLA devices don't support the ThreeFry algorithm: only Philox (1) runs here",
        )),
        a if a == i64::from(PHILOX) || a == i64::from(AUTO_SELECT) => Ok(()),
        a => Err(invalid!("Unsupported algorithm id: {a}")),
    }
}

/// A counter of two numbers and a key.
const STATE: usize = 3;

/// The state's numbers, after `tag` others.
fn checked(state: &Tensor, tag: usize) -> Result<&[i64]> {
    if state.dtype() != DataType::Int64 {
        return Err(invalid!("dtype of RNG state variable must be int64, not {}", state.dtype()));
    }
    if state.rank() != 1 {
        return Err(invalid!("RNG state must have one and only one dimension, not {}", state.rank()));
    }
    state
        .as_slice::<i64>()?
        .get(tag..)
        .ok_or_else(|| invalid!("Size of tensor must be at least {tag}, got {}", state.elements()))
}

/// The stream that the state describes; the state is advanced by the blocks of so many outputs.
fn advance(state: &mut Tensor, tag: usize, outputs: u64) -> Result<Philox> {
    let size = state.elements();
    let &[low, high, key, ..] = checked(state, tag)? else {
        return Err(invalid!(
            "For the Philox algorithm, the size of state must be at least {}; got {size}",
            tag + STATE
        ));
    };
    let stream = Philox::from_key_counter(key as u64, [low as u64, high as u64]);
    let next = stream.skipped(outputs.wrapping_mul(BLOCKS_PER_OUTPUT)).counter();
    for (word, next) in state.as_mut_slice::<i64>()?.iter_mut().skip(tag).zip(next) {
        *word = next as i64;
    }
    Ok(stream)
}

fn skip(c: &mut OpCall<'_>) -> Result<()> {
    let delta = c.scalar::<i64>(2)?;
    reserve_outputs(c, delta as u64).map(|_| ())
}

fn read_and_skip(c: &mut OpCall<'_>) -> Result<()> {
    let delta = c.scalar::<u64>(2)?;
    let stream = reserve_outputs(c, delta)?;
    let [low, high] = stream.counter().map(|w| w as i64);
    c.set(0, Tensor::vector(&[low, high, stream.key() as i64])?);
    Ok(())
}

fn unforeseen<T: Int + Element>(c: &mut OpCall<'_>) -> Result<()> {
    let shape = wanted_shape(c, 0)?;
    let entropy = &c.step.device.entropy;
    let stream = Philox::from_key_counter(entropy(), [entropy(), entropy()]);
    draw(c, shape, stream, &FullInt::<T>::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_advanced_and_checked() {
        let mut state = Tensor::vector(&[5i64, 6, 7]).unwrap();
        let stream = advance(&mut state, 0, 3).unwrap();
        assert_eq!((stream.key(), stream.counter()), (7, [5, 6]));
        assert_eq!(state.to_i64s().unwrap(), [773, 6, 7]);
        // As TensorFlow 2.21: a negative number of outputs is a large one, without a carry here.
        advance(&mut state, 0, -3i64 as u64).unwrap();
        assert_eq!(state.to_i64s().unwrap(), [5, 7, 7]);
        assert!(advance(&mut Tensor::vector(&[5i64, 6]).unwrap(), 0, 1).is_err());
        assert!(advance(&mut Tensor::vector(&[5i64, 6, 7]).unwrap(), 1, 1).is_err());
        assert!(advance(&mut Tensor::vector(&[5f32, 6.0, 7.0]).unwrap(), 0, 1).is_err());
        assert!(advance(&mut Tensor::scalar(5i64), 0, 1).is_err());
    }
}
