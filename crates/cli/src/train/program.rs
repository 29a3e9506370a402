//! `Program`: a model and its data, for the training loop.

use super::board::Shown;
use super::settings::{Defaults, Settings};
use thalweg::prelude::*;
use thalweg::train::sync_replicas::SyncTraining;

pub trait Program {
    /// The title line of the output.
    fn title(&self) -> String;

    /// What is printed before the title: what the data looks like.
    fn preface(&self) -> String {
        String::new()
    }

    fn defaults(&self) -> Defaults;

    /// Settings of its own by which TensorBoard compares runs, beside those that all have.
    fn own_settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Shows some of the data in TensorBoard, when a run starts.
    fn show(&self, _board: &mut Shown<'_>) -> Result<()> {
        Ok(())
    }

    /// Whether its model multiplies matrices.
    fn has_products(&self) -> bool {
        true
    }

    /// The size of the training set, and the maximum of a batch.
    fn examples(&self) -> usize;

    /// Builds the graph.
    fn model(&self, g: &Scope, settings: &Settings) -> Result<Model>;

    /// The values of the model's feeds for a step: a function of the step and the seed alone, so that a resumed run
    /// sees the same batches.
    fn batch(&self, step: u64, settings: &Settings) -> Result<Vec<Tensor>>;

    /// A batch of the examples that are held back, by its number; `None` after the last.
    fn validation_batch(&self, _number: usize, _settings: &Settings) -> Result<Option<Held>> {
        Ok(None)
    }

    /// Builds the model for its use, with the same variables; `None` if it has no inputs.
    fn serving(&self, _g: &Scope) -> Result<Option<Serving>> {
        Ok(None)
    }

    /// What a later `thalweg predict` needs to know, as JSON: written to the logdir.
    fn description(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// The results: rows of a table.
    fn results(&self, trained: &Trained<'_>) -> Result<Vec<[String; 2]>>;

    /// More text after the table of results, which was made before.
    fn details(&self) -> String {
        String::new()
    }
}

/// A batch for validation.
pub struct Held {
    /// The values of the model's feeds.
    pub feeds: Vec<Tensor>,
    pub examples: usize,
}

/// A model as others use it: inputs and outputs by name.
pub struct Serving {
    pub inputs: Vec<(String, Output)>,
    pub outputs: Vec<(String, Output)>,
}

/// A graph to train.
pub struct Model {
    pub train: Training,
    pub loss: Output,
    /// A metric shown beside the loss, with its name.
    pub shown: Option<(&'static str, Output)>,
    pub feeds: Vec<Output>,
    /// What `results` fetches.
    pub outputs: Vec<Output>,
}

impl Model {
    /// The loss, and the metric if there is one.
    pub fn measures(&self) -> Vec<Output> {
        std::iter::once(&self.loss).chain(self.shown.iter().map(|(_, o)| o)).cloned().collect()
    }

    /// The names of `measures`.
    pub fn measure_names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once("loss").chain(self.shown.as_ref().map(|(name, _)| *name))
    }
}

/// The nodes of a training step.
pub struct Training {
    pub step: Operation,
    /// Scalars of the step, for TensorBoard.
    pub watched: Vec<(&'static str, Output)>,
    /// For synchronous replicas.
    pub sync: Option<SyncTraining>,
}

/// A model after training.
pub struct Trained<'a> {
    pub session: &'a Session,
    pub model: &'a Model,
    pub settings: &'a Settings,
}
