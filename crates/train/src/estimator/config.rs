//! `Estimator`: a model, and how it is run.

use super::spec::{EstimatorSpec, Mode, Model};
use crate::feature_column::Features;
use crate::hooks::Every;
use crate::monitored::ChiefSessionCreator;
use crate::saver::Keep;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use thalweg_client::{Output, Result, Scope, SessionOptions};
use thalweg_io::scratch::Scratch;

/// The directory of evaluations' event files, inside that of the model.
pub const EVAL_DIR: &str = "eval";

/// Trains, evaluates and predicts with a model, whose checkpoints are in a directory.
pub struct Estimator<M> {
    pub(super) model: M,
    pub(super) seed: Option<i64>,
    pub(super) save_checkpoints: Every,
    pub(super) keep: Keep,
    pub(super) save_summary_steps: u64,
    pub(super) log_every: Option<Every>,
    model_dir: Option<PathBuf>,
    /// Without a `model_dir`: created when it is needed, and deleted with the estimator.
    temporary: OnceLock<Scratch>,
    target: Option<String>,
    options: SessionOptions,
}

impl<M> Estimator<M> {
    /// An estimator of any model; the canned ones have their own `new`.
    pub fn of(model: M) -> Estimator<M> {
        Estimator {
            model,
            seed: None,
            save_checkpoints: Every::Seconds(600.0),
            keep: Keep::default(),
            save_summary_steps: 100,
            log_every: None,
            model_dir: None,
            temporary: OnceLock::new(),
            target: None,
            options: SessionOptions::default(),
        }
    }

    /// The directory of checkpoints and event files; training continues from the newest checkpoint. Without one, the model lasts as long as the
    /// estimator.
    pub fn model_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.model_dir = Some(path.as_ref().to_path_buf());
        self
    }

    /// The directory in use.
    pub fn dir(&self) -> &Path {
        match &self.model_dir {
            Some(path) => path,
            None => self.temporary.get_or_init(Scratch::new).root(),
        }
    }

    /// The directory of event files of evaluations, or of evaluations with this name.
    pub fn eval_dir(&self, name: Option<&str>) -> PathBuf {
        self.dir().join(name.map_or(EVAL_DIR.to_string(), |n| format!("{EVAL_DIR}_{n}")))
    }

    /// Seed of all random ops: with it every run gives the same model, with any number of threads.
    pub fn seed(mut self, seed: i64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How often training saves; at the start and the end in any case. Ten minutes by default.
    pub fn save_checkpoints(mut self, every: Every) -> Self {
        self.save_checkpoints = every;
        self
    }

    /// How many of the newest checkpoints stay: 5 by default, 0 for all.
    pub fn keep_checkpoint_max(mut self, count: usize) -> Self {
        self.keep.newest = count;
        self
    }

    /// Also keeps one older checkpoint for this many hours of training: 10,000 by default.
    pub fn keep_checkpoint_every_n_hours(mut self, hours: f64) -> Self {
        self.keep.every_n_hours = hours;
        self
    }

    /// Steps between summaries for TensorBoard: 100 by default, 0 for none.
    pub fn save_summary_steps(mut self, steps: u64) -> Self {
        self.save_summary_steps = steps;
        self
    }

    /// How often training logs its loss to standard error; never by default.
    pub fn log_every(mut self, every: Every) -> Self {
        self.log_every = Some(every);
        self
    }

    /// Threads, devices and time limits of its sessions.
    pub fn session_options(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// Runs on the server at `grpc://host:port`, which must have the directory under the same path.
    pub fn target(mut self, target: &str) -> Self {
        self.target = Some(target.to_string());
        self
    }

    pub(super) fn creator(&self) -> ChiefSessionCreator {
        let creator = ChiefSessionCreator::new().options(self.options.clone()).checkpoint_dir(self.dir());
        match &self.target {
            Some(target) => creator.target(target),
            None => creator,
        }
    }

    /// An empty graph with this estimator's seed.
    pub(super) fn graph(&self) -> Scope {
        let g = Scope::new();
        if let Some(seed) = self.seed {
            g.set_random_seed(seed);
        }
        g
    }
}

impl<F> Estimator<F>
where
    F: Fn(&Scope, &Features, Option<&Output>, Mode) -> Result<EstimatorSpec>,
{
    /// An estimator with a model function: it takes features, labels and mode, builds the model and returns its [`EstimatorSpec`].
    ///
    /// ```
    /// use thalweg_train::estimator::{Estimator, EstimatorSpec, Input, Mode};
    /// use thalweg_train::optimizers::{GradientDescent, Minimize};
    /// use thalweg_train::{get_or_create_global_step, layers::Dense, losses};
    ///
    /// let line = Estimator::with_model_fn(|g, features, labels, mode| {
    ///     let x = g.reshape(features.get("x")?, &[-1, 1]);
    ///     let y = g.reshape(&Dense::new(1).apply(g, &x), &[-1]);
    ///     let Some(labels) = labels else { return Ok(EstimatorSpec::predict([("y", &y)])) };
    ///     let loss = losses::mean_squared_error(g, labels, &y, None);
    ///     if mode == Mode::Evaluate {
    ///         return Ok(EstimatorSpec::evaluate(&loss));
    ///     }
    ///     let step = get_or_create_global_step(g);
    ///     Ok(EstimatorSpec::train(&loss, &GradientDescent::new(0.1).minimize(g, &loss, Some(&step))?))
    /// });
    /// let input = |g: &_| Input::of(g, [("x", vec![0f32, 1.0])], vec![1f32, 3.0]).with(|d| d.batch(2));
    /// line.train(|g| input(g).with(|d| d.repeat(None)), 300)?;
    /// assert!(line.evaluate(input)?["loss"] < 0.01);
    /// # Ok::<(), thalweg_client::Error>(())
    /// ```
    pub fn with_model_fn(model_fn: F) -> Estimator<F> {
        Estimator::of(model_fn)
    }
}

impl<M: Model> Estimator<M> {
    /// Builds the model and its input; an error if the spec lacks what the mode needs.
    pub(super) fn build(
        &self,
        g: &Scope,
        features: &Features,
        labels: Option<&Output>,
        mode: Mode,
    ) -> Result<EstimatorSpec> {
        let spec = self.model.build(g, features, labels, mode)?;
        g.check()?;
        let missing = match mode {
            Mode::Train if spec.train_op.is_none() => Some("train_op"),
            Mode::Train | Mode::Evaluate if spec.loss.is_none() => Some("loss"),
            Mode::Predict if spec.predictions.is_empty() => Some("predictions"),
            _ => None,
        };
        match missing {
            Some(what) => Err(super::invalid(format!(
                "the model function gave an EstimatorSpec without {what}, which Mode::{mode:?} needs"
            ))),
            None => Ok(spec),
        }
    }
}
