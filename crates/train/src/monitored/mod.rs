//! Monitored sessions: a training loop that recovers from failures, with hooks that save, write summaries and stop it.
//!
//! ```
//! use thalweg_client::Scope;
//! use thalweg_train::get_or_create_global_step;
//! use thalweg_train::hooks::StopAtStepHook;
//! use thalweg_train::monitored::{ChiefSessionCreator, MonitoredSession};
//! use thalweg_train::optimizers::{GradientDescent, Minimize};
//!
//! let g = Scope::new();
//! let w = g.variable("w", &g.constant(1f32));
//! let step = get_or_create_global_step(&g);
//! let train = GradientDescent::new(0.1).minimize(&g, &g.square(&w.value), Some(&step))?;
//! let mut session =
//!     MonitoredSession::new(&g, ChiefSessionCreator::new(), vec![Box::new(StopAtStepHook::last_step(20))])?;
//! while session.run(&train, &[])?.is_some() {}
//! assert_eq!(session.global_step(), 20);
//! session.close()?;
//! # Ok::<(), thalweg_client::Error>(())
//! ```
//!
//! A [`SessionCreator`] opens the session: the [`ChiefSessionCreator`] initialises variables or restores the newest whole checkpoint, in this
//! process or on a server; the [`WorkerSessionCreator`] waits until the chief has done so. If a run fails because another task was lost
//! (`Unavailable`, `Aborted`), the session is reopened and the run retried.

mod connect;
mod creator;
mod hook;
mod scaffold;
mod session;
mod timer;
mod worker_creator;

pub use creator::{ChiefSessionCreator, SessionCreator};
pub use hook::{Hook, RunContext};
pub use scaffold::Scaffold;
pub use session::MonitoredSession;
pub use timer::{Every, Timer};
pub use worker_creator::WorkerSessionCreator;
