//! The types of Thalweg: `Error`, `DataType`, `Shape`, `Tensor`, `Op`, `Kernel`, `Registry`, `Rendezvous`, resources.
//!
//! This crate does no I/O (but for `memory`, which reads the system's limits) and starts no thread. It knows nothing of graphs as a whole, sessions or any particular op.

// Input must not be able to panic: tests may.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod access;
pub mod attr;
pub mod budget;
pub mod buffer;
pub mod builder;
pub mod cancel;
pub mod case;
pub mod direct;
pub mod dtype;
pub mod error;
mod flat;
pub mod float8;
pub mod grad;
pub mod kernel;
pub mod memory;
pub mod node;
pub mod op;
pub mod partial_value;
pub mod placeholder;
pub mod registry;
pub mod rendezvous;
pub mod reserve;
pub mod resource;
pub mod runnable;
pub mod shape;
pub mod shape_call;
pub mod signature;
pub mod step;
pub mod sync;
pub mod tensor;
pub mod variable;
