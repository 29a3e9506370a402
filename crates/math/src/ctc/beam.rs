//! Beam search over prefixes of labels, which form a tree.

use super::{log_add, log_norm};
use crate::scratch;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

const ZERO: f64 = f64::NEG_INFINITY;
const ROOT: usize = 0;

/// Log probabilities of all paths of a prefix: that end with a blank, with its last label, or either.
#[derive(Clone, Copy)]
struct Weight {
    blank: f64,
    label: f64,
    total: f64,
}

const NOTHING: Weight = Weight { blank: ZERO, label: ZERO, total: ZERO };

/// A prefix: the label after that of its parent. Children are a list of siblings.
struct Node {
    parent: usize,
    label: usize,
    first_child: usize,
    next_sibling: usize,
    old: Weight,
    new: Weight,
}

/// No node, or no label.
const NONE: usize = usize::MAX;

/// A leaf of the search. The least probable is the greatest, as the heap gives out the greatest; of equal ones the latest.
struct Leaf {
    total: f64,
    order: usize,
    node: usize,
}

impl Ord for Leaf {
    fn cmp(&self, other: &Leaf) -> Ordering {
        other.total.total_cmp(&self.total).then(self.order.cmp(&other.order))
    }
}

impl PartialOrd for Leaf {
    fn partial_cmp(&self, other: &Leaf) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Leaf {
    fn eq(&self, other: &Leaf) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Leaf {}

/// The search over one sequence.
pub struct Beam {
    width: usize,
    nodes: Vec<Node>,
    leaves: BinaryHeap<Leaf>,
    pushed: usize,
    /// For each label, the child of the node at hand; scratch.
    children: Vec<usize>,
}

impl Beam {
    /// A search that keeps `width` prefixes; the last of the classes is the blank.
    pub fn new(width: usize, classes: usize) -> Beam {
        let start = Weight { blank: 0.0, label: ZERO, total: 0.0 };
        let root = Node {
            parent: NONE,
            label: NONE,
            first_child: NONE,
            next_sibling: NONE,
            old: NOTHING,
            new: start,
        };
        let mut beam = Beam {
            width,
            nodes: scratch::with_capacity(1),
            leaves: BinaryHeap::new(),
            pushed: 0,
            children: scratch::filled(classes.saturating_sub(1), NONE),
        };
        beam.nodes.push(root);
        beam.push(ROOT);
        beam
    }

    fn push(&mut self, node: usize) {
        self.pushed += 1;
        if self.leaves.try_reserve(1).is_err() {
            scratch::out_of_memory::<Leaf>(self.leaves.len() + 1);
        }
        self.leaves.push(Leaf { total: self.nodes[node].new.total, order: self.pushed, node });
    }

    /// The leaves, most probable first.
    fn sorted(&mut self) -> Vec<Leaf> {
        let mut leaves = std::mem::take(&mut self.leaves).into_vec();
        leaves.sort_unstable();
        leaves
    }

    /// Whether a prefix of this probability is among the best.
    fn is_candidate(&self, total: f64) -> bool {
        let room = || self.leaves.len() < self.width;
        total > ZERO && (room() || self.leaves.peek().is_some_and(|bottom| total > bottom.total))
    }

    /// One step, with a logit for each class.
    pub fn step(&mut self, logits: &[f64]) {
        let norm = log_norm(logits);
        let Some((blank, labels)) = logits.split_last() else { return };
        let branches = self.sorted();
        for leaf in &branches {
            self.nodes[leaf.node].old = self.nodes[leaf.node].new;
        }
        for leaf in &branches {
            let node = &self.nodes[leaf.node];
            let mut new = node.new;
            if node.parent != NONE {
                let parent = &self.nodes[node.parent];
                if parent.new.total > ZERO {
                    let same = node.label == parent.label;
                    let before = if same { parent.old.blank } else { parent.old.total };
                    new.label = log_add(new.label, before);
                }
                new.label += labels[node.label] - norm;
            }
            new.blank = node.old.total + blank - norm;
            new.total = log_add(new.blank, new.label);
            self.nodes[leaf.node].new = new;
            self.push(leaf.node);
        }
        for leaf in &branches {
            if self.is_candidate(self.nodes[leaf.node].old.total) {
                self.grow(leaf.node, labels, norm);
            }
        }
    }

    /// Adds the children of a prefix that are among the best.
    fn grow(&mut self, node: usize, labels: &[f64], norm: f64) {
        self.children.fill(NONE);
        let mut child = self.nodes[node].first_child;
        while child != NONE {
            self.children[self.nodes[child].label] = child;
            child = self.nodes[child].next_sibling;
        }
        let (last, old) = (self.nodes[node].label, self.nodes[node].old);
        for (label, logit) in labels.iter().enumerate() {
            let known = self.children[label];
            if known != NONE && self.nodes[known].new.total > ZERO {
                continue;
            }
            let total = logit - norm + if label == last { old.blank } else { old.total };
            if !self.is_candidate(total) {
                if known != NONE {
                    (self.nodes[known].old, self.nodes[known].new) = (NOTHING, NOTHING);
                }
                continue;
            }
            if self.leaves.len() >= self.width
                && let Some(bottom) = self.leaves.pop()
            {
                self.nodes[bottom.node].new = NOTHING;
            }
            let child = if known == NONE { self.add_child(node, label) } else { known };
            self.nodes[child].new = Weight { blank: ZERO, label: total, total };
            self.push(child);
        }
    }

    fn add_child(&mut self, parent: usize, label: usize) -> usize {
        let child = self.nodes.len();
        if self.nodes.try_reserve(1).is_err() {
            scratch::out_of_memory::<Node>(child + 1);
        }
        let next_sibling = std::mem::replace(&mut self.nodes[parent].first_child, child);
        self.nodes.push(Node { parent, label, first_child: NONE, next_sibling, old: NOTHING, new: NOTHING });
        child
    }

    /// The best prefixes, each with its log probability; fewer if there are not so many.
    pub fn best(&mut self, paths: usize, merge_repeated: bool) -> Vec<(Vec<usize>, f64)> {
        let leaves = self.sorted();
        let best = leaves.iter().take(paths).map(|leaf| (self.labels(leaf.node, merge_repeated), leaf.total));
        scratch::collect(best)
    }

    fn labels(&self, mut node: usize, merge_repeated: bool) -> Vec<usize> {
        let (mut labels, mut last) = (scratch::with_capacity(0), NONE);
        while node != ROOT {
            let label = self.nodes[node].label;
            if !merge_repeated || label != last {
                if labels.try_reserve(1).is_err() {
                    scratch::out_of_memory::<usize>(labels.len() + 1);
                }
                labels.push(label);
            }
            last = label;
            node = self.nodes[node].parent;
        }
        labels.reverse();
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A beam that drops nothing finds the exact probability of every labelling.
    #[test]
    fn a_wide_beam_is_exact() {
        let (steps, classes) = (3usize, 3usize);
        let logits: Vec<f64> = (0..steps * classes).map(|i| ((i * 5 + 2) % 7) as f64 / 3.0).collect();
        let mut beam = Beam::new(100, classes);
        logits.chunks(classes).for_each(|row| beam.step(row));
        let best = beam.best(50, false);
        assert!(best.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        assert!((best.iter().map(|(_, p)| p.exp()).sum::<f64>() - 1.0).abs() < 1e-12);
        for (labels, log_p) in best {
            let mut gradient = logits.clone();
            let what = super::super::Loss { labels: &labels, classes, merge_repeated: true };
            assert!((super::super::loss(&what, &mut gradient) + log_p).abs() < 1e-12, "{labels:?}");
        }
    }

    #[test]
    fn a_narrow_beam_keeps_its_width() {
        let mut beam = Beam::new(2, 4);
        for t in 0..20 {
            beam.step(&[0.1 * t as f64, 0.5, 0.3, 0.2]);
        }
        assert_eq!(beam.best(10, false).len(), 2);
        assert_eq!(Beam::new(5, 3).best(4, true).len(), 1);
    }
}
