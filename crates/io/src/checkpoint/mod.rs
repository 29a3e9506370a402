//! The checkpoints of a directory: the state file `checkpoint` that lists them, and recovery of the newest valid one.
//!
//! The state file is not trusted: after a crash any of the files it lists may be corrupt, so they are verified.

mod latest;
mod lock;
mod recover;
mod state;
#[cfg(test)]
mod tests;

pub use latest::{Newest, has_checkpoints, latest_checkpoint, latest_in_state, newest};
pub use lock::{DirectoryLock, LOCK_FILE};
pub use recover::recover;
pub use state::{State, remove};

/// The name of the state file.
pub const STATE_FILE: &str = "checkpoint";
