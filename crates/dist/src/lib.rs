//! A task on the network: TensorFlow's `MasterService` and `WorkerService`, for TensorFlow's clients and our own.
//!
//! Async code ends here: a step runs on plain threads and calls back. Protocol messages end here too: they are converted on
//! entry, never kept.
//!
//! Modules are in the order of their layers: each imports only from those above it (`tests/import_order.rs`).

// Input must not be able to panic: tests may.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod log;

mod wire;

mod threads;

mod auth;

mod net;

pub mod cluster;

pub mod remote;

mod worker;

mod master;

mod service;

/// For fuzzers.
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod testing;

pub use cluster::TaskSpec;
pub use net::{Credentials, PeerLimits, Proxy, TlsFiles};
pub use remote::{RemoteRunOptions, RemoteSession};
pub use service::{Security, Server, ServerOptions, wait_for_stop};
pub use wire::config::{run_options, session_options};
pub use wire::metadata::to_proto as run_metadata_to_proto;
