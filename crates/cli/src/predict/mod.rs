//! `thalweg predict`: what a trained model says about other rows or images.

mod images;
mod table;

use crate::failure::Outcome;
use crate::model_description::Description;
use crate::output;
use crate::train::{BEST_DIR, FormatArgs};
use std::path::{Path, PathBuf};
use thalweg::prelude::*;
use thalweg::train::saver::latest_checkpoint;
use thalweg_core::error::not_found;
use thalweg_core::invalid;
use thalweg_io::bundle::index_path;
use thalweg_io::durable::AtomicFile;
use thalweg_io::saved_model;

/// Predict by a model that `thalweg train csv`, `records` or `images` has made
///
/// Of a table: writes the rows with two more columns, the prediction and, of a class, its probability. If the rows have labels, the share
/// of right predictions (or the error) is printed. Of images: writes the name of each file, its class and the probability. The best
/// checkpoint is used if there is one, else the newest.
#[derive(clap::Args)]
pub struct Args {
    /// The --logdir or --export of the training run
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// A CSV or TFRecord file, whose columns are found by their names; or an image, or a folder of images or of a folder for each class
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// The CSV file that is written [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Use the newest checkpoint, even if an earlier one was better
    #[arg(long)]
    newest: bool,
    /// Threads for kernels; 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    #[command(flatten)]
    format: FormatArgs,
}

pub fn run(args: Args) -> Outcome {
    match Description::read(&args.model)? {
        Description::Table(schema) => table::run(&args, &schema),
        Description::Images(model) => images::run(&args, &model),
    }
}

/// The best checkpoint of a run, or its newest.
fn checkpoint(args: &Args) -> Result<PathBuf> {
    let folder = &args.model;
    let exported = saved_model::variables(folder);
    if index_path(&exported).is_file() {
        return match args.newest {
            true => {
                Err(invalid!("--newest has no effect on an exported model, which has one set of weights"))
            }
            false => Ok(exported),
        };
    }
    let best = if args.newest { None } else { latest_checkpoint(&folder.join(BEST_DIR))? };
    let found = match best {
        Some(best) => Some(best),
        None => latest_checkpoint(folder)?,
    };
    found.ok_or_else(|| not_found(format_args!("there is no whole checkpoint in {}", folder.display())))
}

/// A file that appears when it is complete, or standard output.
enum Target {
    File(AtomicFile),
    Output,
}

impl Target {
    fn create(path: Option<&Path>) -> Result<Target> {
        path.map_or(Ok(Target::Output), |p| AtomicFile::create(p).map(Target::File))
    }

    fn write(&mut self, bytes: &[u8]) -> Outcome {
        match self {
            Target::File(file) => Ok(file.write(bytes)?),
            Target::Output => output::print(&String::from_utf8_lossy(bytes)),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Target::File(file) => file.commit(),
            Target::Output => Ok(()),
        }
    }
}
