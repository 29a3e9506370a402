//! Upsampling of components that have fewer samples than the image.

use thalweg_core::error::Result;
use thalweg_core::{invalid, reserve};

/// The samples of a component.
pub struct Samples {
    pub rows: usize,
    pub cols: usize,
    /// The first column that is used.
    pub first: usize,
    /// Distance of rows in `values`, which may be longer than `cols`.
    pub stride: usize,
    pub values: Vec<u8>,
}

impl Samples {
    fn row(&self, i: usize) -> &[u8] {
        &self.values[i * self.stride + self.first..][..self.cols]
    }
}

/// How a component is brought to the size of the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Upsampling {
    None,
    /// Each sample so many times, across and down.
    Repeated(usize, usize),
    /// Three parts of the nearer sample and one of the farther, across.
    FancyAcross,
    FancyDown,
    FancyBoth,
}

impl Upsampling {
    /// For groups of `h` by `v` samples that become `max_h` by `max_v`.
    pub fn of(
        [h, v]: [usize; 2],
        [max_h, max_v]: [usize; 2],
        fancy: bool,
        cols: usize,
    ) -> Result<Upsampling> {
        let wide = cols > 2;
        Ok(match (max_h.is_multiple_of(h), max_v.is_multiple_of(v), max_h / h, max_v / v) {
            (true, true, 1, 1) => Upsampling::None,
            (true, true, 2, 1) if fancy && wide => Upsampling::FancyAcross,
            (true, true, 1, 2) if fancy => Upsampling::FancyDown,
            (true, true, 2, 2) if fancy && wide => Upsampling::FancyBoth,
            (true, true, across, down) => Upsampling::Repeated(across, down),
            _ => return Err(invalid!("JPEG components sampled {h} by {v} of {max_h} by {max_v} times")),
        })
    }

    /// Whether a row needs those around it: the last of what has come waits for the next.
    pub fn needs_rows_around(self) -> bool {
        matches!(self, Upsampling::FancyDown | Upsampling::FancyBoth)
    }

    /// One row of the image.
    pub fn row(self, from: &Samples, row: usize, sums: &mut [u32], out: &mut [u8]) {
        match self {
            Upsampling::None => out.copy_from_slice(&from.row(row.min(from.rows - 1))[..out.len()]),
            Upsampling::Repeated(across, down) => {
                let line = from.row((row / down).min(from.rows - 1));
                out.chunks_mut(across).zip(line).for_each(|(out, v)| out.fill(*v));
            }
            Upsampling::FancyAcross => {
                let line = from.row(row.min(from.rows - 1));
                sums.iter_mut().zip(line).for_each(|(sum, v)| *sum = u32::from(*v));
                across(&sums[..from.cols], 2, [1, 2], out);
            }
            Upsampling::FancyDown => {
                let ([near, far], second) = pair(from, row);
                for ((out, near), far) in out.iter_mut().zip(near).zip(far) {
                    *out = ((3 * u32::from(*near) + u32::from(*far) + 1 + u32::from(second)) >> 2) as u8;
                }
            }
            Upsampling::FancyBoth => {
                let ([near, far], _) = pair(from, row);
                for ((sum, near), far) in sums.iter_mut().zip(near).zip(far) {
                    *sum = 3 * u32::from(*near) + u32::from(*far);
                }
                across(&sums[..from.cols], 4, [8, 7], out);
            }
        }
    }
}

/// The nearer and the farther row of samples, and whether the row is the second of its sample.
fn pair(from: &Samples, row: usize) -> ([&[u8]; 2], bool) {
    let (near, second) = ((row / 2).min(from.rows - 1), row % 2 == 1);
    let far = if second { (near + 1).min(from.rows - 1) } else { near.saturating_sub(1) };
    ([from.row(near), from.row(far)], second)
}

/// Twice as many values: each with a quarter of its neighbour on that side, or its own at the ends.
fn across(sums: &[u32], shift: u32, rounding: [u32; 2], out: &mut [u8]) {
    let last = sums.len() - 1;
    for (i, out) in out.chunks_mut(2).enumerate() {
        let i = i.min(last);
        let sides = [sums[i.saturating_sub(1)], sums[(i + 1).min(last)]];
        // At the ends the sample is its own neighbour; its rounding does not matter where there is none below the point.
        for (k, out) in out.iter_mut().enumerate() {
            *out = ((3 * sums[i] + sides[k] + rounding[k]) >> shift) as u8;
        }
    }
}

/// Room for the sums of the widest component.
pub fn sums(samples: &[Samples]) -> Result<Vec<u32>> {
    reserve::filled(samples.iter().map(|s| s.cols).max().unwrap_or(0), 0)
}
