//! What training programs are made of, as ordinary nodes of a graph: initializers, optimizers, layers, losses, schedules; and the loops that run them.

// Input must not be able to panic: tests may.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
#![warn(missing_docs)]

pub mod averages;
pub mod clip;
pub mod cluster;
pub mod embedding;
pub mod estimator;
pub mod feature_column;
pub mod gradient_checker;
pub mod hooks;
pub mod initializers;
pub mod layers;
pub mod losses;
pub mod metrics;
pub mod monitored;
pub mod optimizers;
pub mod rnn;
pub mod saved_model;
pub mod saver;
pub mod schedules;
pub mod summary;
pub mod sync_replicas;
pub mod trainer;

mod coordinator;
mod device_setter;
mod global_step;
mod patience;
mod queue_runner;
mod tables;

pub use coordinator::Coordinator;
pub use device_setter::{
    GreedyLoadBalancing, Load, PsStrategy, ReplicaDeviceSetter, RoundRobin, byte_size_load,
};
pub use global_step::{get_global_step, get_or_create_global_step};
pub use patience::{Patience, Verdict};
pub use queue_runner::QueueRunner;
pub use tables::{IndexTable, tables_initializer};
