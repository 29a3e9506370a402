//! The output before and after training.

use super::curve::Curve;
use super::program::Program;
use super::progress::time;
use super::settings::Settings;
use crate::output::{Align, table};
use std::time::Duration;
use thalweg::prelude::*;

const WIDEST: usize = 60;

/// The title, the settings, and the parameters of the model.
pub fn head(program: &dyn Program, settings: &Settings, g: &Scope) -> String {
    let mut rows = vec![vec!["variable".to_string(), "shape".into(), "parameters".into()]];
    let mut total = 0;
    for v in g.trainable_variables() {
        let shape = v.shape();
        let count: i64 = shape.dims().unwrap_or_default().iter().product();
        total += count;
        let dims: Vec<String> = shape.dims().unwrap_or_default().iter().map(i64::to_string).collect();
        rows.push(vec![v.name(), dims.join(" x "), grouped(count)]);
    }
    rows.push(vec!["total".into(), String::new(), grouped(total)]);
    format!(
        "{}\n{} steps of {}, {} at {}, seed {}\n\n{}\n",
        program.title(),
        settings.steps,
        settings.batch,
        settings.optimizer.name(),
        settings.rate_text(),
        settings.seed,
        table(&rows, &[Align::Left, Align::Left, Align::Right], WIDEST)
    )
}

/// The loss curve and the results.
pub fn tail(curve: &Curve, results: &[[String; 2]], steps: u64, took: Duration) -> String {
    let mut rows: Vec<Vec<String>> = results.iter().map(|r| r.to_vec()).collect();
    if let Some(loss) = curve.last() {
        rows.push(vec!["last loss".into(), format!("{loss:.6}")]);
    }
    let rate = steps as f64 / took.as_secs_f64().max(1e-9);
    rows.push(vec!["time".into(), format!("{} ({rate:.0} steps/s)", time(took))]);
    format!("\n{}\n{}", curve.text(), table(&rows, &[Align::Left, Align::Left], WIDEST))
}

/// 1234567 as 1,234,567.
fn grouped(n: i64) -> String {
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
