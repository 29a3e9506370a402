//! `thalweg local`: a whole cluster on one machine.

mod chaos;
mod cluster;
mod supervisor;
mod task;

use crate::failure::{Failure, Outcome};
use std::ffi::OsString;
use task::Program;
use thalweg_core::invalid;

/// Start a whole cluster on this machine, and train on it
///
/// Each task is a process with a free port and a TF_CONFIG of its own; worker 0 is the chief. Their output is prefixed with their names.
/// The exit code is the chief's: when it exits, the others are stopped. Ctrl-C stops all. Tasks run `thalweg train`, or a program of your own
/// that takes its role from TF_CONFIG.
#[derive(clap::Args)]
#[command(
    after_help = "Examples: thalweg local --ps 2 --workers 3 -- train mnist --logdir /tmp/mnist --mode sync
          thalweg local --ps 1 --workers 2 -- ./my-program --its args"
)]
pub struct Args {
    /// Parameter servers
    #[arg(long, value_name = "N", default_value_t = 1)]
    ps: usize,
    /// Workers, the chief among them
    #[arg(long, value_name = "N", default_value_t = 2)]
    workers: usize,
    /// Add a task that evaluates each new checkpoint
    #[arg(long)]
    evaluator: bool,
    /// Restart tasks that were killed, or that exited with a code of 128 or above
    #[arg(long)]
    restart: bool,
    /// Kill N tasks, one by one at random, and restart them: a test of recovery
    #[arg(long, value_name = "N", default_value_t = 0)]
    chaos: u64,
    /// Seconds between two kills
    #[arg(long, value_name = "SECS", default_value_t = 3.0)]
    chaos_every: f64,
    /// Which tasks are picked
    #[arg(long, value_name = "N", default_value_t = 1, hide = true)]
    chaos_seed: u64,
    /// What each task runs: train and its arguments, or a program and its own
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// More processes than this are a mistake.
const MAX_TASKS: usize = 256;

pub fn run(args: Args) -> Outcome {
    let usage = |e| Err(Failure::Usage(e));
    if args.ps == 0 || args.workers == 0 {
        return usage(invalid!("a cluster needs --ps and --workers of at least 1"));
    }
    let tasks = args.ps.saturating_add(args.workers);
    if tasks > MAX_TASKS {
        return usage(invalid!(
            "--ps and --workers ask for {tasks} tasks on one machine; at most {MAX_TASKS}"
        ));
    }
    let program = Program::new(args.command).map_err(Failure::Usage)?;
    let tasks = cluster::plan(args.ps, args.workers, args.evaluator)?;
    let chaos = chaos::Chaos::new(args.chaos, args.chaos_every, args.chaos_seed);
    let code = supervisor::supervise(tasks, &program, args.restart || args.chaos > 0, chaos)?;
    if code == 0 { Ok(()) } else { Err(Failure::Code(code)) }
}
