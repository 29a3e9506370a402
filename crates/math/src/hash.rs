//! MurmurHash64A with the seed that TensorFlow uses everywhere: its values are part of graphs, models and tensor names.

const SEED: u64 = 0x00de_cafc_affe;
const M: u64 = 0xc6a4_a793_5bd1_e995;

pub fn murmur64(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut h = SEED ^ (bytes.len() as u64).wrapping_mul(M);
    for word in words {
        let k = shift_mix(u64::from_le_bytes(*word).wrapping_mul(M)).wrapping_mul(M);
        h = (h ^ k).wrapping_mul(M);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        h = (h ^ u64::from_le_bytes(last)).wrapping_mul(M);
    }
    shift_mix(shift_mix(h).wrapping_mul(M))
}

fn shift_mix(v: u64) -> u64 {
    v ^ (v >> 47)
}
