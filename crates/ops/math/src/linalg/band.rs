//! A band of adjacent diagonals, and how it is packed into a matrix with a row for each.
//!
//! Diagonal 0 is the main one, positive ones lie above it. The uppermost comes first. Diagonals shorter than the longest are padded on
//! the side that the alignment leaves free.

use crate::moving::Block;
use crate::prelude::*;
use thalweg_math::parallel::Parallel;

/// The lowest and the highest diagonal of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    pub low: i64,
    pub high: i64,
}

pub const MAIN: Band = Band { low: 0, high: 0 };

impl Band {
    /// From input `k`: one diagonal, or the lowest and the highest.
    pub fn new(k: &[i64]) -> Result<Band> {
        match *k {
            [one] => Ok(Band { low: one, high: one }),
            [low, high] if low <= high => Ok(Band { low, high }),
            [low, high] => {
                Err(invalid!("lower_diag_index must not be larger than upper_diag_index: {low} > {high}"))
            }
            _ => Err(invalid!("diag_index must have one or two elements, received {}", k.len())),
        }
    }

    /// Input `i` of a kernel as a band.
    pub fn input(c: &OpCall<'_>, i: usize) -> Result<Band> {
        let k = c.input(i)?;
        if k.rank() > 1 {
            return Err(invalid!("diag_index must be a scalar or vector, received shape: {}", k.shape()));
        }
        Band::new(&k.to_i64s()?)
    }

    /// Input `i` of a shape rule as a band, if it is known.
    pub fn known(c: &ShapeCall<'_>, i: usize) -> Result<Option<Band>> {
        if c.input(i).rank().is_some_and(|r| r > 1) {
            return Err(invalid!("diag_index must be a scalar or vector, received shape: {}", c.input(i)));
        }
        c.ints(i).map(|k| Band::new(&k)).transpose()
    }

    /// Number of diagonals.
    pub fn count(self) -> i64 {
        self.high - self.low + 1
    }

    /// Length of the longest diagonal in a matrix of this size.
    pub fn longest(self, rows: i64, cols: i64) -> i64 {
        (rows + self.high.min(0)).min(cols - self.low.max(0))
    }

    /// The shape of the diagonals of matrices of these dimensions, packed.
    pub fn packed_shape(self, dims: &[i64]) -> Result<PartialShape> {
        let (batch, size) = dims.split_at(dims.len().saturating_sub(2));
        let longest = match *size {
            [rows, cols] if rows >= 0 && cols >= 0 => {
                self.check(rows, cols)?;
                self.longest(rows, cols)
            }
            _ => -1,
        };
        Ok(batch.iter().copied().chain(self.packed_dims(longest)).collect())
    }

    /// Checks that all diagonals are in a matrix of this size. An empty one has the main diagonal.
    pub fn check(self, rows: i64, cols: i64) -> Result<()> {
        for (name, d) in [("lower", self.low), ("upper", self.high)] {
            if d != 0 && (d <= -rows || d >= cols) {
                return Err(invalid!(
                    "{name}_diag_index is out of bound: {d}. It must be between {} and {}",
                    -rows,
                    cols
                ));
            }
        }
        Ok(())
    }

    /// The packed shape: a row of this length, or a matrix if the two numbers of the band differ.
    pub fn packed_dims(self, longest: i64) -> Vec<i64> {
        if self.low == self.high { vec![longest] } else { vec![self.count(), longest] }
    }
}

/// The alignment in a packed row of the diagonals below and above the main one.
#[derive(Clone, Copy)]
pub struct Align {
    upper_left: bool,
    lower_left: bool,
}

pub const LEFT: Align = Align { upper_left: true, lower_left: true };

impl Align {
    /// From attr `align`, upper diagonals first; ops without it align left.
    pub fn of(attrs: &Attrs) -> Result<Align> {
        if attrs.get("align").is_none() {
            return Ok(LEFT);
        }
        let (upper, lower) = attrs.str("align")?.split_once('_').unwrap_or_default();
        Ok(Align { upper_left: upper == "LEFT", lower_left: lower == "LEFT" })
    }
}

/// Copies between matrices and their packed bands.
pub struct BandCopy {
    pub batch: usize,
    pub rows: usize,
    pub cols: usize,
    pub band: Band,
    pub align: Align,
}

impl BandCopy {
    pub fn pack(&self, par: &dyn Parallel, matrices: &Tensor, packed: &mut Tensor) -> Result<()> {
        self.each(|matrix, row, len, sizes| {
            let step = self.cols as isize + 1;
            let block = Block::at(matrix, row).dim(self.batch, sizes.0, sizes.1).dim(len, step, 1);
            block.copy(par, matrices, packed)
        })
    }

    pub fn unpack(&self, par: &dyn Parallel, packed: &Tensor, matrices: &mut Tensor) -> Result<()> {
        self.each(|matrix, row, len, sizes| {
            let step = self.cols as isize + 1;
            let block = Block::at(row, matrix).dim(self.batch, sizes.1, sizes.0).dim(len, 1, step);
            block.copy(par, packed, matrices)
        })
    }

    /// Calls `copy` for each diagonal: offsets in the matrix and in the packed band, length, and batch strides.
    fn each(&self, mut copy: impl FnMut(usize, usize, usize, (isize, isize)) -> Result<()>) -> Result<()> {
        let (rows, cols) = (self.rows as i64, self.cols as i64);
        let longest = self.band.longest(rows, cols).max(0);
        let sizes = (rows * cols, self.band.count() * longest);
        for (i, d) in (self.band.low..=self.band.high).rev().enumerate() {
            let len = Band { low: d, high: d }.longest(rows, cols);
            if len <= 0 {
                continue;
            }
            let left = (d >= 0 && self.align.upper_left) || (d <= 0 && self.align.lower_left);
            let matrix = (-d).max(0) * cols + d.max(0);
            let row = i as i64 * longest + if left { 0 } else { longest - len };
            copy(matrix as usize, row as usize, len as usize, (sizes.0 as isize, sizes.1 as isize))?;
        }
        Ok(())
    }
}
