//! Eager execution, `TFE_*`: ops run as they are called, on values.
//!
//! An op without functions is one kernel, prepared once for the attrs and types that it is called with (`kernels`); an op that calls functions is a
//! graph of that one node in a session (`calls`). Both are on the context's devices.

mod attrs;
mod calls;
mod context;
mod experimental;
mod handle;
mod kernels;
mod op;
