//! A parameter server.

use super::{ClusterArgs, Place};
use crate::failure::{Failure, Outcome};
use crate::output;
use std::path::Path;
use std::time::{Duration, Instant};
use thalweg_dist::Server;

/// How long the variables stay for those that still use them: a scheduler that stops all tasks at once stops the chief too, which saves.
const STAY: Duration = Duration::from_secs(20);
/// Nobody uses them if nothing has been asked for so long.
const QUIET: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Serves until told to stop.
pub fn serve_parameters(place: &Place, threads: usize, logdir: Option<&Path>, args: &ClusterArgs) -> Outcome {
    let server = place.serve(threads, logdir, args)?;
    let scheme = args.credentials.scheme();
    output::print(&format!("serving on {scheme}://{}, task {}\n", server.address(), server.task()))?;
    let signal = thalweg_dist::wait_for_stop()?;
    wait_for_guests(&server);
    server.stop();
    Err(Failure::Code(if signal == "SIGTERM" { 143 } else { 130 }))
}

fn wait_for_guests(server: &Server) {
    let began = Instant::now();
    let mut seen = (server.traffic(), Instant::now());
    while server.guests() > 0 && began.elapsed() < STAY && seen.1.elapsed() < QUIET {
        std::thread::sleep(LOOK_EVERY);
        let traffic = server.traffic();
        if traffic != seen.0 {
            seen = (traffic, Instant::now());
        }
    }
}
