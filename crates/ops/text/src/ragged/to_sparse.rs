//! `RaggedTensorToSparse`: a ragged tensor as a sparse one.

use super::splits::{arguments, nested};
use crate::prelude::*;
use crate::sparse::matrix;

pub static OPS: &[&Op] = &[&RAGGED_TENSOR_TO_SPARSE];

static RAGGED_TENSOR_TO_SPARSE: Op = Op {
    name: "RaggedTensorToSparse",
    doc: "A ragged tensor as a sparse one of the same values.",
    inputs: &["rt_nested_splits: RAGGED_RANK * Tsplits", "rt_dense_values: T"],
    outputs: &["sparse_indices: int64", "sparse_values: T", "sparse_dense_shape: int64"],
    attrs: &["RAGGED_RANK: int >= 1", "T: type", "Tsplits: {int32, int64} = DT_INT64"],
    shape: |c| {
        let splits = c.arg(0).len();
        let values = c.rank_at_least(splits, 1)?;
        for i in 0..splits {
            c.rank(i, 1)?;
        }
        let rank = values.rank().map_or(-1, |r| (r + splits) as i64);
        let count = values.elements().unwrap_or(-1);
        Ok(vec![[count, rank].into_iter().collect(), PartialShape::vector(count), PartialShape::vector(rank)])
    },
    grad: Rule(|g| {
        let values = *g.x.last().ok_or_else(|| internal("no values"))?;
        let dy = g.dy_or_zeros(1)?;
        let shape = g.shape_of(values)?;
        let dvalues = g.binary("Reshape", dy, shape)?;
        let mut all = vec![Grad::None; g.x.len() - 1];
        all.push(dvalues.into());
        Ok(all)
    }),
    kernels: cpu!(run),
    cases: |r| {
        let splits = |v: &[i64]| Tensor::vector(v).into_iter();
        let one = splits(&[0, 2, 2, 3]).chain([r.tensor(&[3])]).collect();
        let two = splits(&[0, 2, 3]).chain(splits(&[0, 1, 3, 3])).chain([r.tensor(&[3, 2])]).collect();
        vec![Case::new(one).attr("RAGGED_RANK", 1), Case::new(two).attr("RAGGED_RANK", 2)]
    },
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let inputs = arguments(c, 0)?;
    let values = c.input(inputs.len())?;
    let splits = nested(&inputs, values)?;
    let (rows, inner) = (values.shape()[0], Shape::new(&values.shape()[1..])?);
    let rank = splits.len() + 1 + inner.rank();
    let width = inner.elements();
    let mut at = reserve::with_capacity(values.elements().saturating_mul(rank))?;
    // The row that the walk has reached in each dimension.
    let mut reached = reserve::filled(splits.len(), 0usize)?;
    let mut place = reserve::filled(splits.len() + 1, 0i64)?;
    for value in 0..rows {
        let mut child = value;
        for ((splits, row), place) in splits.iter().zip(&mut reached).zip(&mut place[1..]).rev() {
            while splits.get(*row + 1).is_some_and(|end| *end <= child as i64) {
                *row += 1;
            }
            *place = child as i64 - splits[*row];
            child = *row;
        }
        place[0] = child as i64;
        for i in 0..width {
            at.extend_from_slice(&place);
            let start = at.len();
            let mut rest = i;
            for n in inner.iter().rev() {
                at.push((rest % n) as i64);
                rest /= n;
            }
            at[start..].reverse();
        }
    }
    let mut dims = reserve::collect([splits[0].len() as i64 - 1])?;
    for splits in &splits {
        reserve::push(&mut dims, splits.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0))?;
    }
    reserve::extend(&mut dims, &inner.to_i64())?;
    let count = values.elements();
    let values = values.clone().reshape(Shape::vector(count))?;
    c.set(0, matrix(count, rank, &at)?);
    c.set(1, values);
    c.set(2, Tensor::vector(&dims)?);
    Ok(())
}
