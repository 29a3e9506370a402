//! `Schema`: the columns of a model, as its nodes and as its description in a file.

use super::column::{Column, Kind, number};
use super::csv::text;
use super::infer::Task;
use serde::{Deserialize, Serialize};
use thalweg::prelude::*;
use thalweg::train::estimator::{Batch, Classifier, EstimatorSpec, Head, Mode, Reduction, Regressor};
use thalweg::train::feature_column::{
    FeatureColumn, Features, categorical_column_with_hash_bucket, categorical_column_with_vocabulary_list,
    embedding_column, indicator_column, input_layer, numeric_column,
};
use thalweg::train::layers::{Activation, Dense};

/// A model of a table: what it reads, and what it says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Schema {
    pub task: Task,
    pub label: String,
    pub columns: Vec<Column>,
    /// Of a classifier.
    pub classes: Vec<String>,
    /// Mean and deviation of a label that is a number.
    pub label_scale: (f64, f64),
    pub hidden: Vec<usize>,
}

/// With more words than this, a column is embedded.
const MOST_INDICATED: usize = 20;

/// A graph of the model.
pub struct Nodes {
    /// A placeholder for each used column.
    pub inputs: Vec<Output>,
    features: Features,
    logits: Output,
}

impl Schema {
    /// The columns that the model reads.
    pub fn used(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|c| c.kind.is_used())
    }

    /// A label as its class or its number.
    pub fn label_value(&self, field: &[u8]) -> Option<f32> {
        match self.task {
            Task::Classify => {
                let word = text(field);
                self.classes.iter().position(|c| *c == word).map(|id| id as f32)
            }
            Task::Regress => number(field).map(|x| x as f32),
        }
    }

    /// Hidden layers as printed: `4-16-16-3`.
    pub fn layers(&self) -> String {
        let ends = [self.used().count(), self.outputs()];
        let all = ends.iter().take(1).chain(&self.hidden).chain(ends.iter().skip(1));
        all.map(usize::to_string).collect::<Vec<_>>().join("-")
    }

    fn outputs(&self) -> usize {
        if self.task == Task::Classify { self.classes.len() } else { 1 }
    }

    /// The model up to its last layer.
    pub fn build(&self, g: &Scope) -> Result<Nodes> {
        let inputs: Vec<Output> = self.used().map(|c| self.input(g, c)).collect();
        let mut features = Features::new();
        for (column, input) in self.used().zip(&inputs) {
            features = features.with(&column.name, input);
            if let Kind::Number { has_missing: true, .. } = column.kind {
                let missing = g.cast(g.op("IsNan").input(input).output(), DataType::Float);
                features = features.with(&missing_name(column), &missing);
            }
        }
        let columns: Vec<FeatureColumn> = self.used().flat_map(feature_columns).collect();
        let dnn = g.variable_scope("dnn");
        let mut x = input_layer(&dnn.variable_scope("input_from_feature_columns"), &features, &columns)?;
        for (i, units) in self.hidden.iter().enumerate() {
            let name = format!("hiddenlayer_{i}");
            x = Dense::new(*units).name(&name).activation(Activation::Relu).apply(&dnn, &x);
        }
        let logits = match self.task {
            // Two classes have one logit, as in the estimators.
            Task::Classify => Dense::new(self.classifier().logits()).name("logits").apply(&dnn, &x),
            Task::Regress => {
                let (mean, deviation) = self.label_scale;
                let y = Dense::new(1).name("logits").apply(&dnn, &x);
                y * g.number(deviation, DataType::Float) + g.number(mean, DataType::Float)
            }
        };
        g.check()?;
        Ok(Nodes { inputs, features, logits })
    }

    fn input(&self, g: &Scope, column: &Column) -> Output {
        let dtype = match column.kind {
            Kind::Number { .. } => DataType::Float,
            _ => DataType::String,
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let name: String = column.name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        g.placeholder_named(&format!("input/x_{name}"), dtype, Some(&[-1]))
    }

    fn classifier(&self) -> Classifier {
        Classifier::new(self.classes.len()).label_vocabulary(self.classes.iter().map(String::as_str))
    }

    /// Predictions, loss and train op. `train` makes the op that minimizes the loss.
    pub fn head(
        &self,
        g: &Scope,
        nodes: &Nodes,
        labels: Option<&Output>,
        train: &dyn Fn(&Output) -> Result<Operation>,
    ) -> Result<EstimatorSpec> {
        let mode = if labels.is_some() { Mode::Train } else { Mode::Predict };
        let batch = Batch { features: &nodes.features, labels };
        match self.task {
            Task::Classify => {
                let mut head = self.classifier();
                head.weighing().reduction = Reduction::Mean;
                head.spec(g, mode, &nodes.logits, batch, train)
            }
            Task::Regress => {
                let mut head = Regressor::new();
                head.weighing().reduction = Reduction::Mean;
                head.spec(g, mode, &nodes.logits, batch, train)
            }
        }
    }
}

fn missing_name(column: &Column) -> String {
    format!("{}_is_missing", column.name)
}

/// How a column enters the net.
fn feature_columns(column: &Column) -> Vec<FeatureColumn> {
    let name = &column.name;
    match &column.kind {
        Kind::Number { mean, deviation, has_missing } => {
            let (mean, deviation) = (*mean, *deviation);
            let standardised = numeric_column(name).normalizer(move |g, x| {
                let mean = g.number(mean, DataType::Float);
                let missing = g.op("IsNan").input(x).output();
                let known = g.op("SelectV2").input(missing).input(&mean).input(x).output();
                (known - mean) * g.number(1.0 / deviation, DataType::Float)
            });
            let mut columns: Vec<FeatureColumn> = vec![standardised.into()];
            if *has_missing {
                columns.push(numeric_column(&missing_name(column)).into());
            }
            columns
        }
        Kind::Vocabulary { words } => {
            let words_column = categorical_column_with_vocabulary_list(name, words.iter().cloned());
            match words.len() {
                n if n <= MOST_INDICATED => vec![indicator_column(words_column).into()],
                n => vec![embedding_column(words_column, dimension(n)).into()],
            }
        }
        Kind::Hash { buckets } => {
            let hashed = categorical_column_with_hash_bucket(name, *buckets);
            vec![embedding_column(hashed, dimension(*buckets)).into()]
        }
        Kind::Ignored { .. } => Vec::new(),
    }
}

/// The size of an embedding, as TensorFlow's guide suggests: it grows with the fourth root.
fn dimension(words: usize) -> usize {
    ((words as f64).powf(0.25) * 2.0).ceil() as usize
}
