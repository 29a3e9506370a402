//! Precision and recall at many thresholds.

use super::file_writer::invalid;
use super::{FileWriter, plugin};
use thalweg_client::{Result, Shape, Tensor};
use thalweg_proto::tensorboard::PrCurvePluginData;
use thalweg_proto::{DataClass, SummaryMetadata};

/// The number of thresholds that TensorBoard's own summaries have.
pub const DEFAULT_THRESHOLDS: usize = 201;

/// Counts by which is divided are at least this, as in TensorBoard's own summaries.
pub(super) const MINIMUM_COUNT: f64 = 1e-7;

impl FileWriter {
    /// Adds a precision-recall curve of predictions from 0 to 1, at [`DEFAULT_THRESHOLDS`] thresholds.
    pub fn add_pr_curve(&mut self, tag: &str, labels: &[bool], predictions: &[f32], step: i64) -> Result<()> {
        self.add_pr_curve_with(tag, labels, predictions, None, DEFAULT_THRESHOLDS, step)
    }

    /// As `add_pr_curve`, with a weight for each prediction, and the number of thresholds, at least 2.
    pub fn add_pr_curve_with(
        &mut self,
        tag: &str,
        labels: &[bool],
        predictions: &[f32],
        weights: Option<&[f32]>,
        thresholds: usize,
        step: i64,
    ) -> Result<()> {
        let curve = curve(labels, predictions, weights, thresholds)?;
        self.add_values(vec![plugin::value(tag, &curve, metadata(thresholds)?)?], step)
    }
}

pub(super) fn metadata(thresholds: usize) -> Result<SummaryMetadata> {
    let num_thresholds = u32::try_from(thresholds).ok().filter(|n| *n >= 2);
    let Some(num_thresholds) = num_thresholds else {
        return Err(invalid(format!("a PR curve has at least 2 thresholds, got {thresholds}")));
    };
    let content = PrCurvePluginData { num_thresholds, ..Default::default() };
    Ok(plugin::metadata("pr_curves", &content, DataClass::Tensor))
}

/// True and false positives, true and false negatives, precision, recall: a row each, with a column for each threshold.
fn curve(labels: &[bool], predictions: &[f32], weights: Option<&[f32]>, thresholds: usize) -> Result<Tensor> {
    metadata(thresholds)?;
    let count = predictions.len();
    if labels.len() != count || weights.is_some_and(|w| w.len() != count) {
        return Err(invalid(format!(
            "a PR curve needs a label (and weight, if any) for each prediction: got {} labels, {count} predictions, {:?} weights",
            labels.len(),
            weights.map(<[f32]>::len)
        )));
    }
    let (mut positives, mut negatives) = (vec![0f64; thresholds], vec![0f64; thresholds]);
    for (i, (label, p)) in labels.iter().zip(predictions).enumerate() {
        if !(0.0..=1.0).contains(p) {
            return Err(invalid(format!("predictions of a PR curve are from 0 to 1, got {p}")));
        }
        let bucket = (p * (thresholds - 1) as f32).floor() as usize;
        let weight = weights.and_then(|w| w.get(i)).map_or(1.0, |w| f64::from(*w));
        let buckets = if *label { &mut positives } else { &mut negatives };
        if let Some(count) = buckets.get_mut(bucket) {
            *count += weight;
        }
    }
    // At a threshold, all predictions from its bucket on are positive.
    let from_each = |buckets: &[f64]| {
        let mut sums: Vec<f64> = buckets.iter().rev().scan(0.0, |sum, n| Some(add(sum, *n))).collect();
        sums.reverse();
        sums
    };
    let (tp, fp) = (from_each(&positives), from_each(&negatives));
    let (all_positive, all_negative) = (first(&tp), first(&fp));
    let mut rows: Vec<f32> = Vec::with_capacity(6 * thresholds);
    rows.extend(tp.iter().chain(&fp).map(|n| *n as f32));
    rows.extend(fp.iter().map(|n| (all_negative - n) as f32));
    rows.extend(tp.iter().map(|n| (all_positive - n) as f32));
    rows.extend(tp.iter().zip(&fp).map(|(t, f)| (t / (t + f).max(MINIMUM_COUNT)) as f32));
    rows.extend(tp.iter().map(|t| (t / all_positive.max(MINIMUM_COUNT)) as f32));
    Tensor::from_slice(Shape::new(&[6, thresholds])?, &rows)
}

fn add(sum: &mut f64, n: f64) -> f64 {
    *sum += n;
    *sum
}

fn first(sums: &[f64]) -> f64 {
    sums.first().copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_at_each_threshold() {
        let labels = [true, false, true, false];
        let found = curve(&labels, &[0.9, 0.6, 0.4, 0.1], None, 3).unwrap();
        let rows: Vec<&[f32]> = found.as_slice::<f32>().unwrap().chunks(3).collect();
        assert_eq!(rows[..4], [[2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]);
        assert_eq!(rows[4..], [[0.5, 0.5, 0.0], [1.0, 0.5, 0.0]]);
        let weighted = curve(&labels, &[0.9, 0.6, 0.4, 0.1], Some(&[2.0, 1.0, 1.0, 1.0]), 2).unwrap();
        assert_eq!(weighted.as_slice::<f32>().unwrap()[..2], [3.0, 0.0]);
        assert!(curve(&labels, &[0.5], None, 3).is_err());
        assert!(curve(&[true], &[1.5], None, 3).is_err());
        assert!(curve(&[true], &[f32::NAN], None, 3).is_err());
        assert!(curve(&[], &[], None, 1).is_err());
    }
}
