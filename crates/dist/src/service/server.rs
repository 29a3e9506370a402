//! `Server`: a listening task.
//!
//! Each connection belongs to one of a few threads, each with a single-threaded async runtime of its own: a request is read,
//! run (if it is short) and answered without a change of thread.

use super::methods::Services;
use super::security::Security;
use crate::cluster::{ClusterSpec, Connector, Membership, PeerTraffic, set_io_thread};
use crate::log::{Log, Part};
use crate::master::Master;
use crate::master::sessions::Limits;
use crate::net::client_connection::KeepAliveOptions;
use crate::net::server::limits::PeerLimits;
use crate::net::server::listener::{accept, listen, serve};
use crate::net::server::open_files;
use crate::net::server::peer::Peer;
use crate::net::server::phase::Phase;
use crate::net::server::slots::ConnectionSlots;
use crate::net::server::unread_responses::UnreadResponses;
use crate::threads::client_threads::blocking;
use crate::worker::task::Task;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thalweg_core::budget::Pool;
use thalweg_core::error::Result;
use thalweg_core::registry::Registry;
use thalweg_proto::ConfigProto;
use thalweg_runtime::SessionOptions;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub address: SocketAddr,
    pub job: String,
    pub task: u32,
    /// Threads for kernels; 0: one for each core.
    pub threads: usize,
    /// Close sessions that have been idle for longer.
    pub idle_limit: Option<Duration>,
    pub max_sessions: usize,
    pub peers: PeerLimits,
    /// The drain timeout: running requests are cancelled after it.
    pub drain: Duration,
    /// Defaults of sessions, as in a ServerDef.
    pub config: ConfigProto,
    /// The task's cluster; empty if it is alone.
    pub cluster: ClusterSpec,
    /// Keep-alive: how long another task may be silent while a call is pending.
    pub peer_timeout: Duration,
    pub security: Security,
    pub log: Log,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            job: "localhost".into(),
            task: 0,
            threads: 0,
            idle_limit: None,
            max_sessions: 4096,
            peers: PeerLimits::default(),
            drain: Duration::from_secs(5),
            config: ConfigProto::default(),
            cluster: ClusterSpec::default(),
            peer_timeout: Duration::from_secs(10),
            security: Security::default(),
            log: Log::default(),
        }
    }
}

/// A listening server, until it is stopped or dropped.
pub struct Server {
    address: SocketAddr,
    services: Arc<Services>,
    drain: Duration,
    stop: watch::Sender<Phase>,
    threads: Vec<JoinHandle<()>>,
}

/// Threads for connections.
const MAX_IO_THREADS: usize = 4;
/// Limit of blocking threads for each.
const BLOCKING_THREADS: usize = 16;

impl Server {
    /// Binds the address and starts to serve.
    pub fn start(registry: Arc<Registry>, options: ServerOptions) -> Result<Server> {
        Server::start_on(listen(options.address)?, registry, options)
    }

    /// Starts on a bound listener: the tasks of a cluster must know one another's addresses.
    pub fn start_on(
        listener: TcpListener,
        registry: Arc<Registry>,
        options: ServerOptions,
    ) -> Result<Server> {
        let address = listener.local_addr()?;
        let guard = options.security.load(address.ip(), &options.cluster, options.log.of(Part::Auth))?;
        let base = SessionOptions {
            job: options.job.clone(),
            task: options.task,
            threads: options.threads,
            access: guard.access,
            ..Default::default()
        };
        let task = Task::new(registry, crate::wire::config::session_options(&base, &options.config)?)?;
        let sessions = options.max_sessions.max(1);
        let share = guard.gate.share(sessions, guard.certificates);
        let limits = Limits { idle: options.idle_limit, sessions, share };
        let mut runtimes = Vec::new();
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        for _ in 0..io_threads(&options.cluster, cores) {
            runtimes.push(runtime()?);
        }
        let handles = runtimes.iter().map(|r| r.handle().clone()).collect();
        let connector = Connector::new(
            handles,
            keep_alive(options.peer_timeout),
            guard.outgoing,
            guard.reach,
            options.log.of(Part::Cluster),
        );
        let home = Membership::of(&connector, task.name.clone(), &options.cluster)?;
        let (stop, stopped) = watch::channel(Phase::Serving);
        let mut server = Server {
            address,
            services: Arc::new(Services::new(
                Master::new(task, connector, home, limits, options.log),
                guard.gate.clone(),
            )),
            drain: options.drain,
            stop,
            threads: Vec::new(),
        };
        let (incoming, unread) = (Pool::new(options.peers.unfinished), Pool::new(options.peers.unread));
        let mut senders = Vec::new();
        for (i, runtime) in runtimes.into_iter().enumerate() {
            let (sender, connections) = mpsc::unbounded_channel();
            senders.push(sender);
            let (services, gate) = (server.services.clone(), guard.gate.clone());
            let (limits, log) = (options.peers, options.log.of(Part::Net));
            let (incoming, unread) = (incoming.clone(), unread.clone());
            let peer = move |origin| Peer {
                service: services.clone(),
                gate: gate.clone(),
                log,
                limits,
                incoming: incoming.account(),
                unread: Arc::new(UnreadResponses::new(&unread)),
                connection: Arc::default(),
                origin,
            };
            let served =
                serve(peer, guard.acceptor.clone(), limits.stall_timeout, connections, stopped.clone());
            server.spawn(format!("thalweg-io-{i}"), runtime, async move {
                set_io_thread(i);
                served.await;
            })?;
        }
        let (log, sessions) = (options.log.of(Part::Master), server.master().sessions.clone());
        let worker = server.master().worker.clone();
        let slots = ConnectionSlots::new(options.peers.connections.min(open_files::for_connections()));
        server.spawn("thalweg-accept".into(), runtime()?, async move {
            let collect = async move {
                loop {
                    tokio::time::sleep(COLLECT_EVERY).await;
                    let (worker, sessions) = (worker.clone(), sessions.clone());
                    // Freeing may take long, and new connections wait for this thread.
                    let collect = move || {
                        worker.collect(Instant::now());
                        let closed = sessions.collect();
                        // Memory that requests and sessions freed.
                        thalweg_core::memory::trim();
                        Ok(closed)
                    };
                    for handle in blocking(collect).await.unwrap_or_default() {
                        log.info("session_dropped", &[("session", &handle), ("why", &"idle")]);
                    }
                }
            };
            tokio::spawn(collect);
            accept(listener, senders, slots, stopped, options.log.of(Part::Net)).await;
        })?;
        Ok(server)
    }

    fn spawn(
        &mut self,
        name: String,
        runtime: Runtime,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Result<()> {
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            runtime.block_on(work);
            // Abandoned blocking work is not joined.
            runtime.shutdown_background();
        })?;
        self.threads.push(thread);
        Ok(())
    }

    /// The listening address, with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `/job:localhost/replica:0/task:0`.
    pub fn task(&self) -> &str {
        &self.master().task.name
    }

    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.services
    }

    pub(crate) fn master(&self) -> &Master {
        &self.services.master
    }

    /// Open sessions.
    pub fn sessions(&self) -> usize {
        self.master().sessions.len()
    }

    /// Running requests of sessions.
    pub fn active_requests(&self) -> usize {
        self.master().sessions.active()
    }

    /// Worker sessions of other tasks' masters.
    pub fn guests(&self) -> usize {
        self.master().worker.guests()
    }

    /// Bytes to and from the other tasks of the cluster, by task.
    pub fn traffic(&self) -> Vec<PeerTraffic> {
        self.master().worker.home.links.traffic()
    }

    /// Stops, as dropping it does: no new connections, running requests get the drain timeout and are then
    /// cancelled.
    pub fn stop(self) {}

    fn shut_down(&mut self) {
        let began = Instant::now();
        // Fails if no thread listens: all have ended.
        let _ = self.stop.send(Phase::Draining);
        let time = |s: &Server| if s.active_requests() > 0 { s.drain } else { s.drain.min(FAREWELL) };
        while !self.has_ended() && began.elapsed() < time(self) {
            std::thread::sleep(POLL);
        }
        // Cancelled requests still get responses.
        let cancelled = Instant::now();
        if self.master().sessions.close_all() > 0 {
            while !self.has_ended() && cancelled.elapsed() < FAREWELL {
                std::thread::sleep(POLL);
            }
        }
        let _ = self.stop.send(Phase::Closing);
        let closed = Instant::now();
        while !self.has_ended() && closed.elapsed() < LAST_WAIT {
            std::thread::sleep(POLL);
        }
        for thread in self.threads.drain(..) {
            match thread.is_finished() {
                // A panic has been reported.
                true => drop(thread.join()),
                false => self
                    .services
                    .master
                    .log
                    .warn("thread_abandoned", &[("thread", &thread.thread().name().unwrap_or("?"))]),
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.threads.iter().all(|t| t.is_finished())
    }
}

/// The number of io threads. Tasks of a cluster mostly call one another, where a step on few
/// threads has less latency; a single server has many clients.
fn io_threads(cluster: &ClusterSpec, cores: usize) -> usize {
    let threads = if cluster.tasks().is_empty() { cores } else { cores / 2 };
    threads.clamp(1, MAX_IO_THREADS)
}

/// Async tasks polled between two polls of sockets. Each may take a time slice: with tokio's 61, a new request waits for
/// fifteen milliseconds of them.
const EVENT_INTERVAL: u32 = 4;

/// Of one thread.
fn runtime() -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_io().enable_time().max_blocking_threads(BLOCKING_THREADS).event_interval(EVENT_INTERVAL);
    Ok(builder.on_thread_stop(thalweg_core::memory::end_thread).build()?)
}

/// Keep-alive that detects silence of this length, PING and timeout together.
fn keep_alive(limit: Duration) -> KeepAliveOptions {
    KeepAliveOptions { interval: limit / 2, timeout: limit / 2 }
}

/// Time for clients to read their last responses and close.
const FAREWELL: Duration = Duration::from_millis(200);
const POLL: Duration = Duration::from_millis(2);
/// Timeout to join threads that have nothing left to do; a server must stop when asked to.
const LAST_WAIT: Duration = Duration::from_secs(5);

impl Drop for Server {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// Interval of the idle session check.
const COLLECT_EVERY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
