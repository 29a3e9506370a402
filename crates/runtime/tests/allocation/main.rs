//! Out of memory, as SQLite tests it: an allocator that fails the n-th allocation, for every op and every file format, and
//! a process with little address space. No failure may end the process, and none may change what comes after it.
//!
//! Messages are decoded by prost, whose allocations cannot fail: what it may take is asked for before (`io::message`). That this is enough
//! is tested with an allocator that has only so many bytes to give.

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
