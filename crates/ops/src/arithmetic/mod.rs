//! Elementwise arithmetic.

mod add_v2;
mod less;
mod mul;
mod neg;
mod tanh;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[&add_v2::ADD_V2, &less::LESS, &mul::MUL, &neg::NEG, &tanh::TANH];
