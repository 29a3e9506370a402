//! Training.

use super::config::Estimator;
use super::input::IntoInput;
use super::spec::{Mode, Model};
use crate::get_or_create_global_step;
use crate::hooks::{
    CheckpointSaverHook, Every, Hook, LoggingHook, NanGuardHook, StepCounterHook, StopAtStepHook,
    SummarySaverHook,
};
use crate::monitored::MonitoredSession;
use crate::summary::{self, SharedWriter};
use thalweg_client::{Code, Error, Output, Result, Scope};
use thalweg_io::checkpoint::DirectoryLock;

/// How a training run ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trained {
    /// Steps of this and all earlier runs.
    pub global_step: i64,
    /// Of the last step; none if there was no step.
    pub loss: Option<f32>,
}

/// Training fails after this many runs that do not advance the global step: it would never end.
const MOST_IDLE_RUNS: u32 = 100;

fn not_counting(step: i64) -> Error {
    let text = format!(
        "the train_op has run {MOST_IDLE_RUNS} times, but the global step is still {step}; give \
         Some(&get_or_create_global_step(g)) to minimize, so that it counts"
    );
    Error::new(Code::FailedPrecondition, text)
}

impl<M: Model> Estimator<M> {
    /// Trains for `steps` more steps, or to the end of the input.
    pub fn train<I: IntoInput>(&self, input: impl Fn(&Scope) -> I, steps: u64) -> Result<Trained> {
        self.train_with(input, vec![Box::new(StopAtStepHook::num_steps(steps))])
    }

    /// Trains until the global step is `max_steps`.
    pub fn train_until<I: IntoInput>(&self, input: impl Fn(&Scope) -> I, max_steps: u64) -> Result<Trained> {
        self.train_with(input, vec![Box::new(StopAtStepHook::last_step(max_steps))])
    }

    /// Trains until the input ends or one of these hooks asks to stop. `Aborted` if another process trains into the same directory.
    pub fn train_with<'h, I: IntoInput>(
        &'h self,
        input: impl Fn(&Scope) -> I,
        hooks: Vec<Box<dyn Hook + 'h>>,
    ) -> Result<Trained> {
        let _lock = DirectoryLock::take(self.dir())?;
        let g = self.graph();
        get_or_create_global_step(&g);
        let input = input(&g).into_input()?;
        let (features, labels) = input.next_batch(&g)?;
        let mut spec = self.build(&g, &features, labels.as_ref(), Mode::Train).map_err(|e| input.blame(e))?;
        let (Some(loss), Some(train_op)) = (spec.loss.take(), spec.train_op.take()) else {
            return Err(super::invalid("training needs a loss and a train_op"));
        };
        summary::scalar(&g, "loss", &loss);
        let mut all: Vec<Box<dyn Hook + 'h>> = vec![Box::new(NanGuardHook::new(&loss))];
        all.extend(hooks);
        all.extend(spec.hooks.into_iter().map(|hook| hook as Box<dyn Hook + 'h>));
        all.extend(self.usual_hooks(&loss)?);
        let mut session = MonitoredSession::keeping(&g, self.creator(), all, self.keep)?;
        let (mut last, mut idle) = (None, 0);
        let mut before = session.global_step();
        while let Some((loss, ())) = session.run(&(&loss, &train_op), &[])? {
            last = loss.to_scalar::<f32>().ok();
            idle = if session.global_step() == before { idle + 1 } else { 0 };
            if idle == MOST_IDLE_RUNS {
                return Err(not_counting(before));
            }
            before = session.global_step();
        }
        let global_step = session.global_step();
        session.close()?;
        Ok(Trained { global_step, loss: last })
    }

    /// The default hooks: checkpoints, summaries, logging.
    fn usual_hooks<'h>(&self, loss: &Output) -> Result<Vec<Box<dyn Hook + 'h>>> {
        let mut hooks: Vec<Box<dyn Hook + 'h>> = Vec::new();
        if let Some(every) = self.log_every {
            hooks.push(Box::new(LoggingHook::new([("loss", loss)], every)));
        }
        if self.save_summary_steps > 0 {
            let (writer, every) = (SharedWriter::new(self.dir())?, Every::Steps(self.save_summary_steps));
            hooks.push(Box::new(SummarySaverHook::new(&writer, every)));
            hooks.push(Box::new(StepCounterHook::new(&writer, every)));
        }
        hooks.push(Box::new(CheckpointSaverHook::new(self.dir(), self.save_checkpoints)));
        Ok(hooks)
    }
}
