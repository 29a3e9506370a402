//! The inverse transforms: accurate, fast, and to smaller blocks. All in integers, and rounded as libjpeg does.

use super::BLOCK;
use std::f64::consts::SQRT_2;

const fn fixed(x: f64, bits: u32) -> i64 {
    (x * (1u64 << bits) as f64 + 0.5) as i64
}

const fn accurate(x: f64) -> i64 {
    fixed(x, 13)
}

fn rounded(x: i64, bits: u32) -> i64 {
    (x + (1 << (bits - 1))) >> bits
}

fn sample(x: i64) -> u8 {
    (x + 128).clamp(0, 255) as u8
}

/// Which transform, and what its coefficients are multiplied with first.
pub struct Inverse {
    /// Pixels of a side: 8, 4, 2 or 1.
    pub size: usize,
    fast: bool,
    multipliers: [i32; BLOCK],
}

/// Scale factors of the fast transform along one axis: 1, then sqrt(2) cos(k pi / 16).
const FAST_SCALES: [f64; 8] =
    [1.0, 1.387039845, 1.306562965, 1.175875602, 1.0, 0.785694958, 0.541196100, 0.275899379];

impl Inverse {
    pub fn new(size: usize, fast: bool, quantisation: &[u16; BLOCK]) -> Inverse {
        let fast = fast && size == 8;
        let multiplier = |i: usize| {
            let q = i64::from(quantisation[i]);
            match fast {
                false => q as i32,
                // Two bits below the point are kept.
                true => rounded(q * fixed(FAST_SCALES[i / 8] * FAST_SCALES[i % 8], 14), 12) as i32,
            }
        };
        Inverse { size, fast, multipliers: std::array::from_fn(multiplier) }
    }

    /// Writes the pixels of a block; rows are `stride` apart.
    pub fn run(&self, block: &[i16], out: &mut [u8], stride: usize) {
        let mut x = [0i64; BLOCK];
        for (x, (c, m)) in x.iter_mut().zip(block.iter().zip(&self.multipliers)) {
            *x = i64::from(*c) * i64::from(*m);
        }
        match (self.size, self.fast) {
            (8, true) => eight(&mut x, fast_line, |v| v, |v| v >> 5, out, stride),
            (8, false) => eight(&mut x, line, |v| rounded(v, 11), |v| rounded(v, 18), out, stride),
            (4, _) => four(&x, out, stride),
            (2, _) => two(&x, out, stride),
            _ => out[0] = sample(rounded(x[0], 3)),
        }
    }
}

/// Columns, then rows.
fn eight(
    x: &mut [i64; BLOCK],
    line: impl Fn([i64; 8]) -> [i64; 8],
    between: impl Fn(i64) -> i64,
    last: impl Fn(i64) -> i64,
    out: &mut [u8],
    stride: usize,
) {
    for col in 0..8 {
        let done = line(std::array::from_fn(|row| x[row * 8 + col]));
        for (row, v) in done.into_iter().enumerate() {
            x[row * 8 + col] = between(v);
        }
    }
    for row in 0..8 {
        let done = line(std::array::from_fn(|col| x[row * 8 + col]));
        let out = &mut out[row * stride..][..8];
        out.iter_mut().zip(done).for_each(|(out, v)| *out = sample(last(v)));
    }
}

/// Eight values; the result has 13 bits below the point (Loeffler, Ligtenberg and Moschytz).
fn line(x: [i64; 8]) -> [i64; 8] {
    let z1 = (x[2] + x[6]) * accurate(0.541196100);
    let t2 = z1 - x[6] * accurate(1.847759065);
    let t3 = z1 + x[2] * accurate(0.765366865);
    let (t0, t1) = ((x[0] + x[4]) << 13, (x[0] - x[4]) << 13);
    let even = [t0 + t3, t1 + t2, t1 - t2, t0 - t3];
    let (t0, t1, t2, t3) = (x[7], x[5], x[3], x[1]);
    let (z1, z2, z3, z4) = (t0 + t3, t1 + t2, t0 + t2, t1 + t3);
    let z5 = (z3 + z4) * accurate(1.175875602);
    let z1 = -z1 * accurate(0.899976223);
    let z2 = -z2 * accurate(2.562915447);
    let z3 = -z3 * accurate(1.961570560) + z5;
    let z4 = -z4 * accurate(0.390180644) + z5;
    let odd = [
        t3 * accurate(1.501321110) + z1 + z4,
        t2 * accurate(3.072711026) + z2 + z3,
        t1 * accurate(2.053119869) + z2 + z4,
        t0 * accurate(0.298631336) + z1 + z3,
    ];
    std::array::from_fn(|i| if i < 4 { even[i] + odd[i] } else { even[7 - i] - odd[7 - i] })
}

/// Eight values that were scaled before (Arai, Agui and Nakajima): five products, with eight bits.
fn fast_line(x: [i64; 8]) -> [i64; 8] {
    let times = |v: i64, by: f64| (v * fixed(by, 8)) >> 8;
    let (t10, t11) = (x[0] + x[4], x[0] - x[4]);
    let t13 = x[2] + x[6];
    let t12 = times(x[2] - x[6], SQRT_2) - t13;
    let even = [t10 + t13, t11 + t12, t11 - t12, t10 - t13];
    let (z13, z10) = (x[5] + x[3], x[5] - x[3]);
    let (z11, z12) = (x[1] + x[7], x[1] - x[7]);
    let t7 = z11 + z13;
    let t11 = times(z11 - z13, SQRT_2);
    let z5 = times(z10 + z12, 1.847759065);
    let t10 = times(z12, 1.082392200) - z5;
    let t12 = ((z10 * -fixed(2.613125930, 8)) >> 8) + z5;
    let t6 = t12 - t7;
    let t5 = t11 - t6;
    let t4 = t10 + t5;
    [
        even[0] + t7,
        even[1] + t6,
        even[2] + t5,
        even[3] - t4,
        even[3] + t4,
        even[2] - t5,
        even[1] - t6,
        even[0] - t7,
    ]
}

fn four(x: &[i64; BLOCK], out: &mut [u8], stride: usize) {
    let line = |x: [i64; 8]| {
        let t0 = x[0] << 14;
        let t2 = x[2] * accurate(1.847759065) - x[6] * accurate(0.765366865);
        let (even, middle) = (t0 + t2, t0 - t2);
        let inner =
            x[5] * accurate(1.451774981) - x[7] * accurate(0.211164243) - x[3] * accurate(2.172734803)
                + x[1] * accurate(1.061594337);
        let outer =
            x[3] * accurate(0.899976223) - x[7] * accurate(0.509795579) - x[5] * accurate(0.601344887)
                + x[1] * accurate(2.562915447);
        [even + outer, middle + inner, middle - inner, even - outer]
    };
    let mut rows = [[0; 8]; 4];
    for col in (0..8).filter(|col| *col != 4) {
        let done = line(std::array::from_fn(|row| x[row * 8 + col]));
        rows.iter_mut().zip(done).for_each(|(row, v)| row[col] = rounded(v, 12));
    }
    for (i, row) in rows.into_iter().enumerate() {
        let out = &mut out[i * stride..][..4];
        out.iter_mut().zip(line(row)).for_each(|(out, v)| *out = sample(rounded(v, 19)));
    }
}

fn two(x: &[i64; BLOCK], out: &mut [u8], stride: usize) {
    let line = |x: [i64; 8]| {
        let odd = x[5] * accurate(0.850430095) - x[7] * accurate(0.720959822) - x[3] * accurate(1.272758580)
            + x[1] * accurate(3.624509785);
        [(x[0] << 15) + odd, (x[0] << 15) - odd]
    };
    let mut rows = [[0; 8]; 2];
    for col in [0, 1, 3, 5, 7] {
        let done = line(std::array::from_fn(|row| x[row * 8 + col]));
        rows.iter_mut().zip(done).for_each(|(row, v)| row[col] = rounded(v, 13));
    }
    for (i, row) in rows.into_iter().enumerate() {
        let out = &mut out[i * stride..][..2];
        out.iter_mut().zip(line(row)).for_each(|(out, v)| *out = sample(rounded(v, 20)));
    }
}
