//! Implicit GEMM: the im2col matrix of an image as a view, so that a convolution is a product without a copy of the
//! patches.

use super::blocked::Runs;
use super::{MatRef, ShapeError};
use crate::scratch;

/// An axis of two nested strides: `count` runs of `length` elements.
#[derive(Clone, Copy, Debug)]
pub struct NestedAxis {
    pub count: usize,
    pub length: usize,
    /// The stride within a run.
    pub stride: usize,
    /// The stride from run to run.
    pub run_stride: usize,
}

impl NestedAxis {
    fn len(&self) -> Option<usize> {
        self.count.checked_mul(self.length)
    }

    fn at(&self, i: usize) -> usize {
        i / self.length * self.run_stride + i % self.length * self.stride
    }

    /// The offset of the last element; `None` if the axis is empty.
    fn extent(&self) -> Option<usize> {
        let runs = self.count.checked_sub(1)?.checked_mul(self.run_stride)?;
        runs.checked_add(self.length.checked_sub(1)?.checked_mul(self.stride)?)
    }

    pub(super) fn runs(&self) -> Runs {
        match self.count {
            1 => Runs::ONE,
            _ => Runs {
                length: self.length,
                jump: self.run_stride as isize - (self.length * self.stride) as isize,
            },
        }
    }
}

/// A view of a slice as a matrix with nested strides on both axes. Every element is inside the slice; elements may alias.
#[derive(Clone, Copy, Debug)]
pub struct Im2colRef<'a, T> {
    pub(super) data: &'a [T],
    pub(super) rows: NestedAxis,
    pub(super) cols: NestedAxis,
}

impl<'a, T: Copy> Im2colRef<'a, T> {
    pub fn new(data: &'a [T], rows: NestedAxis, cols: NestedAxis) -> Result<Self, ShapeError> {
        let last = rows.extent().zip(cols.extent()).and_then(|(r, c)| r.checked_add(c));
        match (last, rows.len(), cols.len()) {
            (Some(last), Some(_), Some(_)) if last < data.len() && last <= isize::MAX as usize => {
                Ok(Im2colRef { data, rows, cols })
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

    /// The transpose, as a view of the same elements.
    pub fn t(self) -> Self {
        Im2colRef { rows: self.cols, cols: self.rows, ..self }
    }
}

/// The left operand of a product.
#[derive(Clone, Copy, Debug)]
pub enum Lhs<'a, T> {
    Dense(MatRef<'a, T>),
    Im2col(Im2colRef<'a, T>),
}

impl<'a, T> From<MatRef<'a, T>> for Lhs<'a, T> {
    fn from(matrix: MatRef<'a, T>) -> Self {
        Lhs::Dense(matrix)
    }
}

impl<'a, T> From<Im2colRef<'a, T>> for Lhs<'a, T> {
    fn from(windows: Im2colRef<'a, T>) -> Self {
        Lhs::Im2col(windows)
    }
}

impl<T: Copy> Lhs<'_, T> {
    pub fn rows(&self) -> usize {
        match self {
            Lhs::Dense(a) => a.rows(),
            Lhs::Im2col(a) => a.rows(),
        }
    }

    pub fn cols(&self) -> usize {
        match self {
            Lhs::Dense(a) => a.cols(),
            Lhs::Im2col(a) => a.cols(),
        }
    }

    /// Calls `body` with a dense matrix, a copy for an im2col view: for element types without implicit GEMM.
    pub(super) fn with_dense(self, body: impl FnOnce(MatRef<'_, T>)) {
        match self {
            Lhs::Dense(a) => body(a),
            Lhs::Im2col(a) => {
                let (rows, cols) = (a.rows(), a.cols());
                let mut copy: Vec<T> = scratch::with_capacity(rows * cols);
                copy.extend((0..rows).flat_map(|i| (0..cols).map(move |j| a.get(i, j))));
                body(MatRef::packed(&copy, cols))
            }
        }
    }
}
