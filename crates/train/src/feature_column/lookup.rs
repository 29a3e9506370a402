//! Rows of a table for sparse ids, made one for each example.

use super::SparseTensor;
use thalweg_client::{DataType, Output, Scope, Variable};

/// What is made of the rows of an example's ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Combiner {
    #[default]
    Mean,
    Sum,
    /// The sum divided by the square root of how many there are.
    SqrtN,
}

impl Combiner {
    fn op(self) -> &'static str {
        match self {
            Combiner::Mean => "SparseSegmentMean",
            Combiner::Sum => "SparseSegmentSum",
            Combiner::SqrtN => "SparseSegmentSqrtN",
        }
    }
}

/// The rows of each example's ids, combined; zeros where an example has none. Ids below 0 do not count. A row that comes often in a batch is
/// looked up once, so that its gradient comes once.
pub(super) fn safe_embedding_lookup_sparse(
    g: &Scope,
    table: &Variable,
    ids: &SparseTensor,
    combiner: Combiner,
    width: usize,
) -> Output {
    let known = g.greater_equal(&ids.values, &g.constant(0i64));
    let kept = g.reshape(&g.op("Where").input(&known).output(), &[-1]);
    let (indices, values) = (g.gather(&ids.indices, &kept, 0), g.gather(&ids.values, &kept, 0));
    let filled = g
        .op("SparseFillEmptyRows")
        .input(&indices)
        .input(&values)
        .input(&ids.dense_shape)
        .input(&g.constant(0i64))
        .build();
    let example = g.reshape(&g.slice(&filled.output(0), &[0, 0], &[-1, 1]), &[-1]);
    let unique = g.op("Unique").input(&filled.output(1)).build();
    let rows = table.gather(g, &unique.output(0));
    let combined = g
        .op(combiner.op())
        .input(&rows)
        .input(&unique.output(1))
        .input(&g.cast(&example, DataType::Int32))
        .output();
    let empty = g.reshape(&filled.output(2), &[-1, 1]);
    let found = g.select(&empty, &g.zeros_like(&combined), &combined);
    let width = i32::try_from(width).unwrap_or(i32::MAX);
    g.reshape(&found, &[-1, width])
}
