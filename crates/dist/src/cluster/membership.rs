//! Membership of a task in a cluster.
//!
//! A server is a member of its own cluster, and may be of others: the client of a session may bring its own cluster
//! (`ConfigProto.cluster_def`), in which tasks have other names.

use super::link::{Connector, Links};
use super::spec::{ClusterSpec, task_name};
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_proto::{ClusterDef, ServerDef};

/// The name of a task in a cluster, and its links to the others.
pub struct Membership {
    /// `/job:worker/replica:0/task:0`.
    pub task: String,
    pub links: Links,
    /// The cluster, if it belongs to one session.
    pub brought: Option<ClusterSpec>,
}

impl Membership {
    /// The membership of the task with this name.
    pub fn of(connector: &Connector, task: String, cluster: &ClusterSpec) -> Result<Membership> {
        let others = cluster.tasks().into_iter().filter(|t| t.task != task).collect();
        Ok(Membership { task, links: connector.links(others)?, brought: None })
    }

    /// The membership of a master in its client's cluster: the task at the address that the client called.
    pub fn of_master(connector: &Connector, def: &ClusterDef, target: &str) -> Result<Membership> {
        let cluster = ClusterSpec::from_proto(def)?;
        let address = ["grpc://", "grpcs://"].iter().find_map(|s| target.strip_prefix(s)).unwrap_or(target);
        let mut ours: Vec<_> = cluster.tasks().into_iter().filter(|t| t.address == address).collect();
        match (ours.pop(), ours.pop()) {
            (Some(us), None) => Membership::in_brought(connector, us.task, cluster),
            (Some(one), Some(other)) => Err(invalid!(
                "Found multiple matching tasks that correspond to the master. Master target: '{target}'. In the cluster_def both {} \
                 and {} have this address",
                other.task,
                one.task
            )),
            (None, _) => Err(invalid!(
                "The master (current machine) is not included in the provided cluster_def: the session was opened at '{target}', \
                 and no task has that address. It has {}",
                listed(&cluster)
            )),
        }
    }

    /// The membership of a worker in a session's cluster, from its master; `None` if that is the worker's own.
    pub fn of_worker(connector: &Connector, def: &ServerDef) -> Result<Option<Membership>> {
        let Some(cluster) = def.cluster.as_ref().filter(|c| !c.job.is_empty()) else { return Ok(None) };
        let cluster = ClusterSpec::from_proto(cluster)?;
        let index = u32::try_from(def.task_index).ok();
        let Some(index) = index.filter(|i| cluster.address(&def.job_name, *i).is_some()) else {
            return Err(invalid!(
                "the server_def names task {} of job '{}', which its cluster does not have. It has {}",
                def.task_index,
                def.job_name,
                listed(&cluster)
            ));
        };
        Membership::in_brought(connector, task_name(&def.job_name, index), cluster).map(Some)
    }

    fn in_brought(connector: &Connector, task: String, cluster: ClusterSpec) -> Result<Membership> {
        cluster.check()?;
        let mut others = cluster.tasks().into_iter().filter(|t| t.task != task);
        others.try_for_each(|other| connector.reach.check(&other))?;
        Ok(Membership { brought: Some(cluster.clone()), ..Membership::of(connector, task, &cluster)? })
    }
}

/// The first tasks of a cluster, with addresses.
fn listed(cluster: &ClusterSpec) -> String {
    const SHOWN: usize = 10;
    let tasks = cluster.tasks();
    let shown = tasks.iter().take(SHOWN).map(|t| format!("{} at '{}'", t.task, t.address));
    let more = tasks.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("{more} more"));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ten_tasks_of_a_cluster_are_listed() {
        let of = |tasks: u32| {
            let mut cluster = ClusterSpec::default();
            cluster.jobs.insert("w".into(), (0..tasks).map(|i| (i, format!("h:{i}"))).collect());
            listed(&cluster)
        };
        assert_eq!(of(2), "/job:w/replica:0/task:0 at 'h:0', /job:w/replica:0/task:1 at 'h:1'");
        assert!(of(10).ends_with("/job:w/replica:0/task:9 at 'h:9'"));
        assert!(of(12).ends_with("/job:w/replica:0/task:9 at 'h:9', 2 more"));
    }
}
