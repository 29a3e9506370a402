//! Invalid input has a value or an error, in bounded time and memory, never a panic.
//!
//! `THALWEG_FUZZ_CASES` is the number of graphs, `THALWEG_FUZZ_SEED` the first seed; a failure has its seed, and
//! `THALWEG_FUZZ_SEED=number THALWEG_FUZZ_CASES=1` repeats it.

#[path = "../common/mod.rs"]
mod common;

mod calls;
mod graphs;
mod mutate;
mod watch;
