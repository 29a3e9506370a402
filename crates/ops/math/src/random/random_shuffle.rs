//! `RandomShuffle`, `StatelessShuffle`: the rows of a tensor in random order.

use super::drawn::{Seeded, check_key, key_stream};
use super::stateless_key::example_key;
use crate::prelude::*;
use crate::rows::pick;
use thalweg_math::random::{self, Philox};

pub static RANDOM_SHUFFLE: Op = Op {
    name: "RandomShuffle",
    doc: "The rows of `value`, along its first dimension, in random order.",
    inputs: &["value: T"],
    outputs: &["output: T"],
    attrs: &["seed: int = 0", "seed2: int = 0", "T: type"],
    shape: same_as_input,
    kernels: cpu!(make own),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[5, 2])]).attr("seed", 4).attr("seed2", 9),
            Case::new(vec![r.tensor(&[])]).attr("seed", 4),
        ]
    },
    ..Op::STATEFUL
};

fn own(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let own = Seeded::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        shuffle(c, |c, rows| Ok(own.reserve(c, |s| s.reserve_words(rows as u64 - 1))))
    }))
}

pub static STATELESS_SHUFFLE: Op = Op {
    name: "StatelessShuffle",
    doc: "The rows of `value`, along its first dimension, in an order that a key and a counter decide.",
    inputs: &["value: T", "key: uint64", "counter: uint64", "alg: int32"],
    outputs: &["output: T"],
    attrs: &["T: type"],
    shape: |c| {
        check_key(c, 1)?;
        Ok(vec![c.input(0)])
    },
    grad: Stops,
    kernels: cpu!(by_key),
    cases: |r| vec![Case::new([vec![r.tensor(&[5, 2])], example_key()].concat())],
    ..Op::PURE
};

fn by_key(c: &mut OpCall<'_>) -> Result<()> {
    // Read first: an invalid key is an error even if nothing is shuffled.
    let stream = key_stream(c, 1)?;
    shuffle(c, |_, _| Ok(stream))
}

fn shuffle(c: &mut OpCall<'_>, stream: impl FnOnce(&OpCall<'_>, usize) -> Result<Philox>) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let rows = shape.first().copied().unwrap_or(1);
    if shape.elements() <= 1 || rows <= 1 {
        let same = c.take(0)?;
        c.set(0, same);
        return Ok(());
    }
    let len = shape.elements() / rows;
    let mut order = reserve::collect(0..rows)?;
    random::shuffle(stream(c, rows)?, &mut order);
    let out = pick(c, c.input(0)?, len, &order, shape)?;
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn a_bad_key_is_an_error_where_there_is_nothing_to_shuffle() {
        let mut inputs = [vec![floats(&[1, 2], &[1.0, 2.0])], example_key()].concat();
        inputs[1] = Tensor::scalar(7u64);
        assert_eq!(code(call("StatelessShuffle", &inputs, &[])), Code::InvalidArgument);
    }
}
