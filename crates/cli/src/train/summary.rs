//! The output before and after training.

use super::curve::Curve;
use super::program::Program;
use super::progress::time;
use super::settings::Settings;
use crate::output::{Align, table};
use serde_json::{Map, Value, json};
use std::time::Duration;
use thalweg::prelude::*;

const WIDEST: usize = 60;

/// The title, the settings, and the parameters of the model.
pub fn head(program: &dyn Program, settings: &Settings, g: &Scope) -> String {
    let mut rows = vec![vec!["variable".to_string(), "shape".into(), "parameters".into()]];
    for v in g.trainable_variables() {
        let shape = v.shape();
        let dims: Vec<String> = shape.dims().unwrap_or_default().iter().map(i64::to_string).collect();
        rows.push(vec![v.name(), dims.join(" x "), grouped(parameters_of(&shape))]);
    }
    rows.push(vec!["total".into(), String::new(), grouped(parameters(g))]);
    format!(
        "{}{}\n{} steps of {}, {} at {}, seed {}{}\n\n{}\n",
        program.preface(),
        program.title(),
        settings.steps,
        settings.batch,
        settings.optimizer.name(),
        settings.schedule.text(),
        settings.seed,
        settings.precision.remark(),
        table(&rows, &[Align::Left, Align::Left, Align::Right], WIDEST)
    )
}

/// The same for programs.
pub fn head_fields(program: &dyn Program, settings: &Settings, g: &Scope) -> Value {
    json!({
        "title": program.title(),
        "steps": settings.steps,
        "batch": settings.batch,
        "steps_per_epoch": settings.steps_per_epoch,
        "optimizer": settings.optimizer.name(),
        "learning_rate": settings.schedule.rate,
        "precision": settings.precision.name(),
        "seed": settings.seed,
        "parameters": parameters(g),
    })
}

fn parameters(g: &Scope) -> i64 {
    g.trainable_variables().iter().map(|v| parameters_of(&v.shape())).sum()
}

fn parameters_of(shape: &PartialShape) -> i64 {
    shape.dims().unwrap_or_default().iter().product()
}

/// What a run came to.
pub struct Outcomes<'a> {
    pub curve: &'a Curve,
    pub results: Vec<[String; 2]>,
    pub details: String,
    pub steps: u64,
    pub took: Duration,
}

impl Outcomes<'_> {
    fn rows(&self) -> Vec<Vec<String>> {
        let mut rows: Vec<Vec<String>> = self.results.iter().map(|r| r.to_vec()).collect();
        if let Some(loss) = self.curve.last() {
            rows.push(vec!["last loss".into(), format!("{loss:.6}")]);
        }
        let rate = self.steps as f64 / self.took.as_secs_f64().max(1e-9);
        rows.push(vec!["time".into(), format!("{} ({rate:.0} steps/s)", time(self.took))]);
        rows
    }

    /// The table of results, and what a program adds to it.
    pub fn results(&self) -> String {
        let mut text = table(&self.rows(), &[Align::Left, Align::Left], WIDEST);
        if !self.details.is_empty() {
            text.push_str(&format!("\n{}", self.details));
        }
        text
    }

    /// The loss curve before it.
    pub fn text(&self, width: usize) -> String {
        format!("\n{}\n{}", self.curve.text(width), self.results())
    }

    pub fn fields(&self) -> Value {
        let results: Map<String, Value> =
            self.results.iter().map(|[name, value]| (name.clone(), json!(value))).collect();
        json!({
            "results": results,
            "last_loss": self.curve.last(),
            "steps": self.steps,
            "seconds": self.took.as_secs_f64(),
        })
    }
}

/// 1234567 as 1,234,567.
pub fn grouped(n: i64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}
