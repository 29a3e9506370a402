//! The progress of a run: a bar on a terminal, plain lines or JSON elsewhere.

mod line;

use crate::failure::Outcome;
use crate::output;
use line::Part;
use serde_json::{Map, Value, json};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The prefix of progress lines; `thalweg local` recognises them by it.
pub const PREFIX: &str = "step ";
/// The redraw interval of the bar.
const REDRAW: Duration = Duration::from_millis(100);
/// Between two plain lines, beside the milestones: a share of the time so far.
const LINE_SHARE: f64 = 0.25;
const LINE_SECONDS: (f64, f64) = (1.0, 600.0);

/// How a run reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A bar that is redrawn.
    Bar,
    /// Plain lines, less and less often.
    Lines,
    /// Results only.
    Quiet,
    /// One JSON object a line.
    Json,
}

impl Form {
    pub fn of(quiet: bool, json: bool) -> Form {
        match (quiet, json) {
            (_, true) => Form::Json,
            (true, _) => Form::Quiet,
            _ if std::io::stderr().is_terminal() => Form::Bar,
            _ => Form::Lines,
        }
    }

    /// Whether text is printed beside the results.
    pub fn is_text(self) -> bool {
        matches!(self, Form::Bar | Form::Lines)
    }

    /// A line for people; programs that read JSON get it as a note.
    pub fn note(self, line: &str) -> Outcome {
        match self {
            Form::Quiet => Ok(()),
            Form::Json => self.event("note", json!({ "text": line })),
            Form::Bar | Form::Lines => output::print(&format!("{line}\n")),
        }
    }

    /// A JSON object with its kind, if that is what is printed.
    pub fn event(self, kind: &str, fields: Value) -> Outcome {
        if self != Form::Json {
            return Ok(());
        }
        let mut all = Map::new();
        all.insert("event".into(), kind.into());
        if let Value::Object(fields) = fields {
            all.extend(fields);
        }
        output::print(&format!("{}\n", output::json(&all)?))
    }
}

/// Names and values: the loss first.
pub type Measures = Vec<(&'static str, f32)>;

pub struct Progress {
    form: Form,
    steps: u64,
    /// Steps of earlier runs.
    first: u64,
    steps_per_epoch: Option<u64>,
    validated: Measures,
    began: Instant,
    /// When something was last shown.
    last: Option<Instant>,
    /// The step at which the next plain line is due.
    milestone: u64,
}

impl Progress {
    pub fn new(form: Form, steps: u64, first: u64, steps_per_epoch: Option<u64>) -> Self {
        Progress {
            form,
            steps,
            first,
            steps_per_epoch,
            validated: Vec::new(),
            began: Instant::now(),
            last: None,
            milestone: 0,
        }
    }

    /// Whether the loss of the next step should be fetched, for what is shown.
    pub fn is_due(&self, done: u64) -> bool {
        match self.form {
            Form::Quiet => false,
            Form::Bar => self.last.is_none_or(|t| t.elapsed() >= REDRAW),
            Form::Lines | Form::Json => {
                let share = self.began.elapsed().as_secs_f64() * LINE_SHARE;
                let pause = Duration::from_secs_f64(share.clamp(LINE_SECONDS.0, LINE_SECONDS.1));
                done >= self.milestone || self.last.is_none_or(|t| t.elapsed() >= pause)
            }
        }
    }

    /// Shows the state after `done` steps, if something is due.
    pub fn show(&mut self, done: u64, measures: &[(&'static str, f32)]) -> Outcome {
        if !(self.is_due(done) || done == self.steps) {
            return Ok(());
        }
        match self.form {
            Form::Quiet => return Ok(()),
            Form::Bar => self.draw(done, measures),
            Form::Lines => {
                let parts: Vec<String> = self.parts(done, measures).into_iter().map(|p| p.text).collect();
                output::print(&format!("{}\n", parts.join("  ")))?;
            }
            Form::Json => self.form.event("progress", self.fields(done, measures))?,
        }
        self.last = Some(Instant::now());
        self.milestone = next_milestone(done.max(self.milestone));
        Ok(())
    }

    fn draw(&self, done: u64, measures: &[(&'static str, f32)]) {
        let mut err = std::io::stderr().lock();
        // The last column stays free: some terminals wrap there.
        let width = output::width_of(&err).saturating_sub(1);
        let share = done as f64 / self.steps.max(1) as f64;
        let text = line::with_bar(&self.parts(done, measures), share, width);
        // A closed terminal does not stop training.
        let _ = write!(err, "\r{text}\x1b[K").and_then(|()| err.flush());
    }

    fn parts(&self, done: u64, measures: &[(&'static str, f32)]) -> Vec<Part> {
        let width = self.steps.to_string().len();
        let mut parts = vec![Part { rank: 0, text: format!("{PREFIX}{done:>width$}/{}", self.steps) }];
        let mut part = |rank, text| parts.push(Part { rank, text });
        if let Some((epoch, epochs)) = self.epoch(done) {
            part(6, format!("epoch {epoch}/{epochs}"));
        }
        for (i, (name, value)) in measures.iter().enumerate() {
            part(if i == 0 { 1 } else { 5 }, format!("{name} {}", short(*value)));
        }
        for (i, (name, value)) in self.validated.iter().enumerate() {
            let (rank, name) = if i == 0 { (2, "val".to_string()) } else { (7, format!("val {name}")) };
            part(rank, format!("{name} {}", short(*value)));
        }
        if let Some((rate, left)) = self.rate(done) {
            part(4, format!("{}/s", rounded(rate)));
            let left = match done < self.steps {
                true => format!("{} left", time(left)),
                false => time(self.began.elapsed()),
            };
            part(3, left);
        }
        parts
    }

    fn fields(&self, done: u64, measures: &[(&'static str, f32)]) -> Value {
        let mut all = Map::new();
        all.insert("step".into(), done.into());
        if let Some((epoch, _)) = self.epoch(done) {
            all.insert("epoch".into(), epoch.into());
        }
        all.extend(measures.iter().map(|(name, value)| (name.to_string(), json!(value))));
        if let Some((rate, left)) = self.rate(done) {
            all.insert("steps_per_second".into(), json!(rate));
            all.insert("seconds_left".into(), json!(left.as_secs_f64()));
        }
        Value::Object(all)
    }

    /// The epoch of the last step, and how many there are.
    fn epoch(&self, done: u64) -> Option<(u64, u64)> {
        let steps = self.steps_per_epoch?.max(1);
        Some((done.div_ceil(steps).max(1), self.steps.div_ceil(steps)))
    }

    /// Steps a second, and the time that is left.
    fn rate(&self, done: u64) -> Option<(f64, Duration)> {
        let (made, seconds) = (done.saturating_sub(self.first), self.began.elapsed().as_secs_f64());
        if made == 0 || seconds <= 0.0 {
            return None;
        }
        let rate = made as f64 / seconds;
        let left = self.steps.saturating_sub(done) as f64 / rate;
        Some((rate, Duration::from_secs_f64(left.min(1e9))))
    }

    /// A validation after `done` steps: shown with the next line.
    pub fn validated(&mut self, done: u64, measures: Measures) -> Outcome {
        let mut fields = Map::new();
        fields.insert("step".into(), done.into());
        fields.extend(measures.iter().map(|(name, value)| (name.to_string(), json!(value))));
        self.validated = measures;
        self.form.event("validation", Value::Object(fields))
    }

    /// Leaves the bar on the screen and starts a new line.
    pub fn end(&mut self) {
        if self.form == Form::Bar && self.last.take().is_some() {
            eprintln!();
        }
    }
}

/// The next of 1, 2, 5, 10, 20, 50 ..
fn next_milestone(done: u64) -> u64 {
    let mut power = 1u64;
    loop {
        for factor in [1, 2, 5] {
            match power.checked_mul(factor) {
                Some(n) if n > done => return n,
                None => return u64::MAX,
                _ => {}
            }
        }
        power = power.saturating_mul(10);
    }
}

/// Four digits.
fn short(x: f32) -> String {
    match x.abs() {
        a if a >= 1000.0 => format!("{x:.0}"),
        a if a >= 100.0 => format!("{x:.1}"),
        a if a >= 10.0 => format!("{x:.2}"),
        a if a >= 1.0 => format!("{x:.3}"),
        a if a >= 1e-3 || a == 0.0 => format!("{x:.4}"),
        _ => format!("{x:.1e}"),
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

    #[test]
    fn plain_lines_come_less_and_less_often() {
        let mut at = vec![0];
        for _ in 0..8 {
            at.push(next_milestone(*at.last().unwrap()));
        }
        assert_eq!(at, [0, 1, 2, 5, 10, 20, 50, 100, 200]);
        assert_eq!(next_milestone(u64::MAX - 1), u64::MAX);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.123456, 1.5, 12.345, 12345.6, 1e-7, f32::NAN].map(short);
        assert_eq!(shown, ["0.0000", "0.1235", "1.500", "12.35", "12346", "1.0e-7", "NaN"]);
    }
}
