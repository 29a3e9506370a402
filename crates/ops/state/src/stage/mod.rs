//! Staging areas and maps: tuples passed between steps, in order of arrival or by key, with limits of number and bytes.

mod area;
mod map;
mod map_stage;
mod stage_op;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![stage_op::OPS, map_stage::OPS];

#[cfg(test)]
mod tests;
