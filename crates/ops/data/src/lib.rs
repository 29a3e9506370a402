//! Ops of datasets, files, checkpoints, summaries. `ALL` lists the families.

// Input must not be able to panic: tests may.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
// Tests make the files that they read.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[macro_use]
extern crate thalweg_ops_kit;

pub mod dataset;
mod parsing;
mod reader;
mod save;
mod summary;
mod tasks;

#[cfg(test)]
#[path = "../../kit/testing.rs"]
#[allow(dead_code, reason = "each crate uses a part of it")]
mod testing;

use thalweg_ops_kit::*;

#[rustfmt::skip]
pub static ALL: &[&[&thalweg_core::op::Op]] = &[
    dataset::OPS,
    parsing::OPS,
    reader::OPS,
    save::OPS,
    summary::OPS,
];
