//! The one message of a request.

use super::arrived::Arrived;
use super::arriving::{Arriving, at_once};
use super::fields::Path;
use crate::peers::{Peer, Share};
use crate::wire_error::status;
use bytes::{Buf, Bytes};
use hyper::body::{Body, Incoming};
use std::pin::Pin;
use std::time::Duration;
use tonic::Status;

/// Before each message: a byte that says whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Reads the message, whose large contents lie at `path`. Memory grows with what arrives, not with what is announced.
pub async fn message(mut body: Incoming, path: Path, peer: &Peer) -> Result<Arrived, Status> {
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
    if first.len() == length {
        end(&mut body, patience).await?;
        return Ok(at_once(first));
    }
    let mut share = Share::of(&peer.unfinished);
    let mut arriving = Arriving::new(length, path);
    let mut piece = first;
    loop {
        match arriving.push(&piece) {
            Ok(true) if share.hold(arriving.held()) => {}
            Ok(true) => return Err(no_room()),
            Ok(false) => return Err(too_much()),
            Err(e) => return Err(status(&peer.master.task.name, &e)),
        }
        if arriving.is_whole() {
            end(&mut body, patience).await?;
            return Ok(arriving.finish());
        }
        // Let go before the next one is read, so that its memory can be used again.
        drop(piece);
        piece = next(&mut body, patience).await?.ok_or_else(cut_short)?;
    }
}

/// Waits for the end of a request whose message is there. One that is answered earlier would have to be reset, and peers whose
/// requests are reset too often lose their connection.
async fn end(body: &mut Incoming, patience: Duration) -> Result<(), Status> {
    if body.is_end_stream() {
        return Ok(());
    }
    match next(body, patience).await? {
        None => Ok(()),
        Some(_) => Err(too_much()),
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

fn no_room() -> Status {
    Status::resource_exhausted(
        "too many bytes of messages that have not arrived as a whole: send less at a time",
    )
}

fn too_much() -> Status {
    Status::invalid_argument("more than one message in a call that takes one")
}

fn cut_short() -> Status {
    Status::invalid_argument("the request ended before its message")
}
