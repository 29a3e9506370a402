//! The lectures' linear regression: W and b of y = 0.1 x + 0.3 from a hundred points.

use super::optimizer;
use super::program::{Model, Program, Trained};
use super::settings::{Defaults, Settings};
use thalweg::prelude::*;
use thalweg::train::{initializers, losses};

pub struct Linear {
    x: Vec<f32>,
}

impl Linear {
    pub fn new() -> Self {
        // A hundred points in [0, 1), evenly spread but not in order.
        Linear { x: (0..100).map(|i| (i as f32 * 0.618_034).fract()).collect() }
    }
}

impl Program for Linear {
    fn title(&self) -> String {
        "linear regression, y = 0.1 x + 0.3, 100 points".into()
    }

    fn defaults(&self) -> Defaults {
        Defaults { steps: 200, batch: 100, rate: 0.5, falls_over: None, optimizer: optimizer::Kind::Sgd }
    }

    fn has_products(&self) -> bool {
        false
    }

    fn examples(&self) -> usize {
        self.x.len()
    }

    fn model(&self, g: &Scope, settings: &Settings) -> Result<Model> {
        let x = g.constant(self.x.clone());
        let y = g.constant(self.x.iter().map(|x| x * 0.1 + 0.3).collect::<Vec<f32>>());
        let uniform = initializers::RandomUniform { low: -1.0, high: 1.0, seed: None };
        let w = g.get_variable("W", &[1], &uniform);
        let b = g.get_variable("b", &[1], &initializers::Zeros);
        let predicted = &w.value * &x + &b.value;
        let loss = losses::mean_squared_error(g, &y, &predicted, None);
        let train = settings.minimize(g, &loss, None)?;
        Ok(Model { train, loss, shown: None, feeds: vec![], outputs: vec![w.value, b.value] })
    }

    fn batch(&self, _: u64, _: &Settings) -> Result<Vec<Tensor>> {
        Ok(vec![])
    }

    fn results(&self, t: &Trained<'_>) -> Result<Vec<[String; 2]>> {
        let found = t.session.run(&t.model.outputs, &[])?;
        let number = |i: usize| -> Result<String> { Ok(format!("{:.6}", found[i].as_slice::<f32>()?[0])) };
        Ok(vec![["W".into(), number(0)?], ["b".into(), number(1)?]])
    }
}
