//! Tests over the whole op table, from the cases beside each op.

#[path = "../common/mod.rs"]
mod common;

mod dtypes;
mod gradients;
mod properties;
mod sessions;
