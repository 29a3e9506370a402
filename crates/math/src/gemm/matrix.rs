//! Matrices as strided views of slices, with bounds checked on construction.

use std::fmt;

/// A view of a slice as a matrix: element `(i, j)` is `data[i * row_stride + j * col_stride]`.
///
/// Every element is inside the slice: a view out of bounds is an error of the constructor.
#[derive(Clone, Copy, Debug)]
pub struct MatRef<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T> MatRef<'a, T> {
    pub fn new(
        data: &'a [T],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Result<Self, ShapeError> {
        let needed = extent(rows, cols, row_stride, col_stride);
        check_length(needed, data.len(), rows, cols)?;
        Ok(MatRef { data, rows, cols, row_stride, col_stride })
    }

    /// Contiguous, row-major.
    pub fn row_major(data: &'a [T], rows: usize, cols: usize) -> Result<Self, ShapeError> {
        Self::new(data, rows, cols, cols, 1)
    }

    /// A whole slice, as contiguous rows of `cols` elements.
    pub(super) fn packed(data: &'a [T], cols: usize) -> Self {
        let rows = data.len().checked_div(cols).unwrap_or(0);
        MatRef { data, rows, cols, row_stride: cols, col_stride: 1 }
    }

    /// The transpose, as a view of the same elements.
    pub fn t(self) -> Self {
        MatRef {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// The transpose if `transpose`, else the matrix itself.
    pub fn t_if(self, transpose: bool) -> Self {
        if transpose { self.t() } else { self }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    pub fn col_stride(&self) -> usize {
        self.col_stride
    }

    pub(super) fn data(&self) -> &'a [T] {
        self.data
    }
}

impl<T: Copy> MatRef<'_, T> {
    pub fn get(&self, row: usize, col: usize) -> T {
        assert!(row < self.rows && col < self.cols, "({row}, {col}) of {}x{}", self.rows, self.cols);
        self.data[row * self.row_stride + col * self.col_stride]
    }
}

/// An output matrix: rows are contiguous, with leading dimension `row_stride`, and do not overlap.
#[derive(Debug)]
pub struct MatMut<'a, T> {
    data: &'a mut [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
}

impl<'a, T> MatMut<'a, T> {
    pub fn new(data: &'a mut [T], rows: usize, cols: usize, row_stride: usize) -> Result<Self, ShapeError> {
        if row_stride < cols && rows > 1 {
            return Err(ShapeError(format!("rows of {cols} elements overlap at a stride of {row_stride}")));
        }
        check_length(extent(rows, cols, row_stride, 1), data.len(), rows, cols)?;
        Ok(MatMut { data, rows, cols, row_stride })
    }

    /// Contiguous, row-major.
    pub fn row_major(data: &'a mut [T], rows: usize, cols: usize) -> Result<Self, ShapeError> {
        Self::new(data, rows, cols, cols)
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    pub(super) fn data(&mut self) -> &mut [T] {
        self.data
    }

    pub(super) fn row(&mut self, row: usize) -> &mut [T] {
        &mut self.data[row * self.row_stride..][..self.cols]
    }
}

/// Sizes that do not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeError(pub(super) String);

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ShapeError {}

/// The least length of a slice that holds the matrix; `None` on overflow.
fn extent(rows: usize, cols: usize, row_stride: usize, col_stride: usize) -> Option<usize> {
    if rows == 0 || cols == 0 {
        return Some(0);
    }
    let down = (rows - 1).checked_mul(row_stride)?;
    let across = (cols - 1).checked_mul(col_stride)?;
    down.checked_add(across)?.checked_add(1)
}

fn check_length(needed: Option<usize>, length: usize, rows: usize, cols: usize) -> Result<(), ShapeError> {
    match needed {
        Some(needed) if needed <= length => Ok(()),
        _ => Err(ShapeError(format!("a {rows}x{cols} matrix does not fit in {length} elements"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_that_reach_outside_are_refused() {
        let data = [0; 12];
        assert!(MatRef::row_major(&data, 3, 4).is_ok());
        assert!(MatRef::row_major(&data, 4, 4).is_err());
        assert!(MatRef::new(&data, 3, 3, 4, 1).is_ok());
        assert!(MatRef::new(&data, 3, 4, 4, 2).is_err());
        assert!(MatRef::new(&data, 2, 2, usize::MAX, 1).is_err());
        assert!(MatRef::new(&data, usize::MAX, usize::MAX, 2, 2).is_err());
        assert!(MatRef::new(&data, 0, 5, usize::MAX, usize::MAX).is_ok());
    }

    #[test]
    fn overlapping_rows_are_refused() {
        let mut data = [0; 12];
        assert!(MatMut::new(&mut data, 3, 4, 3).is_err());
        assert!(MatMut::new(&mut data, 1, 4, 0).is_ok());
        assert!(MatMut::new(&mut data, 3, 2, 5).is_ok());
        assert!(MatMut::new(&mut data, 3, 3, 5).is_err());
    }

    #[test]
    fn the_transpose_reads_the_same_elements() {
        let data = [1, 2, 3, 4, 5, 6];
        let a = MatRef::row_major(&data, 2, 3).unwrap();
        assert_eq!((a.get(0, 2), a.t().get(2, 0), a.t_if(false).get(1, 0)), (3, 3, 4));
    }
}
