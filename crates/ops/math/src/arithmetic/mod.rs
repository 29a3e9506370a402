//! Elementwise arithmetic.

mod add_n;
mod bitwise;
mod bucketize;
mod cast;
mod choose;
mod classification;
mod clip_by_value;
mod comparison;
mod complex;
mod division;
mod equal;
mod exponential;
mod hyperbolic;
mod lin_space;
mod logical;
mod min_max;
mod powers;
mod products;
mod range;
mod rounding;
mod select;
mod sign;
mod special;
mod sums;
mod trigonometry;
mod zeros_and_ones;

#[cfg(test)]
mod tests;

pub use add_n::ADD_N;
pub use exponential::SIGMOID;
pub use hyperbolic::TANH;
pub use sums::ADD_V2;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![
    add_n::OPS,
    bitwise::OPS,
    bucketize::OPS,
    cast::OPS,
    classification::OPS,
    clip_by_value::OPS,
    comparison::OPS,
    complex::OPS,
    division::OPS,
    equal::OPS,
    exponential::OPS,
    hyperbolic::OPS,
    lin_space::OPS,
    logical::OPS,
    min_max::OPS,
    powers::OPS,
    products::OPS,
    range::OPS,
    rounding::OPS,
    select::OPS,
    sign::OPS,
    special::OPS,
    sums::OPS,
    trigonometry::OPS,
    zeros_and_ones::OPS,
];
