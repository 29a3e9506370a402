//! `WorkerSessionCreator`: sessions of tasks that are not in charge.

use super::connect::{Waits, connect};
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
    patience: Duration,
    tell: Box<dyn Fn(&str)>,
}

/// As TensorFlow's workers.
const PATIENCE: Duration = Duration::from_secs(2 * 3600);
/// Between two messages that say what is waited for.
const TELL_EVERY: Duration = Duration::from_secs(10);
/// Variables named in a message.
const NAMED: usize = 3;

impl WorkerSessionCreator {
    /// Sessions on the server at `grpc://host:port`, usually the worker's own.
    pub fn new(target: &str) -> Self {
        WorkerSessionCreator {
            target: target.to_string(),
            config: ConfigProto::default(),
            credentials: None,
            patience: PATIENCE,
            tell: Box::new(|line| eprintln!("{line}")),
        }
    }

    /// What sessions are opened with: device filters, for instance.
    pub fn config(mut self, config: ConfigProto) -> Self {
        self.config = config;
        self
    }

    /// What the server is shown, if not what the environment names.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// How long to wait for the chief: two hours unless told otherwise.
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// Where messages about the waiting go, instead of standard error.
    pub fn tell(mut self, tell: impl Fn(&str) + 'static) -> Self {
        self.tell = Box::new(tell);
        self
    }
}

impl SessionCreator for WorkerSessionCreator {
    fn create_session(&self, g: &Scope, scaffold: &Scaffold) -> Result<Session> {
        let mut waits = Waits::new(self.patience);
        let mut told = None::<Instant>;
        let mut session = connect(&self.target, g, &self.config, &self.credentials, self.patience)?;
        loop {
            let missing = match scaffold.uninitialized(&session) {
                Ok(missing) if missing.is_empty() => {
                    session.run(&scaffold.local_init, &[])?;
                    return Ok(session);
                }
                Ok(missing) => not_ready(&missing),
                // A parameter server was lost meanwhile.
                Err(e) if is_preemption(&e) => {
                    session = connect(&self.target, g, &self.config, &self.credentials, self.patience)?;
                    e.to_string()
                }
                Err(e) => return Err(e),
            };
            if told.is_none_or(|t| t.elapsed() >= TELL_EVERY) {
                (self.tell)(&missing);
                told = Some(Instant::now());
            }
            if !waits.wait() {
                let text = format!("{missing}; gave up after {:.0?}", waits.began.elapsed());
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
