//! `thalweg train`: the training programs.

mod args;
mod board;
mod cluster;
mod curve;
mod drive;
mod examples;
mod export;
mod iris;
mod judge;
mod keep;
mod linear;
mod mnist;
mod own_images;
mod own_table;
pub use own_table::FormatArgs;
mod optimizer;
pub use optimizer::Kind as OptimizerKind;
mod precision;
mod profile;
mod program;
mod progress;
mod ptb;
mod schedule;
mod settings;
mod shuffled;
mod story;
mod summary;
mod tally;
mod target_files;
mod validate;
pub use validate::BEST_DIR;
mod xor;

use crate::failure::{Failure, Outcome};
use args::{BatchArgs, BatchedRun, RunArgs};
use cluster::{ClusterTask, Role};
use program::Program;
pub use progress::PREFIX as PROGRESS_PREFIX;
use settings::Settings;
use thalweg_core::error::Result;
use thalweg_core::invalid;

/// Train a model: one of the built-in programs, or one on your own data
///
/// With TF_CONFIG in the environment it is one task of a cluster: a ps serves the variables; the chief (worker 0 if there is none)
/// initialises them or restores the newest checkpoint in --logdir, saves, and prints the results; workers wait for the chief and train; an
/// evaluator evaluates each new checkpoint. --steps counts the updates of all workers together. `thalweg local` starts a whole cluster.
///
/// A task that loses another reopens its session; the chief then restores the newest whole checkpoint. On SIGTERM the chief saves, and
/// every task exits with 143 (130 on Ctrl-C); with 138 if other tasks stay unreachable. Schedulers restart tasks with such codes; 1 and 2 are
/// permanent errors.
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    choice: Choice,
}

#[derive(clap::Subcommand)]
enum Choice {
    /// y = 0.1 x + 0.3, found from a hundred points
    Linear(Box<RunArgs>),
    /// The exclusive or, by a net with one hidden layer
    Xor(Box<RunArgs>),
    /// Classify three kinds of iris by four lengths; the data is built in
    Iris(Box<BatchedRun>),
    /// Handwritten digits, by a multilayer perceptron or a convolutional net
    Mnist(Box<mnist::Args>),
    /// A language model: the next word of a text, by an LSTM
    Ptb(Box<ptb::Args>),
    /// The label of each row of a CSV file of yours, by a deep net
    Csv(Box<own_table::CsvArgs>),
    /// The same for TFRecord files of tf.Example
    Records(Box<own_table::RecordsArgs>),
    /// The same for Parquet files
    #[cfg(feature = "parquet")]
    Parquet(Box<own_table::ParquetArgs>),
    /// Images of yours, in a folder for each class, by a small convolutional net
    Images(Box<own_images::Args>),
    /// Counts gradients, for tests of clusters
    #[command(hide = true)]
    Tally(Box<RunArgs>),
}

impl Choice {
    fn run_args(&self) -> &RunArgs {
        match self {
            Choice::Linear(run) | Choice::Xor(run) | Choice::Tally(run) => run,
            Choice::Iris(args) => &args.run,
            Choice::Mnist(args) => &args.run,
            Choice::Ptb(args) => &args.run,
            Choice::Images(args) => &args.run,
            Choice::Csv(args) => &args.table.run,
            Choice::Records(args) => &args.table.run,
            #[cfg(feature = "parquet")]
            Choice::Parquet(args) => &args.table.run,
        }
    }

    fn batch_args(&self) -> Option<&BatchArgs> {
        match self {
            Choice::Linear(_) | Choice::Xor(_) | Choice::Tally(_) => None,
            Choice::Iris(args) => Some(&args.batches),
            Choice::Mnist(args) => Some(&args.batches),
            Choice::Ptb(args) => Some(&args.batches),
            Choice::Images(args) => Some(&args.batches),
            Choice::Csv(args) => Some(&args.table.batches),
            Choice::Records(args) => Some(&args.table.batches),
            #[cfg(feature = "parquet")]
            Choice::Parquet(args) => Some(&args.table.batches),
        }
    }

    fn load(&self) -> Result<Box<dyn Program>> {
        Ok(match self {
            Choice::Linear(_) => Box::new(linear::Linear::new()),
            Choice::Xor(_) => Box::new(xor::Xor),
            Choice::Iris(_) => Box::new(iris::Iris::load()),
            Choice::Mnist(args) => Box::new(mnist::Mnist::load(args)?),
            Choice::Ptb(args) => Box::new(ptb::Ptb::load(args)?),
            Choice::Csv(args) => Box::new(own_table::OwnTable::csv(args)?),
            Choice::Records(args) => Box::new(own_table::OwnTable::records(args)?),
            #[cfg(feature = "parquet")]
            Choice::Parquet(args) => Box::new(own_table::OwnTable::parquet(args)?),
            Choice::Images(args) => Box::new(own_images::OwnImages::load(args)?),
            Choice::Tally(_) => Box::new(tally::Tally),
        })
    }
}

pub fn run(args: Args) -> Outcome {
    let task = ClusterTask::from_environment()?;
    let (run, batches) = (args.choice.run_args(), args.choice.batch_args());
    // It loads no data.
    if let Some(task) = task.as_ref().filter(|t| t.role == Role::ParameterServer) {
        return cluster::serve_parameters(task, run.threads, run.logdir.as_deref(), &run.cluster);
    }
    let unused = match task {
        Some(_) => run.not_in_a_cluster(batches).map(|name| invalid!("{name} has no effect in a cluster")),
        None => run.cluster.given().map(|name| {
            invalid!("{name} has no effect outside of a cluster, which TF_CONFIG or thalweg local makes")
        }),
    };
    if let Some(e) = unused {
        return Err(Failure::Usage(e));
    }
    let program = args.choice.load()?;
    let settings = Settings::new(run, batches, &*program)?;
    match task {
        Some(task) => cluster::run_task(&task, &*program, settings, &run.cluster),
        None => drive::train(&*program, &settings),
    }
}
