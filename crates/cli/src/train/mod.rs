//! `thalweg train`: the built-in training programs.

mod board;
mod cluster;
mod curve;
mod drive;
mod examples;
mod iris;
mod keep;
mod linear;
mod mnist;
mod optimizer;
pub use optimizer::Kind as OptimizerKind;
mod program;
mod progress;
mod ptb;
mod settings;
mod story;
mod summary;
mod tally;
mod xor;

use crate::failure::{Failure, Outcome};
use cluster::{ClusterTask, Role};
use program::Program;
pub use progress::PREFIX as PROGRESS_PREFIX;
use settings::Settings;
use std::path::PathBuf;
use thalweg_core::error::invalid_argument;

/// Train one of the built-in models
///
/// With TF_CONFIG in the environment it is one task of a cluster: a ps serves the variables; the chief (worker 0 if there is none)
/// initialises them or restores the newest checkpoint in --logdir, saves, and prints the results; workers wait for the chief and train; an
/// evaluator evaluates each new checkpoint. --steps counts the updates of all workers together. `thalweg local` starts a whole cluster.
///
/// A task that loses another reopens its session; the chief then restores the newest whole checkpoint. On SIGTERM the chief saves, and
/// every task exits with 143 (130 on Ctrl-C); with 138 if other tasks stay unreachable. Schedulers restart tasks with such codes; 1 and 2 are
/// permanent errors.
#[derive(clap::Args)]
pub struct Args {
    /// What to train
    program: Name,
    /// Training steps
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Examples in a batch; at most the size of the training set
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Learning rate
    #[arg(long, value_name = "RATE")]
    lr: Option<f64>,
    /// The optimizer
    #[arg(long)]
    optimizer: Option<optimizer::Kind>,
    /// Seed of the initial weights and of the order of the examples
    #[arg(long, default_value_t = 1)]
    seed: i64,
    /// Threads for kernels; 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// For mnist: which model
    #[arg(long, default_value = "mlp")]
    model: mnist::Kind,
    /// The data: a directory with MNIST's four files, or for ptb a text file
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Directory of checkpoints and event files
    #[arg(long, value_name = "DIR")]
    logdir: Option<PathBuf>,
    /// Continue from the newest checkpoint in --logdir
    #[arg(long, requires = "logdir")]
    resume: bool,
    /// Steps between checkpoints [default: ten in a run]
    #[arg(long, value_name = "N", requires = "logdir")]
    save_every: Option<u64>,
    /// Write the loss curve to an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    cluster: cluster::ClusterArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    /// y = 0.1 x + 0.3, found from a hundred points
    Linear,
    /// The exclusive or, by a net with one hidden layer
    Xor,
    /// Classify three kinds of iris by four lengths; the data is built in
    Iris,
    /// Handwritten digits, by a multilayer perceptron or a convolutional net
    Mnist,
    /// A language model: the next word of a text, by an LSTM
    Ptb,
    /// Counts gradients, for tests of clusters
    #[value(hide = true)]
    Tally,
}

pub fn run(args: Args) -> Outcome {
    let task = ClusterTask::from_environment()?;
    // It loads no data.
    if let Some(task) = task.as_ref().filter(|t| t.role == Role::ParameterServer) {
        return cluster::serve_parameters(task, args.threads, args.logdir.as_deref(), &args.cluster);
    }
    if args.data.is_some() && !matches!(args.program, Name::Mnist | Name::Ptb) {
        return Err(Failure::Usage(invalid_argument(
            "--data is for mnist and ptb; this program's data is built in",
        )));
    }
    let program: Box<dyn Program> = match args.program {
        Name::Linear => Box::new(linear::Linear::new()),
        Name::Xor => Box::new(xor::Xor),
        Name::Iris => Box::new(iris::Iris::load()),
        Name::Mnist => Box::new(mnist::Mnist::load(args.data.as_deref(), args.model)?),
        Name::Ptb => Box::new(ptb::Ptb::load(args.data.as_deref())?),
        Name::Tally => Box::new(tally::Tally),
    };
    let settings = Settings::new(&args, &*program)?;
    match task {
        Some(task) => cluster::run_task(&task, &*program, settings, &args.cluster),
        None => drive::train(&*program, &settings),
    }
}
