//! TensorFlow's dataflow system in Rust: describe a computation as a graph, run it in a session.
//!
//! ```
//! use thalweg::prelude::*;
//!
//! let g = Scope::new();
//! let a = g.constant(3) + g.constant(5);
//! println!("{a}"); // Tensor("Add:0", shape=(), dtype=int32): building does not compute.
//! let session = Session::new(&g)?;
//! assert_eq!(session.run(&a, &[])?.to_scalar::<i32>()?, 8);
//! # Ok::<(), Error>(())
//! ```
//!
//! Ops are made on a [`Scope`] and give [`Output`]s. A mistake (shapes that do not fit, types that differ) is remembered with the
//! file and line that made it, and told by [`Scope::check`] and [`Session::new`]; ops made from its result do nothing.

mod build;
mod control_flow;
mod gradients;
mod operators;
mod ops;
mod output;
mod scope;
mod session;
mod value;

pub mod prelude;

pub use build::OpBuilder;
pub use control_flow::Loop;
pub use gradients::{Gradient, GradientOptions, IndexedSlices};
pub use ops::Variable;
pub use output::{Operation, Output};
pub use scope::Scope;
pub use session::{Callable, Feed, Fetch, Session, feed};
pub use thalweg_core::attr::{Attr, Func};
pub use thalweg_core::dtype::{self, DataType};
pub use thalweg_core::error::{Code, Error, Result};
pub use thalweg_core::shape::{PartialShape, Shape};
pub use thalweg_core::tensor::Tensor;
pub use thalweg_runtime::{RunMetadata, RunOptions, SessionOptions};
pub use value::IntoTensor;
