//! Logs values during training.

use crate::monitored::{Every, Hook, RunContext, Timer};
use std::fmt::Write;
use thalweg_client::{Output, Result, Tensor};

/// Writes lines such as `loss = 0.53, step = 101 (0.120 sec)`.
pub struct LoggingHook<'a> {
    tensors: Vec<(String, Output)>,
    timer: Timer,
    asked: bool,
    write: Box<dyn FnMut(&str) + 'a>,
}

impl<'a> LoggingHook<'a> {
    /// The values of these tensors, with their names, to standard error.
    pub fn new<'n>(tensors: impl IntoIterator<Item = (&'n str, &'n Output)>, every: Every) -> Self {
        let tensors = tensors.into_iter().map(|(name, o)| (name.to_string(), o.clone())).collect();
        LoggingHook {
            tensors,
            timer: Timer::new(every),
            asked: false,
            write: Box::new(|line| eprintln!("{line}")),
        }
    }

    /// Lines go there instead.
    pub fn to(mut self, write: impl FnMut(&str) + 'a) -> Self {
        self.write = Box::new(write);
        self
    }
}

impl Hook for LoggingHook<'_> {
    fn before_run(&mut self, step: i64) -> Vec<Output> {
        self.asked = self.timer.is_due(step + 1);
        if self.asked { self.tensors.iter().map(|(_, o)| o.clone()).collect() } else { Vec::new() }
    }

    fn after_run(&mut self, run: &mut RunContext<'_>, values: &[Tensor]) -> Result<()> {
        if !self.asked {
            return Ok(());
        }
        let mut line = String::new();
        for ((name, _), value) in self.tensors.iter().zip(values) {
            let _ = write!(line, "{name} = {value}, ");
        }
        let _ = write!(line, "step = {}", run.step);
        if let Some((_, took)) = self.timer.done(run.step) {
            let _ = write!(line, " ({:.3} sec)", took.as_secs_f64());
        }
        (self.write)(&line);
        Ok(())
    }
}
