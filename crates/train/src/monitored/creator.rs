//! `SessionCreator`: who opens the session of a training loop, and brings its variables to where they were.

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
    fn create_session(&self, g: &Scope, scaffold: &Scaffold) -> Result<Session>;
}

impl<C: SessionCreator + ?Sized> SessionCreator for Box<C> {
    fn create_session(&self, g: &Scope, scaffold: &Scaffold) -> Result<Session> {
        (**self).create_session(g, scaffold)
    }
}

/// The creator of the task that is in charge: restores the newest whole checkpoint, or initialises the variables if there is none.
#[derive(Clone, Default)]
pub struct ChiefSessionCreator {
    target: Option<String>,
    config: ConfigProto,
    credentials: Option<Credentials>,
    options: SessionOptions,
    checkpoint_dir: Option<PathBuf>,
    must_restore: bool,
    patience: Option<Duration>,
    tell: Option<Arc<dyn Fn(&str)>>,
}

/// How long to wait for a server that does not answer, unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(120);

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

    /// What sessions on a server are opened with: device filters, for instance.
    pub fn config(mut self, config: ConfigProto) -> Self {
        self.config = config;
        self
    }

    /// What the server is shown, if not what the environment names.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// How long to wait for a server that cannot be reached: two minutes, unless told otherwise.
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = Some(time);
        self
    }

    pub fn options(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// Where checkpoints are looked for.
    pub fn checkpoint_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.checkpoint_dir = Some(directory.as_ref().to_path_buf());
        self
    }

    /// Without a checkpoint there is an error: for evaluation and prediction.
    pub fn must_restore(mut self) -> Self {
        self.must_restore = true;
        self
    }

    /// Where messages about damaged checkpoints go, instead of standard error.
    pub fn tell(mut self, tell: impl Fn(&str) + 'static) -> Self {
        self.tell = Some(Arc::new(tell));
        self
    }

    /// The checkpoint to restore. Only who trains may move damaged ones aside.
    fn newest(&self, directory: &Path) -> Result<Option<PathBuf>> {
        let tell = |line: &str| match &self.tell {
            Some(tell) => tell(line),
            None => eprintln!("{line}"),
        };
        if self.must_restore { latest_checkpoint(directory) } else { checkpoint::recover(directory, &tell) }
    }

    fn open(&self, g: &Scope) -> Result<Session> {
        match &self.target {
            None => Session::with_options(g, self.options.clone()),
            Some(target) => {
                connect(target, g, &self.config, &self.credentials, self.patience.unwrap_or(PATIENCE))
            }
        }
    }

    fn restore(&self, session: &Session, scaffold: &Scaffold, directory: &Path) -> Result<bool> {
        let Some(newest) = self.newest(directory)? else { return Ok(false) };
        let other_model = |e: Error| {
            let place = directory.display();
            e.context(format_args!(
                "{place} holds checkpoints that this model cannot go on from; choose another model_dir, or remove them"
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
    let place = directory.map_or("any model_dir".into(), |d| d.display().to_string());
    Error::new(
        Code::FailedPrecondition,
        format!(
            "there is no whole checkpoint in {place}; train first, or give the model_dir of a model that was trained"
        ),
    )
}
