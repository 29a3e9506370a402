//! A task on the network: TensorFlow's `MasterService`, for real TensorFlow clients and our own.
//!
//! Async code ends here: a step runs on plain threads and calls back. Protocol messages end here too: they are converted on
//! entry, never kept.

mod answers;
mod blocking;
pub mod cluster;
mod config;
mod connection;
mod grpc;
mod http2;
pub mod log;
mod master;
mod metadata;
mod peers;
mod recent_requests;
pub mod remote;
mod server;
mod server_def;
mod sessions;
mod signals;
mod steps;
mod task;
mod wire_error;
mod worker;

pub use peers::PeerLimits;
pub use remote::{RemoteRunOptions, RemoteSession};
pub use server::{Server, ServerOptions};
pub use server_def::TaskSpec;
pub use signals::wait_for_stop;
