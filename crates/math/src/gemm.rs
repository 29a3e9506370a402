//! Matrix products.

mod blocked;
mod kernel;
mod lanes;
mod matrix;
mod pack;
mod scratch;

pub use matrix::{MatMut, MatRef, ShapeError};

use crate::parallel::Parallel;
use kernel::HasKernels;

pub fn gemm_f32(par: &dyn Parallel, a: MatRef<f32>, b: MatRef<f32>, mut c: MatMut<f32>) {
    let product = blocked::Product {
        m: a.rows(),
        n: b.cols(),
        k: a.cols(),
        a: a.data().as_ptr(),
        a_row_stride: a.row_stride(),
        a_col_stride: a.col_stride(),
        b: b.data().as_ptr(),
        b_row_stride: b.row_stride(),
        b_col_stride: b.col_stride(),
        c_row_stride: c.row_stride(),
        c: c.data().as_mut_ptr(),
        accumulate: false,
        bias: std::ptr::null(),
        relu: false,
    };
    unsafe { blocked::multiply(par, &product, f32::best()) }
}
