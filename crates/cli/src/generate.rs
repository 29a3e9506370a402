//! `thalweg generate`: the man pages and shell completions, from the command line's own description.

use crate::Cli;
use crate::failure::{Failure, Outcome};
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io;
use std::path::PathBuf;
use thalweg_core::error::{Error, internal};
use thalweg_io::durable;

/// Print completions for a shell, or write the man pages
#[derive(clap::Args)]
pub struct Args {
    /// What to generate
    what: What,
    /// The directory of the man pages
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum What {
    Man,
    Bash,
    Zsh,
    Fish,
}

pub fn run(args: Args) -> Outcome {
    let shell = match args.what {
        What::Man => return man(&args).map_err(|e| Failure::Run(durable::with_path(&args.out, e))),
        What::Bash => Shell::Bash,
        What::Zsh => Shell::Zsh,
        What::Fish => Shell::Fish,
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "thalweg", &mut text);
    let text = String::from_utf8(text).map_err(|e| -> Error { internal(e.to_string()) })?;
    output::print(&text)
}

/// `thalweg.1`, and a page for each subcommand.
fn man(args: &Args) -> io::Result<()> {
    std::fs::create_dir_all(&args.out)?;
    clap_mangen::generate_to(Cli::command(), &args.out)
}
