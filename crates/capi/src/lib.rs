//! TensorFlow's C API over the engine: what bindings of other languages link against.
//!
//! The functions have TensorFlow's names, arguments, numbers and rules of ownership; `include/tensorflow/c` declares them. Here is no logic of
//! graphs, gradients or sessions: those are the crates' below. Handles are boxes of this crate's types. Each function runs in a guard
//! ([`status::answer`]): an error becomes a status, and a panic too.
//!
//! `unsafe` is where pointers of C become values (`pointers`), and where memory is C's (`buffer`, `tstring`, `tensor`).

#![allow(non_snake_case)]
// The number of a function's arguments is C's.
#![allow(clippy::too_many_arguments)]
// Input must not be able to panic.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable)]

mod attrs;
mod buffer;
mod changes;
mod checkpoint;
mod deprecated;
mod description;
mod devices;
mod eager;
mod functions;
mod get_attr;
mod gradients;
mod graph;
mod import;
mod library;
mod operation;
mod options;
mod partial;
mod pointers;
mod server;
mod session;
mod shapes;
mod status;
mod tensor;
mod tstring;
mod while_loop;
