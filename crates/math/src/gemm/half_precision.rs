//! Products of 16-bit floats: computed in `f32`, rounded once at the end.

use half::{bf16, f16};

use super::{Epilogue, Lhs, MatMut, MatRef, float};
use crate::parallel::Parallel;
use crate::scratch;

pub(super) trait Half: Copy + Send + Sync + 'static {
    fn widen(self) -> f32;
    fn round(x: f32) -> Self;

    fn widen_all(from: &[Self], to: &mut [f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = from.widen();
        }
    }

    fn round_all(from: &[f32], to: &mut [Self]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = Self::round(*from);
        }
    }
}

impl Half for bf16 {
    fn widen(self) -> f32 {
        self.to_f32()
    }

    fn round(x: f32) -> Self {
        bf16::from_f32(x)
    }
}

impl Half for f16 {
    fn widen(self) -> f32 {
        self.to_f32()
    }

    fn round(x: f32) -> Self {
        f16::from_f32(x)
    }

    // The slice conversions use F16C where the CPU has it.
    fn widen_all(from: &[Self], to: &mut [f32]) {
        half::slice::HalfFloatSliceExt::convert_to_f32_slice(from, to);
    }

    fn round_all(from: &[f32], to: &mut [Self]) {
        half::slice::HalfFloatSliceExt::convert_from_f32_slice(to, from);
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
    let (wide_a, wide_b) = (Wide::of(&a), Wide::of(&b));
    let mut wide_c = scratch::filled(m * n, 0.0);
    if epilogue.accumulate {
        for (i, row) in wide_c.chunks_exact_mut(n).enumerate() {
            T::widen_all(c.row(i), row);
        }
    }
    let bias: Option<Vec<f32>> = epilogue.bias.map(|bias| scratch::collect(bias.iter().map(|x| x.widen())));
    let epilogue = Epilogue { bias: bias.as_deref(), accumulate: epilogue.accumulate, relu: epilogue.relu };
    let view = MatMut::row_major(&mut wide_c, m, n).expect("a vector of that very size");
    float::product(par, wide_a.view().into(), wide_b.view(), view, epilogue);
    for (i, row) in wide_c.chunks_exact(n).enumerate() {
        T::round_all(row, c.row(i));
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
    fn of<T: Half>(from: &MatRef<'_, T>) -> Wide {
        let transposed = from.col_stride() != 1 && from.row_stride() == 1;
        let rows = from.t_if(transposed);
        let mut data = scratch::filled(rows.rows() * rows.cols(), 0.0);
        if !data.is_empty() {
            for (i, to) in data.chunks_exact_mut(rows.cols()).enumerate() {
                widen_row(&rows, i, to);
            }
        }
        Wide { data, rows: rows.rows(), cols: rows.cols(), transposed }
    }

    fn view(&self) -> MatRef<'_, f32> {
        let rows = MatRef::row_major(&self.data, self.rows, self.cols).expect("a vector of that very size");
        rows.t_if(self.transposed)
    }
}

fn widen_row<T: Half>(from: &MatRef<'_, T>, row: usize, to: &mut [f32]) {
    let start = row * from.row_stride();
    if from.col_stride() == 1 {
        T::widen_all(&from.data()[start..start + to.len()], to);
    } else {
        for (j, to) in to.iter_mut().enumerate() {
            *to = from.data()[start + j * from.col_stride()].widen();
        }
    }
}
