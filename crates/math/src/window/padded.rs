//! One image with the padding that windows over it reach into, so that all windows lie inside.

use super::{Grid, Span};

impl Span {
    /// Positions from the first that a window touches to the last, padding included; more than there can be if a `usize` cannot say.
    pub fn reach(&self) -> usize {
        match self.output {
            0 => 0,
            places => {
                let last = (places - 1).saturating_mul(self.stride);
                last.saturating_add((self.size.max(1) - 1).saturating_mul(self.dilation)).saturating_add(1)
            }
        }
    }
}

impl Grid {
    /// Whether no window reaches into padding.
    pub fn is_inside(&self) -> bool {
        [self.rows, self.cols].iter().all(|s| s.before == 0 && s.reach() <= s.input)
    }

    /// Writes one image as the windows see it: `reach` rows of `reach` columns, zeros where there is padding.
    pub fn write_padded<T: Copy + Default>(&self, depth: usize, image: &[T], out: &mut [T]) {
        let (rows, cols) = (&self.rows, &self.cols);
        assert_eq!(image.len(), rows.input * cols.input * depth);
        assert_eq!(out.len(), rows.reach() * cols.reach() * depth);
        if out.is_empty() {
            return;
        }
        let left = cols.before.min(cols.reach());
        let inside = cols.input.min(cols.reach() - left);
        for (at, out) in out.chunks_exact_mut(cols.reach() * depth).enumerate() {
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
