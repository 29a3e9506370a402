//! A task on the network: TensorFlow's `MasterService`, for real TensorFlow clients and our own.
//!
//! Async code ends here: a step runs on plain threads and calls back. Protocol messages end here too: they are converted on
//! entry, never kept.

mod answers;
mod auth;
mod blocking;
mod calls;
pub mod cluster;
mod config;
mod connection;
mod credentials;
/// For fuzzers.
#[doc(hidden)]
pub mod fuzzing;
mod grpc;
mod http2;
pub mod log;
mod master;
mod metadata;
mod open_files;
mod peers;
mod places;
mod proxy;
mod recent_requests;
mod recent_streams;
pub mod remote;
mod security;
mod server;
mod server_def;
mod sessions;
mod signals;
mod steps;
mod task;
#[cfg(test)]
mod testing;
mod tls;
mod turns;
mod wire_error;
mod worker;

pub use credentials::Credentials;
pub use peers::PeerLimits;
pub use proxy::Proxy;
pub use remote::{RemoteRunOptions, RemoteSession};
pub use security::Security;
pub use server::{Server, ServerOptions};
pub use server_def::TaskSpec;
pub use signals::wait_for_stop;
pub use tls::TlsFiles;
