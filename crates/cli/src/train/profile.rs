//! What each op costs: the sum of its executions in some traced steps.

use crate::output::{Align, table};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use thalweg_runtime::trace::StepTimings;

#[derive(Default)]
pub struct Profile {
    steps: u64,
    ops: BTreeMap<String, Cost>,
}

#[derive(Clone, Copy, Default)]
struct Cost {
    calls: u64,
    nanos: u64,
}

/// How many steps are traced, at most.
const MOST_STEPS: u64 = 50;
/// The first steps compile and grow buffers.
const WARM: u64 = 3;
const MOST_ROWS: usize = 20;

impl Profile {
    /// Whether the `done`-th of `steps` steps is traced.
    pub fn is_due(done: u64, steps: u64) -> bool {
        let every = (steps / MOST_STEPS).max(1);
        (done > WARM || steps <= WARM) && done.is_multiple_of(every)
    }

    pub fn add(&mut self, step: &StepTimings) {
        self.steps += 1;
        for node in &step.nodes {
            let cost = self.ops.entry(node.op.to_string()).or_default();
            cost.calls += 1;
            cost.nanos += node.end_nanos.saturating_sub(node.start_nanos);
        }
    }

    /// The most expensive first.
    fn sorted(&self) -> Vec<(&str, Cost)> {
        let mut all: Vec<(&str, Cost)> = self.ops.iter().map(|(op, cost)| (op.as_str(), *cost)).collect();
        all.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.nanos));
        all
    }

    pub fn text(&self) -> String {
        if self.steps == 0 {
            return "no step was traced\n".into();
        }
        let all = self.sorted();
        let (steps, total) = (self.steps as f64, all.iter().map(|(_, c)| c.nanos).sum::<u64>());
        let row = |name: &str, cost: Cost| {
            vec![
                name.to_string(),
                format!("{:.1}", cost.calls as f64 / steps),
                format!("{:.1}", cost.nanos as f64 / steps / 1e3),
                format!("{:.1} %", 100.0 * cost.nanos as f64 / total.max(1) as f64),
            ]
        };
        let sum = |part: &[(&str, Cost)]| {
            part.iter().fold(Cost::default(), |a, (_, b)| Cost {
                calls: a.calls + b.calls,
                nanos: a.nanos + b.nanos,
            })
        };
        let head = ["op", "calls", "µs a step", "share"].map(str::to_string).to_vec();
        let mut rows = vec![head];
        let (shown, rest) = all.split_at(all.len().min(MOST_ROWS));
        rows.extend(shown.iter().map(|(op, cost)| row(op, *cost)));
        if !rest.is_empty() {
            rows.push(row(&format!("{} others", rest.len()), sum(rest)));
        }
        rows.push(row("all", sum(&all)));
        let right = Align::Right;
        let table = table(&rows, &[Align::Left, right, right, right], usize::MAX);
        format!("{table}(of {} traced steps; ops beside one another count fully)\n", self.steps)
    }

    pub fn json(&self) -> Value {
        let steps = self.steps.max(1) as f64;
        let op = |(op, cost): (&str, Cost)| json!({ "op": op, "calls": cost.calls as f64 / steps, "micros": cost.nanos as f64 / steps / 1e3 });
        json!({ "steps": self.steps, "ops": self.sorted().into_iter().map(op).collect::<Vec<_>>() })
    }
}
