//! Progress of a task that trains: lines on standard output, and scalars in its event file.

use super::super::curve::Curve;
use super::super::drive::{POINTS, diverged};
use super::super::program::Model;
use super::super::progress::{PREFIX, rounded};
use super::super::settings::Settings;
use crate::output;
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;
use std::time::Instant;
use thalweg::prelude::*;
use thalweg::train::hooks::{Every, Hook, RunContext, STEPS_PER_SECOND};
use thalweg::train::monitored::Timer;
use thalweg::train::summary::{FileWriter, SharedWriter};
use thalweg_dist::Server;
use thalweg_dist::cluster::PeerTraffic;

/// The hook. `'a` is the server whose traffic it counts.
pub struct Report<'a> {
    server: &'a Server,
    steps: u64,
    loss: Output,
    shown: Option<(&'static str, Output)>,
    /// The number of stale gradients that were dropped, in synchronous training.
    stale: Option<Output>,
    events: Option<SharedWriter>,
    curve: Rc<RefCell<Curve>>,
    timer: Timer,
    /// When the loss is next written to the event file.
    loss_timer: Timer,
    due: bool,
    /// Steps of this task.
    own: u64,
    last: Moment,
}

/// The counts at the last line.
struct Moment {
    at: Instant,
    step: i64,
    own: u64,
    traffic: Vec<PeerTraffic>,
}

/// The numbers of a line, with the names they have in the event file.
type Scalars = Vec<(String, f32)>;

impl<'a> Report<'a> {
    /// Adds its nodes to the graph. `every`: seconds between lines.
    pub fn new(
        g: &Scope,
        server: &'a Server,
        model: &Model,
        settings: &Settings,
        every: f64,
        events: Option<SharedWriter>,
    ) -> Report<'a> {
        Report {
            server,
            steps: settings.steps,
            loss: model.loss.clone(),
            shown: model.shown.clone(),
            stale: model.train.sync.as_ref().map(|sync| sync.stale_gradients(g)),
            events,
            curve: Rc::default(),
            timer: Timer::new(Every::Seconds(every)),
            loss_timer: Timer::new(Every::Steps(settings.steps / POINTS)),
            due: false,
            own: 0,
            last: Moment { at: Instant::now(), step: 0, own: 0, traffic: server.traffic() },
        }
    }

    /// The losses so far.
    pub fn curve(&self) -> Rc<RefCell<Curve>> {
        self.curve.clone()
    }

    fn line(&mut self, run: &RunContext<'_>, values: &[Tensor]) -> Result<()> {
        let step = run.step;
        let mut scalars = Scalars::new();
        let mut text = format!("{PREFIX}{step}/{}", self.steps);
        let names = std::iter::once("loss").chain(self.shown.iter().map(|(name, _)| *name));
        // In the order of `before_run`, the count of stale gradients last.
        let (stale, values) = match (&self.stale, values.split_last()) {
            (Some(_), Some((last, others))) => (Some(last), others),
            _ => (None, values),
        };
        for (name, value) in names.zip(values) {
            let value = value.to_scalar::<f32>()?;
            let _ = write!(text, "  {name} {value:.5}");
            // The loss has its own interval.
            if name != "loss" {
                scalars.push((name.into(), value));
            }
        }
        self.rates(step, &mut text, &mut scalars);
        if let Some(stale) = stale {
            let stale = stale.to_scalar::<i64>()?;
            let _ = write!(text, "  late gradients dropped {stale}");
            scalars.push(("late_gradients_dropped".into(), stale as f32));
        }
        // A closed output does not stop training.
        let _ = output::print(&format!("{text}\n"));
        self.write(&scalars, step)
    }

    fn write(&self, scalars: &[(String, f32)], step: i64) -> Result<()> {
        let Some(events) = &self.events else { return Ok(()) };
        events.with(|w| scalars.iter().try_for_each(|(tag, value)| w.add_scalar(tag, *value, step)))
    }

    /// Steps and bytes a second since the last line.
    fn rates(&mut self, step: i64, text: &mut String, scalars: &mut Scalars) {
        let now = Moment { at: Instant::now(), step, own: self.own, traffic: self.server.traffic() };
        let before = std::mem::replace(&mut self.last, now);
        let seconds = before.at.elapsed().as_secs_f64().max(1e-9);
        let (all, own) = (step.saturating_sub(before.step).max(0), self.own - before.own);
        let (all, own) = (all as f64 / seconds, own as f64 / seconds);
        let _ = write!(text, "  {} steps/s, {} here", rounded(all), rounded(own));
        scalars.push((STEPS_PER_SECOND.into(), all as f32));
        scalars.push(("own_steps/sec".into(), own as f32));
        for (now, then) in self.last.traffic.iter().zip(&before.traffic) {
            let (received, sent) =
                (now.received.saturating_sub(then.received), now.sent.saturating_sub(then.sent));
            if received + sent == 0 {
                continue;
            }
            let task = short(&now.task);
            let rate = |bytes: u64| bytes as f64 / seconds / 1e6;
            let _ = write!(text, "  {task} in {:.2} out {:.2} MB/s", rate(received), rate(sent));
            let tag = task.replace(' ', "_");
            scalars.push((format!("megabytes_per_second/{tag}/in"), rate(received) as f32));
            scalars.push((format!("megabytes_per_second/{tag}/out"), rate(sent) as f32));
        }
    }
}

/// `/job:ps/replica:0/task:1` as `ps 1`.
fn short(task: &str) -> String {
    let part = |key: &str| task.split('/').find_map(|p| p.strip_prefix(key)).unwrap_or_default();
    format!("{} {}", part("job:"), part("task:"))
}

impl Hook for Report<'_> {
    fn after_create_session(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        self.last =
            Moment { at: Instant::now(), step: run.step, own: self.own, traffic: self.server.traffic() };
        // A rate over one step is noise.
        self.timer.done(run.step);
        let _ = output::print(&format!("session ready at step {}\n", run.step));
        Ok(())
    }

    fn before_run(&mut self, step: i64) -> Vec<Output> {
        self.due = self.timer.is_due(step + 1);
        let mut asked = vec![self.loss.clone()];
        if self.due {
            asked.extend(self.shown.iter().map(|(_, o)| o.clone()));
            asked.extend(self.stale.clone());
        }
        asked
    }

    fn after_run(&mut self, run: &mut RunContext<'_>, values: &[Tensor]) -> Result<()> {
        self.own += 1;
        let loss = values.first().map_or(Ok(f32::NAN), |t| t.to_scalar::<f32>())?;
        let step = u64::try_from(run.step).unwrap_or(0);
        if !loss.is_finite() {
            return Err(diverged(step, loss));
        }
        self.curve.borrow_mut().add(step, loss);
        if self.loss_timer.is_due(run.step) {
            self.loss_timer.done(run.step);
            self.write(&[("loss".into(), loss)], run.step)?;
        }
        if self.due {
            self.timer.done(run.step);
            self.line(run, values)?;
        }
        Ok(())
    }

    fn session_lost(&mut self, why: &Error) {
        let _ = output::print(&format!("session lost, reopening it: {why}\n"));
    }

    fn end(&mut self, _: &mut RunContext<'_>) -> Result<()> {
        self.events.as_ref().map_or(Ok(()), |events| events.with(FileWriter::flush))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn tasks_have_short_names() {
        assert_eq!(super::short("/job:ps/replica:0/task:1"), "ps 1");
    }
}
