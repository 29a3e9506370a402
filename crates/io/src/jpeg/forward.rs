//! The forward transform, accurate, and quantisation.

use super::BLOCK;

const fn fixed(x: f64) -> i32 {
    (x * 8192.0 + 0.5) as i32
}

fn rounded(x: i32, bits: u32) -> i32 {
    (x + (1 << (bits - 1))) >> bits
}

/// Quantised coefficients of a block of samples, by rows.
pub fn forward(samples: &[u8; BLOCK], quantisation: &[u16; BLOCK]) -> [i16; BLOCK] {
    let mut x: [i32; BLOCK] = samples.map(|v| i32::from(v) - 128);
    for row in x.as_chunks_mut::<8>().0 {
        *row = line(*row, |v| v << 2, |v| rounded(v, 11));
    }
    for col in 0..8 {
        let done = line(std::array::from_fn(|row| x[row * 8 + col]), |v| rounded(v, 2), |v| rounded(v, 15));
        for (row, v) in done.into_iter().enumerate() {
            x[row * 8 + col] = v;
        }
    }
    // The transform is eight times too large.
    std::array::from_fn(|i| {
        let by = 8 * i32::from(quantisation[i]);
        let size = (x[i].abs() + by / 2) / by;
        (if x[i] < 0 { -size } else { size }) as i16
    })
}

fn line(x: [i32; 8], whole: impl Fn(i32) -> i32, parts: impl Fn(i32) -> i32) -> [i32; 8] {
    let (sums, differences): ([i32; 4], [i32; 4]) =
        (std::array::from_fn(|i| x[i] + x[7 - i]), std::array::from_fn(|i| x[3 - i] - x[4 + i]));
    let (t10, t13) = (sums[0] + sums[3], sums[0] - sums[3]);
    let (t11, t12) = (sums[1] + sums[2], sums[1] - sums[2]);
    let z = (t12 + t13) * fixed(0.541196100);
    let [t4, t5, t6, t7] = differences;
    let (z1, z2, z3, z4) = (t4 + t7, t5 + t6, t4 + t6, t5 + t7);
    let z5 = (z3 + z4) * fixed(1.175875602);
    let z1 = -z1 * fixed(0.899976223);
    let z2 = -z2 * fixed(2.562915447);
    let z3 = -z3 * fixed(1.961570560) + z5;
    let z4 = -z4 * fixed(0.390180644) + z5;
    [
        whole(t10 + t11),
        parts(t7 * fixed(1.501321110) + z1 + z4),
        parts(z + t13 * fixed(0.765366865)),
        parts(t6 * fixed(3.072711026) + z2 + z3),
        whole(t10 - t11),
        parts(t5 * fixed(2.053119869) + z2 + z4),
        parts(z - t12 * fixed(1.847759065)),
        parts(t4 * fixed(0.298631336) + z1 + z3),
    ]
}
