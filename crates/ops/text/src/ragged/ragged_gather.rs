//! `RaggedGather`: rows of a ragged tensor picked by index.

use super::splits::{arguments, nested, tensor_of};
use crate::prelude::*;
use crate::rows::pick;

pub static OPS: &[&Op] = &[&RAGGED_GATHER];

static RAGGED_GATHER: Op = Op {
    name: "RaggedGather",
    doc: "The rows of a ragged tensor at indices, as a ragged tensor whose outer dimensions are those of indices.",
    inputs: &[
        "params_nested_splits: PARAMS_RAGGED_RANK * Tsplits",
        "params_dense_values: Tvalues",
        "indices: Tindices",
    ],
    outputs: &["output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits", "output_dense_values: Tvalues"],
    attrs: &[
        "Tvalues: type",
        "Tindices: {int32, int64}",
        "Tsplits: {int32, int64} = DT_INT64",
        "PARAMS_RAGGED_RANK: int >= 1",
        "OUTPUT_RAGGED_RANK: int >= 0",
    ],
    shape: |c| {
        let splits = c.arg(0).len();
        for i in 0..splits {
            c.rank(i, 1)?;
        }
        let (values, indices) = (c.rank_at_least(splits, 1)?, c.input(splits + 1));
        if indices.rank().is_some_and(|rank| rank + splits != c.outputs) {
            return Err(invalid!(
                "OUTPUT_RAGGED_RANK must be indices.rank + PARAMS_RAGGED_RANK - 1, got {} for indices {indices}",
                c.outputs as i64 - 1
            ));
        }
        let mut all = vec![PartialShape::vector(-1); c.outputs.saturating_sub(1)];
        all.push(match values.dims() {
            Some([_, inner @ ..]) => [-1].iter().chain(inner).copied().collect(),
            _ => PartialShape::unknown(),
        });
        Ok(all)
    },
    grad: Rule(grad),
    kernels: cpu!(run),
    cases: |r| {
        let splits = |v: &[i64]| Tensor::vector(v).into_iter();
        let one = splits(&[0, 2, 2, 5]).chain([r.tensor(&[5]), int_vector(&[2, 0, 2])]);
        let two =
            splits(&[0, 2, 3]).chain(splits(&[0, 1, 3, 4])).chain([r.tensor(&[4, 2]), int_vector(&[1, 0])]);
        let wide = int_vector(&[0, 1, 1, 2]).reshape(Shape::new(&[2, 2]).unwrap_or_default()).into_iter();
        let wide = splits(&[0, 2, 2, 5]).chain([r.tensor(&[5])]).chain(wide);
        let ranks = |c: Case, params: i64, output: i64| {
            c.attr("PARAMS_RAGGED_RANK", params).attr("OUTPUT_RAGGED_RANK", output)
        };
        vec![
            ranks(Case::new(one.collect()), 1, 1),
            ranks(Case::new(two.collect()), 2, 2),
            ranks(Case::new(wide.collect()), 1, 2),
        ]
    },
    ..Op::PURE
};

/// Gradients of the values of the rows that were picked, added up by value.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let Some((indices, [splits @ .., values])) = g.x.split_last() else { return Err(internal("no inputs")) };
    let (indices, values, splits) = (*indices, *values, splits.to_vec());
    let dy = g.dy_or_zeros(g.y.len() - 1)?;
    let zero = g.constant(Tensor::scalar(0i32))?;
    let mut combined = *splits.first().ok_or_else(|| internal("no splits"))?;
    for inner in &splits[1..] {
        combined = g.op("GatherV2", [(*inner).into(), combined.into(), zero.into()], &[])?;
    }
    let (flat, one) = (g.constant(int_vector(&[-1]))?, g.constant(int_vector(&[1]))?);
    let indices = g.binary("Reshape", indices, flat)?;
    let ends = g.op("Slice", [combined.into(), one.into(), flat.into()], &[])?;
    let starts = g.op("GatherV2", [combined.into(), indices.into(), zero.into()], &[])?;
    let ends = g.op("GatherV2", [ends.into(), indices.into(), zero.into()], &[])?;
    let step = g.number(1.0, starts)?;
    let ranges = g.ops("RaggedRange", [starts.into(), ends.into(), step.into()], &[])?;
    let rows = *ranges.get(1).ok_or_else(|| internal("RaggedRange has two outputs"))?;
    let dense_shape = g.shape_of(values)?;
    let mut all = vec![Grad::None; splits.len()];
    all.extend([Grad::Slices { values: dy, indices: rows, dense_shape }, Grad::None]);
    Ok(all)
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let inputs = arguments(c, 0)?;
    let (values, indices) = (c.input(inputs.len())?, c.input(inputs.len() + 1)?);
    let params = nested(&inputs, values)?;
    let rows = params.first().map_or(0, |s| s.len() - 1);
    let outer = indices.shape().clone();
    if outer.rank() + params.len() != c.node.outputs.len() {
        return Err(invalid!(
            "OUTPUT_RAGGED_RANK must be indices.rank + PARAMS_RAGGED_RANK - 1, got {} for indices of shape {outer}",
            c.node.outputs.len() as i64 - 1
        ));
    }
    let indices = indices.to_i64s()?;
    if let Some((i, at)) = indices.iter().enumerate().find(|(_, at)| **at < 0 || **at >= rows as i64) {
        return Err(invalid!("indices[{i}] = {at} is not in [0, {rows})"));
    }
    let mut all = uniform_splits(&outer)?;
    // The ranges of rows picked, at first in the outermost dimension of params.
    let mut ranges = reserve::collect(indices.iter().map(|at| *at as usize..*at as usize + 1))?;
    for (d, splits) in params.iter().enumerate() {
        // Of a scalar index the outermost splits are left out: there is one row.
        if d > 0 || outer.rank() > 0 {
            let count = ranges.iter().map(ExactSizeIterator::len).fold(1, usize::saturating_add);
            let mut out = reserve::with_capacity(count)?;
            let mut end = 0i64;
            out.push(0);
            for row in ranges.iter().cloned().flatten() {
                end += splits[row + 1] - splits[row];
                out.push(end);
            }
            reserve::push(&mut all, out)?;
        }
        for range in &mut ranges {
            *range = splits[range.start] as usize..splits[range.end] as usize;
        }
    }
    let count = ranges.iter().map(ExactSizeIterator::len).fold(0, usize::saturating_add);
    let mut picks = reserve::with_capacity(count)?;
    ranges.into_iter().for_each(|range| picks.extend(range));
    let shape = values.shape().with(0, picks.len())?;
    let out = pick(c, values, values.shape()[1..].iter().product(), &picks, shape)?;
    let last = c.node.outputs.len() - 1;
    for (i, splits) in all.iter().enumerate() {
        c.set(i, tensor_of(c.output_type(i)?, splits)?);
    }
    c.set(last, out);
    Ok(())
}

/// The splits of all dimensions but the last of a dense tensor.
fn uniform_splits(shape: &Shape) -> Result<Vec<Vec<i64>>> {
    let mut all = Vec::new();
    let mut rows = 1usize;
    for pair in shape.windows(2) {
        rows *= pair[0];
        reserve::push(&mut all, reserve::collect((0..=rows).map(|i| (i * pair[1]) as i64))?)?;
    }
    Ok(all)
}
