//! The loss and its gradient, by forward and backward variables over labels with blanks between them.

use super::{log_add, log_norm};
use crate::scratch;

const ZERO: f64 = f64::NEG_INFINITY;

/// What is counted as an alignment of labels.
#[derive(Clone, Copy, Debug)]
pub struct Loss<'a> {
    pub labels: &'a [usize],
    /// The last class is the blank.
    pub classes: usize,
    /// Whether repeated classes without a blank between them are one label.
    pub merge_repeated: bool,
}

/// The negative log probability of the labels. `logits` has a row of classes for each step, and is overwritten by the gradient.
pub fn loss(what: &Loss<'_>, logits: &mut [f64]) -> f64 {
    let classes = what.classes;
    for row in logits.chunks_exact_mut(classes) {
        let norm = log_norm(row);
        row.iter_mut().for_each(|x| *x -= norm);
    }
    let lattice = Lattice::new(what);
    let steps = logits.len() / classes;
    let (alpha, beta) = (lattice.forward(logits, steps), lattice.backward(logits, steps));
    let width = lattice.classes.len();
    let total = (0..width).fold(ZERO, |sum, u| log_add(sum, alpha[u] + beta[u]));
    let mut sums = scratch::filled(classes, ZERO);
    for (t, row) in logits.chunks_exact_mut(classes).enumerate() {
        sums.fill(ZERO);
        if total > ZERO {
            for (u, class) in lattice.classes.iter().enumerate() {
                sums[*class] = log_add(sums[*class], alpha[t * width + u] + beta[t * width + u]);
            }
        }
        // Where no alignment is possible, the gradient is the probability alone.
        for (x, sum) in row.iter_mut().zip(&sums) {
            *x = x.exp() - if total > ZERO { (sum - total).exp() } else { 0.0 };
        }
    }
    -total
}

/// The labels with blanks before, between and after them.
struct Lattice {
    classes: Vec<usize>,
    blank: usize,
    merge_repeated: bool,
}

impl Lattice {
    fn new(what: &Loss<'_>) -> Lattice {
        let blank = what.classes - 1;
        let mut classes = scratch::filled(2 * what.labels.len() + 1, blank);
        for (place, label) in classes.iter_mut().skip(1).step_by(2).zip(what.labels) {
            *place = *label;
        }
        Lattice { classes, blank, merge_repeated: what.merge_repeated }
    }

    /// Whether a path may stay at a place.
    fn may_stay(&self, u: usize) -> bool {
        self.merge_repeated || self.classes[u] == self.blank
    }

    /// Whether a path may go from place `u - 2` to `u`, over a blank.
    fn may_skip_to(&self, u: usize) -> bool {
        let (here, before) = (self.classes[u], self.classes[u - 2]);
        here != self.blank && !(self.merge_repeated && here == before)
    }

    /// The places that a path can be at at a step, and still reach the end.
    fn reachable(&self, t: usize, steps: usize) -> std::ops::Range<usize> {
        let width = self.classes.len();
        width.saturating_sub(2 * (steps - t))..width.min(2 * (t + 1))
    }

    /// Log probabilities of all paths to a place at a step.
    fn forward(&self, log_p: &[f64], steps: usize) -> Vec<f64> {
        let (width, classes) = (self.classes.len(), log_p.len() / steps.max(1));
        let mut alpha = scratch::filled(width * steps, ZERO);
        for u in 0..width.min(2) {
            alpha[u] = log_p[self.classes[u]];
        }
        for t in 1..steps {
            let (before, here) = alpha.split_at_mut(t * width);
            let before = &before[(t - 1) * width..];
            for u in self.reachable(t, steps) {
                let mut sum = if self.may_stay(u) { before[u] } else { ZERO };
                if u > 0 {
                    sum = log_add(sum, before[u - 1]);
                }
                if u > 1 && self.may_skip_to(u) {
                    sum = log_add(sum, before[u - 2]);
                }
                here[u] = log_p[t * classes + self.classes[u]] + sum;
            }
        }
        alpha
    }

    /// Log probabilities of all paths from a place after a step to the end.
    fn backward(&self, log_p: &[f64], steps: usize) -> Vec<f64> {
        let (width, classes) = (self.classes.len(), log_p.len() / steps.max(1));
        let mut beta = scratch::filled(width * steps, ZERO);
        let end = beta.len();
        beta[end - width.min(2)..].fill(0.0);
        for t in (0..steps - 1).rev() {
            let (here, after) = beta.split_at_mut((t + 1) * width);
            let here = &mut here[t * width..];
            let next = |u: usize| after[u] + log_p[(t + 1) * classes + self.classes[u]];
            for u in self.reachable(t, steps) {
                let mut sum = if self.may_stay(u) { next(u) } else { ZERO };
                if u + 1 < width {
                    sum = log_add(sum, next(u + 1));
                }
                // A blank is not left for another one.
                if u + 2 < width && self.classes[u] != self.blank && self.may_skip_to(u + 2) {
                    sum = log_add(sum, next(u + 2));
                }
                here[u] = sum;
            }
        }
        beta
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The labels of a path: without repetitions, then without blanks.
    fn collapsed(path: &[usize], blank: usize, merge: bool) -> Vec<usize> {
        let mut labels = Vec::new();
        for (t, class) in path.iter().enumerate() {
            if *class != blank && !(merge && t > 0 && path[t - 1] == *class) {
                labels.push(*class);
            }
        }
        labels
    }

    #[test]
    fn the_loss_is_the_sum_over_all_paths_and_the_gradient_its_difference() {
        for (labels, merge) in [(&[0usize, 1][..], true), (&[1, 1], true), (&[1, 1], false), (&[0], true)] {
            let (steps, classes) = (4, 3);
            let logits: Vec<f64> =
                (0..steps * classes).map(|i| ((i * 7 + 3) % 11) as f64 / 5.0 - 1.0).collect();
            let by_paths = |logits: &[f64]| {
                let mut total = 0.0;
                for number in 0..3usize.pow(steps as u32) {
                    let path: Vec<usize> = (0..steps).map(|t| number / 3usize.pow(t as u32) % 3).collect();
                    if collapsed(&path, 2, merge) == labels {
                        let p = |(t, k): (usize, &usize)| {
                            let row = &logits[t * classes..(t + 1) * classes];
                            row[*k].exp() / row.iter().map(|x| x.exp()).sum::<f64>()
                        };
                        total += path.iter().enumerate().map(p).product::<f64>();
                    }
                }
                -total.ln()
            };
            let mut gradient = logits.clone();
            let got = loss(&Loss { labels, classes, merge_repeated: merge }, &mut gradient);
            assert!((got - by_paths(&logits)).abs() < 1e-12);
            for i in 0..logits.len() {
                let moved = |by: f64| {
                    let mut logits = logits.clone();
                    logits[i] += by;
                    by_paths(&logits)
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((slope - gradient[i]).abs() < 1e-8, "{slope} {}", gradient[i]);
            }
        }
    }

    #[test]
    fn too_few_steps_have_no_path() {
        let mut logits = [0.0; 6];
        let what = Loss { labels: &[1, 1], classes: 3, merge_repeated: true };
        assert_eq!(loss(&what, &mut logits), f64::INFINITY);
        assert!(logits.iter().all(|g| (g - 1.0 / 3.0).abs() < 1e-12));
    }
}
