//! Padded copies of images, so that all windows are inside.

use super::{Grid, WindowAxis};

impl WindowAxis {
    /// Inputs that the windows span, padding included; saturated on overflow.
    pub fn padded_len(&self) -> usize {
        match self.output {
            0 => 0,
            outputs => {
                let last = (outputs - 1).saturating_mul(self.stride);
                last.saturating_add((self.size.max(1) - 1).saturating_mul(self.dilation)).saturating_add(1)
            }
        }
    }
}

impl Grid {
    /// Whether no window reads padding.
    pub fn is_unpadded(&self) -> bool {
        [self.rows, self.cols].iter().all(|s| s.before == 0 && s.padded_len() <= s.input)
    }

    /// Writes one image with zero padding: `rows.padded_len()` by `cols.padded_len()`.
    pub fn write_padded<T: Copy + Default>(&self, depth: usize, image: &[T], out: &mut [T]) {
        let (rows, cols) = (&self.rows, &self.cols);
        assert_eq!(image.len(), rows.input * cols.input * depth);
        assert_eq!(out.len(), rows.padded_len() * cols.padded_len() * depth);
        if out.is_empty() {
            return;
        }
        let left = cols.before.min(cols.padded_len());
        let inside = cols.input.min(cols.padded_len() - left);
        for (at, out) in out.chunks_exact_mut(cols.padded_len() * depth).enumerate() {
            let Some(row) = at.checked_sub(rows.before).filter(|row| *row < rows.input) else {
                out.fill(T::default());
                continue;
            };
            let (before, rest) = out.split_at_mut(left * depth);
            let (middle, after) = rest.split_at_mut(inside * depth);
            before.fill(T::default());
            middle.copy_from_slice(&image[row * cols.input * depth..][..middle.len()]);
            after.fill(T::default());
        }
    }
}
