//! `GraphOptions.build_cost_model`: which steps report the costs of their nodes.

use std::collections::HashMap;
use std::sync::Mutex;
use thalweg_core::sync::lock;
use thalweg_proto::GraphOptions;

/// The steps of each signature are counted: every `every`-th is measured, `after` moves the first.
#[derive(Default)]
pub struct CostModel {
    /// 0: none.
    every: i64,
    after: i64,
    steps: Mutex<HashMap<Signature, i64>>,
}

/// Feeds, fetches and targets.
type Signature = [Vec<String>; 3];

/// Signatures that are counted. Counting begins anew beyond that.
const MAX_SIGNATURES: usize = 1024;

impl CostModel {
    pub fn of(options: Option<&GraphOptions>) -> CostModel {
        let (every, after) = options.map_or((0, 0), |o| (o.build_cost_model, o.build_cost_model_after));
        CostModel { every: every.max(0), after, ..Default::default() }
    }

    /// Counts a step; whether it is to be measured.
    pub fn counts(&self, feeds: &[String], fetches: &[String], targets: &[String]) -> bool {
        if self.every == 0 {
            return false;
        }
        let mut steps = lock(&self.steps);
        let signature = [feeds, fetches, targets].map(<[String]>::to_vec);
        if steps.len() >= MAX_SIGNATURES && !steps.contains_key(&signature) {
            steps.clear();
        }
        let count = steps.entry(signature).or_default();
        *count = count.saturating_add(1);
        count.saturating_sub(self.after).checked_rem(self.every) == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_measured_as_often_as_tensorflows() {
        let measured = |every, after| {
            let options =
                GraphOptions { build_cost_model: every, build_cost_model_after: after, ..Default::default() };
            let model = CostModel::of(Some(&options));
            (0..8).map(|_| model.counts(&[], &["z".into()], &[])).collect::<Vec<_>>()
        };
        assert_eq!(measured(3, 0), [false, false, true, false, false, true, false, false]);
        assert_eq!(measured(3, 2), [false, true, false, false, true, false, false, true]);
        assert_eq!(measured(0, 0), [false; 8]);
        assert_eq!(measured(i64::MIN, i64::MIN), [false; 8]);
        let model = CostModel::of(Some(&GraphOptions { build_cost_model: 2, ..Default::default() }));
        let other = |fetch: &str| model.counts(&[], &[fetch.into()], &[]);
        assert_eq!(["a", "b", "a", "b"].map(other), [false, false, true, true]);
    }
}
