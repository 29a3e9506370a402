//! ServerDef: the task and cluster of a server, and its port.

use crate::cluster::ClusterSpec;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_io::message::decode;
use thalweg_proto::{Bytes, ConfigProto, ServerDef};

/// A task, as a ServerDef describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskSpec {
    pub job: String,
    pub index: u32,
    /// The port of its own entry in the cluster; `port` of the ServerDef overrides it.
    pub port: Option<u16>,
    /// All tasks, this one included.
    pub cluster: ClusterSpec,
    pub config: ConfigProto,
}

impl TaskSpec {
    /// Decodes a ServerDef.
    pub fn read(bytes: impl Into<Bytes>) -> Result<TaskSpec> {
        let def: ServerDef = decode(bytes)?.map_err(|e| invalid!("not a ServerDef: {e}"))?;
        TaskSpec::of(def)
    }

    fn of(def: ServerDef) -> Result<TaskSpec> {
        if !def.protocol.is_empty() && def.protocol != "grpc" {
            return Err(invalid!("the protocol is '{}'; this server speaks 'grpc'", def.protocol));
        }
        let index = u32::try_from(def.task_index)
            .map_err(|_| invalid!("task_index is {}; it must not be negative", def.task_index))?;
        let cluster = ClusterSpec::from_proto(&def.cluster.unwrap_or_default())?;
        let name = def.job_name;
        let mut spec = TaskSpec::in_cluster(cluster, &name, index)?;
        if def.port != 0 {
            let port = u16::try_from(def.port).map_err(|_| invalid!("{} is not a port", def.port))?;
            spec.port = Some(port);
        }
        spec.config = def.default_session_config.unwrap_or_default();
        Ok(spec)
    }

    /// A task of a cluster, by job and index.
    pub fn in_cluster(cluster: ClusterSpec, job: &str, index: u32) -> Result<TaskSpec> {
        let address = cluster.address(job, index);
        let address =
            address.ok_or_else(|| invalid!("the cluster has no task {index} of a job named '{job}'"))?;
        let port = address.rsplit_once(':').map(|(_, port)| port.parse::<u16>()).transpose();
        let port = port.map_err(|_| invalid!("task {index} of '{job}' has no valid port in '{address}'"))?;
        Ok(TaskSpec { job: job.to_string(), index, port, cluster, config: ConfigProto::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::{ClusterDef, JobDef, Message};

    fn def() -> ServerDef {
        let job = |name: &str, tasks: &[(i32, &str)]| JobDef {
            name: name.into(),
            tasks: tasks.iter().map(|(i, a)| (*i, a.to_string())).collect(),
        };
        let cluster = ClusterDef {
            job: vec![job("ps", &[(0, "a:2222")]), job("worker", &[(0, "b:2223"), (3, "c:2224")])],
        };
        ServerDef { cluster: Some(cluster), job_name: "worker".into(), task_index: 3, ..Default::default() }
    }

    #[test]
    fn a_task_listens_where_its_cluster_says() {
        let spec = TaskSpec::read(def().encode_to_vec()).unwrap();
        assert_eq!(
            (spec.job.as_str(), spec.index, spec.port, spec.cluster.len()),
            ("worker", 3, Some(2224), 3)
        );
        assert_eq!(TaskSpec::of(ServerDef { port: 7, ..def() }).unwrap().port, Some(7));
    }

    #[test]
    fn nonsense_is_refused() {
        let port = |address: &str| {
            let mut d = def();
            d.cluster.as_mut().unwrap().job[1].tasks.insert(3, address.into());
            d
        };
        for bad in [
            ServerDef { task_index: 1, ..def() },
            ServerDef { task_index: -1, ..def() },
            ServerDef { job_name: "chief".into(), ..def() },
            ServerDef { protocol: "grpc+verbs".into(), ..def() },
            ServerDef { port: 70000, ..def() },
            port("c:99999"),
        ] {
            assert!(TaskSpec::of(bad.clone()).is_err(), "{bad:?}");
        }
        assert!(TaskSpec::read(vec![0xff; 9]).is_err());
    }
}
