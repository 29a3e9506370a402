//! Conversion of protocol messages: options, step statistics, errors.

pub mod config;
pub mod cost_graph;
pub mod device;
pub mod error;
pub mod graph_def;
pub mod metadata;
mod status;
pub mod tensors;

pub use status::Status;
