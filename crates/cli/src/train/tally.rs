//! A test of clusters: every variable is the sum of the applied gradients, so that one applied twice, or lost, is detected.
//!
//! With a rate of 1 and gradients that do not depend on the variables, each step subtracts the same number from each variable: the mean of
//! the replicas' gradients, which are different powers of four if all are aggregated. No other choice of as many of them has that sum.

use super::optimizer;
use super::program::{Model, Program, Trained};
use super::settings::{Defaults, Settings};
use thalweg::prelude::*;
use thalweg::train::get_or_create_global_step;
use thalweg::train::initializers::Zeros;
use thalweg_core::error::internal;

pub struct Tally;

/// Enough variables for several parameter servers.
const VARIABLES: usize = 4;

/// The gradient of a replica.
fn gradient(number: u64, settings: &Settings) -> f32 {
    match settings.replicas {
        Some(r) if r.aggregate == r.total => 4f32.powi(i32::try_from(number % r.total as u64).unwrap_or(0)),
        _ => 1.0,
    }
}

/// What a step subtracts from each variable.
fn taken(settings: &Settings) -> f32 {
    let replicas = settings.replicas.map_or(1, |r| r.total as u64);
    (0..replicas).map(|i| gradient(i, settings)).sum::<f32>() / replicas as f32
}

impl Program for Tally {
    fn title(&self) -> String {
        format!("{VARIABLES} variables from which each step takes the same")
    }

    fn defaults(&self) -> Defaults {
        Defaults { steps: 500, batch: 1, rate: 1.0, optimizer: optimizer::Kind::Sgd, falls_over: None }
    }

    fn has_products(&self) -> bool {
        false
    }

    fn examples(&self) -> usize {
        1
    }

    fn model(&self, g: &Scope, settings: &Settings) -> Result<Model> {
        let x = g.placeholder_named("gradient", DataType::Float, Some(&[]));
        let made = |i: usize| g.get_variable(&format!("tally{i}"), &[], &Zeros).value;
        let outputs: Vec<Output> = (0..VARIABLES).map(made).collect();
        let sum = g.op("AddN").inputs(&outputs.iter().collect::<Vec<_>>()).output();
        let loss = g.mul(&x, &sum);
        let train = settings.minimize(g, &loss, None)?;
        let mut outputs = outputs;
        outputs.push(g.cast(&get_or_create_global_step(g).value, DataType::Float));
        Ok(Model { train, loss, shown: None, feeds: vec![x], outputs })
    }

    fn batch(&self, step: u64, settings: &Settings) -> Result<Vec<Tensor>> {
        Ok(vec![Tensor::scalar(gradient(step, settings))])
    }

    fn results(&self, t: &Trained<'_>) -> Result<Vec<[String; 2]>> {
        let found = t.session.run(&t.model.outputs, &[])?;
        let found = found.iter().map(|t| t.to_scalar::<f32>()).collect::<Result<Vec<_>>>()?;
        let (steps, values) = found.split_last().ok_or_else(|| internal("no results"))?;
        let expected = -steps * taken(t.settings);
        let right = values.iter().filter(|v| **v == expected).count();
        Ok(vec![
            ["expected".into(), format!("{expected}")],
            ["variables".into(), format!("{values:?}")],
            ["right".into(), format!("{right} of {VARIABLES}")],
        ])
    }
}
