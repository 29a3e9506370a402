//! `RaggedFillEmptyRows`: a default value in each empty row of a ragged tensor, and its gradient.

use crate::prelude::*;
use crate::rows::{join, pick};
use crate::sparse::fill_gradients;

pub static OPS: &[&Op] = &[&RAGGED_FILL_EMPTY_ROWS, &RAGGED_FILL_EMPTY_ROWS_GRAD];

static RAGGED_FILL_EMPTY_ROWS: Op = Op {
    name: "RaggedFillEmptyRows",
    doc: "A ragged tensor by row ids, with default_value in the rows that had no value; which these are; and where each value went.",
    inputs: &["value_rowids: int64", "values: T", "nrows: int64", "default_value: T"],
    outputs: &[
        "output_value_rowids: int64",
        "output_values: T",
        "empty_row_indicator: bool",
        "reverse_index_map: int64",
    ],
    attrs: &["T: type"],
    shape: |c| {
        let (ids, values) = (c.rank(0, 1)?, c.rank(1, 1)?);
        let count = merge_dim(ids.dim(0), values.dim(0))?;
        c.scalar(2)?;
        c.scalar(3)?;
        let rows = c.ints(2).and_then(|n| n.first().copied()).unwrap_or(-1);
        let any = PartialShape::vector(-1);
        Ok(vec![any.clone(), any, PartialShape::vector(rows), PartialShape::vector(count)])
    },
    grad: Rule(|g| {
        let (map, dvalues) = (g.y[3], g.dy_or_zeros(1)?);
        let [dvalues, ddefault] = g.ops("RaggedFillEmptyRowsGrad", [map.into(), dvalues.into()], &[])?[..]
        else {
            return Err(internal("two gradients"));
        };
        Ok(vec![Grad::None, dvalues.into(), Grad::None, ddefault.into()])
    }),
    kernels: cpu!(run),
    cases: |r| {
        let mut case = |ids: &[i64], rows: i64| {
            let ids: Vec<Tensor> = Tensor::vector(ids).into_iter().collect();
            let n = ids.first().map_or(0, Tensor::elements);
            Case::new(ids.into_iter().chain([r.tensor(&[n]), Tensor::scalar(rows), r.tensor(&[])]).collect())
        };
        vec![case(&[0, 2, 2], 4), case(&[1, 0], 2), case(&[], 2)]
    },
    ..Op::PURE
};

static RAGGED_FILL_EMPTY_ROWS_GRAD: Op = Op {
    name: "RaggedFillEmptyRowsGrad",
    doc: "The gradients of RaggedFillEmptyRows by values and default_value.",
    inputs: &["reverse_index_map: int64", "grad_values: T"],
    outputs: &["d_values: T", "d_default_value: T"],
    attrs: &["T: type"],
    shape: |c| {
        let map = c.rank(0, 1)?;
        c.rank(1, 1)?;
        Ok(vec![map, PartialShape::scalar()])
    },
    kernels: cpu!(fill_gradients: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    cases: |r| {
        let map = Tensor::vector(&[2i64, 0]).into_iter();
        vec![Case::new(map.chain([r.tensor(&[4])]).collect())]
    },
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (ids, values, default) = (c.input(0)?, c.input(1)?, c.input(3)?);
    for (t, rank, name) in [
        (ids, 1, "value_rowids"),
        (values, 1, "values"),
        (c.input(2)?, 0, "nrows"),
        (default, 0, "default_value"),
    ] {
        if t.rank() != rank {
            let what = if rank == 0 { "scalar" } else { "vector" };
            return Err(invalid!("{name} must be a {what}, saw: {}", t.shape()));
        }
    }
    let (ids, count) = (ids.to_i64s()?, values.elements());
    if ids.len() != count {
        return Err(invalid!("Length of `values` ({count}) must match `value_rowids` ({})", ids.len()));
    }
    let rows = c.scalar::<i64>(2)?;
    let Ok(rows) = usize::try_from(rows) else {
        return Err(invalid!("nrows must not be negative, got {rows}"));
    };
    if rows == 0 && count > 0 {
        return Err(invalid!("Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {count}"));
    }
    let mut empty = Tensor::full(Shape::vector(rows), true)?;
    let is_empty = empty.as_mut_slice::<bool>()?;
    for (i, id) in ids.iter().enumerate() {
        match usize::try_from(*id).ok().and_then(|id| is_empty.get_mut(id)) {
            Some(empty) => *empty = false,
            None if *id < 0 => return Err(invalid!("indices({i}, 0) is invalid: {id} < 0")),
            None => return Err(invalid!("indices({i}, 0) is invalid: {id} >= {rows}")),
        }
    }
    // Values sorted by row, as they came within one; the default has the index after the last.
    let missing = is_empty.iter().enumerate().filter(|(_, e)| **e).map(|(row, _)| (row as i64, count));
    let filled = missing.clone().count();
    let mut items = reserve::with_capacity(count.saturating_add(filled))?;
    items.extend(ids.iter().enumerate().map(|(i, id)| (*id, i)).chain(missing));
    items.sort_unstable();
    let mut map = reserve::filled(count, 0i64)?;
    for (to, (_, i)) in items.iter().enumerate().filter(|(_, (_, i))| *i < count) {
        map[*i] = to as i64;
    }
    let picks = reserve::collect(items.iter().map(|(_, i)| *i))?;
    let all = join(values.dtype(), Shape::vector(count + 1), &[values.clone(), default.clone()])?;
    let elements = pick(c, &all, 1, &picks, Shape::vector(picks.len()))?;
    c.set(0, Tensor::vector(&reserve::collect(items.iter().map(|(row, _)| *row))?)?);
    c.set(1, elements);
    c.set(2, empty);
    c.set(3, Tensor::vector(&map)?);
    Ok(())
}
