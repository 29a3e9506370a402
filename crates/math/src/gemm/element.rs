//! The element types of products, and the implementation for each.

use half::{bf16, f16};
use num_complex::Complex;

use super::{Epilogue, Lhs, MatMut, MatRef, fallback, float, half_precision};
use crate::parallel::Parallel;

mod sealed {
    pub trait Sealed {}
}

/// An element type of [`gemm`](super::gemm).
pub trait GemmElement: Copy + Send + Sync + 'static + sealed::Sealed {
    /// Whether elements can be compared with zero.
    const ORDERED: bool = true;

    /// `c = epilogue(a * b)`; the sizes are checked, and C is not empty.
    #[doc(hidden)]
    fn product(
        par: &dyn Parallel,
        a: Lhs<'_, Self>,
        b: MatRef<'_, Self>,
        c: MatMut<'_, Self>,
        epilogue: Epilogue<'_, Self>,
    );
}

macro_rules! elements {
    ($module:ident, $ordered:literal: $($elem:ty),*) => {$(
        impl sealed::Sealed for $elem {}
        impl GemmElement for $elem {
            const ORDERED: bool = $ordered;

            fn product(
                par: &dyn Parallel,
                a: Lhs<'_, Self>,
                b: MatRef<'_, Self>,
                c: MatMut<'_, Self>,
                epilogue: Epilogue<'_, Self>,
            ) {
                $module::product(par, a, b, c, epilogue)
            }
        }
    )*};
}

elements!(float, true: f32, f64);
elements!(half_precision, true: f16, bf16);
elements!(fallback, true: i8, i16, i32, i64, u8, u16, u32, u64);
elements!(fallback, false: Complex<f32>, Complex<f64>);
