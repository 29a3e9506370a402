//! Messages of unary gRPC calls.
//!
//! Memory grows with the bytes received, not with announced lengths. Tensors are sent from their own buffers.

pub mod content_scanner;
mod deadline;
mod message_reader;
mod partial_message;
mod percent_encoding;
mod received_message;
mod response;

pub use deadline::{timeout, within};
pub use message_reader::{MessageReader, Refusal};
pub use percent_encoding::{percent_decoded, percent_encoded};
pub use received_message::ReceivedMessage;

pub use response::Reply;

use crate::net::http2::Head;
use crate::wire::Status;

/// A call's result.
pub type Answer = Result<Reply, Status>;

/// The HTTP status for a request that is not gRPC (gRPC over HTTP/2).
pub fn http_refusal(head: &Head) -> Option<&'static str> {
    if head.method.as_deref() != Some(b"POST") {
        return Some("405");
    }
    match &head.content_type {
        Some(kind) if kind.starts_with(b"application/grpc") => None,
        _ => Some("415"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn what_is_no_call_of_grpc_has_a_status_of_http() {
        let refusal = |method: Option<&'static str>, kind: Option<&'static str>| {
            let mut head = Head::default();
            (head.method, head.content_type) = (method.map(Bytes::from), kind.map(Bytes::from));
            http_refusal(&head)
        };
        assert_eq!(refusal(Some("POST"), Some("application/grpc")), None);
        assert_eq!(refusal(Some("POST"), Some("application/grpc+proto")), None);
        assert_eq!(refusal(Some("POST"), Some("application/json")), Some("415"));
        assert_eq!(refusal(Some("POST"), None), Some("415"));
        assert_eq!(refusal(Some("GET"), Some("application/grpc")), Some("405"));
        assert_eq!(refusal(None, Some("application/grpc")), Some("405"));
    }
}
