//! Sets along the last dimension of dense and sparse tensors.

mod items;
mod set_operation;
mod set_size;

use crate::join;
use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![set_operation::OPS, set_size::OPS];
