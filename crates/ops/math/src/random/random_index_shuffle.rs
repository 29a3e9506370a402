//! `RandomIndexShuffle`: the place of an index in a random permutation.

use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use thalweg_math::random::{MAX_ROUNDS, shuffled_index};

pub static RANDOM_INDEX_SHUFFLE: Op = Op {
    name: "RandomIndexShuffle",
    doc: "Where a permutation of 0 to max_index, which the seed decides, puts each index.",
    inputs: &["index: dtype", "seed: Tseed", "max_index: dtype"],
    outputs: &["output: dtype"],
    attrs: &[
        "rounds: int = 4",
        "dtype: {int32, uint32, int64, uint64}",
        "Tseed: {int32, uint32, int64, uint64}",
    ],
    shape: |c| {
        let ranks = [c.input(0).rank(), c.input(1).rank(), c.input(2).rank()];
        Ok(vec![match ranks {
            [Some(0), Some(1), Some(0)] => PartialShape::scalar(),
            [Some(1), ..] => c.input(0),
            [.., Some(1)] => c.input(2),
            _ => PartialShape::unknown(),
        }])
    },
    grad: Stops,
    kernels: cpu!(make prepare: dtype in i32, u32, i64, u64),
    cases: |r| {
        let seed = int_vector(&[1, 2, 3]);
        vec![
            Case::new(vec![r.ints(&[5], 0, 10), seed.clone(), Tensor::scalar(9i32)]),
            Case::new(vec![Tensor::scalar(3i64), seed, Tensor::scalar(1i64 << 40)]).attr("rounds", 8),
        ]
    },
    ..Op::PURE
};

fn prepare<T: Integer + std::fmt::Display>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let rounds = node.attrs.int("rounds")?;
    if !(1..=MAX_ROUNDS as i64).contains(&rounds) {
        return Err(invalid!("rounds must be from 1 to {MAX_ROUNDS}, got {rounds}"));
    }
    Ok(Box::new(move |c: &mut OpCall<'_>| run::<T>(c, rounds as usize)))
}

fn run<T: Integer + std::fmt::Display>(c: &mut OpCall<'_>, rounds: usize) -> Result<()> {
    let (index, seed, most) = (c.shape(0)?, c.shape(1)?, c.shape(2)?);
    let n = index.elements().max(most.elements()).max(seed.elements() / 3);
    if !(index.rank() == 0 || index.dims() == [n]) {
        return Err(invalid!(
            "Index must be a scalar or vector of {n} like the other inputs, got shape {index}"
        ));
    }
    if !(seed.dims() == [3] || seed.dims() == [n, 3]) {
        return Err(invalid!(
            "Seed must be a vector of size [3] or a matrix of size [{n}, 3] but got {seed}."
        ));
    }
    if !(most.rank() == 0 || most.dims() == [n]) {
        return Err(invalid!("Maxval must be a scalar or a vector of the same size as index but got {most}"));
    }
    let single = index.rank() == 0 && seed.rank() == 1 && most.rank() == 0;
    let shape = if single { Shape::scalar() } else { Shape::new(&[n])? };
    let seeds = words(c.input(1)?)?;
    let (indices, limits) = (c.slice::<T>(0)?, c.slice::<T>(2)?);
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    if out.elements() == 0 {
        c.set(0, out);
        return Ok(());
    }
    let at = |list: &[T], i: usize| if list.len() == 1 { list[0] } else { list[i] };
    for i in 0..n {
        let (index, most) = (at(indices, i), at(limits, i));
        if most < T::ZERO || index < T::ZERO {
            return Err(invalid!("max_index must be >= 0 but was {most}, and index {index}"));
        }
        if most < index {
            return Err(invalid!("max_index must be >= index, but {most} < {index}"));
        }
    }
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, 1, 64, &|range, out| {
        for (i, out) in range.zip(out) {
            let key = if seeds.len() == 1 { seeds[0] } else { seeds[i] };
            let place = shuffled_index(number(at(indices, i)), key, number(at(limits, i)), rounds);
            *out = T::from_i64(place as i64);
        }
    });
    c.set(0, out);
    Ok(())
}

/// A number that is not negative.
fn number<T: Integer>(x: T) -> u64 {
    // Ranks begin at 0 for unsigned types, and at 2^63 for the others.
    x.rank().wrapping_sub(T::ZERO.rank())
}

/// The low words of the seeds, in threes.
fn words(t: &Tensor) -> Result<Vec<[u32; 3]>> {
    fn low<T: Copy>(values: &[T], word: impl Fn(T) -> u32) -> Result<Vec<[u32; 3]>> {
        reserve::collect(values.as_chunks::<3>().0.iter().map(|s| (*s).map(&word)))
    }
    match t.dtype() {
        DataType::Uint32 => low(t.as_slice::<u32>()?, |x| x),
        DataType::Uint64 => low(t.as_slice::<u64>()?, |x| x as u32),
        _ => low(&t.to_i64s()?, |x| x as u32),
    }
}
