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
    /// Whether updates are synchronous [default: async]
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,
    /// For --mode backup: the number of stragglers that a step does not wait for [default: 1]
    #[arg(long, value_name = "N", requires = "mode")]
    backup_workers: Option<usize>,
    /// Seconds without a response after which another task counts as lost [default: 10]
    #[arg(long, value_name = "SECS")]
    peer_timeout: Option<u64>,
    /// Address to listen on, if not the one that the cluster names
    #[arg(long, value_name = "ADDR")]
    bind: Option<IpAddr>,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// Seconds between a task's lines of progress [default: 2]
    #[arg(long, value_name = "SECS")]
    report_every: Option<f64>,
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
    /// The first of these flags that is set.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.mode.is_some(), "--mode"),
            (self.backup_workers.is_some(), "--backup-workers"),
            (self.peer_timeout.is_some(), "--peer-timeout"),
            (self.bind.is_some(), "--bind"),
            (self.report_every.is_some(), "--report-every"),
            (!self.credentials.is_empty(), "a certificate or token"),
        ];
        given.iter().find(|(is, _)| *is).map(|(_, name)| *name)
    }

    fn peer_timeout(&self) -> Duration {
        Duration::from_secs(self.peer_timeout.unwrap_or(10).clamp(1, LONGEST))
    }

    /// Seconds between lines of progress.
    fn report_every(&self) -> f64 {
        self.report_every.unwrap_or(2.0)
    }

    /// The replicas that train synchronously, of which this is one.
    fn replicas(&self, task: &ClusterTask) -> Outcome<Option<Replicas>> {
        let (total, number) = (task.replicas(), task.number());
        let backups = self.backup_workers.unwrap_or(1);
        let aggregate = match self.mode.unwrap_or(Mode::Async) {
            Mode::Async => return Ok(None),
            Mode::Sync => total,
            Mode::Backup => match total.checked_sub(backups) {
                Some(n) if n > 0 => n,
                _ => {
                    let e = invalid!("--backup-workers {backups} leaves none of {total} workers to wait for");
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
