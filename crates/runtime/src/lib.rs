//! Running graphs: devices, placement, graph passes, partitions, plans, executors, the local session.
//!
//! This crate is independent of the ops: it runs whatever registry its graphs are made with.
//!
//! Modules import only those before them in this list, which is also a reading order, from a graph to its
//! results (`tests/import_order.rs` checks it):
//!
//! | module | |
//! |---|---|
//! | `sync`, `until`, `trace`, `device`, `placer`, `last_duration`, `step_error` | leaves that the others share |
//! | `eager` | ops that run at once, without a graph |
//! | `work` | the pruned part of a graph that a run signature needs, in the form that passes rewrite |
//! | `passes` | rewrites of it, in one list with the reasons for their order |
//! | `partition` | splits it by device, with Send and Recv where values cross |
//! | `plan` | makes kernels, numbers slots or edges |
//! | `executor` | runs a plan |
//! | `compile` | the path through the modules above, from graph to plans |
//! | `functions` | functions called at run time, compiled when first called |
//! | `task_plans` | the part of a graph that a task runs for a master |
//! | `session` | run signatures, their plans, and steps that run them |

// Input must not be able to panic: tests may.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod compile;
pub mod device;
pub mod eager;
pub mod executor;
mod functions;
mod last_duration;
mod partition;
pub mod passes;
pub mod placer;
pub mod plan;
pub mod session;
mod step_error;
mod sync;
pub mod task_plans;
pub mod trace;
mod until;
pub mod work;

pub use session::{Callable, OnDone, PartialRun, RunMetadata, RunOptions, Session, SessionOptions};
pub use until::Until;
