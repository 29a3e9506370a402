//! How good a classifier is: beside always saying the most frequent class, and class by class.

use crate::output::{Align, table};

/// The classes of some examples, and what the model says.
pub struct Classified<'a> {
    pub classes: &'a [String],
    /// The labels of training, of which the most frequent is the baseline.
    pub train: &'a [usize],
    pub labels: &'a [usize],
    pub found: &'a [usize],
}

/// With more classes than this, the confusion matrix would fill screens.
const MOST_CONFUSED: usize = 12;
const MOST_SHOWN: usize = 12;

/// How many examples each class has.
pub fn balance(classes: &[(String, usize)]) -> String {
    let total: usize = classes.iter().map(|c| c.1).sum();
    let share = |(name, n): &(String, usize)| format!("{name} {n} ({:.1} %)", percent(*n, total));
    let few: Vec<String> = classes.iter().take(MOST_SHOWN).map(share).collect();
    match classes.len().saturating_sub(MOST_SHOWN) {
        0 => few.join(", "),
        more => format!("{} and {more} more", few.join(", ")),
    }
}

fn percent(n: usize, total: usize) -> f64 {
    100.0 * n as f64 / total.max(1) as f64
}

impl Classified<'_> {
    /// Accuracy and baseline, as rows of a table.
    pub fn rows(&self, name: &str) -> Vec<[String; 2]> {
        let total = self.labels.len();
        let right = self.labels.iter().zip(self.found).filter(|(a, b)| a == b).count();
        let mut frequency = vec![0usize; self.classes.len()];
        for label in self.train {
            if let Some(n) = frequency.get_mut(*label) {
                *n += 1;
            }
        }
        let majority = (0..self.classes.len()).rev().max_by_key(|i| frequency.get(*i)).unwrap_or(0);
        let baseline = self.labels.iter().filter(|l| **l == majority).count();
        let class = self.classes.get(majority).map_or("", |c| c.as_str());
        vec![
            [
                format!("{name} accuracy"),
                format!("{:.3} ({right} of {total})", percent(right, total) / 100.0),
            ],
            ["always the majority".into(), format!("{:.3} ({class})", percent(baseline, total) / 100.0)],
        ]
    }

    /// The confusion matrix: rows are what is so, columns what the model says. Empty if there are many classes.
    pub fn confusion(&self) -> String {
        let n = self.classes.len();
        if n > MOST_CONFUSED {
            return String::new();
        }
        let mut counts = vec![vec![0usize; n]; n];
        for (label, found) in self.labels.iter().zip(self.found) {
            if let Some(count) = counts.get_mut(*label).and_then(|row| row.get_mut(*found)) {
                *count += 1;
            }
        }
        let head = [vec!["is \\ predicted".to_string()], self.classes.to_vec(), vec!["right".into()]];
        let mut rows = vec![head.concat()];
        for (i, (class, counts)) in self.classes.iter().zip(&counts).enumerate() {
            let share = percent(counts.get(i).copied().unwrap_or(0), counts.iter().sum());
            let numbers = counts.iter().map(usize::to_string).collect();
            rows.push([vec![class.clone()], numbers, vec![format!("{share:.1} %")]].concat());
        }
        let mut align = vec![Align::Right; n + 2];
        align.iter_mut().take(1).for_each(|a| *a = Align::Left);
        table(&rows, &align, usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_classifier_is_judged_beside_the_majority() {
        let classes = ["cat", "dog"].map(str::to_string);
        let (labels, found) = ([0, 0, 0, 1], [0, 0, 1, 1]);
        let judged = Classified { classes: &classes, train: &[1, 1, 0], labels: &labels, found: &found };
        assert_eq!(judged.rows("test")[0], ["test accuracy", "0.750 (3 of 4)"]);
        assert_eq!(judged.rows("test")[1], ["always the majority", "0.250 (dog)"]);
        let expected = "is \\ predicted  cat  dog    right\ncat               2    1   66.7 %\ndog               0    1  100.0 %\n";
        assert_eq!(judged.confusion(), expected);
        assert_eq!(balance(&[("a".into(), 1), ("b".into(), 3)]), "a 1 (25.0 %), b 3 (75.0 %)");
    }
}
