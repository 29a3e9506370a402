//! `thalweg server`: a task that TensorFlow clients can open sessions on.

use crate::failure::{Failure, Outcome};
use crate::log::LogArgs;
use crate::security::{self, SecurityArgs};
use crate::{output, tf_config};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::error::Result;
use thalweg_core::memory;
use thalweg_dist::cluster::ClusterSpec;
use thalweg_dist::log::{Level, Log};
use thalweg_dist::{PeerLimits, Server, ServerOptions, TaskSpec, wait_for_stop};
use thalweg_io::durable;

/// Serve sessions to TensorFlow clients
///
/// TensorFlow's programs run on it: tf.compat.v1.Session("grpc://127.0.0.1:PORT"),
/// as far as `thalweg ops` has their ops. Variables belong to the server and are
/// shared by all its sessions, unless a session's config has
/// isolate_session_state. When it is ready it prints one line:
///
///   thalweg server: listening on grpc://ADDRESS:PORT, task /job:JOB/replica:0/task:N
///
/// With --tls-cert and --tls-key it serves grpcs://; --tls-ca requires client
/// certificates, --token-file tokens (thalweg proxy sends them for TensorFlow's
/// clients, which cannot). Rejected calls are logged to standard error.
///
/// It is a task of a cluster with --server-def, with --cluster, --job and --task,
/// or with the environment variable TF_CONFIG. Sessions on it then see the devices
/// of all tasks, and nodes run on the task of their device.
///
/// SIGTERM or Ctrl-C stops it: running steps have --drain seconds to end, then
/// they are cancelled. SIGHUP reopens --log-file.
#[derive(clap::Args)]
#[command(after_help = "Example: thalweg server --port 2222 --log info", verbatim_doc_comment)]
pub struct Args {
    /// Port to listen on; 0 picks a free one [default: 2222, or that of the ServerDef]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Address to listen on. Without --token-file or --tls-ca anyone who can connect can run anything
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    bind: IpAddr,
    /// Be the task that this serialized tensorflow.ServerDef describes
    #[arg(long, value_name = "FILE")]
    server_def: Option<PathBuf>,
    /// The cluster, as JSON: '{"ps": ["host:2222"], "worker": ["host:2223", "host:2224"]}'; with --job and --task
    #[arg(long, value_name = "JSON", conflicts_with = "server_def", requires = "job")]
    cluster: Option<String>,
    /// The job of this task
    #[arg(long, value_name = "JOB", requires = "cluster")]
    job: Option<String>,
    /// The number of this task in its job
    #[arg(long, value_name = "N", default_value_t = 0, requires = "cluster")]
    task: u32,
    /// Seconds without a response after which another task counts as lost
    #[arg(long, value_name = "SECS", default_value_t = 10)]
    peer_timeout: u64,
    /// Threads for kernels [default: one for each core]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// Seconds after which idle sessions are closed; 0: never
    #[arg(long, value_name = "SECS", default_value_t = 0)]
    session_gc: u64,
    /// Sessions to keep open; one more evicts the session of the same client that is idle for longest. Clients with tokens have equal quotas,
    /// those with certificates an eighth each
    #[arg(long, value_name = "N", default_value_t = 4096)]
    max_sessions: usize,
    /// Seconds that running steps have to end when the server stops
    #[arg(long, value_name = "SECS", default_value_t = 5)]
    drain: u64,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    security: SecurityArgs,
}

const DEFAULT_PORT: u16 = 2222;

pub fn run(args: Args) -> Outcome {
    let spec = task_spec(&args).map_err(Failure::Usage)?;
    let log = args.log.open(if args.security.may_reject(args.bind) { Level::Warn } else { Level::Off })?;
    security::warn(&args.security.security(), args.bind);
    let server = Server::start(Arc::new(thalweg_ops::registry()), options(&args, spec, log))?;
    output::print(&format!(
        "thalweg server: listening on {}://{}, task {}\n",
        args.security.credentials.scheme(),
        server.address(),
        server.task()
    ))?;
    log.info("memory", &[("limit", &memory::limits().limit), ("live", &memory::live())]);
    log.info("ready", &[("address", &server.address()), ("task", &server.task())]);
    let signal = wait_for_stop(|| args.log.reopen(&log))?;
    log.info("stopping", &[("signal", &signal), ("sessions", &server.sessions())]);
    server.stop();
    log.info("stopped", &[]);
    Ok(())
}

fn options(args: &Args, spec: Option<TaskSpec>, log: Log) -> ServerOptions {
    let port = args.port.or(spec.as_ref().and_then(|s| s.port)).unwrap_or(DEFAULT_PORT);
    let mut options = ServerOptions {
        address: SocketAddr::new(args.bind, port),
        threads: args.threads,
        idle_limit: Some(args.session_gc).filter(|s| *s > 0).map(Duration::from_secs),
        max_sessions: args.max_sessions,
        drain: Duration::from_secs(args.drain),
        peer_timeout: Duration::from_secs(args.peer_timeout.max(1)),
        security: args.security.security(),
        peers: peer_limits(),
        log,
        ..Default::default()
    };
    if let Some(spec) = spec {
        (options.job, options.task, options.config) = (spec.job, spec.index, spec.config);
        options.cluster = spec.cluster;
    }
    options
}

/// Incoming and outgoing messages may each take a quarter of the memory limit.
fn peer_limits() -> PeerLimits {
    let (usual, part) = (PeerLimits::default(), memory::limits().limit / 4);
    PeerLimits { unfinished: usual.unfinished.min(part), unread: usual.unread.min(part), ..usual }
}

/// The task and its cluster: from the arguments, else from TF_CONFIG, else none.
fn task_spec(args: &Args) -> Result<Option<TaskSpec>> {
    if let Some(path) = &args.server_def {
        return read_server_def(path).map(Some);
    }
    if let (Some(cluster), Some(job)) = (&args.cluster, &args.job) {
        let cluster = ClusterSpec::parse(cluster).map_err(|e| e.context("--cluster"))?;
        return TaskSpec::in_cluster(cluster, job, args.task).map(Some);
    }
    tf_config::from_environment()?.map(|config| config.task_spec()).transpose()
}

fn read_server_def(path: &std::path::Path) -> Result<TaskSpec> {
    let bytes = std::fs::read(path).map_err(|e| durable::with_path(path, e))?;
    TaskSpec::read(bytes).map_err(|e| e.context(path.display()))
}
