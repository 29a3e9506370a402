//! The id of a frame. Tasks that run parts of one loop use it in rendezvous keys, so it is computed as in TensorFlow: from the id of the
//! parent frame, the iteration there, and the frame's name.

/// The id of a frame entered from iteration `iteration` of the frame `parent`; `name` is the name's hash.
pub fn child(parent: u64, iteration: u64, name: u64) -> u64 {
    combine(parent, combine(iteration, name))
}

fn combine(a: u64, b: u64) -> u64 {
    a ^ b.wrapping_add(0x9e37_79b9_7f4a_7800).wrapping_add(a << 10).wrapping_add(a >> 4)
}

/// A 64-bit Murmur hash.
pub fn name_hash(name: &str) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const SEED: u64 = 0x00de_cafc_affe;
    let bytes = name.as_bytes();
    let mut h = SEED ^ (bytes.len() as u64).wrapping_mul(M);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut k = chunk.iter().rev().fold(0u64, |k, b| k << 8 | u64::from(*b)).wrapping_mul(M);
        k ^= k >> 47;
        h = (h ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0u64, |k, b| k << 8 | u64::from(*b));
        h = (h ^ tail).wrapping_mul(M);
    }
    h ^= h >> 47;
    h = h.wrapping_mul(M);
    h ^ (h >> 47)
}
