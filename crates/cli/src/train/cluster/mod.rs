//! `thalweg train` as a task of a cluster.

mod evaluator;
mod parameter_server;
mod replica;
mod report;
mod stop;
mod task;

pub use parameter_server::serve_parameters;
pub use task::{ClusterTask, Role};

use super::program::Program;
use super::settings::{Replicas, Settings};
use crate::failure::{Failure, Outcome};
use crate::security::CredentialArgs;
use std::net::IpAddr;
use std::time::Duration;
use thalweg_core::invalid;

/// Flags that only matter in a cluster.
#[derive(clap::Args)]
#[command(next_help_heading = "In a cluster, as TF_CONFIG says")]
pub struct ClusterArgs {
    /// Whether updates are synchronous
    #[arg(long, value_name = "MODE", default_value = "async")]
    mode: Mode,
    /// For --mode backup: the number of stragglers that a step does not wait for
    #[arg(long, value_name = "N", default_value_t = 1)]
    backup_workers: usize,
    /// Seconds without a response after which another task counts as lost
    #[arg(long, value_name = "SECS", default_value_t = 10)]
    peer_timeout: u64,
    /// Address to listen on, if not the one that the cluster names
    #[arg(long, value_name = "ADDR")]
    bind: Option<IpAddr>,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// Seconds between a task's lines of progress
    #[arg(long, value_name = "SECS", default_value_t = 2.0)]
    report_every: f64,
}

/// An upper limit that does not overflow when added to a time.
const LONGEST: u64 = 1 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Mode {
    /// Every worker applies its gradients at once
    Async,
    /// Each update is the mean of the gradients of all workers
    Sync,
    /// As sync, without the slowest workers
    Backup,
}

impl ClusterArgs {
    fn peer_timeout(&self) -> Duration {
        Duration::from_secs(self.peer_timeout.clamp(1, LONGEST))
    }

    /// The replicas that train synchronously, of which this is one.
    fn replicas(&self, task: &ClusterTask) -> Outcome<Option<Replicas>> {
        let (total, number) = (task.replicas(), task.number());
        let aggregate = match self.mode {
            Mode::Async => return Ok(None),
            Mode::Sync => total,
            Mode::Backup => match total.checked_sub(self.backup_workers) {
                Some(n) if n > 0 => n,
                _ => {
                    let e = invalid!(
                        "--backup-workers {} leaves none of {total} workers to wait for",
                        self.backup_workers
                    );
                    return Err(Failure::Usage(e));
                }
            },
        };
        Ok(Some(Replicas { aggregate, total, number }))
    }
}

/// Runs the role that this task has in the cluster.
pub fn run_task(
    task: &ClusterTask,
    program: &dyn Program,
    mut settings: Settings,
    args: &ClusterArgs,
) -> Outcome {
    settings.replicas = args.replicas(task)?;
    match task.role {
        Role::ParameterServer => serve_parameters(task, settings.threads, settings.logdir.as_deref(), args),
        Role::Evaluator => evaluator::evaluate(program, &Settings { replicas: None, ..settings }),
        Role::Chief | Role::Worker => replica::train(task, program, &settings, args),
    }
}
