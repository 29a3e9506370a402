//! The order of the examples: shuffled anew in every epoch, as a function of step and seed.

/// The examples of a step's batch, of `examples` ones.
pub fn batch(step: u64, size: usize, seed: i64, examples: usize) -> Vec<usize> {
    let n = examples.max(1) as u64;
    let first = step.wrapping_mul(size as u64);
    let row = |i: u64| {
        let at = first.wrapping_add(i);
        position(at % n, n, (seed as u64) ^ (at / n).wrapping_mul(0x9E37_79B9_7F4A_7C15)) as usize
    };
    (0..size as u64).map(row).collect()
}

/// The position of `i` in a permutation of `0..n` chosen by the key, without storing the permutation: a Feistel network over the
/// smallest square that holds `n`, with cycle walking.
pub fn position(i: u64, n: u64, key: u64) -> u64 {
    let side = (n as f64).sqrt().ceil().max(2.0) as u64;
    let mut at = i;
    loop {
        let (mut left, mut right) = (at / side, at % side);
        for round in 0..4 {
            let mixed = mix(right ^ key.wrapping_add(round));
            (left, right) = (right, (left + mixed % side) % side);
        }
        at = left * side + right;
        if at < n {
            return at;
        }
    }
}

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epoch_sees_every_row_once_in_another_order() {
        for n in [1, 2, 3, 10, 120, 1000] {
            let order = |key| (0..n).map(|i| position(i, n, key)).collect::<Vec<_>>();
            for key in [0, 1, 77] {
                let mut rows = order(key);
                rows.sort();
                assert_eq!(rows, (0..n).collect::<Vec<_>>());
            }
            assert!(n < 10 || order(1) != order(2));
        }
    }
}
