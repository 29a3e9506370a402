//! Choice of instruction set, made when the program runs.
//!
//! Loops are plain Rust that the compiler vectorises. [`widest`] compiles such
//! a loop once per instruction set and runs it with the widest vectors that
//! this machine has.

/// A loop and the slices it works on.
pub trait Loop {
    type Output;

    /// Whether it is worth being compiled for each instruction set. Most programs are made of `f32` and `f64`; loops over the dozen other
    /// types would be most of the program's code.
    const WIDE: bool = true;

    /// Runs the loop. Must be `#[inline(always)]`, as must be everything hot
    /// that it calls, or the vectors stay narrow. `FMA` says whether a fused
    /// multiply-add is one instruction here.
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// Runs a loop with the widest vectors of this machine.
#[inline(never)] // Into each caller, a loop would be compiled as often as it is called.
pub fn widest<L: Loop>(work: L) -> L::Output {
    if !L::WIDE {
        return work.run::<false>();
    }
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
        {
            // SAFETY: the features were just detected.
            return unsafe { with_avx512(work) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the features were just detected.
            return unsafe { with_avx2(work) };
        }
        work.run::<false>()
    }
    #[cfg(not(target_arch = "x86_64"))]
    work.run::<{ cfg!(target_arch = "aarch64") }>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
fn with_avx512<L: Loop>(work: L) -> L::Output {
    work.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2<L: Loop>(work: L) -> L::Output {
    work.run::<true>()
}

/// `a * b + c`, rounded once where that costs nothing.
#[inline(always)]
pub fn mul_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// As [`mul_add`], for f64.
#[inline(always)]
pub fn mul_add_f64<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}
