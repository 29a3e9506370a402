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
//! Ops are made on a [`Scope`] and return [`Output`]s. The scope records the first error (shapes that do not fit, types that differ) with the
//! file and line that made it; [`Scope::check`] and [`Session::new`] return it. Input pipelines are in [`data`], layers and optimizers in
//! [`train`]. The [`guide`] walks through all of it.
//!
//! # Features
//!
//! `train` (layers, optimizers, estimators) and `server` (sessions on servers) are on by default. A program that only runs graphs builds
//! neither: `thalweg = { .., default-features = false }`.
//!
//! # Speed of debug builds
//!
//! Kernels are loops, and unoptimised they are a hundred times slower. These lines in the `Cargo.toml` of a program optimise its
//! dependencies, and not the program itself:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 2
//! debug = false
//! ```

#![warn(missing_docs)]

pub use thalweg_client::*;

/// Types for programs that define custom ops and pass them to [`Scope::with_ops`], as `examples/custom_op.rs` does.
pub mod op {
    pub use thalweg_core::builder::Arg;
    pub use thalweg_core::cpu;
    pub use thalweg_core::dtype::Element;
    pub use thalweg_core::grad::{Grad, GradCall};
    pub use thalweg_core::kernel::{Kernel, KernelNode, OpCall};
    pub use thalweg_core::node::Output;
    pub use thalweg_core::op::{Gradient, Op};
    pub use thalweg_core::registry::Registry;
    pub use thalweg_core::shape_call::{ShapeCall, same_as_input};
    pub use thalweg_ops::registry;
}

/// Servers of one's own programs: a task that sessions are opened on.
#[cfg(feature = "server")]
pub mod server {
    pub use thalweg_dist::cluster::{ClusterSpec, TfConfig};
    pub use thalweg_dist::{Security, Server, ServerOptions, TaskSpec, wait_for_stop};
}

/// Optimizers, layers, losses, estimators and training loops.
#[cfg(feature = "train")]
pub mod train {
    pub use thalweg_train::*;
}

pub mod guide;
pub mod prelude;
