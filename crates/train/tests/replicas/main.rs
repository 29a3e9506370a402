//! Several replicas that train one model: in one session, and on clusters of tasks in this process.

mod asynchronous;
mod backups;
mod devices;
mod model;
mod partitioned;
mod queue_runners;
mod restarts;
mod synchronous;
#[path = "../../../dist/tests/cluster/common.rs"]
#[allow(dead_code)]
mod tasks;
