//! Out of memory, as SQLite tests it: an allocator that fails the n-th allocation, for every op and every file format, and
//! a process with little address space. No failure may end the process, and none may change what comes after it.
//!
//! Messages (GraphDef, Event, SavedModel, Example) are decoded by prost, whose allocations cannot fail. They take no more than a
//! multiple of the bytes that are there, which are limited where they are read; what is made of them is tested here.

#[path = "../common/mod.rs"]
mod common;

mod child;
mod failing;
mod little;
mod ops;
mod parsers;

#[global_allocator]
static ALLOCATOR: failing::Failing = failing::Failing;
