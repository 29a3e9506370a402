//! The id of a frame. Tasks that run parts of one loop use it in rendezvous keys, so it is computed as in TensorFlow: from the id of the
//! parent frame, the iteration there, and the frame's name.

use thalweg_math::hash::murmur64;

/// The id of a frame entered from iteration `iteration` of the frame `parent`; `name` is the name's hash.
pub fn child(parent: u64, iteration: u64, name: u64) -> u64 {
    combine(parent, combine(iteration, name))
}

fn combine(a: u64, b: u64) -> u64 {
    a ^ b.wrapping_add(0x9e37_79b9_7f4a_7800).wrapping_add(a << 10).wrapping_add(a >> 4)
}

pub fn name_hash(name: &str) -> u64 {
    murmur64(name.as_bytes())
}
