//! Graphs: nodes and edges, names and scopes, GraphDef in and out, functions, shape inference, gradients.
//!
//! Nothing here runs a graph. Protocol messages stop at `convert`, `import` and `export`.

// Input must not be able to panic: tests may.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod body;
pub mod calls;
pub mod constant;
pub mod convert;
mod export;
pub mod frames;
pub mod function;
mod function_gradient;
pub mod gradients;
mod graph;
mod import;
mod import_options;
pub mod infer;
pub mod names;
mod node;
mod order;
pub mod serialized;
mod splice;
mod unread;

pub use body::FunctionParts;
pub use export::ExportOptions;
pub use graph::{Graph, NodeRequest};
pub use import::{NODE_BYTES, NodeSpec};
pub use import_options::{ImportOptions, Imported};
pub use node::Node;
pub use order::topological_order;
pub use thalweg_core::builder::Arg;
pub use thalweg_core::node::{NodeId, Output};
pub use unread::{UnreadNode, UnreadNodes};
