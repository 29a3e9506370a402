//! `Moments`: the settings of Adam and AdaMax, which both keep two running moments of the gradients.

use super::{Power, Setting, Slot};

pub struct Moments {
    pub rate: Setting,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
}

pub const RATE: usize = 0;
pub const BETA1: usize = 1;
pub const BETA2: usize = 2;
pub const EPSILON: usize = 3;

impl Moments {
    pub fn new(rate: Setting) -> Moments {
        Moments { rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }

    pub fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![
            ("learning_rate", self.rate.clone()),
            ("beta1", self.beta1.into()),
            ("beta2", self.beta2.into()),
            ("epsilon", self.epsilon.into()),
        ]
    }

    /// One for each moment.
    pub fn slots() -> Vec<Slot> {
        vec![Slot { initial: 0.0 }, Slot { initial: 0.0 }]
    }

    pub fn beta1_power(&self) -> Power {
        Power { name: "beta1_power", initial: self.beta1, factor: BETA1 }
    }

    pub fn beta2_power(&self) -> Power {
        Power { name: "beta2_power", initial: self.beta2, factor: BETA2 }
    }
}
