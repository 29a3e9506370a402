//! The Rust client: graphs built on a [`Scope`], run by a [`Session`]. Programs use it through the `thalweg` crate.

// Input must not be able to panic: tests may.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
#![warn(missing_docs)]

mod build;
mod callable;
mod collections;
mod context;
mod control_flow;
pub mod data;
mod devices;
pub mod eager;
mod function;
mod gradients;
mod inspect;
mod operators;
mod ops;
mod output;
mod outputs;
mod partitioned;
mod product_precision;
pub mod saved_model;
mod scope;
mod session;
mod value;
mod variables;

pub use build::OpBuilder;
pub use callable::Callable;
pub use collections::keys;
pub use devices::NewNode;
pub use function::TracedFunction;
pub use gradients::{Gradient, GradientOptions, IndexedSlices};
pub use output::{Operation, Output};
pub use outputs::Outputs;
pub use partitioned::{PartitionedVariable, Partitioner, Slice};
pub use saved_model::{SavedModel, Signature};
pub use scope::Scope;
pub use session::{Feed, Fetch, Session, feed};
pub use thalweg_core::attr::{self, Attr, Attrs, Func};
pub use thalweg_core::cancel::Cancellation;
pub use thalweg_core::dtype::{self, DataType};
pub use thalweg_core::error::{Code, Error, Result};
pub use thalweg_core::shape::{PartialShape, Shape};
pub use thalweg_core::tensor::Tensor;
#[cfg(feature = "remote")]
pub use thalweg_dist::cluster::ClusterSpec;
#[cfg(feature = "remote")]
pub use thalweg_dist::{Credentials, RemoteSession, TlsFiles};
pub use thalweg_runtime::device::DeviceSpec;
pub use thalweg_runtime::{RunMetadata, RunOptions, SessionOptions};
pub use value::IntoTensor;
pub use variables::{Initializer, Reuse, Variable, VariableOptions};
