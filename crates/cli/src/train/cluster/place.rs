//! Which task of which cluster this process is, as TF_CONFIG says.

use super::ClusterArgs;
use crate::failure::{Failure, Outcome};
use crate::security;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use thalweg::prelude::*;
use thalweg_core::invalid;
use thalweg_dist::cluster::TfConfig;
use thalweg_dist::log::{Level, Log};
use thalweg_dist::{Server, ServerOptions};
use thalweg_proto::ConfigProto;

/// A task, and its part in the training.
pub struct Place {
    config: TfConfig,
    pub part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    ParameterServer,
    /// Trains, and is in charge of initialisation, checkpoints and results.
    Chief,
    Worker,
    Evaluator,
}

/// The jobs that a task in charge may be of.
const CHIEFS: [&str; 2] = ["chief", "master"];

impl Place {
    /// `None` if the environment names no cluster.
    pub fn from_environment() -> Outcome<Option<Place>> {
        match std::env::var("TF_CONFIG") {
            Ok(text) if !text.trim().is_empty() => Place::parse(&text).map_err(Failure::Usage),
            _ => Ok(None),
        }
    }

    fn parse(text: &str) -> Result<Option<Place>> {
        let config = TfConfig::parse(text)?;
        if config.cluster.is_empty() {
            return Ok(None);
        }
        if !config.cluster.jobs.contains_key("ps") {
            return Err(invalid!(
                "TF_CONFIG's cluster has no job 'ps': training needs a parameter server for its variables"
            ));
        }
        let has_chief = CHIEFS.iter().any(|c| config.cluster.jobs.contains_key(*c));
        let part = match config.job.as_str() {
            "ps" => Part::ParameterServer,
            job if CHIEFS.contains(&job) => Part::Chief,
            "worker" if config.task == 0 && !has_chief => Part::Chief,
            "worker" => Part::Worker,
            "evaluator" => Part::Evaluator,
            other => {
                return Err(invalid!(
                    "TF_CONFIG's task is of job '{other}'; known are ps, chief, master, worker and evaluator"
                ));
            }
        };
        if part != Part::Evaluator {
            config.task_spec()?;
        }
        Ok(Some(Place { config, part }))
    }

    /// How many tasks train.
    pub fn replicas(&self) -> usize {
        let count = |job: &str| self.config.cluster.jobs.get(job).map_or(0, |tasks| tasks.len());
        CHIEFS.iter().map(|c| count(c)).sum::<usize>() + count("worker")
    }

    /// The number of this task among those that train; the chief is 0.
    pub fn number(&self) -> usize {
        let task = self.config.task as usize;
        let has_chief = CHIEFS.iter().any(|c| self.config.cluster.jobs.contains_key(*c));
        if self.part == Part::Worker { task + usize::from(has_chief) } else { 0 }
    }

    /// `/job:worker/task:1`.
    pub fn device(&self) -> String {
        format!("/job:{}/task:{}", self.config.job, self.config.task)
    }

    pub fn cluster(&self) -> &thalweg::ClusterSpec {
        &self.config.cluster
    }

    /// Where the others find this task.
    pub fn address(&self) -> Option<&str> {
        self.config.cluster.address(&self.config.job, self.config.task)
    }

    /// Sessions see the parameter servers and their own task: other workers may come and go.
    pub fn session_config(&self) -> ConfigProto {
        ConfigProto { device_filters: vec!["/job:ps".into(), self.device()], ..Default::default() }
    }

    /// Starts the server of this task where the cluster says it listens, or on another address of this machine at the same port.
    pub fn serve(&self, threads: usize, logdir: Option<&Path>, args: &ClusterArgs) -> Result<Server> {
        let spec = self.config.task_spec()?;
        let named = self.address().unwrap_or_default().to_string();
        let listener = match args.bind {
            Some(ip) => TcpListener::bind(SocketAddr::new(ip, spec.port.unwrap_or(0))),
            None => named.to_socket_addrs().and_then(|all| TcpListener::bind(&*all.collect::<Vec<_>>())),
        };
        let listener = listener.map_err(|e| {
            Error::from(e)
                .context(format_args!("{} cannot listen on {named}; --bind says where else", self.device()))
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
            log: Log { level: Level::Warn },
            ..Default::default()
        };
        Server::start_on(listener, Arc::new(thalweg_ops::registry()), options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(cluster: &str, task: &str, index: u32) -> Result<Place> {
        let text = format!(r#"{{"cluster": {cluster}, "task": {{"type": "{task}", "index": {index}}}}}"#);
        Place::parse(&text).map(Option::unwrap)
    }

    #[test]
    fn the_first_worker_is_in_charge_if_nobody_else_is() {
        let without = r#"{"ps": ["a:1"], "worker": ["b:1", "c:1"]}"#;
        let part = |cluster, task, index| {
            let place = place(cluster, task, index).unwrap();
            (place.part, place.number(), place.replicas())
        };
        assert_eq!(part(without, "worker", 0), (Part::Chief, 0, 2));
        assert_eq!(part(without, "worker", 1), (Part::Worker, 1, 2));
        let with = r#"{"chief": ["d:1"], "ps": ["a:1"], "worker": ["b:1", "c:1"]}"#;
        assert_eq!(part(with, "chief", 0), (Part::Chief, 0, 3));
        assert_eq!(part(with, "worker", 0), (Part::Worker, 1, 3));
        assert_eq!(part(with, "evaluator", 0).0, Part::Evaluator);
        assert_eq!(part(with, "ps", 0).0, Part::ParameterServer);
    }

    #[test]
    fn clusters_that_cannot_train_are_refused() {
        let message = |cluster, task| place(cluster, task, 0).err().unwrap().message().to_string();
        assert!(message(r#"{"worker": ["a:1"]}"#, "worker").contains("no job 'ps'"));
        assert!(message(r#"{"ps": ["a:1"]}"#, "worker").contains("no task 0"));
        assert!(message(r#"{"ps": ["a:1"]}"#, "cook").contains("'cook'"));
        let nobody = r#"{"cluster": {}, "task": {"type": "worker"}}"#;
        assert!(Place::parse(nobody).unwrap().is_none());
    }
}
