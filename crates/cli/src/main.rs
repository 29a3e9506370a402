//! `thalweg`: trains models, runs graphs, serves them, shows the op table, measures.
//!
//! Exit codes: 0 all went well, 1 what was asked for failed, 2 it was asked for wrongly. The first line on standard
//! error is then `error: CODE: message`.

mod bench;
mod failure;
mod inspect;
mod json;
mod local;
mod memory_limit;
mod model_file;
mod ops;
mod output;
mod proxy;
mod run;
mod security;
mod server;
mod train;

use clap::{Parser, Subcommand};
use failure::{Failure, Outcome};
use std::process::ExitCode;
use thalweg_core::memory::Counting;
use thalweg_math::isa;

const ENVIRONMENT: &str = "Environment:
  THALWEG_MAX_ISA  the most that kernels may use of the CPU: avx512, avx2 or baseline (default: all that it has)";

/// Dataflow graphs, run.
#[derive(Parser)]
#[command(name = "thalweg", version, about, max_term_width = 110, after_help = ENVIRONMENT)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    memory: memory_limit::Args,
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Subcommand)]
enum Command {
    Train(train::Args),
    Run(run::Args),
    Server(server::Args),
    Proxy(proxy::Args),
    Local(local::Args),
    Inspect(inspect::Args),
    Ops(ops::Args),
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    cli.memory.hold_to_it();
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: Command) -> Outcome {
    isa::limit().map_err(|e| Failure::Usage(e.into()))?;
    match command {
        Command::Train(args) => train::run(args),
        Command::Run(args) => run::run(args),
        Command::Server(args) => server::run(args),
        Command::Proxy(args) => proxy::run(args),
        Command::Local(args) => local::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Ops(args) => ops::run(args),
        Command::Bench(args) => bench::run(args),
    }
}
