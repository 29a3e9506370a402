//! The calls of a server's connection: streams from HEADERS to the response.

use super::limits::StallTimeout;
use super::pacing::Earned;
use super::peer::Peer;
use super::recent_streams::RecentStreams;
use super::service::{Call as Incoming, Route};
use crate::auth::Caller;
use crate::net::grpc::{self, Answer, MessageReader, Refusal};
use crate::net::http2::{ConnectionError, Ending, FrameWriter, Handled, Handler, Head, STREAM_WINDOW, frame};
use crate::wire::Status;
use crate::wire::error::connection_status;
use bytes::Bytes;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};
use thalweg_core::budget::Charge;
use thalweg_core::error::Code;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant};

pub struct Calls {
    peer: Peer,
    streams: HashMap<u32, Call>,
    /// The last stream that was opened.
    pub last: u32,
    finished: mpsc::UnboundedSender<(u32, Answer)>,
    /// Draining: GOAWAY was sent, new streams are refused.
    pub draining: bool,
    /// Streams that we reset before END_STREAM: the peer may still send on them.
    refused: RecentStreams,
    /// Streams that the peer ended or reset: it must not send on them.
    ended: RecentStreams,
    /// Credit for pacing, from answered calls.
    pub earned: Earned,
}

enum Call {
    Arriving(Box<Request>),
    Running { call: AbortHandle, _charge: Charge },
}

/// An incomplete request.
struct Request {
    path: Bytes,
    caller: Caller,
    timeout: Option<Duration>,
    message: MessageReader,
    charge: Charge,
    /// Bytes that no WINDOW_UPDATE has returned.
    taken: u32,
    /// `content-length`, and the bytes received.
    content_length: Option<u64>,
    received: u64,
    began: Instant,
    last_bytes: Instant,
}

/// How a call is rejected.
enum Refused {
    Reset(u32),
    /// HTTP, but not gRPC.
    Http(&'static str),
    Call(Status),
}

/// Memory of a call beside its message: its async task, its stream, its entries in tables.
const CALL: usize = 4 << 10;

impl Handler for Calls {
    fn is_idle(&self, stream: u32) -> bool {
        stream > self.last || stream.is_multiple_of(2)
    }

    fn last_stream(&self) -> u32 {
        self.last
    }

    fn head(&mut self, writer: &mut FrameWriter, stream: u32, head: Head, end: bool) -> Handled {
        match self.streams.get(&stream) {
            Some(Call::Arriving(_)) if end && head.trailers_fault().is_none() => {
                self.end(writer, stream);
                Ok(())
            }
            Some(Call::Arriving(_)) => {
                self.give_up(writer, stream, frame::PROTOCOL_ERROR);
                Ok(())
            }
            Some(Call::Running { .. }) => {
                self.give_up(writer, stream, frame::STREAM_CLOSED);
                Ok(())
            }
            None if stream.is_multiple_of(2) => {
                Err(ConnectionError::protocol("a client's streams have odd numbers"))
            }
            None if stream > self.last => {
                self.last = stream;
                self.begin(writer, stream, head, end);
                Ok(())
            }
            None if self.refused.has(stream) => Ok(()),
            None if self.ended.has(stream) => Err(ConnectionError {
                code: frame::STREAM_CLOSED,
                why: "headers on a stream that has ended".into(),
            }),
            None => Err(ConnectionError::protocol("a stream with a lower number than the last")),
        }
    }

    fn begin_data(&mut self, writer: &mut FrameWriter, stream: u32, length: usize) -> bool {
        if let Some(request) = self.request(stream) {
            request.taken += length as u32;
            if request.taken >= STREAM_WINDOW / 2 {
                writer.send_window_update(stream, std::mem::take(&mut request.taken));
            }
            return true;
        }
        if !self.refused.has(stream) {
            self.give_up(writer, stream, frame::STREAM_CLOSED);
        }
        false
    }

    fn data(&mut self, writer: &mut FrameWriter, stream: u32, bytes: &[u8]) {
        let Some(request) = self.request(stream) else { return };
        let refused = request.message.push(bytes).err();
        self.took(writer, stream, bytes.len(), refused);
    }

    fn room(&mut self, stream: u32) -> Option<&mut [u8]> {
        self.request(stream)?.message.room()
    }

    fn filled(&mut self, writer: &mut FrameWriter, stream: u32, bytes: usize) {
        let Some(request) = self.request(stream) else { return };
        let refused = request.message.filled(bytes).err();
        self.took(writer, stream, bytes, refused);
    }

    fn end(&mut self, writer: &mut FrameWriter, stream: u32) {
        match self.streams.remove(&stream) {
            Some(Call::Arriving(request)) => {
                self.ended.note(stream);
                if request.content_length.is_some_and(|length| length != request.received) {
                    return writer.reset(stream, frame::PROTOCOL_ERROR);
                }
                self.call(writer, stream, *request);
            }
            Some(running) => drop(self.streams.insert(stream, running)),
            None => {}
        }
    }

    fn reset(&mut self, stream: u32, _: u32) {
        self.ended.note(stream);
        if let Some(Call::Running { call, .. }) = self.streams.remove(&stream) {
            call.abort();
            self.earned.tasks = self.earned.tasks.saturating_add(1);
        }
    }

    fn goaway(&mut self, _: u32) {}
}

impl Drop for Calls {
    fn drop(&mut self) {
        for call in self.streams.values() {
            if let Call::Running { call, .. } = call {
                call.abort();
            }
        }
    }
}

impl Calls {
    /// The calls of a peer; responses that are not immediate come by `finished`.
    pub fn new(peer: Peer, finished: mpsc::UnboundedSender<(u32, Answer)>) -> Calls {
        Calls {
            peer,
            streams: HashMap::new(),
            last: 0,
            finished,
            draining: false,
            refused: RecentStreams::default(),
            ended: RecentStreams::default(),
            earned: Earned::default(),
        }
    }

    /// Whether no call is in flight.
    pub fn is_idle(&self) -> bool {
        self.streams.is_empty()
    }

    /// Cancels so many calls in flight: each is then dropped by the runtime.
    pub fn cancel_some(&mut self, count: usize) {
        let some: Vec<u32> = self.streams.keys().take(count).copied().collect();
        for stream in some {
            self.reset(stream, frame::CANCEL);
        }
    }

    /// Calls in flight.
    pub fn waiting(&self) -> usize {
        self.streams.len()
    }

    fn request(&mut self, stream: u32) -> Option<&mut Request> {
        match self.streams.get_mut(&stream) {
            Some(Call::Arriving(request)) => Some(request),
            _ => None,
        }
    }

    /// HEADERS of a new call.
    fn begin(&mut self, writer: &mut FrameWriter, stream: u32, head: Head, end: bool) {
        let (caller, route, charge) = match self.admit(&head) {
            Ok(admitted) => admitted,
            Err(refused) => return self.turn_away(writer, stream, refused, end),
        };
        self.peer.unread.expected();
        let now = Instant::now();
        let request = Request {
            timeout: head.timeout.as_deref().and_then(grpc::timeout),
            message: MessageReader::new(route.contents, self.peer.limits.message),
            path: route.path,
            caller,
            charge,
            taken: 0,
            content_length: head.content_length,
            received: 0,
            began: now,
            last_bytes: now,
        };
        writer.open(stream);
        self.streams.insert(stream, Call::Arriving(Box::new(request)));
        if end {
            self.end(writer, stream);
        }
    }

    /// Authenticates and charges a new call.
    fn admit(&self, head: &Head) -> Result<(Caller, Route, Charge), Refused> {
        if head.request_fault().is_some() {
            return Err(Refused::Reset(frame::PROTOCOL_ERROR));
        }
        if self.draining || self.streams.len() >= self.peer.limits.calls as usize {
            return Err(Refused::Reset(frame::REFUSED_STREAM));
        }
        if let Some(status) = grpc::http_refusal(head) {
            return Err(Refused::Http(status));
        }
        let (caller, route) = self.peer.admit(head).map_err(Refused::Call)?;
        match self.peer.incoming.charge(CALL) {
            Ok(charge) => Ok((caller, route, charge)),
            Err(e) => Err(Refused::Call(Status::new(Code::ResourceExhausted, e.message()))),
        }
    }

    fn turn_away(&mut self, writer: &mut FrameWriter, stream: u32, refused: Refused, end: bool) {
        if !end {
            self.refused.note(stream);
        }
        match refused {
            Refused::Reset(code) => return writer.reset(stream, code),
            Refused::Http(status) => writer.headers(stream, true, |encoder, out| {
                encoder.passing(out, ":status", status.as_bytes());
            }),
            Refused::Call(why) => self.answer(writer, stream, Err(why)),
        }
        if !end {
            writer.reset(stream, frame::NO_ERROR);
        }
    }

    /// Resets a stream after a stream error.
    fn give_up(&mut self, writer: &mut FrameWriter, stream: u32, code: u32) {
        self.reset(stream, code);
        self.refused.note(stream);
        writer.reset(stream, code);
    }

    /// DATA of a request.
    fn took(&mut self, writer: &mut FrameWriter, stream: u32, bytes: usize, refused: Option<Refusal>) {
        let limit = self.peer.limits.message;
        self.earned.bytes += bytes;
        let Some(request) = self.request(stream) else { return };
        request.last_bytes = Instant::now();
        request.received += bytes as u64;
        let refused = match refused {
            None => match request.charge.resize(CALL + request.message.held()) {
                Ok(()) => return,
                Err(e) => Status::new(
                    Code::ResourceExhausted,
                    format!(
                        "messages that have not arrived as a whole: {}; send less at a time",
                        e.message()
                    ),
                ),
            },
            Some(Refusal::Compressed) => {
                Status::new(Code::Unimplemented, "compressed messages are not supported")
            }
            Some(Refusal::TooLong(length)) => Status::new(
                Code::ResourceExhausted,
                format!("a message of {length} bytes; the limit is {limit}"),
            ),
            Some(Refusal::TooMuch) => {
                Status::new(Code::InvalidArgument, "more than one message in a call that takes one")
            }
            Some(Refusal::Failed(e)) => connection_status(&e),
        };
        self.refuse(writer, stream, refused);
    }

    /// Rejects an incomplete request: a response, then RST_STREAM with NO_ERROR.
    fn refuse(&mut self, writer: &mut FrameWriter, stream: u32, why: Status) {
        self.respond(writer, stream, Err(why));
        self.refused.note(stream);
        writer.reset(stream, frame::NO_ERROR);
    }

    /// Runs a complete request. It is polled once here; if it is pending it becomes an async task.
    fn call(&mut self, writer: &mut FrameWriter, stream: u32, request: Request) {
        let Some(message) = request.message.finish() else {
            let cut_short = Status::new(Code::InvalidArgument, "the request ended before its message");
            return self.answer(writer, stream, Err(cut_short));
        };
        let mut charge = request.charge;
        if let Err(e) = charge.resize(CALL + message.len()) {
            return self.answer(writer, stream, Err(Status::new(Code::ResourceExhausted, e.message())));
        }
        let mut call = self.peer.service.clone().call(Incoming {
            path: request.path,
            caller: request.caller,
            origin: self.peer.origin.clone(),
            connection: self.peer.connection.clone(),
            timeout: request.timeout,
            message,
            max_answer: self.peer.limits.message,
        });
        let began = Instant::now();
        let first =
            catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(&mut Context::from_waker(Waker::noop()))));
        match first {
            Ok(Poll::Ready(answer)) => {
                self.earned.ran += began.elapsed();
                self.answer(writer, stream, answer);
            }
            Ok(Poll::Pending) => {
                let mut told = CompletionGuard { stream, to: Some(self.finished.clone()) };
                let rest = async move { told.tell(call.await) };
                let call = tokio::spawn(rest).abort_handle();
                self.earned.tasks = self.earned.tasks.saturating_add(1);
                self.streams.insert(stream, Call::Running { call, _charge: charge });
            }
            Err(_) => self.answer(writer, stream, Err(panicked())),
        }
    }

    /// The response of such a task; dropped if the stream is closed.
    pub fn respond(&mut self, writer: &mut FrameWriter, stream: u32, answer: Answer) {
        if self.streams.remove(&stream).is_some() {
            self.answer(writer, stream, answer);
        }
    }

    fn answer(&mut self, writer: &mut FrameWriter, stream: u32, answer: Answer) {
        let taken = answer.and_then(|reply| {
            let watched = self.peer.unread.sending(reply.len())?;
            Ok((reply, watched))
        });
        match taken {
            Ok((reply, watched)) => {
                self.earned.answer(reply.len());
                writer.headers(stream, false, |encoder, out| {
                    encoder.field(out, ":status", b"200");
                    encoder.field(out, "content-type", b"application/grpc");
                });
                writer.message(stream, reply.pieces, Ending::Ok, Some(Box::new(watched)));
            }
            Err(status) => {
                writer.headers(stream, true, |encoder, out| {
                    encoder.field(out, ":status", b"200");
                    encoder.field(out, "content-type", b"application/grpc");
                    encoder.passing(out, "grpc-status", (status.code() as i32).to_string().as_bytes());
                    encoder.passing(out, "grpc-message", &grpc::percent_encoded(status.message()));
                });
                writer.close(stream);
            }
        }
    }

    /// Rejects requests that have stalled, or are slow while memory is tight.
    pub fn give_up_unfinished(&mut self, writer: &mut FrameWriter) {
        let timeout = StallTimeout::for_pool(self.peer.incoming.pool(), self.peer.limits.stall_timeout);
        let late = |call: &Call| {
            matches!(call, Call::Arriving(r)
                if timeout.is_exceeded(r.began.elapsed(), r.last_bytes.elapsed(), r.message.held()))
        };
        let late: Vec<u32> = self.streams.iter().filter(|s| late(s.1)).map(|s| *s.0).collect();
        for stream in late {
            let why = Status::new(Code::DeadlineExceeded, "the rest of the request did not come");
            self.refuse(writer, stream, why);
        }
    }
}

/// Sends the response of a call to its connection, even after a panic.
struct CompletionGuard {
    stream: u32,
    to: Option<mpsc::UnboundedSender<(u32, Answer)>>,
}

impl CompletionGuard {
    fn tell(&mut self, answer: Answer) {
        if let Some(to) = self.to.take() {
            // The connection may have closed.
            let _ = to.send((self.stream, answer));
        }
    }
}

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        self.tell(Err(panicked()));
    }
}

fn panicked() -> Status {
    Status::new(Code::Internal, "the call ended in a panic; the server's output says where")
}

#[cfg(test)]
mod tests;
