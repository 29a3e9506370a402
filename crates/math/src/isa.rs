//! Dispatch by instruction set: the best that this CPU has, limited by `THALWEG_MAX_ISA`.
//!
//! The only caller of CPUID. Kernels compiled for several instruction sets dispatch on [`current`], so that each version can be
//! tested on a machine that has better ones.

use std::ffi::OsStr;
use std::sync::OnceLock;
use std::{fmt, io};

/// An instruction set, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// What every CPU of the architecture has: SSE2 on x86-64, NEON on 64-bit ARM.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, VL, DQ and BW, with all of [`Isa::Avx2`].
    Avx512,
}

/// The environment variable that limits the instruction set.
pub const MAX_ISA: &str = "THALWEG_MAX_ISA";

impl Isa {
    /// All of them, the best first.
    const ALL: [Isa; 3] = [Isa::Avx512, Isa::Avx2, Isa::Baseline];

    /// The value of [`MAX_ISA`] for it.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Avx512 => "avx512",
            Isa::Avx2 => "avx2",
            Isa::Baseline => "baseline",
        }
    }

    /// The best that this CPU has.
    fn detect() -> Isa {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw");
            return if avx512 { Isa::Avx512 } else { Isa::Avx2 };
        }
        Isa::Baseline
    }

    /// Parses a value of [`MAX_ISA`]; unset or empty is no limit.
    fn parse(value: Option<&OsStr>) -> io::Result<Isa> {
        let Some(value) = value.filter(|v| !v.is_empty()) else {
            return Ok(Isa::Avx512);
        };
        Isa::ALL.into_iter().find(|isa| value == isa.name()).ok_or_else(|| {
            let message =
                format!("{MAX_ISA} is {value:?}; it must be avx512, avx2 or baseline, or not be set");
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The limit set by [`MAX_ISA`], whether this CPU has it or not. Programs validate it at startup; kernels, which cannot report an
/// error, ignore an invalid value.
pub fn limit() -> io::Result<Isa> {
    Isa::parse(std::env::var_os(MAX_ISA).as_deref())
}

/// The instruction set of this process, detected once: results must not change while it runs.
///
/// The CPU supports it; `unsafe` calls of kernels rely on that.
#[inline]
pub fn current() -> Isa {
    static CURRENT: OnceLock<Isa> = OnceLock::new();
    *CURRENT.get_or_init(|| limit().unwrap_or(Isa::Avx512).min(Isa::detect()))
}

/// All instruction sets that kernels may use here, the best first.
pub fn available() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| *isa <= current())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_as_it_is_written() {
        for isa in Isa::ALL {
            assert_eq!(Isa::parse(Some(OsStr::new(isa.name()))).unwrap(), isa);
        }
        assert_eq!(Isa::parse(None).unwrap(), Isa::Avx512);
        assert_eq!(Isa::parse(Some(OsStr::new(""))).unwrap(), Isa::Avx512);
    }

    #[test]
    fn an_unknown_limit_is_refused_with_what_it_may_be() {
        for value in ["AVX2", "sse", "avx", " avx2", "avx512f"] {
            let error = Isa::parse(Some(OsStr::new(value))).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            let text = error.to_string();
            assert!(text.contains(value) && text.contains("avx512, avx2 or baseline"), "{text}");
        }
    }
}
