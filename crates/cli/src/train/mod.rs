//! `thalweg train`: the built-in training programs.

mod curve;
mod drive;
mod examples;
mod iris;
mod keep;
mod linear;
mod mnist;
mod optimizer;
mod program;
mod progress;
mod ptb;
mod settings;
mod story;
mod summary;
mod xor;

use crate::failure::Outcome;
use program::Program;
use settings::Settings;
use std::path::PathBuf;

/// Train one of the built-in models
#[derive(clap::Args)]
pub struct Args {
    /// What to train
    program: Name,
    /// Training steps
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Examples in a batch
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Learning rate
    #[arg(long, value_name = "RATE")]
    lr: Option<f64>,
    /// What changes the weights
    #[arg(long)]
    optimizer: Option<optimizer::Kind>,
    /// Seed of the first weights and of the order of the examples
    #[arg(long, default_value_t = 1)]
    seed: i64,
    /// Threads for kernels; 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// For mnist: which model
    #[arg(long, default_value = "mlp")]
    model: mnist::Kind,
    /// Where the data is: a folder with MNIST's four files, or for ptb a text file
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Folder for checkpoints and TensorBoard's event files
    #[arg(long, value_name = "DIR")]
    logdir: Option<PathBuf>,
    /// Go on from the newest checkpoint in --logdir
    #[arg(long, requires = "logdir")]
    resume: bool,
    /// Steps between checkpoints [default: ten in a run]
    #[arg(long, value_name = "N", requires = "logdir")]
    save_every: Option<u64>,
    /// Where to write the loss curve as an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    /// y = 0.1 x + 0.3, found from a hundred points
    Linear,
    /// The exclusive or, by a net with one hidden layer
    Xor,
    /// Three kinds of iris told apart by four lengths; the data is built in
    Iris,
    /// Handwritten digits, by a multilayer perceptron or a convolutional net
    Mnist,
    /// A language model: the next word of a text, by an LSTM
    Ptb,
}

pub fn run(args: Args) -> Outcome {
    let program: Box<dyn Program> = match args.program {
        Name::Linear => Box::new(linear::Linear::new()),
        Name::Xor => Box::new(xor::Xor),
        Name::Iris => Box::new(iris::Iris::load()),
        Name::Mnist => Box::new(mnist::Mnist::load(args.data.as_deref(), args.model)?),
        Name::Ptb => Box::new(ptb::Ptb::load(args.data.as_deref())?),
    };
    let settings = Settings::new(&args, program.defaults())?;
    drive::train(&*program, &settings)
}
