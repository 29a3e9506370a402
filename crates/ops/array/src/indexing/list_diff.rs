//! `ListDiff`: set difference of vectors.

use super::number_hash::NumberHash;
use crate::convert::int_tensor;
use crate::keys::keys;
use crate::moving::{Gather, apply};
use crate::prelude::*;
use std::collections::HashSet;
use std::hash::Hash;

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
    let places = match x.dtype() {
        DataType::Int32 | DataType::Int64 => others(&x.to_i64s()?, &y.to_i64s()?)?,
        _ => {
            let [in_x, in_y] =
                keys(&[x, y])?.try_into().map_err(|_| internal("two tensors have two lists of keys"))?;
            not_in(&in_x, in_y)?
        }
    };
    let mut out = Tensor::uninit(x.dtype(), Shape::vector(places.len()))?;
    apply(&Gather::rows(x.elements(), 1, &places, c.par()), x, &mut out)?;
    let idx = int_tensor(c.output_type(1)?, &reserve::collect(places.iter().map(|p| *p as i64))?)?;
    c.set(0, out);
    c.set(1, idx);
    Ok(())
}

/// The places of the keys that are not in `y`.
fn not_in<K: Hash + Eq>(x: &[K], y: Vec<K>) -> Result<Vec<usize>> {
    let mut of_y = HashSet::with_hasher(NumberHash::new());
    reserve::room(&mut of_y, y.len())?;
    of_y.extend(y);
    reserve::collect(x.iter().enumerate().filter(|(_, k)| !of_y.contains(k)).map(|(i, _)| i))
}

/// As `not_in`, of numbers: those that lie close together index a table, which takes less than hashing them.
fn others(x: &[i64], y: &[i64]) -> Result<Vec<usize>> {
    let least = y.iter().copied().min().unwrap_or(0);
    let range = y.iter().copied().max().unwrap_or(0).abs_diff(least);
    if y.is_empty() || range >= (x.len() + y.len()) as u64 * 2 {
        return not_in(x, reserve::copied(y)?);
    }
    let mut is_in_y = reserve::filled(range as usize + 1, false)?;
    for number in y {
        if let Some(found) = is_in_y.get_mut(number.abs_diff(least) as usize) {
            *found = true;
        }
    }
    let is_other =
        |number: i64| number < least || is_in_y.get(number.abs_diff(least) as usize) != Some(&true);
    reserve::collect(x.iter().enumerate().filter(|(_, n)| is_other(**n)).map(|(i, _)| i))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::call;

    #[test]
    fn near_and_distant_numbers_are_found_alike() {
        let vector = |v: &[i64]| Tensor::from_slice(Shape::vector(v.len()), v).unwrap();
        for scale in [1, 1 << 40] {
            let [x, y] = [&[5i64, -7, 0, 5, 3, 9][..], &[3, 0, -2]]
                .map(|v| vector(&v.iter().map(|n| n * scale).collect::<Vec<_>>()));
            let rest = call("ListDiff", &[x, y], &[]).unwrap();
            assert_eq!(rest[0].as_slice::<i64>().unwrap(), [5, -7, 5, 9].map(|n: i64| n * scale));
            assert_eq!(rest[1].as_slice::<i32>().unwrap(), [0, 1, 3, 5]);
        }
        let rest = call("ListDiff", &[vector(&[i64::MIN, i64::MAX, 0]), vector(&[i64::MAX])], &[]).unwrap();
        assert_eq!(rest[1].as_slice::<i32>().unwrap(), [0, 2]);
        let all = call("ListDiff", &[vector(&[0, 1]), vector(&[])], &[]).unwrap();
        assert_eq!(all[1].as_slice::<i32>().unwrap(), [0, 1]);
    }
}
