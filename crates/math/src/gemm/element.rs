//! The element types of products, and which code computes each.

use half::{bf16, f16};
use num_complex::Complex;

use super::{Epilogue, Left, MatMut, MatRef, float, narrow, plain};
use crate::parallel::Parallel;

mod sealed {
    pub trait Sealed {}
}

/// A type that matrices can be multiplied in.
pub trait GemmElement: Copy + Send + Sync + 'static + sealed::Sealed {
    /// Whether elements can be compared with zero.
    const ORDERED: bool = true;

    /// `c = a * b` and the epilogue, of sizes that have been checked; C is not empty.
    #[doc(hidden)]
    fn product(
        par: &dyn Parallel,
        a: Left<'_, Self>,
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
                a: Left<'_, Self>,
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
elements!(narrow, true: f16, bf16);
elements!(plain, true: i8, i16, i32, i64, u8, u16, u32, u64);
elements!(plain, false: Complex<f32>, Complex<f64>);
