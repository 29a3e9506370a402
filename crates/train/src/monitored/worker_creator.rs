//! `WorkerSessionCreator`: sessions of workers other than the chief.

use super::connect::{Backoff, connect};
use super::session::is_preemption;
use super::{Scaffold, SessionCreator};
use std::time::{Duration, Instant};
use thalweg_client::{Code, Credentials, Error, Result, Scope, Session};
use thalweg_proto::ConfigProto;

/// The creator of a worker that is not the chief: waits until the chief has initialised or restored the variables.
///
/// The counterpart of [`super::ChiefSessionCreator`]: both open sessions on servers of the same cluster, so that they share the variables of
/// its parameter servers.
pub struct WorkerSessionCreator {
    target: String,
    config: ConfigProto,
    credentials: Option<Credentials>,
    timeout: Duration,
    log: Box<dyn Fn(&str)>,
}

/// TensorFlow's default.
const TIMEOUT: Duration = Duration::from_secs(2 * 3600);
/// Between two messages about what it waits for.
const LOG_EVERY: Duration = Duration::from_secs(10);
/// Variables named in a message.
const NAMED: usize = 3;

impl WorkerSessionCreator {
    /// Sessions on the server at `grpc://host:port`, usually the worker's own.
    pub fn new(target: &str) -> Self {
        WorkerSessionCreator {
            target: target.to_string(),
            config: ConfigProto::default(),
            credentials: None,
            timeout: TIMEOUT,
            log: Box::new(|line| eprintln!("{line}")),
        }
    }

    /// The configuration of sessions: device filters, for instance.
    pub fn config(mut self, config: ConfigProto) -> Self {
        self.config = config;
        self
    }

    /// Credentials for the server, instead of the environment's.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// How long to wait for the chief: two hours by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Receives messages about what it waits for, instead of standard error.
    pub fn log(mut self, log: impl Fn(&str) + 'static) -> Self {
        self.log = Box::new(log);
        self
    }
}

impl SessionCreator for WorkerSessionCreator {
    fn create_session(&self, g: &Scope, scaffold: &Scaffold) -> Result<Session> {
        let mut backoff = Backoff::new(self.timeout);
        let mut logged = None::<Instant>;
        let mut session = connect(&self.target, g, &self.config, &self.credentials, self.timeout)?;
        loop {
            let missing = match scaffold.uninitialized(&session) {
                Ok(missing) if missing.is_empty() => {
                    session.run(&scaffold.local_init, &[])?;
                    return Ok(session);
                }
                Ok(missing) => not_ready(&missing),
                // A parameter server was lost in between.
                Err(e) if is_preemption(&e) => {
                    session = connect(&self.target, g, &self.config, &self.credentials, self.timeout)?;
                    e.to_string()
                }
                Err(e) => return Err(e),
            };
            if logged.is_none_or(|t| t.elapsed() >= LOG_EVERY) {
                (self.log)(&missing);
                logged = Some(Instant::now());
            }
            if !backoff.wait() {
                let text = format!("{missing}; gave up after {:.0?}", backoff.began.elapsed());
                return Err(Error::new(Code::DeadlineExceeded, text));
            }
        }
    }
}

fn not_ready(missing: &[String]) -> String {
    let mut names = missing.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if missing.len() > NAMED {
        names.push_str(&format!(" and {} more", missing.len() - NAMED));
    }
    format!("waiting for the chief to initialise or restore the variables: {names}")
}
