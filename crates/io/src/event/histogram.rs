//! Histograms with the buckets that TensorFlow uses.

use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_proto::HistogramProto;

/// The upper limits of all buckets: zero, powers of 1.1 from 1e-12 on to both sides, and the largest number.
pub fn bucket_limits() -> Vec<f64> {
    let mut positive = Vec::new();
    let mut v = 1.0e-12;
    while v < 1.0e20 {
        positive.push(v);
        v *= 1.1;
    }
    positive.push(f64::MAX);
    let negative = positive.iter().rev().map(|v| -v);
    negative.chain([0.0]).chain(positive.iter().copied()).collect()
}

/// A histogram of values.
#[derive(Clone, Debug)]
pub struct Histogram {
    limits: Vec<f64>,
    counts: Vec<f64>,
    min: f64,
    max: f64,
    num: f64,
    sum: f64,
    sum_squares: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        let limits = bucket_limits();
        Histogram {
            counts: vec![0.0; limits.len()],
            limits,
            min: f64::MAX,
            max: -f64::MAX,
            num: 0.0,
            sum: 0.0,
            sum_squares: 0.0,
        }
    }
}

impl Histogram {
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Of values, which must be finite; `whose` names it in errors.
    pub fn of(values: impl Iterator<Item = f64>, whose: &str) -> Result<Histogram> {
        let mut histogram = Histogram::new();
        for v in values {
            if !v.is_finite() {
                let what = if v.is_nan() { "Nan" } else { "Infinity" };
                return Err(invalid!("{what} in summary histogram for: {whose}"));
            }
            histogram.add(v);
        }
        Ok(histogram)
    }

    /// Adds a finite value.
    pub fn add(&mut self, value: f64) {
        // The first bucket whose limit is above the value; the largest number is above all limits.
        let bucket = self.limits.partition_point(|limit| *limit <= value);
        if let Some(count) = self.counts.get_mut(bucket.min(self.limits.len().saturating_sub(1))) {
            *count += 1.0;
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.num += 1.0;
        self.sum += value;
        self.sum_squares += value * value;
    }

    /// The message, with runs of empty buckets as one.
    pub fn to_proto(&self) -> HistogramProto {
        let mut p = HistogramProto {
            min: self.min,
            max: self.max,
            num: self.num,
            sum: self.sum,
            sum_squares: self.sum_squares,
            ..Default::default()
        };
        let mut buckets = self.limits.iter().zip(&self.counts).peekable();
        while let Some((limit, count)) = buckets.next() {
            let next_empty = buckets.peek().is_some_and(|(_, next)| **next <= 0.0);
            if *count <= 0.0 && next_empty {
                continue;
            }
            p.bucket_limit.push(*limit);
            p.bucket.push(*count);
        }
        if p.bucket.is_empty() {
            p.bucket_limit.push(f64::MAX);
            p.bucket.push(0.0);
        }
        p
    }
}
