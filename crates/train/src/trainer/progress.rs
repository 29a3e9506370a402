//! Progress on standard error: a line for each epoch, and on a terminal the current one.

use super::epoch::Epoch;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

pub struct Progress {
    on: bool,
    live: bool,
    epochs: u64,
    shown: Instant,
}

const EVERY: Duration = Duration::from_millis(200);

impl Progress {
    pub fn new(on: bool, epochs: u64) -> Progress {
        Progress { on, live: on && std::io::stderr().is_terminal(), epochs, shown: Instant::now() }
    }

    /// A step of the current epoch was made.
    pub fn step(&mut self, epoch: u64, step: u64, loss: f32) {
        if self.live && self.shown.elapsed() >= EVERY {
            self.shown = Instant::now();
            // A terminal that does not take it does not stop training.
            let _ = write!(
                std::io::stderr(),
                "\r\x1b[Kepoch {epoch}/{}  step {step}  loss {loss:.4}",
                self.epochs
            );
        }
    }

    pub fn epoch(&self, epoch: &Epoch) {
        if self.on {
            let clear = if self.live { "\r\x1b[K" } else { "" };
            let _ = writeln!(std::io::stderr(), "{clear}{epoch}");
        }
    }
}
