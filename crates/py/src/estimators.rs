//! Estimators of `train`: the canned ones by their names in TensorFlow, and models that are functions of Python. An estimator is made for each
//! call, from the settings that the package keeps.

use crate::args;
use crate::columns::{self, FeatureColumn};
use crate::errors::{plain, raise, wrong_type};
use crate::home::Home;
use crate::hooks::{self, Shared};
use crate::initializers::Settings;
use crate::layers;
use crate::optimizers::Optimizer;
use crate::scope::Scope;
use crate::values;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_client as client;
use thalweg_client::{Output, Result};
use thalweg_train::estimator::{
    self as train, DNNClassifier, DNNLinearCombinedClassifier, DNNLinearCombinedRegressor, DNNRegressor,
    Estimator, EstimatorSpec, Headed, Input, LinearClassifier, LinearRegressor, Mode, Model, OnePart,
    Predictions, Reduction,
};
use thalweg_train::feature_column::{self, Features};
use thalweg_train::hooks::{Every, Hook, StopAtStepHook};
use thalweg_train::metrics::Metric;
use thalweg_train::optimizers as updates;

/// A run of an estimator: the functions of Python, and the graph that they build.
struct Run {
    /// Of the graph: features by name, and labels.
    input: Py<PyAny>,
    /// Of the mode: the parts of an EstimatorSpec.
    model: Option<Py<PyAny>>,
    shared: Mutex<Option<(Shared, client::Scope)>>,
}

impl Run {
    fn shared(&self) -> Option<(Shared, client::Scope)> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Calls the input function on a new graph.
    fn input(&self, g: &client::Scope) -> Result<Input> {
        Python::attach(|py| self.begin(py, g)).map_err(|e| match self.shared() {
            Some((shared, _)) => shared.fail(e),
            None => client::Error::new(client::Code::Unknown, e.to_string()),
        })
    }

    fn begin(&self, py: Python<'_>, g: &client::Scope) -> PyResult<Input> {
        let graph = py.import("thalweg._graphs")?.call_method0("_graph_without_root")?;
        let home = Home::new(graph.clone().unbind());
        graph.setattr("_root", Scope::of(py, g.clone(), &home)?)?;
        let shared = Shared::new(home);
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = Some((shared.clone(), g.clone()));
        let found = shared.call(py, "_called", (&self.input, PyTuple::empty(py)).into_pyobject(py)?)?;
        let (features, labels): (BTreeMap<String, Bound<'_, PyAny>>, Option<Bound<'_, PyAny>>) =
            found.extract()?;
        let labels = labels.map(|l| args::existing(&l)).transpose()?;
        Ok(Input::tensors(columns::features(&features)?, labels))
    }

    /// The exception of Python that ended a run, or else the engine's error.
    fn raised(&self, py: Python<'_>, e: client::Error) -> PyErr {
        match self.shared() {
            Some((shared, scope)) => shared.exception().unwrap_or_else(|| raise(py, &shared.home, &scope, e)),
            None => plain(py, e),
        }
    }
}

/// A model function of Python.
struct OfPython(Arc<Run>);

impl Model for OfPython {
    fn build(
        &self,
        _: &client::Scope,
        _: &Features,
        _: Option<&Output>,
        mode: Mode,
    ) -> Result<EstimatorSpec> {
        let Some((shared, _)) = self.0.shared() else { return Ok(EstimatorSpec::default()) };
        let made = Python::attach(|py| {
            let mode = match mode {
                Mode::Train => "train",
                Mode::Evaluate => "eval",
                Mode::Predict => "infer",
            };
            let model = self.0.model.as_ref().ok_or_else(|| wrong_type("no model function"))?;
            let made = shared.call(py, "_called", (model, (mode,)).into_pyobject(py)?)?;
            spec(&made, &shared)
        });
        made.map_err(|e| shared.fail(e))
    }
}

/// The parts of a spec that the package has taken apart.
fn spec(made: &Bound<'_, PyAny>, shared: &Shared) -> PyResult<EstimatorSpec> {
    let part = |name: &str| made.get_item(name);
    let mut found = EstimatorSpec::default();
    let predictions: Vec<(String, Bound<'_, PyAny>)> = part("predictions")?.extract()?;
    for (name, value) in &predictions {
        found.predictions.push((name.clone(), args::existing(value)?));
    }
    let (loss, train_op) = (part("loss")?, part("train_op")?);
    if !loss.is_none() {
        found.loss = Some(args::existing(&loss)?);
    }
    if !train_op.is_none() {
        found.train_op = Some(args::operation_of(&train_op)?);
    }
    let metrics: Vec<(String, Bound<'_, PyAny>, Bound<'_, PyAny>)> = part("metrics")?.extract()?;
    for (name, value, update) in &metrics {
        let (value, update) = (args::existing(value)?, args::operation_of(update)?);
        let metric = Metric { updated: value.clone(), value, reset: update.clone(), update };
        found.metrics.push((name.clone(), metric));
    }
    for hook in part("hooks")?.try_iter()? {
        found.hooks.push(hooks::of(&hook?, shared)?);
    }
    Ok(found)
}

/// What is done with an estimator.
enum Job {
    Train { hooks: Vec<Py<PyAny>>, steps: Option<u64>, max_steps: Option<u64> },
    Evaluate { steps: Option<u64>, name: Option<String> },
    Predict,
}

enum Done {
    Trained,
    Evaluated(train::Evaluation),
    Predicting(Predictions),
}

/// Settings of any estimator.
struct Common {
    model_dir: PathBuf,
    seed: Option<i64>,
    every: Every,
    keep: usize,
    summaries: u64,
}

/// Asks for signals between steps.
struct Signals(Shared);

impl Hook for Signals {
    fn after_run(
        &mut self,
        _: &mut thalweg_train::hooks::RunContext<'_>,
        _: &[client::Tensor],
    ) -> Result<()> {
        Python::attach(|py| py.check_signals()).map_err(|e| self.0.fail(e))
    }
}

fn perform<M: Model>(estimator: Estimator<M>, common: Common, run: &Arc<Run>, job: Job) -> Result<Done> {
    let mut estimator = estimator
        .model_dir(&common.model_dir)
        .save_checkpoints(common.every)
        .keep_checkpoint_max(common.keep)
        .save_summary_steps(common.summaries);
    if let Some(seed) = common.seed {
        estimator = estimator.seed(seed);
    }
    match job {
        Job::Train { hooks, steps, max_steps } => {
            // Hooks need the graph of the run, which the input makes.
            let late = Late { run: run.clone(), hooks, made: Vec::new() };
            let mut all: Vec<Box<dyn Hook>> = vec![Box::new(late)];
            all.extend(steps.map(|n| Box::new(StopAtStepHook::num_steps(n)) as Box<dyn Hook>));
            all.extend(max_steps.map(|n| Box::new(StopAtStepHook::last_step(n)) as Box<dyn Hook>));
            estimator.train_with(|g| run.input(g), all)?;
            Ok(Done::Trained)
        }
        Job::Evaluate { steps, name } => {
            estimator.evaluate_with(|g| run.input(g), steps, name.as_deref()).map(Done::Evaluated)
        }
        Job::Predict => estimator.predict(|g| run.input(g)).map(Done::Predicting),
    }
}

/// Hooks of Python, made when the loop begins.
struct Late {
    run: Arc<Run>,
    hooks: Vec<Py<PyAny>>,
    made: Vec<(Box<dyn Hook>, usize)>,
}

impl Hook for Late {
    fn begin(&mut self, g: &client::Scope) -> Result<()> {
        let Some((shared, _)) = self.run.shared() else { return Ok(()) };
        let made = Python::attach(|py| hooks::all(py, &self.hooks, &shared)).map_err(|e| shared.fail(e))?;
        let signals: Box<dyn Hook> = Box::new(Signals(shared));
        self.made = made.into_iter().chain([signals]).map(|hook| (hook, 0)).collect();
        self.made.iter_mut().try_for_each(|(hook, _)| hook.begin(g))
    }

    fn after_create_session(&mut self, run: &mut thalweg_train::hooks::RunContext<'_>) -> Result<()> {
        self.made.iter_mut().try_for_each(|(hook, _)| hook.after_create_session(run))
    }

    fn before_run(&mut self, step: i64) -> Vec<Output> {
        let mut all = Vec::new();
        for (hook, count) in &mut self.made {
            let asked = hook.before_run(step);
            *count = asked.len();
            all.extend(asked);
        }
        all
    }

    fn after_run(
        &mut self,
        run: &mut thalweg_train::hooks::RunContext<'_>,
        values: &[client::Tensor],
    ) -> Result<()> {
        let mut rest = values;
        for (hook, count) in &mut self.made {
            let (own, others) = rest.split_at_checked(*count).unwrap_or((rest, &[]));
            hook.after_run(run, own)?;
            rest = others;
        }
        Ok(())
    }

    fn end(&mut self, run: &mut thalweg_train::hooks::RunContext<'_>) -> Result<()> {
        self.made.iter_mut().try_for_each(|(hook, _)| hook.end(run))
    }
}

/// An optimizer of Python that an estimator keeps.
struct Kept(Py<Optimizer>);

impl Kept {
    fn get(&self) -> &(dyn updates::Optimizer + Send + Sync) {
        &*self.0.get().0
    }
}

impl updates::Optimizer for Kept {
    fn name(&self) -> &'static str {
        self.get().name()
    }

    fn settings(&self) -> Vec<(&'static str, updates::Setting)> {
        self.get().settings()
    }

    fn slots(&self) -> Vec<updates::Slot> {
        self.get().slots()
    }

    fn powers(&self) -> Vec<updates::Power> {
        self.get().powers()
    }

    fn dense(&self, u: &updates::Update<'_>, gradient: &Output) -> client::Operation {
        self.get().dense(u, gradient)
    }

    fn sparse(&self, u: &updates::Update<'_>, rows: &client::IndexedSlices) -> client::Operation {
        self.get().sparse(u, rows)
    }

    fn check(&self) -> Result<()> {
        self.get().check()
    }

    fn use_locking(&self) -> bool {
        self.get().use_locking()
    }

    fn sums_rows(&self) -> bool {
        self.get().sums_rows()
    }
}

/// Settings of canned estimators.
#[derive(Default)]
struct Canned {
    columns: Vec<feature_column::FeatureColumn>,
    linear_columns: Vec<feature_column::FeatureColumn>,
    hidden_units: Vec<usize>,
    classes: usize,
    labels: usize,
    vocabulary: Vec<String>,
    weight_column: Option<String>,
    mean: bool,
    dropout: f64,
    activation: String,
    optimizer: Option<Py<Optimizer>>,
    linear_optimizer: Option<Py<Optimizer>>,
}

impl Canned {
    fn of(s: &Settings<'_, '_>) -> PyResult<Canned> {
        let listed = |name: &str| -> PyResult<Vec<feature_column::FeatureColumn>> {
            let list: Vec<Bound<'_, FeatureColumn>> = s.get(name, Vec::new())?;
            Ok(columns::columns(&list))
        };
        Ok(Canned {
            columns: listed("feature_columns")?,
            linear_columns: listed("linear_feature_columns")?,
            hidden_units: s.get("hidden_units", Vec::new())?,
            classes: s.get("n_classes", 2)?,
            labels: s.get("label_dimension", 1)?,
            vocabulary: s.get("label_vocabulary", Vec::new())?,
            weight_column: s.get("weight_column", None)?,
            mean: s.get("loss_is_mean", false)?,
            dropout: s.number("dropout", 0.0)?,
            activation: s.get("activation", String::from("Relu"))?,
            optimizer: s.get("optimizer", None)?,
            linear_optimizer: s.get("linear_optimizer", None)?,
        })
    }

    fn headed<M: Headed>(&self, e: Estimator<M>) -> Estimator<M> {
        let e = e.loss_reduction(if self.mean { Reduction::Mean } else { Reduction::Sum });
        match &self.weight_column {
            Some(feature) => e.weight_column(feature),
            None => e,
        }
    }

    fn one_part<M: OnePart>(&mut self, e: Estimator<M>) -> Estimator<M> {
        let e = e.columns(std::mem::take(&mut self.columns));
        match self.optimizer.take() {
            Some(optimizer) => e.optimizer(Kept(optimizer)),
            None => e,
        }
    }

    fn classes<M: Headed<Head = train::Classifier>>(&self, e: Estimator<M>) -> Estimator<M> {
        self.headed(e).label_vocabulary(self.vocabulary.iter().map(String::as_str))
    }

    fn numbers<M: Headed<Head = train::Regressor>>(&self, e: Estimator<M>) -> Estimator<M> {
        self.headed(e).label_dimension(self.labels)
    }

    fn deep<H: train::Head>(&mut self, e: Estimator<train::Dnn<H>>) -> PyResult<Estimator<train::Dnn<H>>> {
        let activation = layers::activation(&self.activation)?;
        Ok(self.one_part(e).activation(activation).dropout(self.dropout))
    }

    fn combined<H: train::Head>(
        &mut self,
        e: Estimator<train::DnnLinearCombined<H>>,
    ) -> PyResult<Estimator<train::DnnLinearCombined<H>>> {
        let mut e = e
            .linear_columns(std::mem::take(&mut self.linear_columns))
            .dnn_columns(std::mem::take(&mut self.columns))
            .dnn_hidden_units(&self.hidden_units)
            .dnn_activation(layers::activation(&self.activation)?)
            .dnn_dropout(self.dropout);
        if let Some(optimizer) = self.optimizer.take() {
            e = e.dnn_optimizer(Kept(optimizer));
        }
        if let Some(optimizer) = self.linear_optimizer.take() {
            e = e.linear_optimizer(Kept(optimizer));
        }
        Ok(e)
    }

    fn perform(mut self, kind: &str, common: Common, run: &Arc<Run>, job: Job) -> PyResult<Result<Done>> {
        Ok(match kind {
            "" => perform(Estimator::of(OfPython(run.clone())), common, run, job),
            "DNNClassifier" => {
                let e = self.classes(DNNClassifier::new(&self.hidden_units, self.classes));
                perform(self.deep(e)?, common, run, job)
            }
            "DNNRegressor" => {
                let e = self.numbers(DNNRegressor::new(&self.hidden_units));
                perform(self.deep(e)?, common, run, job)
            }
            "LinearClassifier" => {
                let e = self.classes(LinearClassifier::new(self.classes));
                perform(self.one_part(e), common, run, job)
            }
            "LinearRegressor" => {
                let e = self.numbers(LinearRegressor::new());
                perform(self.one_part(e), common, run, job)
            }
            "DNNLinearCombinedClassifier" => {
                let e = self.classes(DNNLinearCombinedClassifier::new(self.classes));
                perform(self.combined(e)?, common, run, job)
            }
            "DNNLinearCombinedRegressor" => {
                let e = self.numbers(DNNLinearCombinedRegressor::new());
                perform(self.combined(e)?, common, run, job)
            }
            other => return Err(wrong_type(format!("no estimator '{other}'"))),
        })
    }
}

fn common(s: &Settings<'_, '_>) -> PyResult<Common> {
    let every = match s.get::<Option<u64>>("save_checkpoints_steps", None)? {
        Some(steps) => Every::Steps(steps),
        None => Every::Seconds(s.get::<Option<f64>>("save_checkpoints_secs", None)?.unwrap_or(f64::INFINITY)),
    };
    Ok(Common {
        model_dir: s.get("model_dir", PathBuf::new())?,
        seed: s.get("tf_random_seed", None)?,
        every,
        keep: s.get("keep_checkpoint_max", 5)?,
        summaries: s.get("save_summary_steps", 100)?,
    })
}

/// The predictions of an estimator, one example after another.
#[pyclass(frozen, module = "thalweg._engine")]
struct Predicted {
    found: Mutex<Predictions>,
    run: Arc<Run>,
}

#[pymethods]
impl Predicted {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let next = py.detach(|| self.found.lock().unwrap_or_else(PoisonError::into_inner).next());
        let Some(next) = next.transpose().map_err(|e| self.run.raised(py, e))? else { return Ok(None) };
        let named = PyDict::new(py);
        let names: Vec<String> = next.names().map(str::to_string).collect();
        for name in names {
            let tensor = next.get(&name).map_err(|e| plain(py, e))?.clone();
            named.set_item(name, values::to_python(py, tensor)?)?;
        }
        Ok(Some(named))
    }
}

/// Trains, evaluates or predicts with an estimator of these settings.
#[pyfunction]
#[pyo3(signature = (job, kind, settings, input, model=None, hooks=vec![], steps=None, max_steps=None, name=None))]
#[expect(clippy::too_many_arguments, reason = "called by one function of the package")]
fn run_estimator(
    py: Python<'_>,
    job: &str,
    kind: &str,
    settings: &Bound<'_, PyDict>,
    input: Py<PyAny>,
    model: Option<Py<PyAny>>,
    hooks: Vec<Py<PyAny>>,
    steps: Option<u64>,
    max_steps: Option<u64>,
    name: Option<String>,
) -> PyResult<Py<PyAny>> {
    let s = Settings(settings);
    let (canned, common) = (Canned::of(&s)?, common(&s)?);
    let job = match job {
        "train" => Job::Train { hooks, steps, max_steps },
        "evaluate" => Job::Evaluate { steps, name },
        "predict" => Job::Predict,
        other => return Err(wrong_type(format!("cannot {other}"))),
    };
    let run = Arc::new(Run { input, model, shared: Mutex::default() });
    let done = py.detach(|| canned.perform(kind, common, &run, job))?;
    match done.map_err(|e| run.raised(py, e))? {
        Done::Trained => Ok(py.None()),
        Done::Evaluated(found) => {
            let metrics: Vec<(String, f32)> = found.metrics.into_iter().collect();
            Ok((metrics, found.global_step).into_pyobject(py)?.into_any().unbind())
        }
        Done::Predicting(found) => Ok(Py::new(py, Predicted { found: Mutex::new(found), run })?.into_any()),
    }
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Predicted>()?;
    m.add_function(wrap_pyfunction!(run_estimator, m)?)
}
