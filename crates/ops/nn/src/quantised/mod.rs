//! Quantised numbers: integers that stand for a range of floats.

mod bias_add;
mod conv;
mod exact;
mod fake_quant;
mod norm;
mod onednn;
mod pool;
mod products;
mod quantize;
mod quantize_and_dequantize;
mod relu;
mod requantize;
mod uniform;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![
    bias_add::OPS,
    conv::OPS,
    fake_quant::OPS,
    norm::OPS,
    pool::OPS,
    products::OPS,
    quantize::OPS,
    quantize_and_dequantize::OPS,
    relu::OPS,
    requantize::OPS,
    uniform::OPS
];
