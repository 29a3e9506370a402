//! The progress of a run: a bar on a terminal, plain lines elsewhere.

use crate::failure::Outcome;
use crate::output;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

pub struct Progress {
    steps: u64,
    /// Steps of earlier runs.
    first: u64,
    shown: Option<&'static str>,
    began: Instant,
    last: Option<Instant>,
    is_terminal: bool,
    /// The step at which the next plain line is due.
    next_line: u64,
}

/// The prefix of progress lines; `thalweg local` recognises them by it.
pub const PREFIX: &str = "step ";
/// The redraw interval of the bar.
const REDRAW: Duration = Duration::from_millis(80);
const WIDTH: usize = 30;

impl Progress {
    pub fn new(steps: u64, first: u64, shown: Option<&'static str>) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Progress { steps, first, shown, began: Instant::now(), last: None, is_terminal, next_line: 0 }
    }

    pub fn show(&mut self, done: u64, loss: f32, measure: Option<f32>) -> Outcome {
        let text = self.text(done, loss, measure);
        if !self.is_terminal {
            if done >= self.next_line || done == self.steps {
                self.next_line = done + (self.steps / 10).max(1);
                output::print(&format!("{text}\n"))?;
            }
            return Ok(());
        }
        let due = self.last.is_none_or(|t| t.elapsed() >= REDRAW) || done == self.steps;
        if due {
            self.last = Some(Instant::now());
            let filled = (WIDTH as u64 * done / self.steps.max(1)) as usize;
            let bar = format!("{}{}", "━".repeat(filled), "─".repeat(WIDTH - filled.min(WIDTH)));
            let mut err = std::io::stderr().lock();
            // A closed terminal does not stop training.
            let _ = write!(err, "\r\x1b[K{bar} {text}").and_then(|()| err.flush());
        }
        Ok(())
    }

    fn text(&self, done: u64, loss: f32, measure: Option<f32>) -> String {
        let width = self.steps.to_string().len();
        let mut text = format!("{PREFIX}{done:>width$}/{}  loss {loss:<9.5}", self.steps);
        if let (Some(name), Some(value)) = (self.shown, measure) {
            text.push_str(&format!("  {name} {value:.3}"));
        }
        let seconds = self.began.elapsed().as_secs_f64();
        if seconds > 0.0 && done > 0 {
            let rate = done.saturating_sub(self.first) as f64 / seconds;
            text.push_str(&format!("  {}/s", rounded(rate)));
            let left = (self.steps - done.min(self.steps)) as f64 / rate;
            text.push_str(&format!("  {} left", time(Duration::from_secs_f64(left.min(1e9)))));
        }
        text
    }

    /// Leaves the bar on the screen and starts a new line.
    pub fn end(&mut self) {
        if self.is_terminal && self.last.take().is_some() {
            eprintln!();
        }
    }
}

pub fn rounded(rate: f64) -> String {
    if rate >= 100.0 { format!("{rate:.0}") } else { format!("{rate:.1}") }
}

/// 0.8 s, 12 s, 3 min 04 s, 2 h 05 min.
pub fn time(t: Duration) -> String {
    let seconds = t.as_secs_f64();
    match t.as_secs() {
        0..=9 => format!("{seconds:.1} s"),
        s @ 10..=99 => format!("{s} s"),
        s @ 100..=5999 => format!("{} min {:02} s", s / 60, s % 60),
        s => format!("{} h {:02} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        let shown = |s: f64| time(Duration::from_secs_f64(s));
        assert_eq!(
            [shown(0.84), shown(12.0), shown(184.0), shown(7500.0)],
            ["0.8 s", "12 s", "3 min 04 s", "2 h 05 min"]
        );
    }
}
