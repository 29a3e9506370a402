//! The client's end of a connection: unary gRPC calls over HTTP/2. One async task drives it; calls are enqueued from any thread.

use crate::net::credentials::Outgoing;
use crate::net::grpc::content_scanner::ContentPath;
use crate::net::grpc::{MessageReader, ReceivedMessage, Refusal, percent_decoded};
use crate::net::http2::frame;
use crate::net::http2::{
    Ending, FrameWriter, Handled, Handler, Head, KeepAlive, Role, STREAM_WINDOW, Transport, budget_is_spent,
};
use bytes::{BufMut, Bytes, BytesMut};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use thalweg_core::error::{Code, Error, Result, internal};
use thalweg_core::invalid;
use thalweg_proto::Message;
use tokio::sync::{mpsc, oneshot};

/// Keep-alive: silence before a PING, and the timeout of its ACK.
#[derive(Clone, Copy, Debug)]
pub struct KeepAliveOptions {
    pub interval: Duration,
    pub timeout: Duration,
}

/// A request, encoded.
#[derive(Clone)]
pub struct Request {
    /// `/package.Service/Method`.
    method: String,
    /// With gRPC's prefix.
    message: Bytes,
}

impl Request {
    pub fn new(method: String, message: &impl Message) -> Result<Request> {
        let size = message.encoded_len();
        let length = u32::try_from(size).ok().filter(|n| *n <= i32::MAX as u32);
        let length =
            length.ok_or_else(|| invalid!("a message of {size} bytes: at most 2 GiB can be sent"))?;
        let mut body = BytesMut::with_capacity(size + 5);
        body.put_u8(0);
        body.put_u32(length);
        message.encode(&mut body).map_err(|e| internal(format_args!("encoding a message: {e}")))?;
        Ok(Request { method, message: body.freeze() })
    }

    /// Encoded length.
    pub fn len(&self) -> usize {
        self.message.len()
    }
}

/// A handle of a connection.
#[derive(Clone)]
pub struct ClientConnection {
    address: Arc<str>,
    asks: mpsc::UnboundedSender<Command>,
    /// Draining: no new calls; some may still be in flight.
    retired: Arc<AtomicBool>,
}

enum Command {
    Start(NewCall),
    Cancel(Arc<CallState>),
}

struct NewCall {
    request: Request,
    /// The path of large contents.
    path: ContentPath,
    done: OnResponse,
    ticket: Arc<CallState>,
}

type OnResponse = Box<dyn FnOnce(Result<ReceivedMessage>) + Send>;

/// The stream of a call, 0 before it has one, whether it was cancelled, and whether the peer has not processed it.
#[derive(Default)]
struct CallState {
    stream: AtomicU32,
    cancelled: AtomicBool,
    refused: AtomicBool,
}

/// A call in flight.
pub struct OutgoingCall {
    ticket: Arc<CallState>,
    asks: mpsc::UnboundedSender<Command>,
}

impl OutgoingCall {
    /// Cancels the call by RST_STREAM.
    pub fn cancel(&self) {
        if !self.ticket.cancelled.swap(true, Ordering::Relaxed) {
            // A closed connection has no calls.
            let _ = self.asks.send(Command::Cancel(self.ticket.clone()));
        }
    }

    /// Whether it failed before the peer did anything for it: it may be made again (RFC 9113, 8.7).
    pub fn was_refused(&self) -> bool {
        self.ticket.refused.load(Ordering::Relaxed)
    }
}

impl ClientConnection {
    /// Starts a call; `done` gets the response, on the thread of the connection, unless the call is cancelled.
    pub fn ask(&self, request: Request, path: ContentPath, done: OnResponse) -> OutgoingCall {
        let ticket = Arc::<CallState>::default();
        let asking = OutgoingCall { ticket: ticket.clone(), asks: self.asks.clone() };
        if let Err(mpsc::error::SendError(Command::Start(ask))) =
            self.asks.send(Command::Start(NewCall { request, path, done, ticket }))
        {
            answer(ask.done, Err(lost(&self.address, "the connection has ended")));
        }
        asking
    }

    /// As `ask`, awaited; dropping the future cancels the call.
    pub async fn unary(&self, request: Request, path: ContentPath) -> Result<ReceivedMessage> {
        struct GiveUp(Option<OutgoingCall>);
        impl Drop for GiveUp {
            fn drop(&mut self) {
                self.0.iter().for_each(OutgoingCall::cancel);
            }
        }
        let (tx, rx) = oneshot::channel();
        let mut asking = GiveUp(Some(self.ask(request, path, Box::new(move |a| drop(tx.send(a))))));
        let answer = rx.await;
        asking.0 = None;
        answer.unwrap_or_else(|_| Err(lost(&self.address, "the connection has ended")))
    }

    pub fn is_closed(&self) -> bool {
        self.asks.is_closed() || self.is_retired()
    }

    /// Whether the peer takes no more calls on it.
    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }
}

/// Completes a call. A panic in its callback must not affect other calls.
fn answer(done: OnResponse, answer: Result<ReceivedMessage>) {
    let _ = catch_unwind(AssertUnwindSafe(|| done(answer)));
}

fn lost(address: &str, why: &str) -> Error {
    Error::new(Code::Unavailable, format_args!("{address}: {why}"))
}

/// Connects to `host:port`.
pub async fn open(
    address: &str,
    keep_alive: Option<KeepAliveOptions>,
    outgoing: &Outgoing,
) -> Result<ClientConnection> {
    let stream = outgoing.dial(address).await?;
    let alive = keep_alive.map(|p| KeepAlive::new(p.interval, p.timeout));
    let (tx, asks) = mpsc::unbounded_channel();
    let sender = ClientConnection { address: address.into(), asks: tx, retired: Arc::default() };
    let calls = Calls {
        address: sender.address.clone(),
        under_way: HashMap::new(),
        waiting: VecDeque::new(),
        next: 1,
        scheme: if outgoing.is_secure() { b"https" } else { b"http" },
        authorization: outgoing.authorization.clone(),
        retired: sender.retired.clone(),
    };
    let driver = Driver { wire: Transport::new(stream, Role::Client, alive), calls, asks };
    tokio::spawn(driver.drive());
    Ok(sender)
}

/// Drives a connection.
struct Driver {
    wire: Transport,
    calls: Calls,
    asks: mpsc::UnboundedReceiver<Command>,
}

impl Driver {
    /// Until the connection ends, or all handles are dropped.
    async fn drive(mut self) {
        let ended = std::future::poll_fn(|cx| self.poll(cx)).await;
        let why = match ended {
            Ok(()) => "the connection was closed by its other end".to_string(),
            Err(fault) => fault.why,
        };
        // Closed before callbacks run: they may start calls.
        self.asks.close();
        self.calls.fail_all(&why);
        while let Ok(said) = self.asks.try_recv() {
            if let Command::Start(ask) = said {
                answer(ask.done, Err(lost(&self.calls.address, &why)));
            }
        }
    }

    fn poll(&mut self, cx: &mut Context) -> Poll<Handled> {
        loop {
            let unwanted = self.poll_asks(cx);
            if unwanted && self.calls.is_idle() {
                return Poll::Ready(Ok(()));
            }
            let waits = !self.calls.is_idle();
            if let Poll::Ready(ended) = self.wire.poll(cx, &mut self.calls, waits) {
                return Poll::Ready(ended);
            }
            self.calls.start_waiting(&mut self.wire.writer);
            // A callback may have started a call.
            if self.asks.is_empty() && self.wire.writer.is_blocked() {
                return Poll::Pending;
            }
            if budget_is_spent(cx) {
                return Poll::Pending;
            }
        }
    }

    /// Takes commands; whether all handles are dropped.
    fn poll_asks(&mut self, cx: &mut Context) -> bool {
        loop {
            match self.asks.poll_recv(cx) {
                Poll::Ready(Some(Command::Start(ask))) => self.calls.begin(&mut self.wire.writer, ask),
                Poll::Ready(Some(Command::Cancel(ticket))) => {
                    let stream = ticket.stream.load(Ordering::Relaxed);
                    if self.calls.under_way.remove(&stream).is_some() {
                        self.wire.writer.reset(stream, frame::CANCEL);
                    }
                }
                Poll::Ready(None) => return true,
                Poll::Pending => return false,
            }
        }
    }
}

/// The calls of a connection.
struct Calls {
    address: Arc<str>,
    under_way: HashMap<u32, Call>,
    /// Calls beyond the peer's SETTINGS_MAX_CONCURRENT_STREAMS.
    waiting: VecDeque<NewCall>,
    /// The next stream id.
    next: u32,
    scheme: &'static [u8],
    /// Sent with each call.
    authorization: Option<Arc<str>>,
    retired: Arc<AtomicBool>,
}

/// A call in flight.
struct Call {
    message: MessageReader,
    head: Head,
    taken: u32,
    done: OnResponse,
    ticket: Arc<CallState>,
}

/// The last stream id; the connection is retired a little before.
const LAST_STREAM: u32 = u32::MAX >> 1;
const RETIRE: u32 = LAST_STREAM - (1 << 20);

impl Calls {
    fn is_idle(&self) -> bool {
        self.under_way.is_empty() && self.waiting.is_empty()
    }

    fn begin(&mut self, writer: &mut FrameWriter, ask: NewCall) {
        if self.under_way.len() >= writer.max_streams() {
            return self.waiting.push_back(ask);
        }
        self.start(writer, ask);
    }

    /// Starts queued calls.
    fn start_waiting(&mut self, writer: &mut FrameWriter) {
        while self.under_way.len() < writer.max_streams()
            && let Some(ask) = self.waiting.pop_front()
        {
            self.start(writer, ask);
        }
    }

    fn start(&mut self, writer: &mut FrameWriter, ask: NewCall) {
        if ask.ticket.cancelled.load(Ordering::Relaxed) {
            return;
        }
        let stream = self.next;
        if stream > RETIRE {
            self.retired.store(true, Ordering::Relaxed);
        }
        let Some(next) = stream.checked_add(2).filter(|n| *n <= LAST_STREAM) else {
            return answer(ask.done, Err(lost(&self.address, "the connection has had all its calls")));
        };
        self.next = next;
        ask.ticket.stream.store(stream, Ordering::Relaxed);
        let (request, address) = (ask.request, &self.address);
        writer.headers(stream, false, |encoder, out| {
            encoder.field(out, ":method", b"POST");
            encoder.field(out, ":scheme", self.scheme);
            encoder.field(out, ":path", request.method.as_bytes());
            encoder.field(out, ":authority", address.as_bytes());
            encoder.field(out, "content-type", b"application/grpc");
            encoder.field(out, "te", b"trailers");
            encoder.field(out, "user-agent", b"thalweg");
            if let Some(shown) = &self.authorization {
                encoder.field(out, "authorization", shown.as_bytes());
            }
        });
        writer.open(stream);
        writer.message(stream, [request.message].into(), Ending::Nothing, None);
        let message = MessageReader::new(ask.path, i32::MAX as usize);
        let call = Call { message, head: Head::default(), taken: 0, done: ask.done, ticket: ask.ticket };
        self.under_way.insert(stream, call);
    }

    fn fail_all(&mut self, why: &str) {
        for (_, call) in std::mem::take(&mut self.under_way) {
            answer(call.done, Err(lost(&self.address, why)));
        }
        for ask in std::mem::take(&mut self.waiting) {
            ask.ticket.refused.store(true, Ordering::Relaxed);
            answer(ask.done, Err(lost(&self.address, why)));
        }
    }
}

impl Calls {
    /// Ends a call whose response is not taken.
    fn refuse(&mut self, writer: &mut FrameWriter, stream: u32, why: Refusal) {
        let Some(call) = self.under_way.remove(&stream) else { return };
        writer.reset(stream, frame::CANCEL);
        let error = match why {
            Refusal::Failed(e) => e,
            _ => nonsense(&self.address),
        };
        answer(call.done, Err(error));
    }
}

impl Handler for Calls {
    fn is_idle(&self, stream: u32) -> bool {
        stream >= self.next || stream.is_multiple_of(2)
    }

    fn last_stream(&self) -> u32 {
        // A server opens none: push is disabled.
        0
    }

    fn begin_data(&mut self, writer: &mut FrameWriter, stream: u32, length: usize) -> bool {
        // The response to a cancelled call is skipped.
        let Some(call) = self.under_way.get_mut(&stream) else { return false };
        call.taken += length as u32;
        if call.taken >= STREAM_WINDOW / 2 {
            writer.send_window_update(stream, std::mem::take(&mut call.taken));
        }
        true
    }

    fn head(&mut self, writer: &mut FrameWriter, stream: u32, head: Head, end: bool) -> Handled {
        if let Some(call) = self.under_way.get_mut(&stream) {
            call.head.add(head);
        }
        if end {
            self.end(writer, stream);
        }
        Ok(())
    }

    fn data(&mut self, writer: &mut FrameWriter, stream: u32, bytes: &[u8]) {
        let Some(call) = self.under_way.get_mut(&stream) else { return };
        if let Err(why) = call.message.push(bytes) {
            self.refuse(writer, stream, why);
        }
    }

    fn room(&mut self, stream: u32) -> Option<&mut [u8]> {
        self.under_way.get_mut(&stream)?.message.room()
    }

    fn filled(&mut self, writer: &mut FrameWriter, stream: u32, bytes: usize) {
        let Some(call) = self.under_way.get_mut(&stream) else { return };
        if let Err(why) = call.message.filled(bytes) {
            self.refuse(writer, stream, why);
        }
    }

    fn end(&mut self, writer: &mut FrameWriter, stream: u32) {
        let Some(call) = self.under_way.remove(&stream) else { return };
        // A response may come before all of the request was sent.
        writer.reset_if_open(stream);
        let said =
            check(&call.head).and_then(|()| call.message.finish().ok_or_else(|| nonsense(&self.address)));
        answer(call.done, said);
    }

    fn reset(&mut self, stream: u32, code: u32) {
        if let Some(call) = self.under_way.remove(&stream) {
            call.ticket.refused.store(code == frame::REFUSED_STREAM, Ordering::Relaxed);
            answer(call.done, Err(lost(&self.address, &format!("the call was reset (HTTP/2 error {code})"))));
        }
    }

    fn goaway(&mut self, last: u32) {
        self.retired.store(true, Ordering::Relaxed);
        let refused: Vec<u32> = self.under_way.keys().filter(|s| **s > last).copied().collect();
        for stream in refused {
            self.reset(stream, frame::REFUSED_STREAM);
        }
    }
}

/// The status of a call, from headers and trailers.
fn check(said: &Head) -> Result<()> {
    let text = |value: &Option<Bytes>| value.as_deref().map(percent_decoded);
    match text(&said.grpc_status).and_then(|code| code.parse::<i32>().ok()) {
        Some(0) => Ok(()),
        Some(code) => Err(Error::new(Code::from_wire(code), text(&said.grpc_message).unwrap_or_default())),
        None => {
            let status = text(&said.http_status).unwrap_or_else(|| "none".into());
            Err(Error::new(Code::Unavailable, format_args!("not a gRPC server: HTTP status {status}")))
        }
    }
}

fn nonsense(address: &str) -> Error {
    internal(format_args!("{address} answered with something that is not a gRPC message"))
}

#[cfg(test)]
mod tests;
