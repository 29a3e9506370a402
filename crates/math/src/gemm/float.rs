//! Products of `f32` and of `f64`: which of the ways to compute one is taken.

use super::blocked::{self, Product, Runs};
use super::kernel::{HasKernels, Kernels};
use super::{Epilogue, MatMut, MatRef, Windowed};
use super::{vector, windowed};
use crate::parallel::Parallel;

pub(super) fn product<T: HasKernels>(
    par: &dyn Parallel,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    product_with(T::best(), par, a, b, c, epilogue)
}

pub(super) fn windowed_product<T: HasKernels>(
    par: &dyn Parallel,
    a: Windowed<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    windowed::product_with(T::best(), par, a, b, c, epilogue)
}

/// What of a product is not A: of that, nothing is set yet.
pub(super) fn product_of<T>(b: MatRef<'_, T>, mut c: MatMut<'_, T>, epilogue: Epilogue<'_, T>) -> Product<T> {
    // Without terms there is nothing to step over, and strides may be anything.
    let stride = |stride| if b.rows() == 0 { 0 } else { stride };
    Product {
        m: 0,
        n: b.cols(),
        k: 0,
        a: std::ptr::null(),
        a_row_stride: 0,
        a_col_stride: 0,
        a_row_runs: Runs::ONE,
        a_col_runs: Runs::ONE,
        b: b.data().as_ptr(),
        b_row_stride: stride(b.row_stride()),
        b_col_stride: stride(b.col_stride()),
        c_row_stride: c.row_stride(),
        c: c.data().as_mut_ptr(),
        accumulate: epilogue.accumulate,
        bias: epilogue.bias.map_or(std::ptr::null(), <[T]>::as_ptr),
        relu: epilogue.relu,
    }
}

/// The product by a chosen set of kernels, so that tests can try them all.
pub(super) fn product_with<T: HasKernels>(
    kernels: &Kernels<T>,
    par: &dyn Parallel,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    // Without terms there is nothing to step over, and strides may be anything.
    let stride = |stride| if a.cols() == 0 { 0 } else { stride };
    let product = Product {
        m: a.rows(),
        k: a.cols(),
        a: a.data().as_ptr(),
        a_row_stride: stride(a.row_stride()),
        a_col_stride: stride(a.col_stride()),
        ..product_of(b, c, epilogue)
    };
    // SAFETY: the views hold slices that cover their extents, which `gemm` has checked to
    // fit together; C is borrowed mutably, so it is apart from the others; and the kernels
    // are of a set that `HasKernels` found this CPU to run.
    unsafe {
        if let Some(dots) = vector::Dots::of(&product) {
            dots.multiply(par, kernels);
        } else {
            let product = vector::column_as_row(&product).unwrap_or(product);
            blocked::multiply(par, &product, kernels);
        }
    }
}
