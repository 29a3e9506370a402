//! Running graphs: devices, placement, graph passes, partitions, plans, executors, the local session.
//!
//! This crate knows no op by what it computes: it runs whatever registry its graphs are made with.

pub mod compile;
pub mod device;
pub mod executor;
mod functions;
mod partition;
pub mod passes;
pub mod placer;
pub mod plan;
pub mod session;
mod start_time;
mod sync;
pub mod task_plans;
pub mod trace;
mod until;
pub mod work;

pub use session::{Callable, OnDone, PartialRun, RunMetadata, RunOptions, Session, SessionOptions};
pub use until::Until;
