//! `thalweg convert`: models and weights in other forms.

mod freeze;
mod subgraph;
mod weights;

use crate::failure::Outcome;
use crate::output;
use std::path::PathBuf;

/// Freeze a model, strip a graph, or convert weights between checkpoints, .npz and .safetensors
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Write a SavedModel's signature as one GraphDef, with its variables as constants
    Freeze {
        /// The directory of a SavedModel
        model: PathBuf,
        /// The file to write; as text if it ends in .pbtxt
        out: PathBuf,
        /// The signature that the graph computes [default: serving_default]
        #[arg(long, value_name = "NAME")]
        signature: Option<String>,
        /// The tags of the SavedModel's graph, separated by commas [default: serve]
        #[arg(long, value_name = "TAGS", value_delimiter = ',')]
        tags: Option<Vec<String>>,
    },
    /// Write only the part of a graph that some tensors need
    Strip {
        /// A GraphDef, MetaGraphDef or SavedModel
        graph: PathBuf,
        /// The file to write; as text if it ends in .pbtxt
        out: PathBuf,
        /// A tensor or node to keep, with all that it needs; may be given several times
        #[arg(long, value_name = "NAME", required = true)]
        fetch: Vec<String>,
    },
    /// Convert weights; the forms are told by the names of the files
    Weights {
        /// A checkpoint (its prefix, or its file of the first format), a SavedModel, .npz or .safetensors
        input: PathBuf,
        /// A .npz or .safetensors file, or the prefix of a checkpoint
        out: PathBuf,
        /// Write a checkpoint of TensorFlow's first format, one file
        #[arg(long)]
        v1: bool,
    },
}

pub fn run(args: Args) -> Outcome {
    match args.what {
        What::Freeze { model, out, signature, tags } => {
            output::print(&freeze::run(&model, &out, signature.as_deref(), tags)?)
        }
        What::Strip { graph, out, fetch } => Ok(subgraph::run(&graph, &out, &fetch)?),
        What::Weights { input, out, v1 } => Ok(weights::run(&input, &out, v1)?),
    }
}
