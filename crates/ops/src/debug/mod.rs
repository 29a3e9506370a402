//! Checks and messages.

mod assert;
mod print;
mod scalar_summary;
mod string_format;
pub mod summary;
mod timestamp;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &assert::ASSERT,
    &print::PRINT,
    &print::PRINT_V2,
    &scalar_summary::SCALAR_SUMMARY,
    &string_format::STRING_FORMAT,
    &timestamp::TIMESTAMP,
];
