//! Out of memory, as SQLite tests it: an allocator that fails the n-th allocation, for every op and every file format, and
//! a process with a small address space. No failure may abort the process or change later results.
//!
//! Messages are decoded by prost, whose allocations cannot fail: memory is reserved before (`io::message`). That this suffices
//! is tested with an allocator with a budget.

#[path = "../common/mod.rs"]
mod common;

mod child;
mod failing;
mod little;
mod messages;
mod ops;
mod parsers;
mod waiting;

#[global_allocator]
static ALLOCATOR: failing::Failing = failing::Failing;
