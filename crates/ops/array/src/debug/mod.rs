//! Checks and messages.

mod assert;
mod print;
mod string_format;
mod tensor_text;
mod timestamp;
mod watch;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &assert::ASSERT,
    &print::PRINT,
    &print::PRINT_V2,
    &string_format::STRING_FORMAT,
    &timestamp::TIMESTAMP,
    &watch::DEBUG_IDENTITY,
    &watch::DEBUG_IDENTITY_V2,
    &watch::DEBUG_IDENTITY_V3,
    &watch::DEBUG_NAN_COUNT,
    &watch::DEBUG_NUMERIC_SUMMARY,
];
