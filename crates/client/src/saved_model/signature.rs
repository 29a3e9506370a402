//! `Signature`: a compiled entry point of a model.

use super::describe::{SignatureInfo, TensorInfo};
use crate::value::IntoTensor;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;
use thalweg_core::registry::did_you_mean;
use thalweg_core::tensor::Tensor;
use thalweg_runtime::{Callable, RunMetadata, RunOptions, Session};

/// An entry point of a model, compiled. Clones share the compiled step; `run` may be called from many threads at once.
#[derive(Clone)]
pub struct Signature {
    name: Arc<str>,
    info: Arc<SignatureInfo>,
    callable: Callable,
}

impl Signature {
    pub(super) fn compile(session: &Session, name: &str, info: &Arc<SignatureInfo>) -> Result<Signature> {
        fn tensors(list: &[TensorInfo]) -> Vec<&str> {
            list.iter().map(|t| t.tensor.as_str()).collect()
        }
        let callable = session.callable_by_name(&tensors(&info.inputs), &tensors(&info.outputs), &[])?;
        Ok(Signature { name: name.into(), info: info.clone(), callable })
    }

    /// Runs with these inputs, by name; outputs come by name. Every input needs a value, unless the model has a default for it.
    pub fn run<N: AsRef<str>, V: IntoTensor>(
        &self,
        inputs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<BTreeMap<String, Tensor>> {
        let values = self.ordered(inputs)?;
        let results = self.run_ordered(values)?;
        Ok(self.info.outputs.iter().map(|o| o.name.clone()).zip(results).collect())
    }

    /// Runs with one value for each input, in the order of [`Signature::inputs`]; results are in the order of [`Signature::outputs`].
    pub fn run_ordered(&self, values: Vec<Tensor>) -> Result<Vec<Tensor>> {
        self.run_with(values, &RunOptions::default()).map(|r| r.0)
    }

    /// As [`Signature::run_ordered`], with a timeout, cancellation or tracing.
    pub fn run_with(&self, values: Vec<Tensor>, options: &RunOptions) -> Result<(Vec<Tensor>, RunMetadata)> {
        self.check(&values)?;
        self.callable.run_with(values, options)
    }

    /// The values of named inputs in the order of [`Signature::inputs`], with defaults for those not given.
    pub fn ordered<N: AsRef<str>, V: IntoTensor>(
        &self,
        inputs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Vec<Tensor>> {
        let mut values: Vec<Option<Tensor>> = vec![None; self.info.inputs.len()];
        for (name, value) in inputs {
            let name = name.as_ref();
            let slot = self.info.inputs.iter().position(|i| i.name == name).and_then(|i| values.get_mut(i));
            let Some(slot) = slot else { return Err(self.no_input(name)) };
            if slot.is_some() {
                return Err(invalid!("signature '{}': the input '{name}' is given twice", self.name));
            }
            let value = value.into_tensor().map_err(|e| e.context(format_args!("input '{name}'")))?;
            *slot = Some(value);
        }
        let given = values.into_iter().zip(&self.info.inputs);
        given
            .map(|(value, input)| value.or_else(|| input.default.clone()).ok_or_else(|| self.missing(input)))
            .collect()
    }

    fn no_input(&self, name: &str) -> Error {
        let near = did_you_mean(self.info.inputs.iter().map(|i| i.name.as_str()), name);
        invalid!(
            "signature '{}' has no input '{name}'{near}; it takes: {}",
            self.name,
            listed(&self.info.inputs)
        )
    }

    fn missing(&self, input: &TensorInfo) -> Error {
        invalid!(
            "signature '{}' needs a value for {input}; it takes: {}",
            self.name,
            listed(&self.info.inputs)
        )
    }

    /// Types and shapes of the inputs, in order.
    fn check(&self, values: &[Tensor]) -> Result<()> {
        let inputs = &self.info.inputs;
        if values.len() != inputs.len() {
            let (need, got) = (inputs.len(), values.len());
            return Err(invalid!(
                "signature '{}' takes {need} inputs, got {got}: {}",
                self.name,
                listed(inputs)
            ));
        }
        for (value, input) in values.iter().zip(inputs) {
            if value.dtype() != input.dtype || !input.shape.allows(value.shape()) {
                let (dtype, shape) = (value.dtype(), value.shape());
                return Err(invalid!("signature '{}' takes {input}, got {dtype} {shape}", self.name));
            }
        }
        Ok(())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it takes, in the order of the names.
    pub fn inputs(&self) -> &[TensorInfo] {
        &self.info.inputs
    }

    /// What it returns, in the order of the names.
    pub fn outputs(&self) -> &[TensorInfo] {
        &self.info.outputs
    }

    /// What it is for: `tensorflow/serving/predict`, `classify` or `regress`.
    pub fn method_name(&self) -> &str {
        &self.info.method_name
    }

    /// The compiled step, for callers that start it without a thread of their own. It takes and returns tensors as
    /// [`Signature::run_ordered`] does, and checks types and shapes as far as the graph declares them.
    pub fn callable(&self) -> &Callable {
        &self.callable
    }
}

fn listed(tensors: &[TensorInfo]) -> String {
    match tensors {
        [] => "nothing".to_string(),
        _ => tensors.iter().map(TensorInfo::to_string).collect::<Vec<_>>().join(", "),
    }
}
