//! Ops on the shape and layout of tensors.

mod reshape;
pub mod shape;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[&reshape::RESHAPE, &shape::SHAPE];
