//! The tasks of the cluster, and the TF_CONFIG of each.

use crate::tf_config::{EVALUATOR, PS, WORKER};
use std::collections::BTreeMap;
use std::net::TcpListener;
use thalweg_core::error::Result;
use thalweg_dist::cluster::{ClusterSpec, TfConfig};

/// A task to be started.
pub struct Planned {
    /// `worker 0`.
    pub name: String,
    pub tf_config: String,
    /// Whether it exits by itself; a parameter server does not.
    pub ends: bool,
}

/// The tasks, on ports that are free now. The chief is first.
pub fn plan(ps: usize, workers: usize, evaluator: bool) -> Result<Vec<Planned>> {
    // All ports are bound until all are known, so that they differ.
    let held = (0..ps + workers)
        .map(|_| TcpListener::bind(("127.0.0.1", 0)))
        .collect::<std::io::Result<Vec<_>>>()?;
    let mut addresses = Vec::with_capacity(held.len());
    for listener in &held {
        addresses.push(listener.local_addr()?.to_string());
    }
    let (first, rest) = addresses.split_at(ps);
    let numbered = |list: &[String]| (0..).zip(list.iter().cloned()).collect::<BTreeMap<u32, String>>();
    let jobs = BTreeMap::from([(PS.to_string(), numbered(first)), (WORKER.to_string(), numbered(rest))]);
    let cluster = ClusterSpec { jobs };
    let task = |job: &str, index: usize| Planned {
        name: format!("{job} {index}"),
        tf_config: TfConfig { cluster: cluster.clone(), job: job.into(), task: index as u32 }.to_json(),
        ends: job != PS,
    };
    let mut tasks: Vec<Planned> = (0..workers).map(|i| task(WORKER, i)).collect();
    tasks.extend((0..ps).map(|i| task(PS, i)));
    if evaluator {
        tasks.push(Planned { name: EVALUATOR.into(), ..task(EVALUATOR, 0) });
    }
    Ok(tasks)
}
