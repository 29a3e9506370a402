//! The cache of compiled signatures.

use super::compile::{Compiled, Signature};
use std::collections::HashMap;
use std::sync::Arc;

/// Plans by signature. Bounded: the least recently used is evicted.
#[derive(Default)]
pub struct PlanCache {
    plans: HashMap<Signature, (u64, Arc<Compiled>)>,
    clock: u64,
}

const MAX_PLANS: usize = 512;

impl PlanCache {
    pub fn get(&mut self, signature: &Signature) -> Option<Arc<Compiled>> {
        self.clock += 1;
        let found = self.plans.get_mut(signature)?;
        found.0 = self.clock;
        Some(found.1.clone())
    }

    pub fn insert(&mut self, signature: Signature, compiled: Arc<Compiled>) {
        if self.plans.len() >= MAX_PLANS
            && let Some(oldest) = self.plans.iter().min_by_key(|(_, (used, _))| *used).map(|(s, _)| s.clone())
        {
            self.plans.remove(&oldest);
        }
        self.clock += 1;
        self.plans.insert(signature, (self.clock, compiled));
    }
}
