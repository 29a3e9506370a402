//! Fourier transforms over the innermost one, two or three dimensions.

mod complex;
mod gradients;
mod real;
mod transform;

use crate::prelude::*;

pub static OPS: &[&Op] = join![complex::OPS, real::OPS];
