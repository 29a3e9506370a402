//! The task and cluster of this process, from TF_CONFIG.

use super::ClusterArgs;
use crate::failure::{Failure, Outcome};
use crate::security;
use crate::tf_config::{self, CHIEFS, EVALUATOR, PS, WORKER};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use thalweg::prelude::*;
use thalweg_core::invalid;
use thalweg_dist::cluster::TfConfig;
use thalweg_dist::log::{Level, Log};
use thalweg_dist::{Server, ServerOptions};
use thalweg_proto::ConfigProto;

/// A task of the cluster, and its role in the training.
pub struct ClusterTask {
    config: TfConfig,
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    ParameterServer,
    /// Trains, and initialises, saves and prints the results.
    Chief,
    Worker,
    Evaluator,
}

impl ClusterTask {
    /// `None` if the environment names no cluster.
    pub fn from_environment() -> Outcome<Option<ClusterTask>> {
        let config = tf_config::from_environment().map_err(Failure::Usage)?;
        let config = config.filter(|config| !config.cluster.is_empty());
        config.map(ClusterTask::of).transpose().map_err(Failure::Usage)
    }

    fn of(config: TfConfig) -> Result<ClusterTask> {
        if !config.cluster.jobs.contains_key(PS) {
            return Err(invalid!(
                "TF_CONFIG's cluster has no job 'ps': training needs a parameter server for its variables"
            ));
        }
        let has_chief = CHIEFS.iter().any(|c| config.cluster.jobs.contains_key(*c));
        let role = match config.job.as_str() {
            PS => Role::ParameterServer,
            job if CHIEFS.contains(&job) => Role::Chief,
            WORKER if config.task == 0 && !has_chief => Role::Chief,
            WORKER => Role::Worker,
            EVALUATOR => Role::Evaluator,
            other => {
                return Err(invalid!(
                    "TF_CONFIG's task is of job '{other}'; known are ps, chief, master, worker and evaluator"
                ));
            }
        };
        if role != Role::Evaluator {
            config.task_spec()?;
        }
        Ok(ClusterTask { config, role })
    }

    /// How many tasks train.
    pub fn replicas(&self) -> usize {
        let count = |job: &str| self.config.cluster.jobs.get(job).map_or(0, |tasks| tasks.len());
        CHIEFS.iter().map(|c| count(c)).sum::<usize>() + count(WORKER)
    }

    /// The number of this task among those that train; the chief is 0.
    pub fn number(&self) -> usize {
        let task = self.config.task as usize;
        let has_chief = CHIEFS.iter().any(|c| self.config.cluster.jobs.contains_key(*c));
        if self.role == Role::Worker { task + usize::from(has_chief) } else { 0 }
    }

    /// `/job:worker/task:1`.
    pub fn device(&self) -> String {
        format!("/job:{}/task:{}", self.config.job, self.config.task)
    }

    pub fn cluster(&self) -> &thalweg::ClusterSpec {
        &self.config.cluster
    }

    /// Its address in the cluster.
    pub fn address(&self) -> Option<&str> {
        self.config.cluster.address(&self.config.job, self.config.task)
    }

    /// Device filters: sessions use the parameter servers and their own task, so that losing another worker does not affect them.
    pub fn session_config(&self) -> ConfigProto {
        ConfigProto { device_filters: vec![format!("/job:{PS}"), self.device()], ..Default::default() }
    }

    /// Starts the server of this task on its address in the cluster, or on `--bind` with the same port.
    pub fn serve(&self, threads: usize, logdir: Option<&Path>, args: &ClusterArgs) -> Result<Server> {
        let spec = self.config.task_spec()?;
        let named = self.address().unwrap_or_default().to_string();
        let listener = match args.bind {
            Some(ip) => TcpListener::bind(SocketAddr::new(ip, spec.port.unwrap_or(0))),
            None => named.to_socket_addrs().and_then(|all| TcpListener::bind(&*all.collect::<Vec<_>>())),
        };
        let listener = listener.map_err(|e| {
            Error::from(e).context(format_args!(
                "{} cannot listen on {named}; choose another address with --bind",
                self.device()
            ))
        })?;
        let address = listener.local_addr()?.ip();
        let security = security::of_task(&args.credentials, address, logdir)?;
        security::warn(&security, address);
        let options = ServerOptions {
            job: spec.job,
            task: spec.index,
            threads,
            cluster: spec.cluster,
            peer_timeout: args.peer_timeout(),
            security,
            log: Log::at(Level::Warn),
            ..Default::default()
        };
        Server::start_on(listener, Arc::new(thalweg_ops::registry()), options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cluster: &str, job: &str, index: u32) -> Result<ClusterTask> {
        let text = format!(r#"{{"cluster": {cluster}, "task": {{"type": "{job}", "index": {index}}}}}"#);
        ClusterTask::of(TfConfig::parse(&text)?)
    }

    #[test]
    fn the_first_worker_is_the_chief_if_there_is_no_other() {
        let without = r#"{"ps": ["a:1"], "worker": ["b:1", "c:1"]}"#;
        let role = |cluster, job, index| {
            let task = of(cluster, job, index).unwrap();
            (task.role, task.number(), task.replicas())
        };
        assert_eq!(role(without, "worker", 0), (Role::Chief, 0, 2));
        assert_eq!(role(without, "worker", 1), (Role::Worker, 1, 2));
        let with = r#"{"chief": ["d:1"], "ps": ["a:1"], "worker": ["b:1", "c:1"]}"#;
        assert_eq!(role(with, "chief", 0), (Role::Chief, 0, 3));
        assert_eq!(role(with, "worker", 0), (Role::Worker, 1, 3));
        assert_eq!(role(with, "evaluator", 0).0, Role::Evaluator);
        assert_eq!(role(with, "ps", 0).0, Role::ParameterServer);
    }

    #[test]
    fn clusters_that_cannot_train_are_refused() {
        let message = |cluster, job| of(cluster, job, 0).err().unwrap().message().to_string();
        assert!(message(r#"{"worker": ["a:1"]}"#, "worker").contains("no job 'ps'"));
        assert!(message(r#"{"ps": ["a:1"]}"#, "worker").contains("no task 0"));
        assert!(message(r#"{"ps": ["a:1"]}"#, "cook").contains("'cook'"));
    }
}
