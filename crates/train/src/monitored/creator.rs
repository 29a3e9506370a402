//! `SessionCreator`: opens the session of a training loop, and initialises or restores its variables.

use super::Scaffold;
use super::connect::connect;
use crate::saver::latest_checkpoint;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thalweg_client::{Code, Credentials, Error, Result, Scope, Session, SessionOptions};
use thalweg_io::checkpoint;
use thalweg_proto::ConfigProto;

/// Opens sessions whose variables are set: at the start, and again after a failure of another task.
pub trait SessionCreator {
    /// A session on the graph of `g`, with all variables of the scaffold set.
    fn create_session(&self, g: &Scope, scaffold: &Scaffold) -> Result<Session>;
}

impl<C: SessionCreator + ?Sized> SessionCreator for Box<C> {
    fn create_session(&self, g: &Scope, scaffold: &Scaffold) -> Result<Session> {
        (**self).create_session(g, scaffold)
    }
}

/// The creator of the chief: restores the newest whole checkpoint, or initialises the variables if there is none.
#[derive(Clone, Default)]
pub struct ChiefSessionCreator {
    target: Option<String>,
    config: ConfigProto,
    credentials: Option<Credentials>,
    options: SessionOptions,
    checkpoint_dir: Option<PathBuf>,
    must_restore: bool,
    timeout: Option<Duration>,
    log: Option<Arc<dyn Fn(&str)>>,
}

/// How long a server is retried that cannot be reached.
const TIMEOUT: Duration = Duration::from_secs(120);

impl ChiefSessionCreator {
    /// Sessions in this process.
    pub fn new() -> Self {
        ChiefSessionCreator::default()
    }

    /// Sessions on the server at `grpc://host:port`.
    pub fn target(mut self, target: &str) -> Self {
        self.target = Some(target.to_string());
        self
    }

    /// The configuration of sessions on a server: device filters, for instance.
    pub fn config(mut self, config: ConfigProto) -> Self {
        self.config = config;
        self
    }

    /// Credentials for the server, instead of the environment's.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// How long a server is retried that cannot be reached: two minutes by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Of sessions in this process.
    pub fn options(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// The directory of checkpoints.
    pub fn checkpoint_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.checkpoint_dir = Some(directory.as_ref().to_path_buf());
        self
    }

    /// A missing checkpoint is an error: for evaluation and prediction.
    pub fn must_restore(mut self) -> Self {
        self.must_restore = true;
        self
    }

    /// Receives messages about damaged checkpoints, instead of standard error.
    pub fn log(mut self, log: impl Fn(&str) + 'static) -> Self {
        self.log = Some(Arc::new(log));
        self
    }

    /// The checkpoint to restore. Only training may move damaged ones aside.
    fn newest(&self, directory: &Path) -> Result<Option<PathBuf>> {
        let log = |line: &str| match &self.log {
            Some(log) => log(line),
            None => eprintln!("{line}"),
        };
        if self.must_restore { latest_checkpoint(directory) } else { checkpoint::recover(directory, &log) }
    }

    fn open(&self, g: &Scope) -> Result<Session> {
        match &self.target {
            None => Session::with_options(g, self.options.clone()),
            Some(target) => {
                connect(target, g, &self.config, &self.credentials, self.timeout.unwrap_or(TIMEOUT))
            }
        }
    }

    fn restore(&self, session: &Session, scaffold: &Scaffold, directory: &Path) -> Result<bool> {
        let Some(newest) = self.newest(directory)? else { return Ok(false) };
        let other_model = |e: Error| {
            let directory = directory.display();
            e.context(format_args!(
                "{directory} holds checkpoints of another model; choose another model_dir, or remove them"
            ))
        };
        scaffold.saver.restore(session, &newest).map_err(|e| match e.code() {
            Code::NotFound | Code::InvalidArgument => other_model(e),
            _ => e,
        })?;
        Ok(true)
    }
}

impl SessionCreator for ChiefSessionCreator {
    fn create_session(&self, g: &Scope, scaffold: &Scaffold) -> Result<Session> {
        let session = self.open(g)?;
        let restored = match &self.checkpoint_dir {
            Some(directory) => self.restore(&session, scaffold, directory)?,
            None => false,
        };
        if !restored && self.must_restore {
            return Err(nothing_trained(self.checkpoint_dir.as_deref()));
        }
        if !restored {
            session.run(&scaffold.init, &[])?;
        }
        session.run(&scaffold.local_init, &[])?;
        Ok(session)
    }
}

fn nothing_trained(directory: Option<&Path>) -> Error {
    let directory = directory.map_or("any model_dir".into(), |d| d.display().to_string());
    Error::new(
        Code::FailedPrecondition,
        format!(
            "there is no whole checkpoint in {directory}; train first, or give the model_dir of a model that was trained"
        ),
    )
}
