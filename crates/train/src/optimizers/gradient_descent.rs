//! Gradient descent: `v -= rate * gradient`.

use super::{Optimizer, Setting, Update};
use thalweg_client::{IndexedSlices, Operation, Output};

pub struct GradientDescent {
    rate: Setting,
}

impl GradientDescent {
    pub fn new(rate: impl Into<Setting>) -> Self {
        GradientDescent { rate: rate.into() }
    }
}

impl Optimizer for GradientDescent {
    fn name(&self) -> &'static str {
        "GradientDescent"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![("learning_rate", self.rate.clone())]
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        u.rule("ResourceApplyGradientDescent").input(u.setting(0)).input(gradient).build()
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        let step = &(-&rows.values) * u.setting(0);
        u.op("ResourceScatterAdd").input(&rows.indices).input(&step).build()
    }

    /// Adding a row twice is adding its sum.
    fn sums_rows(&self) -> bool {
        false
    }
}
