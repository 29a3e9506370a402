//! One connection, from its first byte to its end.

use crate::auth::Caller;
use crate::grpc::{self, Answer, Collecting, Refusal};
use crate::http2::frame::{self, put_goaway};
use crate::http2::{
    Alive, Ending, Fault, Handled, Handler, Head, Role, STREAM_WINDOW, Sending, Socket, Wire,
};
use crate::peers::{Peer, Share};
use crate::server::Phase;
use crate::wire_error::status;
use bytes::Bytes;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tonic::Status;

/// How often a peer that says nothing is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(60);

/// Serves until the peer goes, the server stops, or the peer has kept us waiting for too long.
pub async fn serve(stream: Socket, peer: Peer, stopped: watch::Receiver<Phase>) {
    let (log, answers, limits) = (peer.master.log, peer.answers.clone(), peer.limits);
    // Without it the connection is slow, not wrong.
    let _ = stream.set_nodelay();
    let patience = limits.patience;
    let mut wire =
        Wire::new(stream, Role::Server { streams: limits.calls }, Some(Alive::new(PING_EVERY, patience)));
    let (finished, mut answered) = mpsc::unbounded_channel();
    let mut calls =
        Calls { peer: Arc::new(peer), streams: HashMap::new(), last: 0, finished, draining: false };
    let (mut phase, mut closing) = (stopped.clone(), stopped);
    let mut drain = pin!(phase.wait_for(|phase| *phase > Phase::Serving));
    let mut close = pin!(closing.wait_for(|phase| *phase == Phase::Closing));
    let opened = Instant::now();
    let mut look = tokio::time::interval(patience.max(MIN_PATIENCE) / 4);
    let ended = std::future::poll_fn(|cx| {
        if !calls.draining && drain.as_mut().poll(cx).is_ready() {
            calls.draining = true;
            put_goaway(&mut wire.sending.out.small, calls.last, frame::NO_ERROR);
        }
        if close.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        while look.poll_tick(cx).is_ready() {
            if answers.overdue() {
                log.info("connection_closed", &[("why", &"its peer does not read its answers")]);
                return Poll::Ready(Ok(()));
            }
            if !answers.has_asked() && opened.elapsed() > patience {
                log.info("connection_closed", &[("why", &"its peer asks for nothing")]);
                return Poll::Ready(Ok(()));
            }
            calls.give_up_unfinished(&mut wire.sending);
        }
        loop {
            while let Poll::Ready(Some((stream, answer))) = answered.poll_recv(cx) {
                calls.respond(&mut wire.sending, stream, answer);
            }
            if let Poll::Ready(ended) = wire.poll(cx, &mut calls, true) {
                return Poll::Ready(ended);
            }
            if calls.draining && calls.streams.is_empty() && wire.is_idle() {
                return Poll::Ready(Ok(()));
            }
            if answered.is_empty() {
                return Poll::Pending;
            }
        }
    });
    if let Err(e) = ended.await {
        log.debug("connection_ended", &[("error", &e.why)]);
    }
}

/// So that the intervals at which is looked are never zero.
const MIN_PATIENCE: Duration = Duration::from_millis(40);

/// The calls of a connection.
struct Calls {
    peer: Arc<Peer>,
    streams: HashMap<u32, Call>,
    /// The last stream that was begun.
    last: u32,
    finished: mpsc::UnboundedSender<(u32, Answer)>,
    draining: bool,
}

enum Call {
    Arriving(Box<Request>),
    Running(AbortHandle),
}

/// A request that has not come as a whole.
struct Request {
    path: Bytes,
    caller: Caller,
    timeout: Option<Duration>,
    message: Collecting,
    share: Share,
    /// Bytes that the peer has not got credit for again.
    taken: u32,
    last_bytes: Instant,
}

impl Handler for Calls {
    fn head(&mut self, sending: &mut Sending, stream: u32, head: Head, end: bool) -> Handled {
        if self.streams.contains_key(&stream) {
            if end {
                self.end(sending, stream);
            }
            return Ok(());
        }
        if stream.is_multiple_of(2) {
            return Err(Fault::protocol("a client's streams have odd numbers"));
        }
        if stream <= self.last {
            // One that we have ended; the peer may not have known.
            return Ok(());
        }
        self.last = stream;
        if self.draining || self.streams.len() >= self.peer.limits.calls as usize {
            sending.reset(stream, frame::REFUSED_STREAM);
            return Ok(());
        }
        let caller = match self.peer.admit(&head) {
            Ok(caller) => caller,
            Err(refused) => {
                sending.open(stream);
                self.answer(sending, stream, Err(refused));
                sending.reset(stream, frame::NO_ERROR);
                return Ok(());
            }
        };
        self.peer.answers.expected();
        let path = head.path.unwrap_or_default();
        let request = Request {
            timeout: head.timeout.as_deref().and_then(grpc::timeout),
            message: Collecting::new(grpc::contents_of(&path), self.peer.limits.message),
            path,
            caller,
            share: Share::of(&self.peer.unfinished),
            taken: 0,
            last_bytes: Instant::now(),
        };
        sending.open(stream);
        self.streams.insert(stream, Call::Arriving(Box::new(request)));
        if end {
            self.end(sending, stream);
        }
        Ok(())
    }

    fn data(&mut self, sending: &mut Sending, stream: u32, bytes: &[u8]) {
        let Some(request) = self.request(stream) else { return };
        let refused = request.message.push(bytes).err();
        self.took(sending, stream, bytes.len(), refused);
    }

    fn room(&mut self, stream: u32) -> Option<&mut [u8]> {
        self.request(stream)?.message.room()
    }

    fn filled(&mut self, sending: &mut Sending, stream: u32, bytes: usize) {
        let Some(request) = self.request(stream) else { return };
        request.message.filled(bytes);
        self.took(sending, stream, bytes, None);
    }

    fn end(&mut self, sending: &mut Sending, stream: u32) {
        match self.streams.remove(&stream) {
            Some(Call::Arriving(request)) => self.call(sending, stream, *request),
            Some(running) => drop(self.streams.insert(stream, running)),
            None => {}
        }
    }

    fn reset(&mut self, stream: u32, _: u32) {
        if let Some(Call::Running(call)) = self.streams.remove(&stream) {
            call.abort();
        }
    }

    fn goaway(&mut self, _: u32) {}
}

impl Drop for Calls {
    fn drop(&mut self) {
        for call in self.streams.values() {
            if let Call::Running(call) = call {
                call.abort();
            }
        }
    }
}

impl Calls {
    fn request(&mut self, stream: u32) -> Option<&mut Request> {
        match self.streams.get_mut(&stream) {
            Some(Call::Arriving(request)) => Some(request),
            _ => None,
        }
    }

    /// Bytes of a request have come.
    fn took(&mut self, sending: &mut Sending, stream: u32, bytes: usize, refused: Option<Refusal>) {
        let limit = self.peer.limits.message;
        let Some(request) = self.request(stream) else { return };
        request.last_bytes = Instant::now();
        request.taken += bytes as u32;
        if request.taken >= STREAM_WINDOW / 2 {
            sending.give_credit(stream, std::mem::take(&mut request.taken));
        }
        let refused = match refused {
            None if request.share.hold(request.message.held()) => return,
            None => no_room(),
            Some(Refusal::Compressed) => Status::unimplemented("compressed messages are not supported"),
            Some(Refusal::TooLong(length)) => {
                Status::resource_exhausted(format!("a message of {length} bytes; the limit is {limit}"))
            }
            Some(Refusal::TooMuch) => {
                Status::invalid_argument("more than one message in a call that takes one")
            }
            Some(Refusal::Failed(e)) => status(&self.peer.master.task.name, &e),
        };
        self.refuse(sending, stream, refused);
    }

    /// Answers a request that has not ended. The peer is told that it need not go on.
    fn refuse(&mut self, sending: &mut Sending, stream: u32, why: Status) {
        self.respond(sending, stream, Err(why));
        sending.reset(stream, frame::NO_ERROR);
    }

    /// The request is there as a whole. Most are answered at once; what takes longer goes on beside the connection.
    fn call(&mut self, sending: &mut Sending, stream: u32, request: Request) {
        let Some(message) = request.message.finish() else {
            let cut_short = Status::invalid_argument("the request ended before its message");
            return self.answer(sending, stream, Err(cut_short));
        };
        drop(request.share);
        let mut call =
            Box::pin(grpc::answer(self.peer.clone(), request.caller, request.path, request.timeout, message));
        let first =
            catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(&mut Context::from_waker(Waker::noop()))));
        match first {
            Ok(Poll::Ready(answer)) => self.answer(sending, stream, answer),
            Ok(Poll::Pending) => {
                let mut told = Told { stream, to: Some(self.finished.clone()) };
                let rest = async move { told.tell(call.await) };
                let running = tokio::spawn(rest).abort_handle();
                self.streams.insert(stream, Call::Running(running));
            }
            Err(_) => self.answer(sending, stream, Err(panicked())),
        }
    }

    /// The answer of a call that goes on beside the connection; nobody wants it if the stream has ended.
    fn respond(&mut self, sending: &mut Sending, stream: u32, answer: Answer) {
        if self.streams.remove(&stream).is_some() {
            self.answer(sending, stream, answer);
        }
    }

    fn answer(&self, sending: &mut Sending, stream: u32, answer: Answer) {
        let taken = answer.and_then(|reply| {
            let watched = self.peer.answers.sending(reply.len(), &self.peer.limits)?;
            Ok((reply, watched))
        });
        match taken {
            Ok((reply, watched)) => {
                sending.headers(stream, false, |encoder, out| {
                    encoder.field(out, ":status", b"200");
                    encoder.field(out, "content-type", b"application/grpc");
                });
                sending.message(stream, reply.pieces, Ending::Ok, Some(Box::new(watched)));
            }
            Err(status) => {
                sending.headers(stream, true, |encoder, out| {
                    encoder.field(out, ":status", b"200");
                    encoder.field(out, "content-type", b"application/grpc");
                    encoder.passing(out, "grpc-status", (status.code() as i32).to_string().as_bytes());
                    encoder.passing(out, "grpc-message", &grpc::percent_coded(status.message()));
                });
                sending.close(stream);
            }
        }
    }

    /// Requests of which nothing more comes.
    fn give_up_unfinished(&mut self, sending: &mut Sending) {
        let patience = self.peer.limits.patience;
        let late = |call: &Call| matches!(call, Call::Arriving(r) if r.last_bytes.elapsed() > patience);
        let late: Vec<u32> = self.streams.iter().filter(|s| late(s.1)).map(|s| *s.0).collect();
        for stream in late {
            let why = Status::deadline_exceeded("the rest of the request did not come");
            self.refuse(sending, stream, why);
        }
    }
}

/// Tells the connection how a call ended, even if it does so by a panic.
struct Told {
    stream: u32,
    to: Option<mpsc::UnboundedSender<(u32, Answer)>>,
}

impl Told {
    fn tell(&mut self, answer: Answer) {
        if let Some(to) = self.to.take() {
            // A connection that has gone wants no answer.
            let _ = to.send((self.stream, answer));
        }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.tell(Err(panicked()));
    }
}

fn panicked() -> Status {
    Status::internal("the call ended in a panic; the server's output says where")
}

fn no_room() -> Status {
    Status::resource_exhausted(
        "too many bytes of messages that have not arrived as a whole: send less at a time",
    )
}
