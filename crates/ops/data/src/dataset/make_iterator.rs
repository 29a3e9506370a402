//! `MakeIterator`: starts an iteration over a dataset.

use super::iterator::Iterator;
use super::sequence::input;
use crate::prelude::*;

pub static MAKE_ITERATOR: Op = Op {
    name: "MakeIterator",
    doc: "Starts `iterator` over at the start of `dataset`.",
    inputs: &["dataset: variant", "iterator: resource"],
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (dataset, iterator) = (input(c, 0)?, c.resource::<Iterator>(1)?);
    iterator.begin(&dataset, c.step)
}
