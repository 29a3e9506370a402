//! Checks and messages.

mod assert;
mod print;
mod string_format;
mod tensor_text;
mod timestamp;

use thalweg_core::op::Op;

pub static OPS: &[&Op] =
    &[&assert::ASSERT, &print::PRINT, &print::PRINT_V2, &string_format::STRING_FORMAT, &timestamp::TIMESTAMP];
