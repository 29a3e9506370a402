//! Recurrent nets of `train`: its cells by their names in TensorFlow, and its loop over a sequence with any cell of Python.

use crate::args;
use crate::errors::wrong_type;
use crate::functions::call;
use crate::initializers::Settings;
use crate::scope::Scope;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::RefCell;
use thalweg_client as client;
use thalweg_client::Output;
use thalweg_train::rnn::{self as train, Cell, Sequence};

/// A tensor, and the tensors of a state.
type Stepped = (Py<Tensor>, Vec<Py<Tensor>>);

fn cell(kind: &str, units: usize, s: &Settings<'_, '_>) -> PyResult<Box<dyn Cell>> {
    let activation = crate::layers::activation(&s.get("activation", String::from("Tanh"))?)?;
    Ok(match kind {
        "BasicRNN" => Box::new(train::Rnn::new(units).activation(activation)),
        "BasicLSTM" => Box::new(train::Lstm::new(units).forget_bias(s.number("forget_bias", 1.0)?)),
        "GRU" => Box::new(train::Gru::new(units)),
        "LSTM" => {
            let mut cell =
                train::LstmCell::new(units).forget_bias(s.number("forget_bias", 1.0)?).activation(activation);
            if s.get("use_peepholes", false)? {
                cell = cell.peepholes();
            }
            if let Some(limit) = s.get::<Option<f64>>("cell_clip", None)? {
                cell = cell.cell_clip(limit);
            }
            if let Some(size) = s.get::<Option<usize>>("num_proj", None)? {
                cell = cell.projection(size);
            }
            if let Some(limit) = s.get::<Option<f64>>("proj_clip", None)? {
                cell = cell.proj_clip(limit);
            }
            Box::new(cell)
        }
        other => return Err(wrong_type(format!("no cell '{other}'"))),
    })
}

/// One step of a cell.
#[pyfunction]
fn step(
    scope: &Bound<'_, Scope>,
    kind: &str,
    units: usize,
    settings: &Bound<'_, PyDict>,
    input: &Bound<'_, PyAny>,
    state: Vec<Bound<'_, PyAny>>,
) -> PyResult<Stepped> {
    let (py, scope) = (scope.py(), scope.get());
    let cell = cell(kind, units, &Settings(settings))?;
    let (y, next) = scope.build(py, |g| {
        let input = args::output_of(g, input, None, "input")?;
        let state: Vec<Output> = state
            .iter()
            .map(|s| args::output_of(g, s, Some(input.dtype()), "state"))
            .collect::<PyResult<_>>()?;
        if state.len() != cell.state_sizes().len() {
            return Err(wrong_type(format!(
                "the state of a {kind} cell has {} tensors, got {}",
                cell.state_sizes().len(),
                state.len()
            )));
        }
        Ok(cell.step(g, &input, &state))
    })?;
    let next = next.into_iter().map(|s| Tensor::new(py, s, &scope.home)).collect::<PyResult<_>>()?;
    Ok((Tensor::new(py, y, &scope.home)?, next))
}

/// A cell whose step is a function of Python, of the input and the tensors of the state.
struct OfPython<'a, 'py> {
    scope: &'a Scope,
    step: &'a Bound<'py, PyAny>,
    output_size: usize,
    state_sizes: Vec<usize>,
    failed: RefCell<Option<PyErr>>,
}

impl Cell for OfPython<'_, '_> {
    fn state_sizes(&self) -> Vec<usize> {
        self.state_sizes.clone()
    }

    fn output_size(&self) -> usize {
        self.output_size
    }

    fn step(&self, g: &client::Scope, input: &Output, state: &[Output]) -> (Output, Vec<Output>) {
        let given: Vec<Output> = std::iter::once(input).chain(state).cloned().collect();
        match call(self.scope, g, self.step, &given) {
            Ok(mut all) if all.len() == 1 + self.state_sizes.len() => (all.remove(0), all),
            other => {
                let count = wrong_type("the cell returned a state of another structure");
                self.failed.replace(Some(other.err().unwrap_or(count)));
                (input.clone(), state.to_vec())
            }
        }
    }
}

/// A cell of Python over a sequence: the outputs, and the final state.
#[pyfunction]
#[pyo3(signature = (scope, step, output_size, state_sizes, inputs, time_major, lengths, initial, parallel_iterations=32))]
#[expect(clippy::too_many_arguments, reason = "called by one function of the package")]
fn over_sequence(
    scope: &Bound<'_, Scope>,
    step: &Bound<'_, PyAny>,
    output_size: usize,
    state_sizes: Vec<usize>,
    inputs: &Bound<'_, PyAny>,
    time_major: bool,
    lengths: Option<&Bound<'_, PyAny>>,
    initial: Vec<Bound<'_, PyAny>>,
    parallel_iterations: i64,
) -> PyResult<Stepped> {
    let (py, scope) = (scope.py(), scope.get());
    let inputs = args::existing(inputs)?;
    let lengths = lengths.filter(|l| !l.is_none()).map(args::existing).transpose()?;
    let initial: Vec<Output> = initial.iter().map(args::existing).collect::<PyResult<_>>()?;
    let cell = OfPython { scope, step, output_size, state_sizes, failed: RefCell::default() };
    let found = scope.build(py, |g| {
        let sequence = Sequence {
            inputs: &inputs,
            time_major,
            lengths: lengths.as_ref(),
            initial_state: Some(&initial),
            parallel_iterations,
        };
        let found = train::over_sequence(g, &cell, &sequence);
        cell.failed.take().map_or(Ok(found), Err)
    });
    let (outputs, state) = found.inspect_err(|_| drop(scope.scope.take_error()))?;
    let state = state.into_iter().map(|s| Tensor::new(py, s, &scope.home)).collect::<PyResult<_>>()?;
    Ok((Tensor::new(py, outputs, &scope.home)?, state))
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let rnn = PyModule::new(m.py(), "rnn")?;
    rnn.add_function(wrap_pyfunction!(step, &rnn)?)?;
    rnn.add_function(wrap_pyfunction!(over_sequence, &rnn)?)?;
    m.add_submodule(&rnn)
}
