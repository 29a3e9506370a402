//! Protocol messages as our own types, and back: options, step statistics, errors.

pub mod config;
pub mod error;
pub mod metadata;
