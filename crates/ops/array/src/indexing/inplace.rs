//! `InplaceUpdate`, `InplaceAdd`, `InplaceSub`: rows of a tensor replaced, added to or subtracted from; in its memory where nothing else
//! uses it.

use crate::moving::Block;
use crate::prelude::*;

pub static INPLACE_UPDATE: Op = Op {
    name: "InplaceUpdate",
    doc: "x with the rows `i` replaced by those of v.",
    inputs: &["x: T", "i: int32", "v: T"],
    outputs: &["y: T"],
    attrs: &["T: type"],
    shape: same_as_input,
    kernels: cpu!(update),
    cases,
    ..Op::PURE
};

pub static INPLACE_ADD: Op = Op {
    name: "InplaceAdd",
    doc: "x with v added to the rows `i`.",
    kernels: cpu!(add: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..INPLACE_UPDATE
};

pub static INPLACE_SUB: Op = Op {
    name: "InplaceSub",
    doc: "x with v subtracted from the rows `i`.",
    kernels: cpu!(sub: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..INPLACE_UPDATE
};

fn cases(r: &mut CaseGen) -> Vec<Case> {
    vec![
        Case::new(vec![r.tensor(&[4, 3]), int_vector(&[2, -1]), r.tensor(&[2, 3])]),
        Case::new(vec![r.tensor(&[4]), int_vector(&[]), r.tensor(&[0])]),
    ]
}

/// The rows to change: taken modulo their number, as TensorFlow does.
fn rows(c: &OpCall<'_>) -> Result<Vec<usize>> {
    let (x, i, v) = (c.input(0)?, c.input(1)?, c.input(2)?);
    let Some((count, each)) = x.shape().split_first() else {
        return Err(invalid!("x must be at least a vector, got shape {}", x.shape()));
    };
    if i.rank() != 1 {
        return Err(invalid!("i must be a vector, got shape {}", i.shape()));
    }
    if v.rank() != x.rank() {
        return Err(invalid!("x and v shape doesn't match (ranks differ): {} vs. {}", x.shape(), v.shape()));
    }
    if v.shape().get(1..) != Some(each) {
        return Err(invalid!("x and v shape doesn't match: {} vs. {}", x.shape(), v.shape()));
    }
    if v.shape().first() != Some(&i.elements()) {
        return Err(invalid!("i and v shape doesn't match: {} vs. {}", i.shape(), v.shape()));
    }
    let row = |at: i64| at.checked_rem_euclid(*count as i64).map(|at| at as usize);
    let all = i.to_i64s()?.into_iter().map(|at| row(at).ok_or_else(|| invalid!("x has no rows to change")));
    reserve::try_collect(all)
}

fn update(c: &mut OpCall<'_>) -> Result<()> {
    let rows = rows(c)?;
    let mut y = c.take(0)?;
    let v = c.input(2)?;
    let each = v.elements() / rows.len().max(1);
    for (from, to) in rows.into_iter().enumerate() {
        Block::at(from * each, to * each).dim(each, 1, 1).copy(c.par(), v, &mut y)?;
    }
    c.set(0, y);
    Ok(())
}

fn add<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    change::<T>(c, T::add)
}

fn sub<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    change::<T>(c, T::sub)
}

fn change<T: Number>(c: &mut OpCall<'_>, by: impl Fn(T, T) -> T) -> Result<()> {
    let rows = rows(c)?;
    let mut y = c.take(0)?;
    let v = c.slice::<T>(2)?;
    let each = v.len() / rows.len().max(1);
    let all = y.as_mut_slice::<T>()?;
    for (at, row) in rows.into_iter().zip(v.chunks_exact(each.max(1))) {
        let to = all.get_mut(at * each..).and_then(|t| t.get_mut(..each)).unwrap_or_default();
        to.iter_mut().zip(row).for_each(|(y, v)| *y = by(*y, *v));
    }
    c.set(0, y);
    Ok(())
}
