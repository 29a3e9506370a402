//! A parameter server.

use super::{ClusterArgs, ClusterTask};
use crate::failure::{Failure, Outcome};
use crate::output;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::Path;
use std::time::{Duration, Instant};
use thalweg_core::error::Error;
use thalweg_dist::Server;

/// How long it serves on after a signal: a scheduler that stops all tasks at once stops the chief too, which saves.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
/// Without traffic for so long, no session is in use.
const IDLE: Duration = Duration::from_secs(3);
const POLL_EVERY: Duration = Duration::from_millis(20);

/// Serves until SIGTERM or Ctrl-C.
pub fn serve_parameters(
    task: &ClusterTask,
    threads: usize,
    logdir: Option<&Path>,
    args: &ClusterArgs,
) -> Outcome {
    let server = task.serve(threads, logdir, args)?;
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(Error::from)?;
    let scheme = args.credentials.scheme();
    output::print(&format!("serving on {scheme}://{}, task {}\n", server.address(), server.task()))?;
    let signal = signals.forever().next().unwrap_or(SIGTERM);
    drain(&server);
    server.stop();
    Err(Failure::signalled(signal))
}

fn drain(server: &Server) {
    let began = Instant::now();
    let mut seen = (server.traffic(), Instant::now());
    while server.guests() > 0 && began.elapsed() < DRAIN_TIMEOUT && seen.1.elapsed() < IDLE {
        std::thread::sleep(POLL_EVERY);
        let traffic = server.traffic();
        if traffic != seen.0 {
            seen = (traffic, Instant::now());
        }
    }
}
