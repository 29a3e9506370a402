//! `thalweg`: trains models, runs and serves graphs, shows the op table, measures. The program is `main.rs`; the Python package calls
//! [`run_program`] too.
//!
//! Exit codes: 0 success, 1 the command failed, 2 the command line is wrong. On failure the first line on standard
//! error is `error: CODE: message`.

mod bench;
mod convert;
mod failure;
mod generate;
mod images;
mod inspect;
mod local;
mod log;
mod looks;
mod memory_limit;
mod model_description;
mod model_file;
mod ops;
mod output;
mod predict;
mod proxy;
mod run;
mod security;
mod server;
mod table;
mod tf_config;
mod train;

use clap::{Parser, Subcommand};
use failure::{Failure, Outcome};
use std::ffi::OsString;
use std::path::PathBuf;
use thalweg_math::isa;

const ENVIRONMENT: &str = "Environment:
  THALWEG_MAX_ISA  the highest instruction set that kernels use: avx512, avx2 or baseline (default: what the CPU has)";

/// `0.1.0 (commit 1a2b3c4, x86_64-unknown-linux-gnu)`.
const VERSION: &str = env!("THALWEG_VERSION");

/// Dataflow graphs, run.
#[derive(Parser)]
#[command(name = "thalweg", version = VERSION, about, max_term_width = 110, after_help = ENVIRONMENT)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    memory: memory_limit::Args,
}

#[derive(Subcommand)]
enum Command {
    Train(train::Args),
    Predict(predict::Args),
    Run(run::Args),
    Server(server::Args),
    Proxy(proxy::Args),
    Local(local::Args),
    Inspect(inspect::Args),
    Convert(convert::Args),
    Ops(ops::Args),
    Bench(bench::Args),
    #[command(hide = true)]
    Generate(generate::Args),
}

/// Runs the program with these arguments, the first of which is its own name; returns its exit code. A wrong command line ends the process.
pub fn run_program(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = Cli::parse_from(args);
    cli.memory.apply();
    match run(cli.command) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

/// The program as a command that starts it again: the executable, or the script that called [`run_program`] and set THALWEG_PROGRAM.
pub(crate) fn own_program() -> std::io::Result<PathBuf> {
    std::env::var_os("THALWEG_PROGRAM").map_or_else(std::env::current_exe, |script| Ok(script.into()))
}

fn run(command: Command) -> Outcome {
    isa::limit().map_err(|e| Failure::Usage(e.into()))?;
    match command {
        Command::Train(args) => train::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Run(args) => run::run(args),
        Command::Server(args) => server::run(args),
        Command::Proxy(args) => proxy::run(args),
        Command::Local(args) => local::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Ops(args) => ops::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Generate(args) => generate::run(args),
    }
}
