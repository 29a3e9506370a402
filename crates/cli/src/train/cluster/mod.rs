//! `thalweg train` as a task of a cluster.

mod evaluator;
mod parameter_server;
mod place;
mod replica;
mod report;
mod stop;

pub use parameter_server::serve_parameters;
pub use place::{Part, Place};

use super::program::Program;
use super::settings::{Replicas, Settings};
use crate::failure::{Failure, Outcome};
use crate::security::CredentialArgs;
use std::net::IpAddr;
use std::time::Duration;
use thalweg_core::invalid;

/// How the tasks of a cluster work together. Without a cluster, none of it matters.
#[derive(clap::Args)]
#[command(next_help_heading = "In a cluster, as TF_CONFIG says")]
pub struct ClusterArgs {
    /// Whether workers wait for each other
    #[arg(long, value_name = "MODE", default_value = "async")]
    mode: Mode,
    /// For --mode backup: so many gradients of each step are not waited for
    #[arg(long, value_name = "N", default_value_t = 1)]
    backup_workers: usize,
    /// Seconds that another task may be silent, while something is asked of it, before it counts as gone
    #[arg(long, value_name = "SECS", default_value_t = 10)]
    peer_timeout: u64,
    /// Address to listen on, if not the one that the cluster names
    #[arg(long, value_name = "ADDR")]
    bind: Option<IpAddr>,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// Seconds between a task's lines about its progress
    #[arg(long, value_name = "SECS", default_value_t = 2.0)]
    report_every: f64,
}

/// Seconds that are as good as for ever, and that can be added to any time.
const LONGEST: u64 = 1 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Mode {
    /// Every worker updates the variables when it has a gradient
    Async,
    /// Updates are means of the gradients of all workers
    Sync,
    /// As sync, without the slowest
    Backup,
}

impl ClusterArgs {
    fn peer_timeout(&self) -> Duration {
        Duration::from_secs(self.peer_timeout.clamp(1, LONGEST))
    }

    /// The replicas that train synchronously, of which this is one.
    fn replicas(&self, place: &Place) -> Outcome<Option<Replicas>> {
        let (total, number) = (place.replicas(), place.number());
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

/// Plays the part that the environment gives this process.
pub fn take_part(
    place: &Place,
    program: &dyn Program,
    mut settings: Settings,
    args: &ClusterArgs,
) -> Outcome {
    settings.replicas = args.replicas(place)?;
    match place.part {
        Part::ParameterServer => serve_parameters(place, settings.threads, settings.logdir.as_deref(), args),
        Part::Evaluator => evaluator::evaluate(program, &Settings { replicas: None, ..settings }),
        Part::Chief | Part::Worker => replica::train(place, program, &settings, args),
    }
}
