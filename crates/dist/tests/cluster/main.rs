//! Clusters of tasks in this process, used by a client.

mod brought;
mod common;
mod failures;
#[path = "../../../runtime/tests/loops/maker.rs"]
#[allow(dead_code)]
mod maker;
mod many;
mod partitions;
mod steps;
