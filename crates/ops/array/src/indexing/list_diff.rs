//! `ListDiff`: set difference of vectors.

use super::number_hash::NumberHash;
use crate::convert::int_tensor;
use crate::keys::keys;
use crate::moving::{Gather, apply};
use crate::prelude::*;
use std::collections::HashSet;

pub static LIST_DIFF: Op = Op {
    name: "ListDiff",
    doc: "The elements of `x` that are not in `y`, and their positions in `x`.",
    inputs: &["x: T", "y: T"],
    outputs: &["out: T", "idx: out_idx"],
    attrs: &["T: type", "out_idx: {int32, int64} = DT_INT32"],
    shape: |c| {
        c.rank(0, 1)?;
        c.rank(1, 1)?;
        c.all(PartialShape::vector(-1))
    },
    kernels: cpu!(run),
    cases: |_| vec![Case::new(vec![int_vector(&[1, 2, 3, 4, 5, 6]), int_vector(&[1, 3, 5])])],
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (x, y) = (c.input(0)?, c.input(1)?);
    if x.rank() != 1 || y.rank() != 1 {
        return Err(invalid!("x and y should be 1D vectors, got shapes {} and {}", x.shape(), y.shape()));
    }
    let [in_x, in_y] =
        keys(&[x, y])?.try_into().map_err(|_| internal("two tensors have two lists of keys"))?;
    let mut of_y = HashSet::with_hasher(NumberHash::new());
    reserve::room(&mut of_y, in_y.len())?;
    of_y.extend(in_y);
    let kept = in_x.iter().enumerate().filter(|(_, k)| !of_y.contains(k)).map(|(i, _)| i);
    let places = reserve::collect(kept)?;
    let mut out = Tensor::uninit(x.dtype(), Shape::vector(places.len()))?;
    apply(&Gather::rows(x.elements(), 1, &places, c.par()), x, &mut out)?;
    let idx = int_tensor(c.output_type(1)?, &reserve::collect(places.iter().map(|p| *p as i64))?)?;
    c.set(0, out);
    c.set(1, idx);
    Ok(())
}
