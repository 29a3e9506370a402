//! Auto-vectorised loops, compiled for each instruction set.
//!
//! Loops are plain Rust that the compiler vectorises. [`widest`] instantiates such
//! a loop once per instruction set and dispatches to the one of this process
//! (`isa`).

#[cfg(target_arch = "x86_64")]
use crate::isa::{self, Isa};

/// A loop and the slices it works on.
pub trait Loop {
    type Output;

    /// Whether it is compiled for each instruction set. Most programs compute in `f32` and `f64`; versions for the dozen other
    /// types would be most of the code size.
    const WIDE: bool = true;

    /// Runs the loop. Must be `#[inline(always)]`, as must be everything hot
    /// that it calls, or it is compiled for the baseline. `FMA`: whether a fused
    /// multiply-add is one instruction.
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// Runs a loop with the widest vectors of this process.
#[inline(never)] // Inlined, a loop would be compiled once per call site.
pub fn widest<L: Loop>(work: L) -> L::Output {
    if !L::WIDE {
        return work.run::<false>();
    }
    #[cfg(target_arch = "x86_64")]
    match isa::current() {
        // SAFETY: the CPU has the current instruction set.
        Isa::Avx512 => unsafe { with_avx512(work) },
        // SAFETY: as above.
        Isa::Avx2 => unsafe { with_avx2(work) },
        Isa::Baseline => work.run::<false>(),
    }
    #[cfg(not(target_arch = "x86_64"))]
    work.run::<{ cfg!(target_arch = "aarch64") }>()
}

/// Runs a loop with the vectors of AVX2 where this process has them: for the hundreds of small loops of elementwise ops, of which a
/// version for AVX-512 would be as large again and hardly faster. Inlined: the dispatch is two comparisons.
#[inline(always)]
pub fn wide<L: Loop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if L::WIDE && isa::current() != Isa::Baseline {
        // SAFETY: the CPU has AVX2.
        return unsafe { with_avx2(work) };
    }
    work.run::<false>()
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

/// `a * b + c`, fused where the CPU has FMA.
#[inline(always)]
pub fn mul_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// As [`mul_add`], for f64.
#[inline(always)]
pub fn mul_add_f64<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}
