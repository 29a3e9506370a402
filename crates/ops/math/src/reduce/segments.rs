//! Rows of a tensor combined by segment: each row belongs to a segment, and each segment becomes one row.

use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use thalweg_math::parallel::Parallel;

/// Maps rows of the data to rows of the result.
pub struct Segments<'a> {
    /// For each entry, the row of the result; negative: dropped.
    pub ids: &'a [i64],
    /// For each entry, the row of the data; `None` if that is its own number.
    pub rows: Option<&'a [i64]>,
    /// Elements of a row.
    pub width: usize,
}

/// Combines a row of the data into a row of the result.
pub type Combine<'a, T> = &'a (dyn Fn(&mut [T], &[T]) + Sync);

/// Combines elementwise.
pub fn by_element<T: Copy>(combine: impl Fn(T, T) -> T + Sync) -> impl Fn(&mut [T], &[T]) + Sync {
    move |out, row| {
        for (out, x) in out.iter_mut().zip(row) {
            *out = combine(*out, *x);
        }
    }
}

impl Segments<'_> {
    /// Fills `out` with `start` and combines into it all rows, in order. All ids and rows have been checked.
    pub fn combine<T: Element>(
        &self,
        par: &dyn Parallel,
        data: &[T],
        out: &mut [T],
        start: T,
        combine: Combine<'_, T>,
    ) {
        out.fill(start);
        let width = self.width;
        if width == 0 || out.is_empty() {
            return;
        }
        // Each thread scans all ids for its own rows, which is cheap beside combining them.
        let rows = out.len() / width;
        let grain = if self.ids.len() * width < 1 << 14 { rows } else { rows.div_ceil(4 * par.threads()) };
        for_chunks_of(par, out, width, grain, &|own, out| {
            for (i, id) in self.ids.iter().enumerate() {
                let id = *id as usize;
                if !own.contains(&id) {
                    continue;
                }
                let row = self.rows.map_or(i, |rows| rows[i] as usize);
                let from = &data[row * width..][..width];
                combine(&mut out[(id - own.start) * width..][..width], from);
            }
        });
    }

    /// Fills `out` with the sums of the rows, each divided by its row's divisor. Sums are float32 and rounded once: those of types with few
    /// bits would lose them. All ids and rows have been checked.
    pub fn sum_wide<T: Real>(&self, par: &dyn Parallel, data: &[T], out: &mut [T], divisor: &[f32]) {
        let width = self.width;
        if width == 0 || out.is_empty() {
            return;
        }
        let rows = out.len() / width;
        let grain = if self.ids.len() * width < 1 << 14 { rows } else { rows.div_ceil(4 * par.threads()) };
        for_chunks_of(par, out, width, grain, &|own, out| {
            let mut sums = scratch::filled(out.len(), 0f32);
            for (i, id) in self.ids.iter().enumerate() {
                let id = *id as usize;
                if !own.contains(&id) {
                    continue;
                }
                let row = self.rows.map_or(i, |rows| rows[i] as usize);
                let from = &data[row * width..][..width];
                for (sum, x) in sums[(id - own.start) * width..][..width].iter_mut().zip(from) {
                    *sum += x.to_f64() as f32;
                }
            }
            let rows = out.chunks_exact_mut(width).zip(sums.chunks_exact(width)).zip(&divisor[own]);
            for ((out, sums), divisor) in rows {
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = T::from_f64(f64::from(sum / divisor));
                }
            }
        });
    }

    /// How many rows go into each row of the result.
    pub fn counts(&self, segments: usize) -> Result<Vec<u32>> {
        let mut counts = reserve::filled(segments, 0u32)?;
        for id in self.ids {
            if let Some(count) = usize::try_from(*id).ok().and_then(|id| counts.get_mut(id)) {
                *count = count.saturating_add(1);
            }
        }
        Ok(counts)
    }
}

/// Checks that ids are sorted, and returns the number of segments: one more than the last id.
pub fn sorted_segments(ids: &[i64]) -> Result<usize> {
    let Some(last) = ids.last() else { return Ok(0) };
    if *last < 0 {
        return Err(invalid!("segment ids must be >= 0, but the last is {last}"));
    }
    // Segment by segment, as TensorFlow does: that the next id is larger, then that this one is in range.
    let next = ids.iter().skip(1).map(Some).chain([None]);
    for (id, next) in ids.iter().zip(next).filter(|(id, next)| *next != Some(*id)) {
        if next.is_some_and(|next| next < id) {
            return Err(invalid!("segment ids are not increasing"));
        }
        if !(0..=*last).contains(id) {
            return Err(invalid!(
                "Segment id {id} out of range [0, {}), possibly because 'segment_ids' input is not sorted.",
                last.saturating_add(1)
            ));
        }
    }
    usize::try_from(*last)
        .ok()
        .and_then(|last| last.checked_add(1))
        .ok_or_else(|| invalid!("segment id {last} is too large"))
}

/// The shape of the result: that of the data with another number of rows.
pub fn segmented_shape(data: &Shape, rows: usize) -> Result<Shape> {
    if data.rank() == 0 {
        return Err(invalid!("data must be at least rank 1, got a scalar"));
    }
    sized(rows, &data[1..])
}

/// The shape of `rows` rows like this; where it has too many elements, the error names the product that overflows.
pub fn sized(rows: usize, row: &[usize]) -> Result<Shape> {
    let mut total = rows as i64;
    for n in row {
        total = total.checked_mul((*n).max(1) as i64).ok_or_else(|| {
            invalid!(
                "Encountered overflow when multiplying {total} with {n}, result: -1; the shape is too large"
            )
        })?;
    }
    let dims: Vec<usize> = [rows].into_iter().chain(row.iter().copied()).collect();
    Shape::new(&dims)
}

/// In shape rules: the data's shape with an unknown, or known, number of rows.
pub fn segmented(data: &PartialShape, rows: i64) -> PartialShape {
    match data.dims() {
        Some([_, rest @ ..]) => [rows].into_iter().chain(rest.iter().copied()).collect(),
        _ => PartialShape::unknown(),
    }
}
