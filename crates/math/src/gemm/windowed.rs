//! Products with a matrix whose rows and columns lie in runs: what slides over an image is one, so that a convolution is
//! a product without a copy of the patches.

use super::blocked::{self, Product, Runs};
use super::float;
use super::kernel::{HasKernels, Kernels};
use super::{Epilogue, GemmElement, MatMut, MatRef, ShapeError, check};
use crate::parallel::Parallel;

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

    fn runs(&self) -> Runs {
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
    data: &'a [T],
    rows: Side,
    cols: Side,
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

/// `c = a * b`, and what `epilogue` adds to that, as [`gemm`](super::gemm).
pub fn windowed_gemm<T: GemmElement>(
    par: &dyn Parallel,
    a: Windowed<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) -> Result<(), ShapeError> {
    check([a.rows(), a.cols()], &b, [c.rows(), c.cols()], &epilogue)?;
    if c.rows() > 0 && c.cols() > 0 {
        T::windowed_product(par, a, b, c, epilogue);
    }
    Ok(())
}

/// For types whose kernels know no runs.
pub(super) fn copied<T: GemmElement>(
    par: &dyn Parallel,
    a: Windowed<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    let (rows, cols) = (a.rows(), a.cols());
    let copy: Vec<T> = (0..rows).flat_map(|i| (0..cols).map(move |j| a.get(i, j))).collect();
    let a = MatRef::row_major(&copy, rows, cols).expect("a vector of that very size");
    T::product(par, a, b, c, epilogue)
}

pub(super) fn product_with<T: HasKernels>(
    kernels: &Kernels<T>,
    par: &dyn Parallel,
    a: Windowed<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    let product = Product {
        m: a.rows(),
        k: a.cols(),
        a: a.data.as_ptr(),
        a_row_stride: a.rows.step,
        a_col_stride: a.cols.step,
        a_row_runs: a.rows.runs(),
        a_col_runs: a.cols.runs(),
        ..float::product_of(b, c, epilogue)
    };
    // The wide kernels are for matrices of few rows; of these, few rows may be all that lie evenly.
    let kernels = Kernels { wide: &[], ..*kernels };
    // SAFETY: as in `float`; all of the windowed matrix is inside its slice, which `new` has checked.
    unsafe { blocked::multiply(par, &product, &kernels) }
}
