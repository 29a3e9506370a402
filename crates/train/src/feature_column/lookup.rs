//! Embedding lookup of sparse ids, combined per example.

use super::SparseTensor;
use thalweg_client::{DataType, Output, Scope, Variable};

/// How the embeddings of an example's ids are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Combiner {
    /// The mean; with weights, the weighted mean.
    #[default]
    Mean,
    /// The sum; with weights, the weighted sum.
    Sum,
    /// The sum divided by the square root of the count; with weights, of the sum of their squares.
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

    /// The weighted sums of rows, normalised by this combiner. `example`: the segment id of each row.
    fn weighted(self, g: &Scope, rows: &Output, weights: &Output, example: &Output) -> Output {
        let sum = |x: &Output| g.op("SegmentSum").input(x).input(example).output();
        let weights = g.reshape(weights, &[-1, 1]);
        let total = sum(&(rows * &weights));
        match self {
            Combiner::Sum => total,
            Combiner::Mean => g.div(total, sum(&weights)),
            Combiner::SqrtN => g.div(total, g.sqrt(sum(&(&weights * &weights)))),
        }
    }
}

/// The embeddings of each example's ids, each times its weight if there are weights, combined; zeros without ids. Ids below 0 are
/// ignored, and so are weights that are not above 0, unless the combiner is `Sum`. Duplicate ids of a batch are looked up once, so that the
/// gradient has one row for each.
pub fn safe_embedding_lookup_sparse(
    g: &Scope,
    table: &Variable,
    ids: &SparseTensor,
    weights: Option<&Output>,
    combiner: Combiner,
    width: usize,
) -> Output {
    let mut counts = g.greater_equal(&ids.values, g.constant(0i64));
    if let (Some(weights), true) = (weights, combiner != Combiner::Sum) {
        counts = g.logical_and(&counts, g.greater(weights, g.constant(0f32)));
    }
    let kept = g.reshape(g.op("Where").input(&counts).output(), &[-1]);
    let (indices, values) = (g.gather(&ids.indices, &kept, 0), g.gather(&ids.values, &kept, 0));
    let fill = |values: &Output, default: Output| {
        let fill = g.op("SparseFillEmptyRows").input(&indices).input(values);
        fill.input(&ids.dense_shape).input(&default).build()
    };
    let filled = fill(&values, g.constant(0i64));
    let example = g.reshape(g.slice(filled.output(0), &[0, 0], &[-1, 1]), &[-1]);
    let example = g.cast(&example, DataType::Int32);
    let unique = g.op("Unique").input(filled.output(1)).build();
    let rows = table.gather(g, unique.output(0));
    let combined = match weights {
        None => g.op(combiner.op()).input(&rows).input(unique.output(1)).input(&example).output(),
        Some(weights) => {
            let weights = fill(&g.gather(weights, &kept, 0), g.constant(1f32)).output(1);
            combiner.weighted(g, &g.gather(&rows, unique.output(1), 0), &weights, &example)
        }
    };
    let empty = g.reshape(filled.output(2), &[-1, 1]);
    let found = g.select(&empty, g.zeros_like(&combined), &combined);
    let width = i32::try_from(width).unwrap_or(i32::MAX);
    g.reshape(&found, &[-1, width])
}
