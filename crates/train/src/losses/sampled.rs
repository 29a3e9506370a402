//! Losses over a sample of very many classes: sampled softmax and noise-contrastive estimation.

use super::sigmoid_cross_entropy_with_logits;
use crate::embedding::{PartitionStrategy, embedding_lookup};
use thalweg_client::{DataType, Output, Scope, Variable};

/// Sampled classes, and the expected counts of the true and the sampled classes.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// int64, the classes drawn.
    pub sampled: Output,
    /// Of each true class, in the shape of the labels.
    pub true_expected_count: Output,
    /// Of each class drawn.
    pub sampled_expected_count: Output,
}

impl Candidates {
    /// Log-uniform (Zipfian), without duplicates: for classes sorted by decreasing frequency.
    #[track_caller]
    pub fn log_uniform(g: &Scope, labels: &Output, sampled: i64, classes: i64, seed: Option<i64>) -> Self {
        Candidates::drawn(g, "LogUniformCandidateSampler", labels, sampled, classes, seed)
    }

    /// Uniform, without duplicates.
    #[track_caller]
    pub fn uniform(g: &Scope, labels: &Output, sampled: i64, classes: i64, seed: Option<i64>) -> Self {
        Candidates::drawn(g, "UniformCandidateSampler", labels, sampled, classes, seed)
    }

    #[track_caller]
    fn drawn(
        g: &Scope,
        op: &str,
        labels: &Output,
        sampled: i64,
        classes: i64,
        seed: Option<i64>,
    ) -> Candidates {
        let made = g
            .op(op)
            .input(labels)
            .attr("num_true", columns(labels))
            .attr("num_sampled", sampled)
            .attr("unique", true)
            .attr("range_max", classes)
            .seeds(seed)
            .build();
        let known = |i: u32| g.stop_gradient(made.output(i));
        Candidates { sampled: known(0), true_expected_count: known(1), sampled_expected_count: known(2) }
    }
}

/// How many true classes each example has.
fn columns(labels: &Output) -> i64 {
    labels.shape().dims().and_then(|d| d.get(1).copied()).unwrap_or(1)
}

/// The output layer that these losses train: weights and a bias for each class, possibly partitioned.
#[derive(Clone, Copy, Debug)]
pub struct OutputLayer<'a> {
    /// `[classes, size]`, in parts.
    pub weights: &'a [Variable],
    /// `[classes]`, in as many parts.
    pub biases: &'a [Variable],
    /// How classes are partitioned.
    pub strategy: PartitionStrategy,
}

/// For each example, the softmax cross entropy over its true classes and the sampled ones. `labels` is an int64 matrix, a row of true
/// classes for each row of `inputs`. For training only: to evaluate, take the softmax over all classes.
#[track_caller]
pub fn sampled_softmax_loss(
    g: &Scope,
    layer: OutputLayer<'_>,
    labels: &Output,
    inputs: &Output,
    candidates: &Candidates,
) -> Output {
    let g = g.name_scope("sampled_softmax_loss");
    let (logits, truth) = sampled_logits(&g, layer, labels, inputs, candidates, true);
    let truth = g.stop_gradient(truth);
    g.op("SoftmaxCrossEntropyWithLogits").input(logits).input(truth).output()
}

/// For each example, the logistic loss of true against sampled classes: noise-contrastive estimation.
#[track_caller]
pub fn nce_loss(
    g: &Scope,
    layer: OutputLayer<'_>,
    labels: &Output,
    inputs: &Output,
    candidates: &Candidates,
) -> Output {
    let g = g.name_scope("nce_loss");
    let (logits, truth) = sampled_logits(&g, layer, labels, inputs, candidates, false);
    g.reduce_sum(sigmoid_cross_entropy_with_logits(&g, &truth, &logits), &[1])
}

/// Logits of the true and then the sampled classes, minus the log of their expected counts; and the labels for them.
#[track_caller]
fn sampled_logits(
    g: &Scope,
    layer: OutputLayer<'_>,
    labels: &Output,
    inputs: &Output,
    candidates: &Candidates,
    remove_accidental_hits: bool,
) -> (Output, Output) {
    let dtype = inputs.dtype();
    let num_true = columns(labels);
    let truth = g.reshape(labels, &[-1]);
    let rows = |parts: &[Variable], ids: &Output| embedding_lookup(g, parts, ids, layer.strategy);
    // One lookup for both, for one sparse gradient.
    let all = g.concat(&[&truth, &candidates.sampled], 0);
    let split = |values: &Output| {
        let (of_truth, of_all) = (g.size(&truth), g.size(&all));
        let others = of_all - &of_truth;
        let sizes = g.stack(&[of_truth, others], 0);
        let split = g.op("SplitV").input(values).input(sizes).input(g.constant(0));
        let parts = split.attr("num_split", 2).build();
        (parts.output(0), parts.output(1))
    };
    let (true_w, sampled_w) = split(&rows(layer.weights, &all));
    let (true_b, sampled_b) = split(&rows(layer.biases, &all));
    let width = inputs.shape().dims().and_then(|d| d.get(1).copied()).unwrap_or(-1);
    let per_example = i32::try_from(num_true).unwrap_or(i32::MAX);
    let true_w = g.reshape(true_w, &[-1, per_example, i32::try_from(width).unwrap_or(-1)]);
    let each = g.expand_dims(inputs, 1);
    let true_logits = g.reduce_sum(each * true_w, &[2]) + g.reshape(true_b, &[-1, per_example]);
    let product = g.op("MatMul").input(inputs).input(sampled_w).attr("transpose_b", true).output();
    let mut sampled_logits = product + sampled_b;
    if remove_accidental_hits {
        sampled_logits = sampled_logits + g.cast(hits(g, labels, candidates), dtype);
    }
    let log = |count: &Output| g.cast(g.log(count), dtype);
    let true_logits = true_logits - log(&candidates.true_expected_count);
    let sampled_logits = sampled_logits - log(&candidates.sampled_expected_count);
    let shared = g.div(g.ones_like(&true_logits), g.number(num_true as f64, dtype));
    let none = g.zeros_like(&sampled_logits);
    (g.concat(&[true_logits, sampled_logits], 1), g.concat(&[shared, none], 1))
}

/// Masks accidental hits: the lowest float for sampled classes that are true classes, 0 for the others.
fn hits(g: &Scope, labels: &Output, candidates: &Candidates) -> Output {
    let found = g
        .op("ComputeAccidentalHits")
        .input(labels)
        .input(&candidates.sampled)
        .attr("num_true", columns(labels))
        .seeds(None)
        .build();
    let (row, column, weight) = (found.output(0), g.cast(found.output(1), DataType::Int32), found.output(2));
    let indices = g.stack(&[row, column], 1);
    let examples = g.slice(g.shape(labels), &[0], &[1]);
    let sampled = g.shape(&candidates.sampled);
    let shape = g.concat(&[examples, sampled], 0);
    let dense = g.op("SparseToDense").input(indices).input(shape).input(weight);
    dense.input(g.constant(0f32)).attr("validate_indices", false).output()
}
