//! Hooks for training loops, see [`crate::monitored`]. Your own implement [`Hook`].

mod checkpoint_saver;
mod early_stopping;
mod logging;
mod nan_guard;
mod step_counter;
mod stop_at_step;
mod summary_saver;

pub use crate::monitored::{Every, Hook, RunContext};
pub use checkpoint_saver::CheckpointSaverHook;
pub use early_stopping::{EarlyStoppingHook, read_eval_metrics};
pub use logging::LoggingHook;
pub use nan_guard::NanGuardHook;
pub use step_counter::{STEPS_PER_SECOND, StepCounterHook};
pub use stop_at_step::StopAtStepHook;
pub use summary_saver::SummarySaverHook;
