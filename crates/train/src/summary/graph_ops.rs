//! Summaries as ops of a graph.

use super::pr_curve::{self, MINIMUM_COUNT};
use super::text as text_plugin;
use std::borrow::Borrow;
use thalweg_client::{DataType, Output, Scope, Tensor, keys};
use thalweg_proto::{SummaryMetadata, encode};

/// A scalar summary. The tag is the name, in its scope.
#[track_caller]
pub fn scalar(g: &Scope, name: &str, value: &Output) -> Output {
    let scope = g.name_scope(name);
    let tags = scope.constant_named("tags", scope.scope_name());
    collected(g, scope.op("ScalarSummary").named_as_scope().input(tags).input(value).output())
}

/// A histogram summary of a tensor.
#[track_caller]
pub fn histogram(g: &Scope, name: &str, values: &Output) -> Output {
    let scope = g.name_scope(name);
    let tag = scope.constant_named("tag", scope.scope_name());
    collected(g, scope.op("HistogramSummary").named_as_scope().input(tag).input(values).output())
}

/// A summary of the first `most` images of a batch, [count, height, width, channels], with 1, 3 or 4 channels. Floats are scaled so that the
/// largest is white. Their tags are the name and `/image/0` and so on; `/image` if `most` is 1.
#[track_caller]
pub fn image(g: &Scope, name: &str, images: &Output, most: usize) -> Output {
    let scope = g.name_scope(name);
    let tag = scope.constant_named("tag", scope.scope_name());
    let op = scope.op("ImageSummary").named_as_scope().input(tag).input(images);
    collected(g, op.attr("max_images", count(most)).output())
}

/// A summary of the first `most` sounds of a batch, [count, frames] or [count, frames, channels], of `rate` samples per second. Their tags are
/// the name and `/audio/0` and so on; `/audio` if `most` is 1.
#[track_caller]
pub fn audio(g: &Scope, name: &str, sounds: &Output, rate: f32, most: usize) -> Output {
    let scope = g.name_scope(name);
    let tag = scope.constant_named("tag", scope.scope_name());
    let rate = scope.constant_named("sample_rate", rate);
    let op = scope.op("AudioSummaryV2").named_as_scope().input(tag).input(sounds).input(rate);
    collected(g, op.attr("max_outputs", count(most)).output())
}

/// A summary of strings, which are shown as Markdown.
#[track_caller]
pub fn text(g: &Scope, name: &str, text: &Output) -> Output {
    tensor(g, name, text, &text_plugin::metadata())
}

/// A summary of a tensor, for the plugin that its metadata names.
#[track_caller]
pub fn tensor(g: &Scope, name: &str, tensor: &Output, metadata: &SummaryMetadata) -> Output {
    let scope = g.name_scope(name);
    let tag = scope.constant_named("tag", scope.scope_name());
    let metadata = scope.constant_named("serialized_summary_metadata", Tensor::string(encode(metadata)));
    let op = scope.op("TensorSummaryV2").named_as_scope().input(tag).input(tensor).input(metadata);
    collected(g, op.output())
}

/// A summary of precision and recall at many thresholds: of labels (booleans) and predictions (floats from 0 to 1) of one shape.
#[track_caller]
pub fn pr_curve(g: &Scope, name: &str, labels: &Output, predictions: &Output, thresholds: usize) -> Output {
    let metadata = match pr_curve::metadata(thresholds) {
        Ok(metadata) => metadata,
        Err(e) => {
            g.mistake(e);
            SummaryMetadata::default()
        }
    };
    let scope = g.name_scope(&format!("{name}_counts"));
    let labels = scope.reshape(scope.cast(labels, DataType::Float), &[-1]);
    let predictions = scope.reshape(scope.cast(predictions, DataType::Float), &[-1]);
    let last = scope.constant(thresholds.saturating_sub(1) as f32);
    let bucket = scope.cast(scope.op("Floor").input(&predictions * last).output(), DataType::Int32);
    let buckets = scope.constant(i32::try_from(thresholds).unwrap_or(i32::MAX));
    // The sum of each bucket and of all above it.
    let from_each = |weights: &Output| {
        let sums = scope.op("UnsortedSegmentSum").input(weights).input(&bucket).input(&buckets).output();
        scope.op("Cumsum").input(sums).input(scope.constant(0)).attr("reverse", true).output()
    };
    let (tp, fp) = (from_each(&labels), from_each(&(scope.constant(1f32) - &labels)));
    let first = |sums: &Output| {
        let (from, size) = (scope.constant([0]), scope.constant([1]));
        scope.op("Slice").input(sums).input(from).input(size).output()
    };
    let (positives, negatives) = (first(&tp), first(&fp));
    let least = scope.constant(MINIMUM_COUNT as f32);
    let precision = &tp / scope.maximum(&tp + &fp, &least);
    let recall = &tp / scope.maximum(&positives, &least);
    let rows = [tp.clone(), fp.clone(), negatives - &fp, positives - &tp, precision, recall];
    let rows = scope.op("Pack").inputs(&rows).output();
    tensor(g, name, &rows, &metadata)
}

/// Several summaries as one.
#[track_caller]
pub fn merge<O: Borrow<Output>>(g: &Scope, summaries: &[O]) -> Output {
    g.name_scope("Merge").op("MergeSummary").inputs(summaries).output()
}

/// All summaries made so far as one; `None` if there are none.
#[track_caller]
pub fn merge_all(g: &Scope) -> Option<Output> {
    let all = g.collection(keys::SUMMARIES);
    (!all.is_empty()).then(|| merge(g, &all))
}

fn collected(g: &Scope, summary: Output) -> Output {
    g.add_to_collection(keys::SUMMARIES, &summary);
    summary
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
