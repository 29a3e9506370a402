//! Matrix-vector products, and those of up to [`FEW`] vectors, with both operands contiguous along `k`: dot
//! products, bound by memory bandwidth.

use super::blocked::Product;
use super::micro_kernel::{HasKernels, Kernels};
use crate::parallel::Parallel;

/// The most rows of A, or columns of B, for which packing the other operand does not pay.
const FEW: usize = 3;

/// Grain size of the parallel loop, in multiply-adds.
const GRAIN: usize = 1 << 15;

/// A product of contiguous rows of A and contiguous columns of B, either of them few.
pub(super) struct DotProducts<'a, T>(&'a Product<T>);

impl<'a, T: HasKernels> DotProducts<'a, T> {
    pub fn of(p: &'a Product<T>) -> Option<Self> {
        let contiguous = p.a_col_stride == 1 && p.b_row_stride == 1;
        (contiguous && (p.m <= FEW || p.n <= FEW)).then_some(DotProducts(p))
    }

    /// # Safety
    ///
    /// The pointers of the product are valid for its extents, `c` is not aliased,
    /// and the CPU can run the kernels.
    pub unsafe fn multiply(&self, par: &dyn Parallel, kernels: &Kernels<T>) {
        let p = self.0;
        let by_rows = p.m > p.n;
        let (many, few) = if by_rows { (p.m, p.n) } else { (p.n, p.m) };
        let grain = (GRAIN / (few * p.k).max(1)).max(1);
        par.run_ranges(many, grain, &|range| {
            for x in range {
                for y in 0..few {
                    let (i, j) = if by_rows { (x, y) } else { (y, x) };
                    // SAFETY: inside the product; each element belongs to one range.
                    unsafe { self.element(i, j, kernels) }
                }
            }
        });
    }

    unsafe fn element(&self, i: usize, j: usize, kernels: &Kernels<T>) {
        let p = self.0;
        // SAFETY: `i` and `j` are below `m` and `n`.
        unsafe {
            let (a, b) = (p.a.add(i * p.a_row_stride), p.b.add(j * p.b_col_stride));
            let c = p.c.add(i * p.c_row_stride + j);
            let mut x = (kernels.dot)(p.k, a, b);
            if p.accumulate {
                x = x + *c;
            }
            if !p.bias.is_null() {
                x = x + *p.bias.add(j);
            }
            if p.relu && x < T::default() {
                x = T::default();
            }
            *c = x;
        }
    }
}

/// A column-major matrix times a column vector, transposed: a row vector times a row-major
/// matrix, which is then read sequentially.
pub(super) fn transpose_column_vector<T>(p: &Product<T>) -> Option<Product<T>> {
    let fits = p.n == 1 && p.m > 1 && p.c_row_stride == 1 && p.bias.is_null();
    (fits && p.a_row_stride == 1).then_some(Product {
        m: 1,
        n: p.m,
        a: p.b,
        a_row_stride: p.b_col_stride,
        a_col_stride: p.b_row_stride,
        b: p.a,
        b_row_stride: p.a_col_stride,
        b_col_stride: p.a_row_stride,
        ..*p
    })
}
