//! Uniformly quantised numbers: a float is `(integer - zero_point) * scale`, with a scale and zero point for all elements, or for each
//! slice along an axis.

mod affine;
mod convolution;
mod dimensions;
mod dot;
mod elements;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![convolution::OPS, dot::OPS, elements::OPS];
