//! Evaluation.

use super::config::Estimator;
use super::input::IntoInput;
use super::spec::{Mode, Model};
use crate::metrics;
use crate::monitored::{Scaffold, SessionCreator};
use crate::summary::FileWriter;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Index;
use thalweg_client::{Code, Operation, Output, Result, Scope};

/// Metrics by name, and the global step of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The global step of the checkpoint.
    pub global_step: i64,
    /// Values by name.
    pub metrics: BTreeMap<String, f32>,
}

impl Evaluation {
    /// The metric of that name.
    pub fn get(&self, name: &str) -> Option<f32> {
        self.metrics.get(name).copied()
    }
}

/// `evaluation["accuracy"]`: NaN if there is no such metric.
impl Index<&str> for Evaluation {
    type Output = f32;
    fn index(&self, name: &str) -> &f32 {
        self.metrics.get(name).unwrap_or(&f32::NAN)
    }
}

/// `accuracy = 0.967, average_loss = 0.06, global_step = 1000, loss = 1.9`.
impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all: Vec<(&str, String)> =
            self.metrics.iter().map(|(n, v)| (n.as_str(), v.to_string())).collect();
        all.push(("global_step", self.global_step.to_string()));
        all.sort();
        let all: Vec<String> = all.into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
        f.write_str(&all.join(", "))
    }
}

impl<M: Model> Estimator<M> {
    /// Evaluates the newest checkpoint on the whole input.
    pub fn evaluate<I: IntoInput>(&self, input: impl Fn(&Scope) -> I) -> Result<Evaluation> {
        self.evaluate_with(input, None, None)
    }

    /// Evaluates on `steps` batches at most; a name separates the event files of several evaluations.
    pub fn evaluate_with<I: IntoInput>(
        &self,
        input: impl Fn(&Scope) -> I,
        steps: Option<u64>,
        name: Option<&str>,
    ) -> Result<Evaluation> {
        let g = self.graph();
        let input = input(&g).into_input()?;
        let (features, labels) = input.next_batch(&g)?;
        let spec = self.build(&g, &features, labels.as_ref(), Mode::Evaluate).map_err(|e| input.blame(e))?;
        let mut metrics = spec.metrics;
        if let Some(loss) = &spec.loss {
            metrics.push(("loss".into(), metrics::mean(&g, loss, None)));
        }
        let scaffold = Scaffold::new(&g, self.keep)?;
        let session = self.creator().must_restore().create_session(&g, &scaffold)?;
        let updates: Vec<Operation> = metrics.iter().map(|(_, m)| m.update.clone()).collect();
        let step = session.callable(&[], &updates)?;
        let mut batches = 0;
        while steps.is_none_or(|most| batches < most) {
            match step.run(Vec::new()) {
                Err(e) if e.code() == Code::OutOfRange => break,
                other => other?,
            };
            batches += 1;
        }
        if batches == 0 {
            return Err(super::invalid("there is nothing to evaluate on: the input gave no batch"));
        }
        let values: Vec<Output> = metrics.iter().map(|(_, m)| m.value.clone()).collect();
        let (values, at) = session.run(&(values, &scaffold.global_step.value), &[])?;
        let named = metrics.iter().zip(&values);
        let metrics = named.map(|((n, _), v)| Ok((n.clone(), v.to_scalar()?))).collect::<Result<_>>()?;
        let found = Evaluation { global_step: at.to_scalar()?, metrics };
        self.write(&found, name)?;
        Ok(found)
    }

    /// The metrics as scalars, for TensorBoard and early stopping.
    fn write(&self, found: &Evaluation, name: Option<&str>) -> Result<()> {
        let mut events = FileWriter::new(self.eval_dir(name))?;
        for (metric, value) in &found.metrics {
            events.add_scalar(metric, *value, found.global_step)?;
        }
        events.flush()
    }
}
