//! Prediction.

use super::config::Estimator;
use super::input::IntoInput;
use super::spec::{Mode, Model};
use crate::monitored::{Scaffold, SessionCreator};
use std::collections::{BTreeMap, VecDeque};
use thalweg_client::{Callable, Code, Error, Output, Result, Scope, Session, Shape, Tensor};

/// The prediction for one example: tensors by name.
#[derive(Clone, Debug)]
pub struct Prediction(BTreeMap<String, Tensor>);

impl Prediction {
    /// The tensor of that name; the error lists the valid names.
    pub fn get(&self, name: &str) -> Result<&Tensor> {
        self.0.get(name).ok_or_else(|| {
            let there: Vec<&str> = self.names().collect();
            super::invalid(format!("there is no '{name}' among the predictions: {}", there.join(", ")))
        })
    }

    /// The names of the tensors.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Of a classifier: the number of the most likely class.
    pub fn class_id(&self) -> Result<usize> {
        let id = self.get("class_ids")?.to_scalar::<i64>()?;
        usize::try_from(id).map_err(|_| super::invalid(format!("class {id}")))
    }

    /// Of a classifier: the label of the most likely class.
    pub fn class(&self) -> Result<String> {
        let class = self.get("classes")?.strings()?.first().cloned().unwrap_or_default();
        Ok(String::from_utf8_lossy(&class).into_owned())
    }

    /// Of a classifier: the probability of each class.
    pub fn probabilities(&self) -> Result<&[f32]> {
        self.get("probabilities")?.as_slice()
    }

    /// Of a regressor with one label: the value.
    pub fn value(&self) -> Result<f32> {
        self.get("predictions")?.to_scalar()
    }
}

/// Predictions for one example after another, computed batch by batch on demand.
pub struct Predictions {
    // Keeps the session open.
    _session: Session,
    batch: Callable,
    names: Vec<String>,
    made: VecDeque<Prediction>,
    over: bool,
}

impl<M: Model> Estimator<M> {
    /// Predictions of the newest checkpoint for the whole input. Labels are ignored.
    pub fn predict<I: IntoInput>(&self, input: impl Fn(&Scope) -> I) -> Result<Predictions> {
        let g = self.graph();
        let (features, _) = input(&g).into_input()?.next_batch(&g)?;
        let spec = self.build(&g, &features, None, Mode::Predict)?;
        let scaffold = Scaffold::new(&g, self.keep)?;
        let session = self.creator().must_restore().create_session(&g, &scaffold)?;
        let (names, outputs): (Vec<String>, Vec<Output>) = spec.predictions.into_iter().unzip();
        let batch = session.callable(&[], &outputs)?;
        Ok(Predictions { _session: session, batch, names, made: VecDeque::new(), over: false })
    }
}

impl Predictions {
    fn more(&mut self) -> Result<()> {
        let found = match self.batch.run(Vec::new()) {
            Err(e) if e.code() == Code::OutOfRange => {
                self.over = true;
                return Ok(());
            }
            other => other?,
        };
        let rows = found.first().and_then(|t| t.shape().first().copied()).unwrap_or(0);
        if let Some((name, t)) = self.names.iter().zip(&found).find(|(_, t)| t.shape().first() != Some(&rows))
        {
            let text = format!(
                "prediction '{name}' has shape {}, but a row for each of {rows} examples is needed",
                t.shape()
            );
            return Err(super::invalid(text));
        }
        for row in 0..rows {
            let of = |(name, t): (&String, &Tensor)| Ok((name.clone(), one_row(t, row)?));
            self.made.push_back(Prediction(self.names.iter().zip(&found).map(of).collect::<Result<_>>()?));
        }
        Ok(())
    }
}

fn one_row(t: &Tensor, row: usize) -> Result<Tensor> {
    let dims: Vec<usize> = t.shape().dims().iter().skip(1).copied().collect();
    t.rows(row, 1)?.reshape(Shape::new(&dims)?)
}

impl Iterator for Predictions {
    type Item = Result<Prediction>;

    fn next(&mut self) -> Option<Result<Prediction>> {
        while self.made.is_empty() && !self.over {
            if let Err(e) = self.more() {
                self.over = true;
                return Some(Err::<Prediction, Error>(e));
            }
        }
        self.made.pop_front().map(Ok)
    }
}
