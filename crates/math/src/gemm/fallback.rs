//! Products of integers, which wrap, and of complex numbers: C is updated by four rows of B at a time (axpy),
//! in a loop that the compiler vectorises.

use std::sync::atomic::{AtomicPtr, Ordering};

use num_complex::Complex;

use super::{Epilogue, Lhs, MatMut, MatRef};
#[cfg(target_arch = "x86_64")]
use crate::isa::{self, Isa};
use crate::parallel::Parallel;
use crate::scratch;

/// Grain size of the parallel loop, in multiply-adds.
const GRAIN: usize = 1 << 15;

/// Columns of a cache block: four rows of B and one of C stay in L1.
const NC: usize = 512;

pub(super) trait FallbackElement: Copy + Send + Sync + 'static {
    const ZERO: Self;
    /// `self + x * y`.
    fn add_product(self, x: Self, y: Self) -> Self;
    fn add(self, other: Self) -> Self;
    fn relu(self) -> Self;
}

macro_rules! integers {
    ($($elem:ty),*) => {$(
        impl FallbackElement for $elem {
            const ZERO: Self = 0;

            #[inline(always)]
            fn add_product(self, x: Self, y: Self) -> Self {
                self.wrapping_add(x.wrapping_mul(y))
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn relu(self) -> Self {
                self.max(0)
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! complex {
    ($($elem:ty),*) => {$(
        impl FallbackElement for Complex<$elem> {
            const ZERO: Self = Complex::new(0.0, 0.0);

            #[inline(always)]
            fn add_product(self, x: Self, y: Self) -> Self {
                self + x * y
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }

            fn relu(self) -> Self {
                unreachable!("refused before: complex numbers are not ordered")
            }
        }
    )*};
}

complex!(f32, f64);

pub(super) fn product<T: FallbackElement>(
    par: &dyn Parallel,
    a: Lhs<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    a.with_dense(|a| multiply(par, a, b, c, epilogue))
}

fn multiply<T: FallbackElement>(
    par: &dyn Parallel,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    mut c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    let mut copy: Vec<T>;
    let b = if b.col_stride() == 1 {
        b
    } else {
        copy = scratch::with_capacity(b.rows() * b.cols());
        copy.extend((0..b.rows()).flat_map(|p| (0..b.cols()).map(move |j| b.get(p, j))));
        MatRef::row_major(&copy, b.rows(), b.cols()).expect("a vector of that very size")
    };
    let (rows, cols, stride) = (c.rows(), c.cols(), c.row_stride());
    let grain = (GRAIN / (cols * a.cols()).max(1)).max(1);
    let c = AtomicPtr::new(c.data().as_mut_ptr());
    par.run_ranges(rows, grain, &|range| {
        for i in range {
            // SAFETY: row `i` is inside C, rows do not overlap, and ranges do not either, so
            // this is the only reference to it.
            let c =
                unsafe { std::slice::from_raw_parts_mut(c.load(Ordering::Relaxed).add(i * stride), cols) };
            row(&a, i, &b, c, &epilogue);
        }
    });
}

fn row<T: FallbackElement>(
    a: &MatRef<'_, T>,
    i: usize,
    b: &MatRef<'_, T>,
    c: &mut [T],
    epilogue: &Epilogue<'_, T>,
) {
    if !epilogue.accumulate {
        c.fill(T::ZERO);
    }
    for (block, c) in c.chunks_mut(NC).enumerate() {
        let len = c.len();
        let b_row = |p: usize| &b.data()[p * b.row_stride() + block * NC..][..len];
        let mut p = 0;
        while p + 4 <= a.cols() {
            let x = std::array::from_fn(|q| a.get(i, p + q));
            add_four(c, x, std::array::from_fn(|q| b_row(p + q)));
            p += 4;
        }
        for p in p..a.cols() {
            let x = a.get(i, p);
            for (c, &y) in c.iter_mut().zip(b_row(p)) {
                *c = c.add_product(x, y);
            }
        }
    }
    if let Some(bias) = epilogue.bias {
        for (c, &bias) in c.iter_mut().zip(bias) {
            *c = c.add(bias);
        }
    }
    if epilogue.relu {
        c.iter_mut().for_each(|c| *c = c.relu());
    }
}

fn add_four<T: FallbackElement>(c: &mut [T], x: [T; 4], rows: [&[T]; 4]) {
    #[cfg(target_arch = "x86_64")]
    if isa::current() >= Isa::Avx2 {
        // SAFETY: the CPU has the current instruction set, and those above AVX2 include it.
        return unsafe { add_four_avx2(c, x, rows) };
    }
    add_four_inlined(c, x, rows)
}

/// The same loop, compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_four_avx2<T: FallbackElement>(c: &mut [T], x: [T; 4], rows: [&[T]; 4]) {
    add_four_inlined(c, x, rows)
}

#[inline(always)]
fn add_four_inlined<T: FallbackElement>(c: &mut [T], x: [T; 4], rows: [&[T]; 4]) {
    let [r0, r1, r2, r3] = rows.map(|row| &row[..c.len()]);
    for (j, c) in c.iter_mut().enumerate() {
        let sum = c.add_product(x[0], r0[j]).add_product(x[1], r1[j]);
        *c = sum.add_product(x[2], r2[j]).add_product(x[3], r3[j]);
    }
}
