//! Threads for what clients ask for, shared fairly among them, and steps awaited.

pub mod awaited_step;
pub mod client_threads;
pub mod priority;
pub mod quota;
