//! Nonsense of all kinds gets an answer: a value or an error, in bounded time and memory, never a panic.
//!
//! `THALWEG_FUZZ_CASES` says how many graphs to try, `THALWEG_FUZZ_SEED` where to start; a failure names its number, and
//! `THALWEG_FUZZ_SEED=number THALWEG_FUZZ_CASES=1` repeats it.

#[path = "../common/mod.rs"]
mod common;

mod calls;
mod graphs;
mod mutate;
mod watch;
