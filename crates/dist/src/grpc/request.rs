//! The one message of a request.

use super::arrived::Arrived;
use crate::peers::{Peer, Share};
use bytes::{Buf, Bytes};
use hyper::body::{Body, Incoming};
use std::pin::Pin;
use std::time::Duration;
use tonic::Status;

/// Before each message: a byte that says whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Reads the message. Nothing is copied here, and memory grows with what arrives, not with what is announced.
pub async fn message(mut body: Incoming, peer: &Peer) -> Result<Arrived, Status> {
    let patience = peer.limits.patience;
    let mut first = next(&mut body, patience).await?.ok_or_else(cut_short)?;
    while first.len() < PREFIX {
        let more = next(&mut body, patience).await?.ok_or_else(cut_short)?;
        first = [first, more].concat().into();
    }
    if first.get_u8() != 0 {
        return Err(Status::unimplemented("compressed messages are not supported"));
    }
    let (length, limit) = (first.get_u32() as usize, peer.limits.message);
    if length > limit {
        return Err(Status::resource_exhausted(format!("a message of {length} bytes; the limit is {limit}")));
    }
    let mut held = Share::of(&peer.unfinished);
    let mut arrived = Arrived::new(first);
    while arrived.remaining() < length {
        let more = next(&mut body, patience).await?.ok_or_else(cut_short)?;
        held.grow(more.len())?;
        arrived.push(more);
    }
    match arrived.remaining() == length {
        true => Ok(arrived),
        false => Err(Status::invalid_argument("more than one message in a call that takes one")),
    }
}

async fn next(body: &mut Incoming, patience: Duration) -> Result<Option<Bytes>, Status> {
    loop {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx));
        let arrived = tokio::time::timeout(patience, frame).await;
        match arrived.map_err(|_| Status::deadline_exceeded("the rest of the request did not come"))? {
            None => return Ok(None),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) if data.is_empty() => {}
                Ok(data) => return Ok(Some(data)),
                Err(_) => return Ok(None),
            },
            Some(Err(e)) => return Err(Status::cancelled(format!("the request was cut off: {e}"))),
        }
    }
}

fn cut_short() -> Status {
    Status::invalid_argument("the request ended before its message")
}
