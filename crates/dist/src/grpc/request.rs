//! The one message of a request.

use bytes::{Buf, Bytes, BytesMut};
use hyper::body::{Body, Incoming};
use std::pin::Pin;
use tonic::Status;

/// Before each message: a byte that says whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Protocol buffers can be no larger.
pub const MAX_MESSAGE: usize = i32::MAX as usize;

/// Reads the message. What comes in one piece is not copied; the rest is put together as it arrives.
pub async fn message(mut body: Incoming) -> Result<Bytes, Status> {
    let mut first = next(&mut body).await?.ok_or_else(cut_short)?;
    while first.len() < PREFIX {
        let more = next(&mut body).await?.ok_or_else(cut_short)?;
        first = [first, more].concat().into();
    }
    if first.get_u8() != 0 {
        return Err(Status::unimplemented("compressed messages are not supported"));
    }
    let length = first.get_u32() as usize;
    if length > MAX_MESSAGE {
        return Err(Status::resource_exhausted(format!(
            "a message of {length} bytes; the limit is {MAX_MESSAGE}"
        )));
    }
    if first.len() < length {
        let mut all = BytesMut::with_capacity(length.min(TRUSTED));
        all.extend_from_slice(&first);
        while all.len() < length {
            let more = next(&mut body).await?.ok_or_else(cut_short)?;
            if all.capacity() < all.len() + more.len() {
                all.reserve(length.min(all.len() * 2).max(all.len() + more.len()) - all.len());
            }
            all.extend_from_slice(&more);
        }
        first = all.freeze();
    }
    match first.len() == length {
        true => Ok(first),
        false => Err(Status::invalid_argument("more than one message in a call that takes one")),
    }
}

/// Memory made on a peer's word alone.
const TRUSTED: usize = 32 << 20;

async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Status> {
    loop {
        match std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
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
