//! HTTP/2 for unary gRPC calls, client and server.
//!
//! One task drives a connection, without the queues and copies of a general library:
//! frames are handled as they are read, an immediate response leaves with the same system call, and large contents are
//! read from the socket into their tensors.
//!
//! `frame` has the wire format, `hpack` header compression, `frame_reader` parses frames for a `Handler`, `frame_writer` sends messages
//! under flow control, `write_buffer` holds unwritten bytes, `transport` combines them on one `socket`, which is TCP or TLS.

pub mod frame;
mod frame_reader;
mod frame_writer;
pub mod hpack;
mod keep_alive;
mod socket;
#[cfg(test)]
pub mod testing;
mod transport;
mod write_buffer;

pub use frame_reader::{FrameReader, Handler};
pub use frame_writer::{Ending, FrameWriter};
pub use hpack::Head;
pub use keep_alive::KeepAlive;
pub use socket::Socket;
pub use transport::{Role, Transport, budget_is_spent};

/// Our receive windows: tensors of some megabytes arrive without waiting for a WINDOW_UPDATE.
pub const STREAM_WINDOW: u32 = 64 << 20;
pub const CONNECTION_WINDOW: u32 = 256 << 20;
/// Large frames are cheaper.
pub const MAX_FRAME: u32 = 1 << 20;

/// Why a connection ends: GOAWAY's error code, and the log's text.
#[derive(Debug)]
pub struct ConnectionError {
    pub code: u32,
    pub why: String,
}

/// An error ends the connection.
pub type Handled = Result<(), ConnectionError>;

impl ConnectionError {
    pub fn protocol(why: impl Into<String>) -> ConnectionError {
        ConnectionError { code: frame::PROTOCOL_ERROR, why: why.into() }
    }
}

impl From<std::io::Error> for ConnectionError {
    fn from(e: std::io::Error) -> ConnectionError {
        ConnectionError { code: frame::NO_ERROR, why: e.to_string() }
    }
}
