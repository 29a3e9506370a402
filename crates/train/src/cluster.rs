//! A program of one's own as a task of a cluster: its role, from `TF_CONFIG`.
//!
//! ```no_run
//! use thalweg_client::{Scope, feed};
//! use thalweg_train::cluster::ClusterTask;
//! use thalweg_train::hooks::StopAtStepHook;
//! # fn model(g: &Scope) -> thalweg_client::Result<thalweg_client::Operation> { Ok(g.init()) }
//!
//! let task = ClusterTask::from_env()?.start()?;
//! if task.is_parameter_server() {
//!     return task.serve(); // until SIGTERM
//! }
//! let g = task.scope(); // variables go to the parameter servers, everything else to this task
//! let train = model(&g)?;
//! let mut session = task.session(&g, vec![Box::new(StopAtStepHook::last_step(1000))])?;
//! while session.run(&train, &[])?.is_some() {}
//! session.close()
//! # ; Ok::<(), thalweg_client::Error>(())
//! ```
//!
//! Every task runs the same program, with another `TF_CONFIG`: `thalweg local --ps 1 --workers 2 -- ./program` starts them all on one machine, a
//! scheduler on many. Without a `TF_CONFIG` the program trains alone, in its own process.

use crate::ReplicaDeviceSetter;
use crate::hooks::{CheckpointSaverHook, Every, Hook};
use crate::monitored::{ChiefSessionCreator, MonitoredSession, SessionCreator, WorkerSessionCreator};
use std::net::{TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_client::{Code, Error, Result, Scope};
use thalweg_dist::cluster::TfConfig;
use thalweg_dist::{Server, ServerOptions, wait_for_stop};
use thalweg_proto::ConfigProto;

/// The environment variable.
pub const TF_CONFIG: &str = "TF_CONFIG";

const PS: &str = "ps";
const WORKER: &str = "worker";
const EVALUATOR: &str = "evaluator";
/// The jobs whose only task is the chief. Without one, worker 0 is the chief.
const CHIEFS: [&str; 2] = ["chief", "master"];

/// What a task does in the training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Holds variables.
    ParameterServer,
    /// Trains, and initialises, saves and restores the variables.
    Chief,
    /// Trains.
    Worker,
    /// Evaluates checkpoints; it is not in the cluster.
    Evaluator,
}

/// The task of this process.
pub struct ClusterTask {
    /// None if the program runs alone.
    config: Option<TfConfig>,
    role: Role,
}

impl ClusterTask {
    /// From `TF_CONFIG`; alone, and the chief, if it is not set.
    pub fn from_env() -> Result<ClusterTask> {
        match std::env::var(TF_CONFIG) {
            Ok(text) if !text.trim().is_empty() => ClusterTask::parse(&text),
            _ => Ok(ClusterTask { config: None, role: Role::Chief }),
        }
    }

    /// From the text of a `TF_CONFIG`.
    pub fn parse(tf_config: &str) -> Result<ClusterTask> {
        let config = TfConfig::parse(tf_config)?;
        let has_chief = CHIEFS.iter().any(|c| config.cluster.jobs.contains_key(*c));
        let role = match config.job.as_str() {
            PS => Role::ParameterServer,
            job if CHIEFS.contains(&job) => Role::Chief,
            WORKER if config.task == 0 && !has_chief => Role::Chief,
            WORKER => Role::Worker,
            EVALUATOR => Role::Evaluator,
            other => {
                let text = format!(
                    "TF_CONFIG's task is of job '{other}'; known are ps, chief, master, worker and evaluator"
                );
                return Err(Error::new(Code::InvalidArgument, text));
            }
        };
        if role != Role::Evaluator {
            config.task_spec()?;
        }
        Ok(ClusterTask { config: Some(config), role })
    }

    /// What this task does.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Starts its server, on its address in the cluster.
    pub fn start(self) -> Result<RunningTask> {
        let server = match &self.config {
            Some(config) if self.role != Role::Evaluator => Some(serve(config)?),
            _ => None,
        };
        Ok(RunningTask { task: self, server, model_dir: None, save_every: Every::Seconds(600.0) })
    }
}

fn serve(config: &TfConfig) -> Result<Server> {
    let spec = config.task_spec()?;
    let named = config.cluster.address(&config.job, config.task).unwrap_or_default();
    let listener = named.to_socket_addrs().and_then(|all| TcpListener::bind(&*all.collect::<Vec<_>>()));
    let cannot = |e| {
        Error::from(e).context(format_args!("/job:{}/task:{} cannot listen on {named}", spec.job, spec.index))
    };
    let options = ServerOptions {
        job: spec.job.clone(),
        task: spec.index,
        cluster: spec.cluster.clone(),
        ..Default::default()
    };
    Server::start_on(listener.map_err(cannot)?, Arc::new(thalweg_ops::registry()), options)
}

/// A task whose server runs. Dropping it stops the server.
pub struct RunningTask {
    task: ClusterTask,
    server: Option<Server>,
    model_dir: Option<PathBuf>,
    save_every: Every,
}

impl RunningTask {
    /// The chief saves checkpoints there, and restores the newest; all tasks name the same directory.
    pub fn model_dir(mut self, path: impl AsRef<Path>, save_every: Every) -> Self {
        (self.model_dir, self.save_every) = (Some(path.as_ref().to_path_buf()), save_every);
        self
    }

    /// What this task does.
    pub fn role(&self) -> Role {
        self.task.role
    }

    /// Whether this task only serves: see [`RunningTask::serve`].
    pub fn is_parameter_server(&self) -> bool {
        self.task.role == Role::ParameterServer
    }

    /// Whether this task prints results and saves.
    pub fn is_chief(&self) -> bool {
        self.task.role == Role::Chief
    }

    /// How many tasks train, and the number of this one among them; the chief is 0.
    pub fn replica(&self) -> (usize, usize) {
        let Some(config) = &self.task.config else { return (1, 0) };
        let count = |job: &str| config.cluster.jobs.get(job).map_or(0, |tasks| tasks.len());
        let chiefs: usize = CHIEFS.iter().map(|c| count(c)).sum();
        let own = if self.is_chief() { 0 } else { chiefs.saturating_add(config.task as usize) };
        (chiefs + count(WORKER), own)
    }

    /// Serves until SIGTERM or Ctrl-C: the main loop of a parameter server.
    pub fn serve(mut self) -> Result<()> {
        wait_for_stop(|| ())?;
        if let Some(server) = self.server.take() {
            server.stop();
        }
        Ok(())
    }

    /// An empty graph, whose variables go to the parameter servers and whose other nodes to this task.
    pub fn scope(&self) -> Scope {
        match &self.task.config {
            Some(config) if config.cluster.jobs.contains_key(PS) => {
                let setter =
                    ReplicaDeviceSetter::for_cluster(&config.cluster).worker_device(&device(config)).greedy();
                Scope::new().device_function(setter.device_function())
            }
            _ => Scope::new(),
        }
    }

    /// A session of the training loop: the chief's initialises or restores the variables and saves, the others wait for it.
    #[track_caller]
    pub fn session<'h>(&self, g: &Scope, mut hooks: Vec<Box<dyn Hook + 'h>>) -> Result<MonitoredSession<'h>> {
        if let (true, Some(dir)) = (self.is_chief(), &self.model_dir) {
            hooks.push(Box::new(CheckpointSaverHook::new(dir, self.save_every)));
        }
        MonitoredSession::new(g, self.creator(), hooks)
    }

    fn creator(&self) -> Box<dyn SessionCreator> {
        let target = self.server.as_ref().map(|server| format!("grpc://{}", server.address()));
        // Sessions use the parameter servers and their own task: losing another worker does not affect them.
        let filters = self.task.config.iter().flat_map(|c| [format!("/job:{PS}"), device(c)]).collect();
        let config = ConfigProto { device_filters: filters, ..Default::default() };
        let chief = match &target {
            Some(target) if self.role() == Role::Worker => {
                return Box::new(WorkerSessionCreator::new(target).config(config));
            }
            Some(target) => ChiefSessionCreator::new().target(target).config(config),
            None => ChiefSessionCreator::new(),
        };
        Box::new(match &self.model_dir {
            Some(dir) => chief.checkpoint_dir(dir),
            None => chief,
        })
    }
}

/// `/job:worker/task:1`.
fn device(config: &TfConfig) -> String {
    format!("/job:{}/task:{}", config.job, config.task)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_is_the_one_that_the_environment_names() {
        let role = |cluster: &str, job: &str, index: u32| {
            let text = format!(r#"{{"cluster": {cluster}, "task": {{"type": "{job}", "index": {index}}}}}"#);
            ClusterTask::parse(&text).map(|t| t.role())
        };
        let without = r#"{"ps": ["a:1"], "worker": ["b:1", "c:1"]}"#;
        assert_eq!(role(without, "worker", 0).unwrap(), Role::Chief);
        assert_eq!(role(without, "worker", 1).unwrap(), Role::Worker);
        assert_eq!(role(without, "ps", 0).unwrap(), Role::ParameterServer);
        let with = r#"{"chief": ["d:1"], "ps": ["a:1"], "worker": ["b:1"]}"#;
        assert_eq!(role(with, "worker", 0).unwrap(), Role::Worker);
        assert_eq!(role(with, "evaluator", 0).unwrap(), Role::Evaluator);
        assert!(role(with, "cook", 0).is_err() && role(with, "worker", 7).is_err());
    }
}
