//! Quantised numbers: integers that stand for a range of floats.

mod fake_quant;
mod quantize_and_dequantize;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![fake_quant::OPS, quantize_and_dequantize::OPS];
