//! Copies of elements of any type, plain or not.
//!
//! A plain element is copied as a word of its size, an object (string, handle, variant) is cloned. `Block` copies a box of
//! elements between two layouts; `Gather` and `Scatter` copy runs picked by index.

use crate::elementwise::{GRAIN, for_chunks_of};
use crate::prelude::*;
use smallvec::SmallVec;
use thalweg_core::resource::ResourceHandle;
use thalweg_math::parallel::Parallel;
use thalweg_math::prefetch;

/// A copy, written once for elements of all kinds.
pub trait Motion {
    fn run<C: Clone + Send + Sync>(&self, from: &[C], to: &mut [C]);
}

/// Runs a copy from one tensor to another of the same type.
pub fn apply(motion: &impl Motion, from: &Tensor, to: &mut Tensor) -> Result<()> {
    fn words<W: bytemuck::Pod + Send + Sync>(motion: &impl Motion, from: &[u8], to: &mut [u8]) -> Result<()> {
        match (bytemuck::try_cast_slice::<u8, W>(from), bytemuck::try_cast_slice_mut::<u8, W>(to)) {
            (Ok(from), Ok(to)) => {
                motion.run(from, to);
                Ok(())
            }
            _ => Err(internal("tensor memory is not aligned to its elements")),
        }
    }
    fn objects<O: Object>(motion: &impl Motion, from: &Tensor, to: &mut Tensor) -> Result<()> {
        motion.run(O::of(from)?, O::of_mut(to)?);
        Ok(())
    }
    if from.dtype() != to.dtype() {
        return Err(invalid!("cannot move {} elements to a {} tensor", from.dtype(), to.dtype()));
    }
    match from.dtype() {
        DataType::String => objects::<bytes::Bytes>(motion, from, to),
        DataType::Resource => objects::<ResourceHandle>(motion, from, to),
        DataType::Variant => objects::<Variant>(motion, from, to),
        plain => match plain.size() {
            1 => words::<u8>(motion, from.bytes()?, to.bytes_mut()?),
            2 => words::<u16>(motion, from.bytes()?, to.bytes_mut()?),
            4 => words::<u32>(motion, from.bytes()?, to.bytes_mut()?),
            8 => words::<u64>(motion, from.bytes()?, to.bytes_mut()?),
            _ => words::<[u64; 2]>(motion, from.bytes()?, to.bytes_mut()?),
        },
    }
}

/// A strided copy: offsets in source and target; for each dimension, its size and the strides in
/// both.
#[derive(Clone, Default)]
pub struct Block {
    from: isize,
    to: isize,
    dims: SmallVec<[Steps; 6]>,
}

#[derive(Clone, Copy)]
struct Steps {
    count: usize,
    from: isize,
    to: isize,
}

impl Block {
    pub fn at(from: usize, to: usize) -> Block {
        Block { from: from as isize, to: to as isize, dims: SmallVec::new() }
    }

    /// Adds an innermost dimension. Strides may be negative, and 0 in the source (broadcast).
    pub fn dim(mut self, count: usize, from: isize, to: isize) -> Block {
        let mut steps = Steps { count, from, to };
        if to < 0 && count > 0 {
            let last = count as isize - 1;
            self.from += from * last;
            self.to += to * last;
            steps = Steps { count, from: -from, to: -to };
        }
        match self.dims.last_mut() {
            _ if count == 1 => {}
            Some(outer)
                if outer.from == steps.from * count as isize && outer.to == steps.to * count as isize =>
            {
                *outer = Steps { count: outer.count * count, ..steps };
            }
            _ => self.dims.push(steps),
        }
        self
    }

    /// Adds the dimensions of a row-major box that is part of row-major arrays of shapes `source` and `target`.
    pub fn part(mut self, counts: &[usize], source: &Shape, target: &Shape) -> Block {
        for ((n, s), t) in counts.iter().zip(source.strides()).zip(target.strides()) {
            self = self.dim(*n, s as isize, t as isize);
        }
        self
    }

    /// All of a source broadcast to a target: `shape` repeats along dimensions of size 1, and new ones in front.
    pub fn broadcast(shape: &Shape, target: &Shape) -> Block {
        let lead = target.rank().saturating_sub(shape.rank());
        let (from, to) = (shape.strides(), target.strides());
        let mut block = Block::at(0, 0);
        for (i, n) in target.iter().enumerate() {
            let step = match i.checked_sub(lead) {
                Some(d) if shape[d] != 1 => from[d],
                _ => 0,
            };
            block = block.dim(*n, step as isize, to[i] as isize);
        }
        block
    }

    fn elements(&self) -> usize {
        self.dims.iter().map(|d| d.count).product()
    }

    /// First and last position touched, for one side.
    fn span(&self, start: isize, step: impl Fn(&Steps) -> isize) -> (isize, isize) {
        let reach = |d: &Steps| step(d) * (d.count as isize - 1);
        let low: isize = self.dims.iter().map(|d| reach(d).min(0)).sum();
        let high: isize = self.dims.iter().map(|d| reach(d).max(0)).sum();
        (start + low, start + high)
    }

    /// Copies the box; other positions of the target are unchanged.
    pub fn copy(&self, par: &dyn Parallel, from: &Tensor, to: &mut Tensor) -> Result<()> {
        if self.elements() == 0 {
            return Ok(());
        }
        let inside = |(low, high): (isize, isize), n: usize| low >= 0 && (high as usize) < n;
        if !inside(self.span(self.from, |d| d.from), from.elements())
            || !inside(self.span(self.to, |d| d.to), to.elements())
        {
            return Err(internal("a copy reaches outside of its tensors"));
        }
        apply(&BlockCopy { block: self, par }, from, to)
    }

    /// The partition of the target for threads: start, length and size of equal pieces, one for each outermost index.
    fn pieces(&self, target: usize) -> Option<(usize, usize, usize)> {
        let outer = self.dims.first()?;
        let (piece, start) = (outer.to as usize, self.to as usize);
        let base = start - start % piece.max(1);
        let (_, last) = self.span(self.to, |d| d.to);
        let inner_last = last as usize - (outer.count - 1) * piece;
        let length = outer.count.checked_mul(piece)?;
        (self.elements() > GRAIN && inner_last < base + piece && base + length <= target)
            .then_some((base, length, piece))
    }
}

struct BlockCopy<'a> {
    block: &'a Block,
    par: &'a dyn Parallel,
}

impl Motion for BlockCopy<'_> {
    fn run<C: Clone + Send + Sync>(&self, from: &[C], to: &mut [C]) {
        let b = self.block;
        let Some((base, length, piece)) = b.pieces(to.len()) else {
            return copy_box(&b.dims, from, b.from, to, b.to);
        };
        let (outer, inner) = (b.dims[0], &b.dims[1..]);
        let grain = (GRAIN / inner.iter().map(|d| d.count).product::<usize>().max(1)).max(1);
        let first = b.to - base as isize;
        for_chunks_of(self.par, &mut to[base..base + length], piece, grain, &|range, to| {
            let here = Steps { count: range.len(), ..outer };
            let dims: SmallVec<[Steps; 6]> = std::iter::once(here).chain(inner.iter().copied()).collect();
            copy_box(&dims, from, b.from + outer.from * range.start as isize, to, first);
        });
    }
}

/// Rows of so few elements are copied one by one.
const FEW: usize = 4;

fn copy_box<C: Clone>(dims: &[Steps], from: &[C], mut i: isize, to: &mut [C], mut j: isize) {
    match dims {
        [] => to[j as usize] = from[i as usize].clone(),
        [row] => copy_row(*row, from, i as usize, &mut to[j as usize..]),
        // Few elements at a time: without a slice for each row.
        [outer, row] if row.count <= FEW => {
            for _ in 0..outer.count {
                let (mut from_at, mut to_at) = (i, j);
                for _ in 0..row.count {
                    to[to_at as usize].clone_from(&from[from_at as usize]);
                    from_at += row.from;
                    to_at += row.to;
                }
                i += outer.from;
                j += outer.to;
            }
        }
        [outer, inner @ ..] => {
            for _ in 0..outer.count {
                copy_box(inner, from, i, to, j);
                i += outer.from;
                j += outer.to;
            }
        }
    }
}

fn copy_row<C: Clone>(row: Steps, from: &[C], i: usize, to: &mut [C]) {
    match (row.from, row.to) {
        (1, 1) => to[..row.count].clone_from_slice(&from[i..i + row.count]),
        (0, 1) => to[..row.count].fill(from[i].clone()),
        // Reversed: from the end of a slice, whose bounds are checked once.
        (-1, 1) => {
            let from = &from[..=i][i + 1 - row.count..];
            to[..row.count].iter_mut().zip(from.iter().rev()).for_each(|(to, from)| to.clone_from(from));
        }
        (step @ 2.., 1) => {
            let from = from[i..].iter().step_by(step as usize);
            to[..row.count].iter_mut().zip(from).for_each(|(to, from)| to.clone_from(from));
        }
        (step, 1) => {
            let mut i = i as isize;
            for t in &mut to[..row.count] {
                *t = from[i as usize].clone();
                i += step;
            }
        }
        (step, apart) => {
            let mut i = i as isize;
            for t in to.iter_mut().step_by(apart.max(1) as usize).take(row.count) {
                *t = from[i as usize].clone();
                i += step;
            }
        }
    }
}

/// Sets all elements to the one of `value`.
pub fn fill(par: &dyn Parallel, value: &Tensor, to: &mut Tensor) -> Result<()> {
    let n = to.elements();
    Block::at(0, 0).dim(n, 0, 1).copy(par, value, to)
}

/// A tensor filled with one value; zeros (empty strings, null handles) if none is given.
pub fn filled(par: &dyn Parallel, dtype: DataType, shape: Shape, value: Option<&Tensor>) -> Result<Tensor> {
    match value {
        None => Tensor::zeros(dtype, shape),
        Some(value) => {
            let mut t = Tensor::uninit(dtype, shape)?;
            fill(par, value, &mut t)?;
            Ok(t)
        }
    }
}

/// Gathers slices: the source is `batches * outer` groups of `size` slices of `run` elements; of each group the slices
/// `picks` are copied, as many for each batch. A pick at or past `size` leaves the target unchanged.
pub struct Gather<'a> {
    pub batches: usize,
    pub outer: usize,
    pub size: usize,
    pub run: usize,
    pub picks: &'a [usize],
    pub par: &'a dyn Parallel,
}

impl Gather<'_> {
    /// Gathers rows, without batch or outer dimensions.
    pub fn rows<'a>(size: usize, run: usize, picks: &'a [usize], par: &'a dyn Parallel) -> Gather<'a> {
        Gather { batches: 1, outer: 1, size, run, picks, par }
    }
}

impl Motion for Gather<'_> {
    fn run<C: Clone + Send + Sync>(&self, from: &[C], to: &mut [C]) {
        if to.is_empty() {
            return;
        }
        let (run, per_batch) = (self.run, self.picks.len() / self.batches.max(1));
        for_chunks_of(self.par, to, run, GRAIN / run, &|range, to| {
            let (mut group, mut m) = (range.start / per_batch, range.start % per_batch);
            for to in to.chunks_exact_mut(run) {
                let at = group / self.outer * per_batch + m;
                if let Some(later) = self.picks.get(at + prefetch::AHEAD) {
                    prefetch::row(from, (group * self.size).wrapping_add(*later).wrapping_mul(run), run);
                }
                let pick = self.picks[at];
                if pick < self.size {
                    let at = (group * self.size + pick) * run;
                    match to {
                        [one] => *one = from[at].clone(),
                        many => many.clone_from_slice(&from[at..at + run]),
                    }
                }
                m += 1;
                if m == per_batch {
                    (group, m) = (group + 1, 0);
                }
            }
        });
    }
}

/// Copies slice `i` of the source to slice `places[i]` of the target, in order: the last write to a slice wins.
/// Past the end: skipped.
pub struct Scatter<'a> {
    pub run: usize,
    pub places: &'a [usize],
    /// The source is one slice, copied to every index.
    pub one_for_all: bool,
}

impl Motion for Scatter<'_> {
    fn run<C: Clone + Send + Sync>(&self, from: &[C], to: &mut [C]) {
        let run = self.run;
        for (i, place) in self.places.iter().enumerate() {
            let at = if self.one_for_all { 0 } else { i * run };
            if let Some(to) = place.checked_mul(run).and_then(|p| to.get_mut(p..)?.get_mut(..run)) {
                to.clone_from_slice(&from[at..at + run]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_math::parallel::Serial;

    /// Rows that are long or short, reversed, or with gaps, in a box of two dimensions.
    #[test]
    fn boxes_are_copied_element_by_element() {
        let from = Tensor::vector(&(0..400).collect::<Vec<i32>>()).unwrap();
        for rows in [1, 3] {
            for columns in [1, 2, FEW, FEW + 1, 11] {
                for step in [-3isize, -1, 0, 1, 2] {
                    for apart in [1isize, 2] {
                        let mut to = Tensor::zeros(DataType::Int32, Shape::vector(200)).unwrap();
                        let block = Block::at(40, 5).dim(rows, 90, 50).dim(columns, step, apart);
                        block.copy(&Serial, &from, &mut to).unwrap();
                        let mut wanted = vec![0; 200];
                        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                            let place = 5 + 50 * i + apart as usize * j;
                            wanted[place] = (40 + 90 * i as isize + step * j as isize) as i32;
                        }
                        assert_eq!(to.as_slice::<i32>().unwrap(), wanted, "{rows} x {columns} by {step}");
                    }
                }
            }
        }
    }
}
