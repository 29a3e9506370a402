//! Connections: HTTP/2 and gRPC over TCP or TLS, both ends.

pub mod client_connection;
pub mod credentials;
pub mod grpc;
pub mod http2;
mod proxy;
pub mod server;
pub mod tls;

pub use credentials::Credentials;
pub use proxy::Proxy;
pub use server::limits::PeerLimits;
pub use tls::TlsFiles;
