//! Products of `f32` and of `f64`: the choice between blocked GEMM, implicit GEMM and GEMV.

use super::blocked::{self, Product, Runs};
use super::gemv;
use super::micro_kernel::{HasKernels, Kernels};
use super::{Epilogue, Lhs, MatMut, MatRef};
use crate::parallel::Parallel;

pub(super) fn product<T: HasKernels>(
    par: &dyn Parallel,
    a: Lhs<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    product_with(T::best(), par, a, b, c, epilogue)
}

/// The product by a given set of micro-kernels, so that tests can run all sets.
pub(super) fn product_with<T: HasKernels>(
    kernels: &Kernels<T>,
    par: &dyn Parallel,
    a: Lhs<'_, T>,
    b: MatRef<'_, T>,
    mut c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    // With `k = 0` strides are not validated.
    let stride = |stride| if b.rows() == 0 { 0 } else { stride };
    let (elements, [row_stride, col_stride], [row_runs, col_runs]) = match &a {
        Lhs::Dense(a) => (a.data(), [a.row_stride(), a.col_stride()], [Runs::ONE; 2]),
        Lhs::Im2col(a) => (a.data, [a.rows.stride, a.cols.stride], [a.rows.runs(), a.cols.runs()]),
    };
    let product = Product {
        m: a.rows(),
        n: b.cols(),
        k: a.cols(),
        a: elements.as_ptr(),
        a_row_stride: stride(row_stride),
        a_col_stride: stride(col_stride),
        a_row_runs: row_runs,
        a_col_runs: col_runs,
        b: b.data().as_ptr(),
        b_row_stride: stride(b.row_stride()),
        b_col_stride: stride(b.col_stride()),
        c_row_stride: c.row_stride(),
        c: c.data().as_mut_ptr(),
        accumulate: epilogue.accumulate,
        bias: epilogue.bias.map_or(std::ptr::null(), <[T]>::as_ptr),
        relu: epilogue.relu,
    };
    // SAFETY: the views hold slices that cover their extents, which `gemm` has checked to
    // match; C is borrowed mutably, so it is not aliased; and the kernels are of a set that
    // this CPU can run.
    unsafe {
        if matches!(a, Lhs::Im2col(_)) {
            // No wide kernels: they are chosen by `m`, but the runs of an im2col view may be shorter.
            blocked::multiply(par, &product, &Kernels { wide: &[], ..*kernels });
        } else if let Some(dots) = gemv::DotProducts::of(&product) {
            dots.multiply(par, kernels);
        } else {
            let product = gemv::transpose_column_vector(&product).unwrap_or(product);
            blocked::multiply(par, &product, kernels);
        }
    }
}
