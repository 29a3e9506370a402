//! Products with a matrix whose rows and columns lie in runs: what slides over an image is one, so that a convolution is
//! a product without a copy of the patches.

use super::blocked::Runs;
use super::{MatRef, ShapeError};
use crate::scratch;

/// Where the elements along one side of a matrix lie: in `count` runs of `length`.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    pub count: usize,
    pub length: usize,
    /// From one to the next within a run.
    pub step: usize,
    /// From the start of a run to that of the next.
    pub run_step: usize,
}

impl Side {
    fn len(&self) -> Option<usize> {
        self.count.checked_mul(self.length)
    }

    fn at(&self, i: usize) -> usize {
        i / self.length * self.run_step + i % self.length * self.step
    }

    /// How far the last element is from the first, if there is one.
    fn extent(&self) -> Option<usize> {
        let runs = self.count.checked_sub(1)?.checked_mul(self.run_step)?;
        runs.checked_add(self.length.checked_sub(1)?.checked_mul(self.step)?)
    }

    pub(super) fn runs(&self) -> Runs {
        match self.count {
            1 => Runs::ONE,
            _ => Runs {
                length: self.length,
                jump: self.run_step as isize - (self.length * self.step) as isize,
            },
        }
    }
}

/// A view of a slice as a matrix with both sides in runs. Every element is inside the slice, and elements may be met more than once.
#[derive(Clone, Copy, Debug)]
pub struct Windowed<'a, T> {
    pub(super) data: &'a [T],
    pub(super) rows: Side,
    pub(super) cols: Side,
}

impl<'a, T: Copy> Windowed<'a, T> {
    pub fn new(data: &'a [T], rows: Side, cols: Side) -> Result<Self, ShapeError> {
        let last = rows.extent().zip(cols.extent()).and_then(|(r, c)| r.checked_add(c));
        match (last, rows.len(), cols.len()) {
            (Some(last), Some(_), Some(_)) if last < data.len() && last <= isize::MAX as usize => {
                Ok(Windowed { data, rows, cols })
            }
            _ => Err(ShapeError(format!("{rows:?} by {cols:?} do not fit in {} elements", data.len()))),
        }
    }

    pub fn rows(&self) -> usize {
        self.rows.count * self.rows.length
    }

    pub fn cols(&self) -> usize {
        self.cols.count * self.cols.length
    }

    pub fn get(&self, row: usize, col: usize) -> T {
        self.data[self.rows.at(row) + self.cols.at(col)]
    }

    /// The transpose, of the same elements.
    pub fn t(self) -> Self {
        Windowed { rows: self.cols, cols: self.rows, ..self }
    }
}

/// The left side of a product.
#[derive(Clone, Copy, Debug)]
pub enum Left<'a, T> {
    Plain(MatRef<'a, T>),
    Windowed(Windowed<'a, T>),
}

impl<'a, T> From<MatRef<'a, T>> for Left<'a, T> {
    fn from(matrix: MatRef<'a, T>) -> Self {
        Left::Plain(matrix)
    }
}

impl<'a, T> From<Windowed<'a, T>> for Left<'a, T> {
    fn from(windows: Windowed<'a, T>) -> Self {
        Left::Windowed(windows)
    }
}

impl<T: Copy> Left<'_, T> {
    pub fn rows(&self) -> usize {
        match self {
            Left::Plain(a) => a.rows(),
            Left::Windowed(a) => a.rows(),
        }
    }

    pub fn cols(&self) -> usize {
        match self {
            Left::Plain(a) => a.cols(),
            Left::Windowed(a) => a.cols(),
        }
    }

    /// Calls `body` with a plain matrix, which is a copy if this one lies in runs: for types whose kernels know none.
    pub(super) fn plainly(self, body: impl FnOnce(MatRef<'_, T>)) {
        match self {
            Left::Plain(a) => body(a),
            Left::Windowed(a) => {
                let (rows, cols) = (a.rows(), a.cols());
                let mut copy: Vec<T> = scratch::room(rows * cols);
                copy.extend((0..rows).flat_map(|i| (0..cols).map(move |j| a.get(i, j))));
                body(MatRef::packed(&copy, cols))
            }
        }
    }
}
