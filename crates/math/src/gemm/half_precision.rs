//! Products of 16-bit floats: computed in `f32`, rounded once at the end.

use half::{bf16, f16};

use super::{Epilogue, Lhs, MatMut, MatRef, float};
use crate::half_bits;
use crate::parallel::Parallel;
use crate::scratch;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// Elements that one thread converts at a time.
const PART: usize = 32 << 10;

pub(super) trait Half: Copy + Send + Sync + 'static {
    fn widen(self) -> f32;
    fn round(x: f32) -> Self;
}

impl Half for bf16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        half_bits::bf16_to_f32(self)
    }

    #[inline(always)]
    fn round(x: f32) -> Self {
        half_bits::f32_to_bf16(x)
    }
}

impl Half for f16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        half_bits::f16_to_f32(self)
    }

    #[inline(always)]
    fn round(x: f32) -> Self {
        half_bits::f32_to_f16(x)
    }
}

struct Widen<'a, T>(&'a [T], &'a mut [f32]);

impl<T: Half> Loop for Widen<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (from, to) in self.0.iter().zip(self.1) {
            *to = from.widen();
        }
    }
}

struct Round<'a, T>(&'a [f32], &'a mut [T]);

impl<T: Half> Loop for Round<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (from, to) in self.0.iter().zip(self.1) {
            *to = T::round(*from);
        }
    }
}

pub(super) fn product<T: Half>(
    par: &dyn Parallel,
    a: Lhs<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    a.with_dense(|a| multiply(par, a, b, c, epilogue))
}

fn multiply<T: Half>(
    par: &dyn Parallel,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    mut c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    let (m, n) = (c.rows(), c.cols());
    if m == 0 || n == 0 {
        return;
    }
    let (wide_a, wide_b) = (Wide::of(par, &a), Wide::of(par, &b));
    let mut wide_c = scratch::filled(m * n, 0.0);
    if epilogue.accumulate {
        for (i, row) in wide_c.chunks_exact_mut(n).enumerate() {
            widest(Widen(c.row(i), row));
        }
    }
    let bias: Option<Vec<f32>> = epilogue.bias.map(|bias| scratch::collect(bias.iter().map(|x| x.widen())));
    let epilogue = Epilogue { bias: bias.as_deref(), accumulate: epilogue.accumulate, relu: epilogue.relu };
    let view = MatMut::row_major(&mut wide_c, m, n).expect("a vector of that very size");
    float::product(par, wide_a.view().into(), wide_b.view(), view, epilogue);
    if c.row_stride() == n {
        let rounded = SharedMut::new(&mut c.data()[..m * n]);
        par.run_ranges(m * n, PART, &|part| {
            // SAFETY: the ranges are disjoint.
            widest(Round(&wide_c[part.clone()], unsafe { rounded.range(part) }));
        });
        return;
    }
    for (i, row) in wide_c.chunks_exact(n).enumerate() {
        widest(Round(row, c.row(i)));
    }
}

/// A contiguous copy of a matrix in `f32`, in the storage order of the original.
struct Wide {
    data: Vec<f32>,
    rows: usize,
    cols: usize,
    transposed: bool,
}

impl Wide {
    fn of<T: Half>(par: &dyn Parallel, from: &MatRef<'_, T>) -> Wide {
        let transposed = from.col_stride() != 1 && from.row_stride() == 1;
        let rows = from.t_if(transposed);
        let (count, width) = (rows.rows(), rows.cols());
        let mut data = scratch::filled(count * width, 0.0);
        if !data.is_empty() {
            let shared = SharedMut::new(&mut data);
            par.run_ranges(count, (PART / width).max(1), &|part| {
                // SAFETY: the ranges of rows are disjoint.
                let to = unsafe { shared.range(part.start * width..part.end * width) };
                for (i, to) in part.zip(to.chunks_exact_mut(width)) {
                    widen_row(&rows, i, to);
                }
            });
        }
        Wide { data, rows: count, cols: width, transposed }
    }

    fn view(&self) -> MatRef<'_, f32> {
        let rows = MatRef::row_major(&self.data, self.rows, self.cols).expect("a vector of that very size");
        rows.t_if(self.transposed)
    }
}

fn widen_row<T: Half>(from: &MatRef<'_, T>, row: usize, to: &mut [f32]) {
    let start = row * from.row_stride();
    if from.col_stride() == 1 {
        widest(Widen(&from.data()[start..start + to.len()], to));
    } else {
        for (j, to) in to.iter_mut().enumerate() {
            *to = from.data()[start + j * from.col_stride()].widen();
        }
    }
}
