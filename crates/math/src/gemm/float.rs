//! Products of `f32` and of `f64`: which of the ways to compute one is taken.

use super::blocked::{self, Product, Runs};
use super::kernel::{HasKernels, Kernels};
use super::vector;
use super::{Epilogue, Left, MatMut, MatRef};
use crate::parallel::Parallel;

pub(super) fn product<T: HasKernels>(
    par: &dyn Parallel,
    a: Left<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    product_with(T::best(), par, a, b, c, epilogue)
}

/// The product by a chosen set of kernels, so that tests can try them all.
pub(super) fn product_with<T: HasKernels>(
    kernels: &Kernels<T>,
    par: &dyn Parallel,
    a: Left<'_, T>,
    b: MatRef<'_, T>,
    mut c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    // Without terms there is nothing to step over, and strides may be anything.
    let stride = |stride| if b.rows() == 0 { 0 } else { stride };
    let (elements, [row_stride, col_stride], [row_runs, col_runs]) = match &a {
        Left::Plain(a) => (a.data(), [a.row_stride(), a.col_stride()], [Runs::ONE; 2]),
        Left::Windowed(a) => (a.data, [a.rows.step, a.cols.step], [a.rows.runs(), a.cols.runs()]),
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
    // fit together; C is borrowed mutably, so it is apart from the others; and the kernels
    // are of a set that `HasKernels` found this CPU to run.
    unsafe {
        if matches!(a, Left::Windowed(_)) {
            // The wide kernels are for matrices of few rows; of these, few rows may be all that lie evenly.
            blocked::multiply(par, &product, &Kernels { wide: &[], ..*kernels });
        } else if let Some(dots) = vector::Dots::of(&product) {
            dots.multiply(par, kernels);
        } else {
            let product = vector::column_as_row(&product).unwrap_or(product);
            blocked::multiply(par, &product, kernels);
        }
    }
}
