//! `RaggedCross`: combinations of the features of ragged, sparse and dense inputs, row by row.

use super::splits::tensor_of;
use crate::prelude::*;
use crate::sparse::cross::{Column, Crosses, Hash, check_rows, dense_column, features, sparse_column};

pub static OPS: &[&Op] = &[&RAGGED_CROSS];

static RAGGED_CROSS: Op = Op {
    name: "RaggedCross",
    doc: "For each row, every combination of one feature of each input (in input_order), as texts joined by _X_ or as hashes.",
    inputs: &[
        "ragged_values: ragged_values_types",
        "ragged_row_splits: ragged_splits_types",
        "sparse_indices: Nsparse * int64",
        "sparse_values: sparse_values_types",
        "sparse_shape: Nsparse * int64",
        "dense_inputs: dense_types",
    ],
    outputs: &["output_values: out_values_type", "output_row_splits: out_row_splits_type"],
    attrs: &[
        "Nsparse: int >= 0",
        "input_order: string",
        "hashed_output: bool",
        "num_buckets: int >= 0",
        "hash_key: int",
        "ragged_values_types: list({int64, string}) >= 0",
        "ragged_splits_types: list({int32, int64}) >= 0",
        "sparse_values_types: list({int64, string}) >= 0",
        "dense_types: list({int64, string}) >= 0",
        "out_values_type: {int64, string}",
        "out_row_splits_type: {int32, int64}",
    ],
    shape: |_| Ok(vec![PartialShape::vector(-1), PartialShape::vector(-1)]),
    kernels: cpu!(make prepare),
    cases: |r| {
        let mut case = |out: DataType| {
            let ragged = Tensor::vector(&[7i64, 8, 9]).into_iter().chain(Tensor::vector(&[0i64, 2, 3]));
            let dense = r.ints(&[2, 2], 0, 9);
            let dense = dense.to_i64s().and_then(|v| Tensor::from_slice(dense.shape().clone(), &v));
            Case::new(ragged.chain(dense).collect())
                .attr("Nsparse", 0)
                .attr("input_order", "DR")
                .attr("hashed_output", out == DataType::Int64)
                .attr("num_buckets", 100)
                .attr("hash_key", 5)
                .attr("ragged_values_types", Attr::types(&[DataType::Int64]))
                .attr("ragged_splits_types", Attr::types(&[DataType::Int64]))
                .attr("sparse_values_types", Attr::types(&[]))
                .attr("dense_types", Attr::types(&[DataType::Int64]))
                .attr("out_values_type", out)
                .attr("out_row_splits_type", DataType::Int64)
        };
        vec![case(DataType::Int64), case(DataType::String)]
    },
    ..Op::PURE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (buckets, key) = (node.attrs.int("num_buckets")?, node.attrs.int("hash_key")? as u64);
    let hashed = node.attrs.bool("hashed_output")?;
    let order = node.attrs.bytes("input_order")?.clone();
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let columns = columns(c, &order)?;
        check_rows(&columns).map_err(|e| e.context("inputs must all have the same batch dimension size."))?;
        let found = Crosses::of(&columns)?;
        let values = match hashed {
            true => found.hashes(&columns, Some(key), Hash::Strings, buckets)?,
            false => found.texts(&columns, b"_X_")?,
        };
        let mut splits = reserve::with_capacity(found.counts.len() + 1)?;
        splits.push(0i64);
        let mut end = 0;
        for count in &found.counts {
            end += *count as i64;
            splits.push(end);
        }
        c.set(0, values);
        c.set(1, tensor_of(c.output_type(1)?, &splits)?);
        Ok(())
    }))
}

/// The inputs in the order of `order`: R, S and D stand for the next ragged, sparse and dense one.
fn columns<'a>(c: &'a OpCall<'_>, order: &[u8]) -> Result<Vec<Column<'a>>> {
    let (mut ragged, mut sparse, mut dense) =
        (c.arg(0).zip(c.arg(1)), c.arg(2).zip(c.arg(3)).zip(c.arg(4)), c.arg(5));
    if c.arg(0).len() != c.arg(1).len() {
        return Err(invalid!("ragged values.size() != row_splits.size()"));
    }
    if order.len() != ragged.len() + sparse.len() + dense.len() {
        return Err(invalid!("Invalid length for input_order"));
    }
    let missing =
        |what: &str| invalid!("input_order specifies reading a {what} tensor, but there is none left");
    let each = order.iter().map(|kind| match kind {
        b'R' => {
            let (values, splits) = ragged.next().ok_or_else(|| missing("ragged"))?;
            ragged_column(c.input(values)?, c.input(splits)?)
        }
        b'S' => {
            let ((indices, values), shape) = sparse.next().ok_or_else(|| missing("sparse"))?;
            sparse_column(c, indices, values, shape)
        }
        b'D' => dense_column(c.input(dense.next().ok_or_else(|| missing("dense"))?)?),
        _ => Err(invalid!("Unexpected input_order value: {}", order.escape_ascii())),
    });
    reserve::try_collect(each)
}

fn ragged_column<'a>(values: &'a Tensor, splits: &Tensor) -> Result<Column<'a>> {
    if values.rank() != 1 || splits.rank() != 1 {
        return Err(invalid!(
            "tf.ragged.cross only supports inputs with rank=2, got values of shape {} and splits of shape {}",
            values.shape(),
            splits.shape()
        ));
    }
    let splits = super::splits::checked(splits, Some(values.elements()))
        .map_err(|e| e.context("Invalid ragged splits"))?;
    let rows = reserve::collect(splits.windows(2).map(|w| w[0] as usize..w[1] as usize))?;
    Ok(Column { features: features(values)?, rows, is_sparse: false })
}
