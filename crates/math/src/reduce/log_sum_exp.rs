//! The logarithm of a sum of exponentials.

use super::reducers::Reducer;
use half::{bf16, f16};

/// log(sum(exp(x))), accumulated in f64; of nothing, minus infinity.
pub struct LogSumExp;

impl LogSumExp {
    fn join(a: f64, b: f64) -> f64 {
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        // Infinities less themselves would be NaN.
        if low == f64::NEG_INFINITY || (high == f64::INFINITY && low <= high) {
            high
        } else {
            high + (low - high).exp().ln_1p()
        }
    }
}

macro_rules! reals {
    ($($t:ty, $narrow:expr;)*) => {$(
        impl Reducer<$t> for LogSumExp {
            type Acc = f64;
            type Out = $t;
            const WIDE: bool = false;

            fn init(&self) -> f64 {
                f64::NEG_INFINITY
            }

            fn step(&self, acc: f64, x: $t) -> f64 {
                Self::join(acc, f64::from(x))
            }

            fn combine(&self, a: f64, b: f64) -> f64 {
                Self::join(a, b)
            }

            fn finish(&self, acc: f64) -> $t {
                $narrow(acc)
            }
        }
    )*};
}
reals! {
    f32, |acc| acc as f32;
    f64, |acc| acc;
    f16, f16::from_f64;
    bf16, bf16::from_f64;
}
