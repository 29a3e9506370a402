//! `GraphFunction`: a graph that is called with values, and can be differentiated by tapes.

use super::{EagerTensor, EagerVariable, eager, tape};
use crate::errors::raise;
use crate::home::Home;
use crate::interrupts::{self, Prepare, Runner};
use crate::operation::Operation;
use crate::scope::Scope;
use crate::tensor::Tensor;
use crate::variables::Variable;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use std::sync::{Arc, OnceLock};
use thalweg_client as client;
use thalweg_client::eager::{GraphCall, Recorded, is_differentiable, saved_for_gradients};
use thalweg_client::{Callable, Output, RunOptions};

/// Inputs, results and effects of a graph as a function of values.
#[pyclass(frozen, weakref, module = "thalweg._engine")]
pub struct GraphFunction {
    scope: client::Scope,
    home: Home,
    session: Arc<client::Session>,
    feeds: Vec<Output>,
    fetches: Vec<Output>,
    targets: Vec<client::Operation>,
    /// Of the variables that it uses.
    handles: Vec<Output>,
    plain: OnceLock<Arc<Callable>>,
    recorded: OnceLock<(Arc<Callable>, Arc<GraphCall>)>,
    runner: Runner,
    forks: u64,
}

fn prepare(
    session: &Arc<client::Session>,
    feeds: &[Output],
    fetches: Vec<Output>,
    targets: &[client::Operation],
) -> client::Result<Arc<Callable>> {
    let feeds: Vec<&Output> = feeds.iter().collect();
    Ok(Arc::new(session.callable(&feeds, &(fetches, targets.to_vec()))?))
}

impl GraphFunction {
    /// With the tensors that its gradients need as further results.
    fn for_tapes(&self, number: u64) -> client::Result<(Arc<Callable>, Arc<GraphCall>)> {
        let graph = self.scope.graph()?;
        let ids = |list: &[Output]| list.iter().filter_map(Output::id).collect::<Vec<_>>();
        let (mut feeds, mut fetches) = (ids(&self.feeds), ids(&self.fetches));
        let float = |list: &[thalweg_core::node::Output]| {
            list.iter().copied().filter(|o| is_differentiable(graph.dtype(*o))).collect::<Vec<_>>()
        };
        feeds.extend(ids(&self.handles));
        // An op without a gradient is an error when one is asked for.
        let mut saved = saved_for_gradients(&graph, &float(&fetches), &float(&feeds)).unwrap_or_default();
        saved.retain(|o| !fetches.contains(o) && !feeds.contains(o));
        fetches.extend(saved);
        let outputs = fetches.iter().map(|o| self.scope.output_of(*o)).collect();
        let callable = prepare(&self.session, &self.feeds, outputs, &self.targets)?;
        Ok((callable, Arc::new(GraphCall { number, graph, feeds, fetches })))
    }
}

#[pymethods]
impl GraphFunction {
    #[new]
    fn new(
        scope: &Bound<'_, Scope>,
        feeds: Vec<Bound<'_, Tensor>>,
        fetches: Vec<Bound<'_, Tensor>>,
        targets: Vec<Bound<'_, Operation>>,
        variables: Vec<Bound<'_, Variable>>,
    ) -> PyResult<GraphFunction> {
        let (py, at) = (scope.py(), scope.get());
        let root = at.scope.root();
        let session = eager(py)?.session(&root).map_err(|e| raise(py, &at.home, &root, e))?;
        let outputs = |list: &[Bound<'_, Tensor>]| list.iter().map(|t| t.get().output.clone()).collect();
        Ok(GraphFunction {
            scope: root,
            home: at.home.share(py),
            session: Arc::new(session),
            feeds: outputs(&feeds),
            fetches: outputs(&fetches),
            targets: targets.iter().map(|t| t.get().op.clone()).collect(),
            handles: variables.iter().map(|v| v.get().variable.handle.clone()).collect(),
            plain: OnceLock::new(),
            recorded: OnceLock::new(),
            runner: Runner::default(),
            forks: interrupts::forks(),
        })
    }

    /// Runs it with values for its inputs. `variables` are those of eager execution, in the order of its own.
    fn __call__(
        &self,
        py: Python<'_>,
        values: Vec<Bound<'_, PyAny>>,
        variables: Vec<Bound<'_, EagerVariable>>,
    ) -> PyResult<Vec<Py<EagerTensor>>> {
        let eager = eager(py)?;
        let mut inputs = values.iter().map(super::value).collect::<PyResult<Vec<_>>>()?;
        let tensors: Vec<client::Tensor> = inputs.iter().map(|i| i.tensor.clone()).collect();
        let mut is_watched = false;
        if tape::is_recording() {
            variables.iter().for_each(tape::used);
            inputs.extend(variables.iter().map(|v| v.get().handle.clone()));
            is_watched = tape::watches(py, &inputs.iter().map(|i| i.id).collect::<Vec<_>>());
        }
        let fail = |e: client::Error| raise(py, &self.home, &self.scope, e);
        interrupts::check_fork(self.forks).map_err(fail)?;
        let known = match is_watched {
            false => match self.plain.get() {
                Some(known) => known.clone(),
                None => {
                    let made = py
                        .detach(|| prepare(&self.session, &self.feeds, self.fetches.clone(), &self.targets))
                        .map_err(fail)?;
                    self.plain.get_or_init(|| made).clone()
                }
            },
            true => match self.recorded.get() {
                Some(known) => known.0.clone(),
                None => {
                    let made = py.detach(|| self.for_tapes(eager.fresh_id())).map_err(fail)?;
                    self.recorded.get_or_init(|| made).0.clone()
                }
            },
        };
        let nothing: Prepare = Box::new(|_| Err(thalweg_core::error::internal("a function without a plan")));
        let ran = interrupts::run(py, &self.runner, Some(known), nothing, tensors, RunOptions::default())?;
        let (results, _) = ran.map_err(fail)?;
        let mut outputs: Vec<_> = results.into_iter().map(|t| eager.tensor(t)).collect();
        if let Some((_, call)) = self.recorded.get().filter(|_| is_watched) {
            tape::record(py, &Recorded::Call(call.clone()), &inputs, &outputs);
        }
        outputs.truncate(self.fetches.len());
        outputs.into_iter().map(|value| EagerTensor::new(py, value)).collect()
    }

    /// Runs operations of the graph, without values.
    fn run_operations(&self, py: Python<'_>, operations: Vec<Bound<'_, Operation>>) -> PyResult<()> {
        let targets: Vec<client::Operation> = operations.iter().map(|op| op.get().op.clone()).collect();
        let session = self.session.clone();
        let ran = py.detach(move || session.run(&targets, &[]));
        ran.map(|_| ()).map_err(|e| raise(py, &self.home, &self.scope, e))
    }

    /// The values of tensors of the graph.
    fn fetch(&self, py: Python<'_>, tensors: Vec<Bound<'_, Tensor>>) -> PyResult<Vec<Py<EagerTensor>>> {
        let wanted: Vec<Output> = tensors.iter().map(|t| t.get().output.clone()).collect();
        let session = self.session.clone();
        let found = py
            .detach(move || session.run(&wanted, &[]))
            .map_err(|e| raise(py, &self.home, &self.scope, e))?;
        let eager = eager(py)?;
        found.into_iter().map(|t| EagerTensor::new(py, eager.tensor(t))).collect()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.home.graph)
    }
}
