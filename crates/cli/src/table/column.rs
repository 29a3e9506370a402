//! `Column`: what a model knows of a column.

use serde::{Deserialize, Serialize};

/// A column of the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

/// How a model uses a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Standardised by the mean and deviation of the training rows; missing values are the mean.
    Number { mean: f64, deviation: f64, has_missing: bool },
    /// Texts by their index in a list.
    Vocabulary { words: Vec<String> },
    /// Texts by their hash: there are too many for a list.
    Hash { buckets: usize },
    /// Not used, and why.
    Ignored { reason: String },
}

impl Kind {
    pub fn is_used(&self) -> bool {
        !matches!(self, Kind::Ignored { .. })
    }
}

/// Texts that stand for a missing value, in any case.
const MISSING: [&str; 7] = ["", "na", "n/a", "nan", "null", "none", "?"];

/// Whether a field holds nothing.
pub fn is_missing(field: &[u8]) -> bool {
    let field = field.trim_ascii();
    field.len() <= 4 && MISSING.iter().any(|m| field.eq_ignore_ascii_case(m.as_bytes()))
}

/// A field as a finite number.
pub fn number(field: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(field.trim_ascii()).ok()?;
    text.parse::<f64>().ok().filter(|x| x.is_finite())
}
