//! Loops with the widest vectors there are.
//!
//! Loops are plain Rust that the compiler vectorises. [`widest`] compiles such
//! a loop once per instruction set and runs it with the one of this process
//! (`isa`).

#[cfg(target_arch = "x86_64")]
use crate::isa::{self, Isa};

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

/// Runs a loop with the widest vectors of this process.
#[inline(never)] // Into each caller, a loop would be compiled as often as it is called.
pub fn widest<L: Loop>(work: L) -> L::Output {
    if !L::WIDE {
        return work.run::<false>();
    }
    #[cfg(target_arch = "x86_64")]
    match isa::current() {
        // SAFETY: the CPU has what is current.
        Isa::Avx512 => unsafe { with_avx512(work) },
        // SAFETY: as above.
        Isa::Avx2 => unsafe { with_avx2(work) },
        Isa::Baseline => work.run::<false>(),
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
