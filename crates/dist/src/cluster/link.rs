//! Links to the other tasks of the cluster. A link has a lane, which is a connection, for each io thread of the server:
//! a call from an io thread is sent and answered on that thread, as waking another one costs more
//! than a small step does. Calls of other threads share a lane with its own thread. A lane connects on first use,
//! and again after its connection was lost.

use super::reach::Reach;
use super::spec::TaskAddress;
use super::traffic::{PeerTraffic, Traffic};
use crate::log::Log;
use crate::net::client_connection::{self, ClientConnection, KeepAliveOptions, OutgoingCall, Request};
use crate::net::credentials::Outgoing;
use crate::net::grpc::ReceivedMessage;
use crate::net::grpc::content_scanner::{ContentPath, NO_CONTENT};
use crate::wire::tensors::Contents;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, mpsc};
use thalweg_core::error::{Code, Error, Result, internal};
use thalweg_core::sync::lock;
use thalweg_proto::{Message, Name};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

const SERVICE: &str = "/tensorflow.WorkerService/";

/// The links of a task, by the names of their peers.
#[derive(Default)]
pub struct Links {
    links: HashMap<String, Arc<Link>>,
}

/// Makes links: their io threads, keep-alive and credentials.
pub struct Connector {
    /// The server's io threads.
    threads: Vec<Handle>,
    /// The thread for all other calls, started with the first link. Dropping the sender ends it.
    shared: Mutex<Option<(Handle, oneshot::Sender<()>)>>,
    keep_alive: KeepAliveOptions,
    /// Credentials for tasks.
    outgoing: Outgoing,
    /// Addresses allowed in clients' clusters.
    pub reach: Reach,
    log: Log,
}

thread_local! {
    /// The index of this io thread, if it is one.
    static IO_THREAD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Marks this thread as the `index`th io thread of the `Connector`: its calls take its own lane.
pub fn set_io_thread(index: usize) {
    IO_THREAD.set(Some(index));
}

impl Connector {
    pub fn new(
        threads: Vec<Handle>,
        keep_alive: KeepAliveOptions,
        outgoing: Outgoing,
        reach: Reach,
        log: Log,
    ) -> Connector {
        Connector { threads, shared: Mutex::default(), keep_alive, outgoing, reach, log }
    }

    /// Links to these tasks, with a lane for each io thread; they connect on first use.
    pub fn links(&self, tasks: Vec<TaskAddress>) -> Result<Links> {
        if tasks.is_empty() {
            return Ok(Links::default());
        }
        let shared = self.shared()?;
        let link = |t: TaskAddress| {
            let link = Link {
                task: t.task.clone(),
                address: t.address,
                shared: Lane::new(shared.clone()),
                own: self.threads.iter().cloned().map(Lane::new).collect(),
                keep_alive: self.keep_alive,
                outgoing: self.outgoing.clone(),
                traffic: Traffic::default(),
                log: self.log,
            };
            (t.task, Arc::new(link))
        };
        Ok(Links { links: tasks.into_iter().map(link).collect() })
    }

    fn shared(&self) -> Result<Handle> {
        let mut shared = lock(&self.shared);
        if let Some((handle, _)) = &*shared {
            return Ok(handle.clone());
        }
        let (alive, ended) = oneshot::channel::<()>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let handle = runtime.handle().clone();
        std::thread::Builder::new().name("thalweg-links".into()).spawn(move || {
            let _ = runtime.block_on(ended);
            runtime.shutdown_background();
        })?;
        *shared = Some((handle.clone(), alive));
        Ok(handle)
    }
}

impl Links {
    /// The link to the task that a device belongs to.
    pub fn to_device(&self, device: &str) -> Option<&Arc<Link>> {
        self.links.get(device.split_once("/device:").map_or(device, |d| d.0))
    }

    /// All links, by task name.
    pub fn all(&self) -> Vec<Arc<Link>> {
        let mut all: Vec<_> = self.links.values().cloned().collect();
        all.sort_by(|a, b| a.task.cmp(&b.task));
        all
    }

    /// Bytes on each link, in the same order.
    pub fn traffic(&self) -> Vec<PeerTraffic> {
        self.all().iter().map(|link| link.traffic.with(&link.task)).collect()
    }

    /// Counts bytes of calls that the other task made.
    pub fn note(&self, device: &str, received: usize, sent: usize) {
        if let Some(link) = self.to_device(device) {
            link.traffic.note(received, sent);
        }
    }
}

/// A link to one task.
pub struct Link {
    /// `/job:ps/replica:0/task:0`.
    pub task: String,
    pub address: String,
    shared: Arc<Lane>,
    /// Lanes of the io threads, by index.
    own: Vec<Arc<Lane>>,
    keep_alive: KeepAliveOptions,
    outgoing: Outgoing,
    traffic: Traffic,
    log: Log,
}

/// One connection to a task, and the thread that drives it.
struct Lane {
    runtime: Handle,
    connected: tokio::sync::Mutex<Option<ClientConnection>>,
}

impl Lane {
    fn new(runtime: Handle) -> Arc<Lane> {
        Arc::new(Lane { runtime, connected: tokio::sync::Mutex::new(None) })
    }

    /// The connection, if it is open.
    fn ready(&self) -> Option<ClientConnection> {
        self.connected.try_lock().ok()?.as_ref().filter(|s| !s.is_closed()).cloned()
    }

    /// Drops a lost connection; false if another call has done so, or is reconnecting.
    fn forget(&self) -> bool {
        let connected = self.connected.try_lock();
        connected.is_ok_and(|mut c| c.take_if(|s| s.is_closed()).is_some())
    }
}

/// Cancels a started call.
pub enum CallHandle {
    /// Failed immediately.
    Failed,
    /// Waits for its connection.
    Connecting(AbortHandle),
    Asked(OutgoingCall),
}

impl CallHandle {
    /// Cancels the call, also on the other task.
    pub fn cancel(&self) {
        match self {
            CallHandle::Failed => {}
            CallHandle::Connecting(call) => call.abort(),
            CallHandle::Asked(asking) => asking.cancel(),
        }
    }
}

/// A call in flight; dropping it cancels it.
pub struct Call<T> {
    call: CallHandle,
    answer: oneshot::Receiver<Result<T>>,
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        self.call.cancel();
    }
}

impl<T> Call<T> {
    pub async fn answer(mut self) -> Result<T> {
        match (&mut self.answer).await {
            Ok(result) => result,
            Err(_) => Err(internal("the call was given up")),
        }
    }
}

impl Link {
    /// The lane of this thread.
    fn lane(&self) -> &Arc<Lane> {
        IO_THREAD.get().and_then(|index| self.own.get(index)).unwrap_or(&self.shared)
    }

    /// Calls a method of the task's `WorkerService`.
    pub fn call<B: Message + Name + Default + 'static>(
        self: &Arc<Self>,
        method: &str,
        message: &impl Message,
    ) -> Call<B> {
        let (tx, rx) = oneshot::channel();
        let call = self.call_then(method, message, move |answer| drop(tx.send(answer)));
        Call { call, answer: rx }
    }

    /// As `call`; `done` gets the response, on the thread of the lane. The handle can cancel it.
    pub fn call_then<B: Message + Name + Default + 'static>(
        self: &Arc<Self>,
        method: &str,
        message: &impl Message,
        done: impl FnOnce(Result<B>) + Send + 'static,
    ) -> CallHandle {
        self.call_for_tensors(method, message, NO_CONTENT, move |answer| done(answer.map(|a| a.0)))
    }

    /// As `call_then`, for responses with large tensors at `path`, received apart.
    pub fn call_for_tensors<B: Message + Name + Default + 'static>(
        self: &Arc<Self>,
        method: &str,
        message: &impl Message,
        path: ContentPath,
        done: impl FnOnce(Result<(B, Contents)>) + Send + 'static,
    ) -> CallHandle {
        self.call_over(self.lane(), method, message, path, done)
    }

    /// As `call`, blocking: over the shared lane, as an io thread must not block on itself.
    pub fn call_and_wait<B: Message + Name + Default + 'static>(
        self: &Arc<Self>,
        method: &str,
        message: &impl Message,
    ) -> Result<B> {
        let (tx, rx) = mpsc::channel();
        let done = move |answer: Result<(B, Contents)>| drop(tx.send(answer.map(|a| a.0)));
        self.call_over(&self.shared, method, message, NO_CONTENT, done);
        rx.recv().unwrap_or_else(|_| Err(internal("the call was given up")))
    }

    fn call_over<B: Message + Name + Default + 'static>(
        self: &Arc<Self>,
        lane: &Arc<Lane>,
        method: &str,
        message: &impl Message,
        path: ContentPath,
        done: impl FnOnce(Result<(B, Contents)>) + Send + 'static,
    ) -> CallHandle {
        let request = match Request::new(format!("{SERVICE}{method}"), message) {
            Ok(request) => request,
            Err(e) => {
                done(Err(e));
                return CallHandle::Failed;
            }
        };
        let (link, on, length) = (self.clone(), lane.clone(), request.len());
        if let Some(sender) = lane.ready() {
            let through = sender.clone();
            let answered = move |sent| {
                let sent = link.heard(&on, &through, length, sent);
                done(sent.and_then(|arrived| link.decoded(arrived)));
            };
            return CallHandle::Asked(sender.ask(request, path, Box::new(answered)));
        }
        let call = async move {
            let sent = match link.sender(&on).await {
                Ok(sender) => link.heard(&on, &sender, length, sender.unary(request, path).await),
                // Errors of our own configuration are not retried.
                Err(e) if e.code() == Code::InvalidArgument => Err(e.context(&link.task)),
                Err(e) => Err(link.blame(e)),
            };
            done(sent.and_then(|arrived| link.decoded(arrived)));
        };
        CallHandle::Connecting(lane.runtime.spawn(call).abort_handle())
    }

    /// Handles the result of a call.
    fn heard(
        &self,
        lane: &Lane,
        sender: &ClientConnection,
        length: usize,
        sent: Result<ReceivedMessage>,
    ) -> Result<ReceivedMessage> {
        self.traffic.note(sent.as_ref().map_or(0, ReceivedMessage::len), length);
        let Err(e) = sent else { return sent };
        if !sender.is_closed() {
            // An error of the task is returned unchanged.
            return Err(e);
        }
        if lane.forget() {
            self.log.warn("link_lost", &[("task", &self.task), ("address", &self.address), ("error", &e)]);
        }
        Err(self.blame(e))
    }

    /// The connection, opened if necessary.
    async fn sender(&self, lane: &Lane) -> Result<ClientConnection> {
        let mut connected = lane.connected.lock().await;
        if let Some(sender) = connected.as_ref().filter(|s| !s.is_closed()) {
            return Ok(sender.clone());
        }
        let sender = client_connection::open(&self.address, Some(self.keep_alive), &self.outgoing).await?;
        *connected = Some(sender.clone());
        self.log.info("link_made", &[("task", &self.task), ("address", &self.address)]);
        Ok(sender)
    }

    fn decoded<B: Message + Name + Default>(&self, arrived: ReceivedMessage) -> Result<(B, Contents)> {
        arrived
            .decode()
            .map_err(|e| internal(format_args!("{} answered with a damaged message: {e}", self.task)))
    }

    fn blame(&self, e: Error) -> Error {
        // The address is named once.
        let own = [format!("cannot reach grpc://{}: ", self.address), format!("{}: ", self.address)];
        let why = own.iter().find_map(|own| e.message().strip_prefix(own)).unwrap_or(e.message());
        Error::new(Code::Unavailable, format_args!("{} at {}: {why}", self.task, self.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::http2::frame::{self, FrameHeader, HEAD, PREFACE};
    use std::time::Duration;
    use thalweg_proto::{GetStatusRequest, GetStatusResponse};
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    const HOUR: Duration = Duration::from_secs(3600);

    /// A link to an address, from a server with so many io threads.
    fn link(address: String, threads: usize) -> (Connector, Arc<Link>) {
        let keep_alive = KeepAliveOptions { interval: HOUR, timeout: HOUR };
        let threads = (0..threads).map(|_| Handle::current()).collect();
        let connector =
            Connector::new(threads, keep_alive, Default::default(), Default::default(), Log::default());
        let task = TaskAddress { task: "/job:ps/replica:0/task:0".into(), address };
        let link = connector.links(vec![task]).unwrap().all().remove(0);
        (connector, link)
    }

    /// Kind and stream of the next HEADERS or RST_STREAM.
    async fn next(socket: &mut TcpStream) -> (u8, u32) {
        loop {
            let mut head = [0; HEAD];
            socket.read_exact(&mut head).await.unwrap();
            let head = FrameHeader::parse(&head);
            socket.read_exact(&mut vec![0; head.length]).await.unwrap();
            if [frame::HEADERS, frame::RST_STREAM].contains(&head.kind) {
                return (head.kind, head.stream);
            }
        }
    }

    #[tokio::test]
    async fn calls_made_at_once_share_a_connection_and_end_when_they_are_dropped() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (_connector, link) = link(listener.local_addr().unwrap().to_string(), 0);
        let call = || link.call::<GetStatusResponse>("GetStatus", &GetStatusRequest {});
        let calls = [call(), call(), call()];
        let mut socket = listener.accept().await.unwrap().0;
        socket.read_exact(&mut [0; PREFACE.len()]).await.unwrap();
        for stream in [1, 3, 5] {
            assert_eq!(next(&mut socket).await, (frame::HEADERS, stream));
        }
        let [a, b, c] = calls;
        let mut ended = Vec::new();
        for call in [b, c] {
            drop(call);
            let (kind, stream) = next(&mut socket).await;
            assert_eq!(kind, frame::RST_STREAM);
            ended.push(stream);
        }
        assert!(ended.iter().all(|stream| [1, 3, 5].contains(stream)) && ended[0] != ended[1]);
        // A call on an open connection is cancelled likewise.
        let later = link.call::<GetStatusResponse>("GetStatus", &GetStatusRequest {});
        assert_eq!(next(&mut socket).await, (frame::HEADERS, 7));
        drop(later);
        assert_eq!(next(&mut socket).await, (frame::RST_STREAM, 7));
        drop(socket);
        let e = a.answer().await.err().unwrap();
        assert_eq!(e.code(), Code::Unavailable);
        assert!(e.message().starts_with("/job:ps/replica:0/task:0 at 127.0.0.1:"), "{e}");
        // Bytes of the completed requests, five each: only that of the call that was not cancelled.
        assert_eq!((link.traffic.with("").received, link.traffic.with("").sent), (0, 5));
        // The next call connects again.
        let again = link.call::<GetStatusResponse>("GetStatus", &GetStatusRequest {});
        let mut socket = listener.accept().await.unwrap().0;
        socket.read_exact(&mut [0; PREFACE.len()]).await.unwrap();
        assert_eq!(next(&mut socket).await, (frame::HEADERS, 1));
        drop(again);
    }

    #[tokio::test]
    async fn a_thread_that_waits_for_sockets_keeps_to_its_lane() {
        let (_connector, link) = link("127.0.0.1:1".into(), 2);
        let lanes = std::thread::scope(|scope| {
            let lane = |number: Option<usize>| {
                let link = &link;
                let thread = scope.spawn(move || {
                    number.into_iter().for_each(set_io_thread);
                    link.lane().clone()
                });
                thread.join().unwrap()
            };
            [lane(None), lane(Some(0)), lane(Some(1)), lane(Some(2))]
        });
        for (lane, of) in lanes.iter().zip([&link.shared, &link.own[0], &link.own[1], &link.shared]) {
            assert!(Arc::ptr_eq(lane, of));
        }
    }

    #[tokio::test]
    async fn a_connection_that_was_lost_is_let_go_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (_connector, link) = link(listener.local_addr().unwrap().to_string(), 1);
        let lane = &link.own[0];
        assert!(lane.ready().is_none() && !lane.forget());
        let sender = link.sender(lane).await.unwrap();
        assert!(lane.ready().is_some() && !lane.forget(), "it is there");
        drop(listener.accept().await.unwrap());
        while !sender.is_closed() {
            tokio::task::yield_now().await;
        }
        assert!(lane.ready().is_none());
        assert!(lane.forget() && !lane.forget());
    }

    #[tokio::test]
    async fn who_cannot_be_reached_is_named_with_its_address() {
        let (_connector, link) = link("127.0.0.1:1".into(), 0);
        let e =
            link.call::<GetStatusResponse>("GetStatus", &GetStatusRequest {}).answer().await.err().unwrap();
        assert_eq!(e.code(), Code::Unavailable);
        assert!(
            e.message().starts_with("/job:ps/replica:0/task:0 at 127.0.0.1:1: Connection refused"),
            "{e}"
        );
    }

    /// The call is not retried.
    #[tokio::test]
    async fn what_is_wrong_on_our_side_is_no_fault_of_the_task() {
        use tokio_rustls::rustls::crypto::ring::default_provider;
        use tokio_rustls::rustls::{ClientConfig, RootCertStore};
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        // Not a valid certificate name, though it resolves to us.
        let address = format!("127.1:{}", listener.local_addr().unwrap().port());
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        let (_connector, mut link) = link(address, 0);
        Arc::get_mut(&mut link).unwrap().outgoing = Outgoing::new(Some(Arc::new(config).into()), None);
        let e =
            link.call::<GetStatusResponse>("GetStatus", &GetStatusRequest {}).answer().await.err().unwrap();
        assert_eq!(e.code(), Code::InvalidArgument, "{e}");
        assert!(e.message().contains("is not a name that a certificate can have"), "{e}");
    }
}
