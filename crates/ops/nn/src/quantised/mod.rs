//! Quantised numbers: integers that stand for a range of floats.

mod fake_quant;
mod levels;
mod pool;
mod products;
mod quantize;
mod quantize_and_dequantize;
mod relu;
mod requantize;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![
    fake_quant::OPS,
    pool::OPS,
    products::OPS,
    quantize::OPS,
    quantize_and_dequantize::OPS,
    relu::OPS,
    requantize::OPS
];
