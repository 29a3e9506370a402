//! The checkpoints of a directory: the state file `checkpoint` that lists them, and the newest that is whole.
//!
//! The state file is only believed as far as the files it names hold up: a machine that stopped may have left any of them
//! damaged.

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
