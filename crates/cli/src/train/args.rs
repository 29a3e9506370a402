//! Options of `thalweg train`, in groups: a program has those that it uses, and others are refused.

use super::cluster::ClusterArgs;
use super::optimizer;
use super::precision::Precision;
use super::schedule::ScheduleArgs;
use std::path::PathBuf;

/// Options of every program.
#[derive(clap::Args)]
pub struct RunArgs {
    /// Training steps
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Learning rate
    #[arg(long, value_name = "RATE")]
    pub lr: Option<f64>,
    #[command(flatten)]
    pub schedule: ScheduleArgs,
    /// The optimizer
    #[arg(long)]
    pub optimizer: Option<optimizer::Kind>,
    /// The type in which matrix products and convolutions are computed; weights are float
    #[arg(long, default_value = "float")]
    pub precision: Precision,
    /// Seed of the initial weights and of the order of the examples
    #[arg(long, default_value_t = 1)]
    pub seed: i64,
    /// Threads for kernels; 0 for one per core
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Directory of checkpoints and event files
    #[arg(long, value_name = "DIR")]
    pub logdir: Option<PathBuf>,
    /// Continue from the newest checkpoint in --logdir
    #[arg(long, requires = "logdir")]
    pub resume: bool,
    /// Delete the checkpoints and event files of an earlier run in --logdir first
    #[arg(long, requires = "logdir", conflicts_with = "resume")]
    pub overwrite: bool,
    /// Steps between checkpoints [default: ten in a run]
    #[arg(long, value_name = "N", requires = "logdir")]
    pub save_every: Option<u64>,
    /// Write the loss curve to an SVG file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the trained model to this directory, as a SavedModel
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
    /// Trace some of the steps, and print what each op costs at the end
    #[arg(long)]
    pub profile: bool,
    /// Print the results only
    #[arg(long, short)]
    pub quiet: bool,
    /// Print one JSON object a line instead of text
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Options of programs whose examples are divided into batches, and of which some are held back for validation.
#[derive(clap::Args)]
pub struct BatchArgs {
    /// Examples in a batch; at most the size of the training set
    #[arg(long, value_name = "N")]
    pub batch: Option<usize>,
    /// How often all examples are gone through, instead of --steps
    #[arg(long, value_name = "N", conflicts_with = "steps")]
    pub epochs: Option<u64>,
    /// Steps between validations [default: an epoch, or a fiftieth of the run if that is longer]
    #[arg(long, value_name = "N")]
    pub validate_every: Option<u64>,
    /// Stop when the validation loss has not fallen for N validations, and go back to the best checkpoint
    #[arg(long, value_name = "N")]
    pub early_stop: Option<u64>,
}

/// A program with batches and no options of its own.
#[derive(clap::Args)]
pub struct BatchedRun {
    // Before `run`, whose last options are under headings of their own.
    #[command(flatten)]
    pub batches: BatchArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

impl RunArgs {
    /// The first of the options that a task of a cluster has no use for.
    pub fn not_in_a_cluster(&self, batches: Option<&BatchArgs>) -> Option<&'static str> {
        let given = [
            (self.overwrite, "--overwrite"),
            (self.svg.is_some(), "--svg"),
            (self.export.is_some(), "--export"),
            (self.profile, "--profile"),
            (self.quiet, "--quiet"),
            (self.json, "--json"),
            (batches.is_some_and(|b| b.validate_every.is_some()), "--validate-every"),
            (batches.is_some_and(|b| b.early_stop.is_some()), "--early-stop"),
        ];
        given.iter().find(|(is, _)| *is).map(|(_, name)| *name)
    }
}
