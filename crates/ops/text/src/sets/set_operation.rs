//! `DenseToDenseSetOperation`, `DenseToSparseSetOperation`, `SparseToSparseSetOperation`: difference, intersection and union of the
//! sets along the last dimension of two tensors.

use super::items::{Item, Sets};
use crate::prelude::*;
use crate::sparse::entries::sparse_shape;
use crate::sparse::{example, matrix};
use bytes::Bytes;
use std::cmp::Ordering;

pub static OPS: &[&Op] =
    &[&DENSE_TO_DENSE_SET_OPERATION, &DENSE_TO_SPARSE_SET_OPERATION, &SPARSE_TO_SPARSE_SET_OPERATION];

const DENSE_TO_DENSE_SET_OPERATION: Op = Op {
    name: "DenseToDenseSetOperation",
    doc: "The difference (a-b, b-a), intersection or union of the sets along the last dimension of two tensors, sorted.",
    inputs: &["set1: T", "set2: T"],
    outputs: &["result_indices: int64", "result_values: T", "result_shape: int64"],
    attrs: &[
        "set_operation: string",
        "validate_indices: bool = true",
        "T: {int8, int16, int32, int64, uint8, uint16, string}",
    ],
    shape: |c| {
        let rank = merge_rank(c.input(0).rank(), c.input(1).rank())?;
        Ok(sparse_shape(rank))
    },
    grad: Stops,
    kernels: cpu!(dense_dense_strings for T = String, dense_dense: T in i8, i16, i32, i64, u8, u16),
    cases: |r| each_operation(|| Case::new(vec![r.ints(&[2, 3], 0, 5), r.ints(&[2, 4], 0, 5)])),
    ..Op::PURE
};

const DENSE_TO_SPARSE_SET_OPERATION: Op = Op {
    name: "DenseToSparseSetOperation",
    doc: "The difference (a-b, b-a), intersection or union of the sets along the last dimension of a dense and a sparse tensor, sorted.",
    inputs: &["set1: T", "set2_indices: int64", "set2_values: T", "set2_shape: int64"],
    shape: |c| Ok(sparse_shape(merge_rank(c.input(0).rank(), known(c.input(3).dim(0)))?)),
    kernels: cpu!(dense_sparse_strings for T = String, dense_sparse: T in i8, i16, i32, i64, u8, u16),
    cases: |r| {
        each_operation(|| {
            let b = example(&[0, 0, 0, 2], r.ints(&[2], 0, 5), &[2, 4]);
            Case::new([r.ints(&[2, 3], 0, 5)].into_iter().chain(b).collect())
        })
    },
    ..DENSE_TO_DENSE_SET_OPERATION
};

const SPARSE_TO_SPARSE_SET_OPERATION: Op = Op {
    name: "SparseToSparseSetOperation",
    doc: "The difference (a-b, b-a), intersection or union of the sets along the last dimension of two sparse tensors, sorted.",
    inputs: &[
        "set1_indices: int64",
        "set1_values: T",
        "set1_shape: int64",
        "set2_indices: int64",
        "set2_values: T",
        "set2_shape: int64",
    ],
    shape: |c| Ok(sparse_shape(merge_dim(c.input(2).dim(0), c.input(5).dim(0))?)),
    kernels: cpu!(sparse_sparse_strings for T = String, sparse_sparse: T in i8, i16, i32, i64, u8, u16),
    cases: |r| {
        each_operation(|| {
            let a = example(&[0, 0, 0, 1, 2, 1], r.ints(&[3], 0, 5), &[3, 2]);
            let b = example(&[0, 0, 1, 2, 2, 3], r.ints(&[3], 0, 5), &[3, 4]);
            Case::new(a.into_iter().chain(b).collect())
        })
    },
    ..DENSE_TO_DENSE_SET_OPERATION
};

fn each_operation(mut case: impl FnMut() -> Case) -> Vec<Case> {
    ["a-b", "b-a", "intersection", "union"].into_iter().map(|op| case().attr("set_operation", op)).collect()
}

fn known(size: i64) -> Option<usize> {
    usize::try_from(size).ok()
}

/// The rank of both, -1 if neither is known.
fn merge_rank(a: Option<usize>, b: Option<usize>) -> Result<i64> {
    let rank = |r: Option<usize>| r.map_or(-1, |r| r as i64);
    match merge_dim(rank(a), rank(b))? {
        rank @ (0 | 1) => Err(invalid!("Input has rank {rank} < 2")),
        rank => Ok(rank),
    }
}

/// What is kept: elements of the first set alone, of both, of the second alone.
struct Kept {
    first: bool,
    both: bool,
    second: bool,
}

fn kept(attrs: &Attrs) -> Result<Kept> {
    let name = attrs.bytes("set_operation")?;
    let (first, both, second) = match &name.to_ascii_lowercase()[..] {
        b"a-b" => (true, false, false),
        b"b-a" => (false, false, true),
        b"intersection" => (false, true, false),
        b"union" => (true, true, true),
        other => return Err(invalid!("Invalid set_operation {}.", other.escape_ascii())),
    };
    Ok(Kept { first, both, second })
}

fn dense_dense<T: Item>(c: &mut OpCall<'_>) -> Result<()> {
    let found = combined(c, Sets::<T>::dense(c.input(0)?)?, Sets::dense(c.input(1)?)?)?;
    output(c, found)
}

fn dense_sparse<T: Item>(c: &mut OpCall<'_>) -> Result<()> {
    let ordered = c.attrs().bool("validate_indices")?;
    let found = combined(c, Sets::<T>::dense(c.input(0)?)?, Sets::sparse(c, 1, ordered)?)?;
    output(c, found)
}

fn sparse_sparse<T: Item>(c: &mut OpCall<'_>) -> Result<()> {
    let ordered = c.attrs().bool("validate_indices")?;
    let found = combined(c, Sets::<T>::sparse(c, 0, ordered)?, Sets::sparse(c, 3, ordered)?)?;
    output(c, found)
}

fn dense_dense_strings(c: &mut OpCall<'_>) -> Result<()> {
    dense_dense::<Bytes>(c)
}

fn dense_sparse_strings(c: &mut OpCall<'_>) -> Result<()> {
    dense_sparse::<Bytes>(c)
}

fn sparse_sparse_strings(c: &mut OpCall<'_>) -> Result<()> {
    sparse_sparse::<Bytes>(c)
}

fn output(c: &mut OpCall<'_>, found: [Tensor; 3]) -> Result<()> {
    for (i, t) in found.into_iter().enumerate() {
        c.set(i, t);
    }
    Ok(())
}

/// The sets of both tensors, combined number by number: indices, values and shape.
fn combined<T: Item>(c: &OpCall<'_>, a: Sets<'_, T>, b: Sets<'_, T>) -> Result<[Tensor; 3]> {
    let kept = kept(c.attrs())?;
    if a.outer != b.outer {
        return Err(invalid!("Mismatched shapes {} vs {}", a.outer, b.outer));
    }
    let (mut i, mut j) = (0, 0);
    let (mut at, mut values, mut most) = (Vec::new(), Vec::new(), 0usize);
    while i < a.groups.len() || j < b.groups.len() {
        // Past the end of one, the other is next.
        let order = match (a.groups.get(i), b.groups.get(j)) {
            (Some(x), Some(y)) => x.0.cmp(&y.0),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        let number = if order.is_le() { a.groups[i].0 } else { b.groups[j].0 };
        let x = if order.is_le() { a.sorted(a.groups[i].1.clone())? } else { Vec::new() };
        let y = if order.is_ge() { b.sorted(b.groups[j].1.clone())? } else { Vec::new() };
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
        let before = values.len();
        merge(&kept, &x, &y, &mut values)?;
        let size = values.len() - before;
        most = most.max(size);
        place(&a.outer, number, size, &mut at)?;
    }
    let rank = a.outer.rank() + 1;
    let mut dims = reserve::copied(&a.outer.to_i64())?;
    reserve::push(&mut dims, most as i64)?;
    Ok([matrix(values.len(), rank, &at)?, T::tensor(values)?, Tensor::vector(&dims)?])
}

/// Appends the elements that are kept of two sorted sets, sorted.
fn merge<T: Item>(kept: &Kept, mut x: &[&T], mut y: &[&T], to: &mut Vec<T>) -> Result<()> {
    while let Some(order) = match (x.first(), y.first()) {
        (Some(x), Some(y)) => Some(x.cmp(y)),
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (None, None) => None,
    } {
        let (wanted, item) = match order {
            Ordering::Less => (kept.first, x[0]),
            Ordering::Equal => (kept.both, x[0]),
            Ordering::Greater => (kept.second, y[0]),
        };
        if wanted {
            reserve::push(to, item.clone())?;
        }
        x = &x[usize::from(order.is_le())..];
        y = &y[usize::from(order.is_ge())..];
    }
    Ok(())
}

/// Appends the indices of a set of `size` elements.
fn place(outer: &Shape, number: usize, size: usize, at: &mut Vec<i64>) -> Result<()> {
    reserve::room(at, size.saturating_mul(outer.rank() + 1))?;
    for k in 0..size {
        let start = at.len();
        at.push(k as i64);
        let mut rest = number;
        for n in outer.iter().rev() {
            at.push((rest % n) as i64);
            rest /= n;
        }
        at[start..].reverse();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::string::mapped::words;
    use crate::testing::{call, code, ints};

    fn dense(a: Tensor, b: Tensor, op: &str) -> Result<Vec<Tensor>> {
        call("DenseToDenseSetOperation", &[a, b], &[("set_operation", Attr::str(op))])
    }

    #[test]
    fn sets_are_sorted_and_named_in_any_case() {
        let (a, b) = (ints(&[2, 2], &[5, 1, 2, 2]), ints(&[2, 3], &[1, 9, 9, 3, 3, 3]));
        let y = dense(a.clone(), b.clone(), "Union").unwrap();
        assert_eq!(y[1].as_slice::<i32>().unwrap(), &[1, 5, 9, 2, 3]);
        assert_eq!(y[0].as_slice::<i64>().unwrap(), &[0, 0, 0, 1, 0, 2, 1, 0, 1, 1]);
        assert_eq!(y[2].as_slice::<i64>().unwrap(), &[2, 3]);
        let y = dense(a.clone(), b.clone(), "intersection").unwrap();
        assert_eq!(
            (y[1].as_slice::<i32>().unwrap(), y[2].as_slice::<i64>().unwrap()),
            (&[1][..], &[2, 1][..])
        );
        let text = dense(words(&[1, 2], &["b", "a"]), words(&[1, 1], &["b"]), "a-b").unwrap();
        assert_eq!(&text[1].strings().unwrap()[0][..], b"a");
        assert_eq!(code(dense(a.clone(), b, "xor")), Code::InvalidArgument);
        assert_eq!(code(dense(a.clone(), ints(&[1, 1], &[1]), "union")), Code::InvalidArgument);
        assert_eq!(code(dense(a, ints(&[1], &[1]), "union")), Code::InvalidArgument);
    }
}
