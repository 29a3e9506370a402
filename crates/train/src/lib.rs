//! What training programs are made of, as ordinary nodes of a graph: initializers, optimizers, layers, losses, schedules.

pub mod averages;
pub mod clip;
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
pub mod saver;
pub mod schedules;
pub mod summary;

mod global_step;
mod tables;

pub use global_step::{get_global_step, get_or_create_global_step};
pub use tables::{IndexTable, tables_initializer};
