//! The tasks of a cluster: addresses.

use std::collections::BTreeMap;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_proto::{ClusterDef, JobDef};
use thalweg_runtime::device::DeviceSpec;

/// Addresses by job and task index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterSpec {
    pub jobs: BTreeMap<String, BTreeMap<u32, String>>,
}

/// A task and its address.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskAddress {
    /// `/job:ps/replica:0/task:0`.
    pub task: String,
    /// `host:port`.
    pub address: String,
}

impl ClusterSpec {
    pub fn from_proto(def: &ClusterDef) -> Result<ClusterSpec> {
        let mut cluster = ClusterSpec::default();
        for job in &def.job {
            if cluster.jobs.contains_key(&job.name) {
                return Err(invalid!("Duplicate job ID in cluster specification: {}", job.name));
            }
            let tasks = cluster.jobs.entry(job.name.clone()).or_default();
            for (index, address) in &job.tasks {
                let index = u32::try_from(*index)
                    .map_err(|_| invalid!("job '{}' has a task of number {index}", job.name))?;
                tasks.insert(index, address.clone());
            }
        }
        Ok(cluster)
    }

    pub fn to_proto(&self) -> ClusterDef {
        let job = |(name, tasks): (&String, &BTreeMap<u32, String>)| JobDef {
            name: name.clone(),
            tasks: tasks.iter().map(|(i, a)| (*i as i32, a.clone())).collect(),
        };
        ClusterDef { job: self.jobs.iter().map(job).collect() }
    }

    /// Validates task names as device names, and addresses.
    pub fn check(&self) -> Result<()> {
        for TaskAddress { task, address } in self.tasks() {
            DeviceSpec::parse(&task)?;
            let (host, port) = address.rsplit_once(':').unwrap_or((&address, ""));
            if host.is_empty() || host.contains('/') || port.parse::<u16>().is_err() {
                return Err(invalid!(
                    "Could not interpret \"{address}\" as a host-port pair: the address of {task}"
                ));
            }
        }
        Ok(())
    }

    pub fn address(&self, job: &str, task: u32) -> Option<&str> {
        self.jobs.get(job)?.get(&task).map(String::as_str)
    }

    /// All tasks, in order of job and index.
    pub fn tasks(&self) -> Vec<TaskAddress> {
        let mut all = Vec::new();
        for (job, tasks) in &self.jobs {
            for (index, address) in tasks {
                all.push(TaskAddress { task: task_name(job, *index), address: address.clone() });
            }
        }
        all
    }

    pub fn len(&self) -> usize {
        self.jobs.values().map(BTreeMap::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// `/job:J/replica:0/task:N`.
pub fn task_name(job: &str, task: u32) -> String {
    format!("/job:{job}/replica:0/task:{task}")
}
