//! Adagrad: the more a weight has been changed, the smaller its steps.

use super::{Optimizer, Setting, Slot, Update};
use thalweg_client::{IndexedSlices, Operation, Output};

pub struct Adagrad {
    rate: Setting,
    initial_accumulator: f64,
}

impl Adagrad {
    pub fn new(rate: impl Into<Setting>) -> Self {
        Adagrad { rate: rate.into(), initial_accumulator: 0.1 }
    }

    pub fn initial_accumulator(self, value: f64) -> Self {
        Adagrad { initial_accumulator: value, ..self }
    }
}

impl Optimizer for Adagrad {
    fn name(&self) -> &'static str {
        "Adagrad"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![("learning_rate", self.rate.clone())]
    }

    fn slots(&self) -> Vec<Slot> {
        vec![Slot { initial: self.initial_accumulator }]
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        u.op("ResourceApplyAdagrad").input(&u.slot(0).handle).input(u.setting(0)).input(gradient).build()
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        u.op("ResourceSparseApplyAdagrad")
            .input(&u.slot(0).handle)
            .input(u.setting(0))
            .input(&rows.values)
            .input(&rows.indices)
            .build()
    }
}
