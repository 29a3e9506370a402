//! Writes summaries for TensorBoard.

use crate::monitored::{Every, Hook, RunContext, Timer};
use crate::summary::{self, SharedWriter};
use thalweg_client::{Output, Result, Scope, Tensor};

/// All summaries of the graph, every so often, and the graph itself at the start.
pub struct SummarySaverHook {
    writer: SharedWriter,
    timer: Timer,
    merged: Option<Output>,
    scope: Option<Scope>,
    asked: bool,
}

impl SummarySaverHook {
    /// Into this event file.
    pub fn new(writer: &SharedWriter, every: Every) -> Self {
        SummarySaverHook {
            writer: writer.clone(),
            timer: Timer::new(every),
            merged: None,
            scope: None,
            asked: false,
        }
    }
}

impl Hook for SummarySaverHook {
    fn begin(&mut self, g: &Scope) -> Result<()> {
        self.merged = summary::merge_all(g);
        self.scope = Some(g.clone());
        Ok(())
    }

    fn after_create_session(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        let graph = self.scope.take();
        self.writer.with(|w| {
            graph.map_or(Ok(()), |g| w.add_graph(&g))?;
            w.add_start(run.step)
        })
    }

    fn before_run(&mut self, step: i64) -> Vec<Output> {
        self.asked = self.merged.is_some() && self.timer.is_due(step + 1);
        if self.asked { self.merged.iter().cloned().collect() } else { Vec::new() }
    }

    fn after_run(&mut self, run: &mut RunContext<'_>, values: &[Tensor]) -> Result<()> {
        let (true, Some(summary)) = (self.asked, values.first()) else { return Ok(()) };
        self.timer.done(run.step);
        self.writer.with(|w| w.add_summary(summary, run.step))
    }

    fn end(&mut self, _: &mut RunContext<'_>) -> Result<()> {
        self.writer.with(|w| w.flush())
    }
}
