//! Exclusive or, which a net without a hidden layer cannot learn.

use super::optimizer;
use super::program::{Model, Program, Trained};
use super::settings::{Defaults, Settings};
use thalweg::prelude::*;
use thalweg::train::layers::{Activation, Dense};
use thalweg::train::losses;

pub struct Xor;

const INPUTS: [[f32; 2]; 4] = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];

impl Program for Xor {
    fn title(&self) -> String {
        "exclusive or, 2-8-1 net".into()
    }

    fn defaults(&self) -> Defaults {
        Defaults { steps: 500, batch: 4, rate: 0.1, falls_over: None, optimizer: optimizer::Kind::Adam }
    }

    fn examples(&self) -> usize {
        INPUTS.len()
    }

    fn model(&self, g: &Scope, settings: &Settings) -> Result<Model> {
        let x = g.constant(INPUTS);
        let y = g.constant([[0f32], [1.0], [1.0], [0.0]]);
        let hidden = Dense::new(8).activation(Activation::Tanh).apply(g, &x);
        let logits = Dense::new(1).apply(g, &hidden);
        let loss = losses::sigmoid_cross_entropy(g, &y, &logits, None);
        let train = settings.minimize(g, &loss, None)?;
        Ok(Model { train, loss, shown: None, feeds: vec![], outputs: vec![g.sigmoid(&logits)] })
    }

    fn batch(&self, _: u64, _: &Settings) -> Result<Vec<Tensor>> {
        Ok(vec![])
    }

    fn results(&self, t: &Trained<'_>) -> Result<Vec<[String; 2]>> {
        let found = t.session.run(&t.model.outputs, &[])?;
        let found = found[0].as_slice::<f32>()?;
        let row = |([a, b], p): (&[f32; 2], &f32)| [format!("{a} xor {b}"), format!("{p:.4}")];
        Ok(INPUTS.iter().zip(found).map(row).collect())
    }
}
