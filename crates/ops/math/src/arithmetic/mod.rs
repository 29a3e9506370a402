//! Elementwise arithmetic.

mod add_n;
mod bessel;
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
mod incomplete;
mod lin_space;
mod logical;
mod min_max;
mod next_after;
mod powers;
mod products;
mod range;
mod rounding;
mod select;
mod sign;
mod special;
mod special_integrals;
mod sums;
mod to_bool;
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
    bessel::OPS,
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
    incomplete::OPS,
    lin_space::OPS,
    logical::OPS,
    min_max::OPS,
    next_after::OPS,
    powers::OPS,
    products::OPS,
    range::OPS,
    rounding::OPS,
    select::OPS,
    sign::OPS,
    special::OPS,
    special_integrals::OPS,
    sums::OPS,
    to_bool::OPS,
    trigonometry::OPS,
    zeros_and_ones::OPS,
];
