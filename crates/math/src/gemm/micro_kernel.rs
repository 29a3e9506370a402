//! The micro-kernels: a register tile of C, `R` rows by `N` vectors, accumulated over kc.
//!
//! Written once, generic over the vector type, the rows and the vectors; a [`Kernels`] holds the
//! instances for one element type on one instruction set. Every instance accumulates an element
//! of C in the same order, so the choice of instance does not change results.

// Indexed loops over constants unroll, so that the arrays become registers.
#![allow(clippy::needless_range_loop)]

use super::lanes::{Lanes, Portable};
use super::pack::{self, Pack};
use crate::isa::{self, Isa};
use crate::prefetch::line as prefetch;

/// The arguments of a micro-kernel: `c = epilogue([c +] a * b)`.
#[derive(Clone, Copy)]
pub(super) struct Tile<T> {
    pub k: usize,
    pub a: *const T,
    pub a_row_stride: usize,
    pub a_col_stride: usize,
    /// After `a_run_left` steps along `k`, and then after every `a_run`, the address in A moves by `a_jump` more (see `Runs`).
    pub a_run_left: usize,
    pub a_run: usize,
    pub a_jump: isize,
    /// Rows of B: `cols` elements, `b_row_stride` apart; or, if `b_packed`, full vectors, contiguous.
    pub b: *const T,
    pub b_row_stride: usize,
    pub b_packed: bool,
    /// Where to pack B to, padded with zeros after `cols`; or null.
    pub packed: *mut T,
    /// Rows of the next panel of B to pack meanwhile, one every [`PREPACK_INTERVAL`] steps of `k`:
    /// how many, source and destination.
    pub prepack_rows: usize,
    pub prepack: *const T,
    pub prepack_stride: usize,
    pub prepack_to: *mut T,
    pub c: *mut T,
    pub c_row_stride: usize,
    /// Columns of C: at most `N` vectors, more than `N - 1`.
    pub cols: usize,
    pub add_to_c: bool,
    /// `cols` elements added to each row, or null.
    pub bias: *const T,
    pub relu: bool,
}

pub(super) type Kernel<T> = unsafe fn(&Tile<T>);

/// The dot product of two vectors of `k` elements.
pub(super) type Dot<T> = unsafe fn(k: usize, x: *const T, y: *const T) -> T;

/// The micro-kernels of one element type on one instruction set.
#[derive(Clone, Copy)]
pub(super) struct Kernels<T: 'static> {
    /// Elements in a vector.
    pub lanes: usize,
    /// `full[v - 1][r - 1]` computes `r` rows by `v` vectors.
    pub full: &'static [&'static [Kernel<T>]],
    /// The same with a masked tail: the last vector is not full.
    pub masked: &'static [&'static [Kernel<T>]],
    /// Computes `mr` rows by `nr` columns, with A packed.
    pub packed_a: Kernel<T>,
    /// For products of few rows: `wide[r - 1]` computes `r` rows by this many vectors.
    pub wide: &'static [(usize, Kernel<T>)],
    pub dot: Dot<T>,
    pub pack: Pack<T>,
}

/// The stride along `k` of a packed micro-panel of A: its rows, padded so that steps do not straddle cache lines.
pub(super) const fn packed_a_stride(rows: usize) -> usize {
    rows.next_power_of_two()
}

impl<T> Kernels<T> {
    /// The most rows of a register tile.
    pub fn mr(&self) -> usize {
        self.full[0].len()
    }

    /// The most columns of a register tile of `full`.
    pub fn nr(&self) -> usize {
        self.full.len() * self.lanes
    }

    /// Columns of a panel of B, for a product of `m` rows.
    pub fn panel_cols(&self, m: usize) -> usize {
        self.wide.get(m - 1).map_or(self.full.len(), |wide| wide.0) * self.lanes
    }

    /// Columns of the next panel, if `cols` are left.
    pub fn next_cols(&self, rows: usize, cols: usize) -> usize {
        let wide = self.panel_cols(rows);
        if cols >= wide { wide } else { cols.min(self.full.len() * self.lanes) }
    }

    /// The micro-kernel for `rows` rows and a number of columns that `next_cols` returned.
    pub fn get(&self, rows: usize, cols: usize) -> Kernel<T> {
        match self.wide.get(rows - 1) {
            Some(&(vectors, kernel)) if vectors * self.lanes == cols => kernel,
            _ => {
                let forms = if cols.is_multiple_of(self.lanes) { self.full } else { self.masked };
                forms[cols.div_ceil(self.lanes) - 1][rows - 1]
            }
        }
    }
}

/// What an instance may assume. Each form is a function of its own: with more than three loops in one, the compiler
/// spills the accumulators.
struct Form;

impl Form {
    /// All vectors are full.
    const FULL: u8 = 0;
    /// The same, and A is packed.
    const PACKED_A: u8 = 1;
    /// The last vector is masked.
    const MASKED: u8 = 2;
}

/// # Safety
///
/// The CPU has the instructions of `V`, and the pointers of the tile are valid for the
/// extents it states; `c`, `packed` and `prepack_to` are writable and not aliased.
#[inline(always)]
unsafe fn multiply<V: Lanes, const R: usize, const N: usize, const FORM: u8>(t: &Tile<V::Elem>) {
    // SAFETY: all accesses are inside the extents that the caller guarantees.
    unsafe {
        let mask = V::mask(t.cols - (N - 1) * V::LEN);
        let mut acc = [[V::zero(); N]; R];
        if t.b_packed {
            accumulate_packed::<V, R, N, FORM>(t, &mut acc);
        } else if t.packed.is_null() {
            accumulate_in_place::<V, R, N, FORM, false>(t, &mut acc, mask);
        } else {
            accumulate_in_place::<V, R, N, FORM, true>(t, &mut acc, mask);
        }
        store::<V, R, N, FORM>(t, &mut acc, mask);
    }
}

/// Strides of A; constants if A is packed, so that the compiler folds them into the addresses.
#[inline(always)]
fn strides<T, const R: usize, const FORM: u8>(t: &Tile<T>) -> (usize, usize) {
    if FORM == Form::PACKED_A { (1, packed_a_stride(R)) } else { (t.a_row_stride, t.a_col_stride) }
}

/// Rows of B that are prefetched ahead of the one being packed.
const PREFETCH_ROWS: usize = 8;

/// The same where B is read in place, one row per step.
const PREFETCH_ROWS_IN_PLACE: usize = 16;

/// Steps of `k` for each row of the next panel that is packed, and for each row of C that is prefetched.
pub(super) const PREPACK_INTERVAL: usize = 8;

#[inline(always)]
unsafe fn accumulate_packed<V: Lanes, const R: usize, const N: usize, const FORM: u8>(
    t: &Tile<V::Elem>,
    acc: &mut [[V; N]; R],
) {
    // SAFETY: as in `multiply`.
    unsafe {
        let (row_stride, col_stride) = strides::<_, R, FORM>(t);
        let width = N * V::LEN;
        let (mut a, mut b) = (t.a, t.b);
        let (mut prepack, mut prepack_to, mut prepack_rows) = (t.prepack, t.prepack_to, t.prepack_rows);
        let mut c = t.c as *const V::Elem;
        let mut left = t.k;
        let mut run = t.k.min(t.a_run_left);
        while left > 0 {
            left -= run;
            while run > 0 {
                if left + run <= R * PREPACK_INTERVAL {
                    // Near the end: prefetch the rows of C, one by one.
                    prefetch_row::<V, N>(c, t.cols);
                    c = c.wrapping_add(t.c_row_stride);
                }
                if prepack_rows > 0 {
                    prefetch_row::<V, N>(prepack.wrapping_add(PREFETCH_ROWS * t.prepack_stride), width);
                    for v in 0..N {
                        V::load(prepack.add(v * V::LEN)).store(prepack_to.add(v * V::LEN));
                    }
                    prepack = prepack.wrapping_add(t.prepack_stride);
                    prepack_to = prepack_to.wrapping_add(width);
                    prepack_rows -= 1;
                }
                let steps = run.min(PREPACK_INTERVAL);
                run -= steps;
                if FORM == Form::PACKED_A && steps == PREPACK_INTERVAL {
                    // Unrolled by four, with constant offsets: 1 to 3 %.
                    for _ in 0..PREPACK_INTERVAL / 4 {
                        rank1_update_packed(a, b, row_stride, acc);
                        rank1_update_packed(
                            a.wrapping_add(col_stride),
                            b.wrapping_add(width),
                            row_stride,
                            acc,
                        );
                        rank1_update_packed(
                            a.wrapping_add(2 * col_stride),
                            b.wrapping_add(2 * width),
                            row_stride,
                            acc,
                        );
                        rank1_update_packed(
                            a.wrapping_add(3 * col_stride),
                            b.wrapping_add(3 * width),
                            row_stride,
                            acc,
                        );
                        (a, b) = (a.wrapping_add(4 * col_stride), b.wrapping_add(4 * width));
                    }
                } else {
                    for _ in 0..steps {
                        rank1_update_packed(a, b, row_stride, acc);
                        (a, b) = (a.wrapping_add(col_stride), b.wrapping_add(width));
                    }
                }
            }
            a = a.wrapping_offset(t.a_jump);
            run = left.min(t.a_run);
        }
    }
}

/// A rank-1 update: one step of `k`, with a packed row of B.
#[inline(always)]
unsafe fn rank1_update_packed<V: Lanes, const R: usize, const N: usize>(
    a: *const V::Elem,
    b: *const V::Elem,
    row_stride: usize,
    acc: &mut [[V; N]; R],
) {
    // SAFETY: as in `multiply`.
    unsafe {
        let mut row = [V::zero(); N];
        for v in 0..N {
            row[v] = V::load(b.add(v * V::LEN));
        }
        rank1_update(a, row_stride, &row, acc);
    }
}

#[inline(always)]
unsafe fn accumulate_in_place<V: Lanes, const R: usize, const N: usize, const FORM: u8, const PACK: bool>(
    t: &Tile<V::Elem>,
    acc: &mut [[V; N]; R],
    mask: V::Mask,
) {
    // SAFETY: as in `multiply`.
    unsafe {
        let (row_stride, col_stride) = strides::<_, R, FORM>(t);
        let (mut a, mut b, mut packed) = (t.a, t.b, t.packed);
        let (mut left, mut run_left) = (t.k, t.a_run_left);
        // Nested loops without a branch in the inner one: with any, the compiler spills the elements of A.
        while left > 0 {
            let steps = left.min(run_left);
            left -= steps;
            run_left -= steps;
            for _ in 0..steps {
                prefetch_row::<V, N>(b.wrapping_add(PREFETCH_ROWS_IN_PLACE * t.b_row_stride), t.cols);
                let mut row = [V::zero(); N];
                for v in 0..N {
                    row[v] = load::<V, N, FORM>(b, v, mask);
                    if PACK {
                        row[v].store(packed.add(v * V::LEN));
                    }
                }
                rank1_update(a, row_stride, &row, acc);
                a = a.wrapping_add(col_stride);
                b = b.wrapping_add(t.b_row_stride);
                packed = packed.wrapping_add(N * V::LEN);
            }
            if run_left == 0 {
                a = a.wrapping_offset(t.a_jump);
                run_left = t.a_run;
            }
        }
    }
}

/// Prefetches all cache lines of a row: one more than there are vectors if it is not aligned.
#[inline(always)]
fn prefetch_row<V: Lanes, const N: usize>(row: *const V::Elem, cols: usize) {
    for v in 0..N {
        prefetch(row.wrapping_add(v * V::LEN));
    }
    prefetch(row.wrapping_add(cols - 1));
}

/// The `v`th vector of a row. A masked load competes with the multiply-adds for an execution port: 5 % at ten rows.
#[inline(always)]
unsafe fn load<V: Lanes, const N: usize, const FORM: u8>(row: *const V::Elem, v: usize, mask: V::Mask) -> V {
    // SAFETY: as in `multiply`.
    unsafe {
        let at = row.add(v * V::LEN);
        if FORM == Form::MASKED && v == N - 1 { V::load_masked(at, mask) } else { V::load(at) }
    }
}

#[inline(always)]
unsafe fn rank1_update<V: Lanes, const R: usize, const N: usize>(
    a: *const V::Elem,
    stride: usize,
    row: &[V; N],
    acc: &mut [[V; N]; R],
) {
    for r in 0..R {
        // SAFETY: as in `multiply`.
        unsafe {
            let x = V::splat(a.add(r * stride));
            for v in 0..N {
                acc[r][v] = acc[r][v].fma(x, row[v]);
            }
        }
    }
}

/// The epilogue and the stores, in separate loops: a single loop would be unswitched into one copy for each combination.
#[inline(always)]
unsafe fn store<V: Lanes, const R: usize, const N: usize, const FORM: u8>(
    t: &Tile<V::Elem>,
    acc: &mut [[V; N]; R],
    mask: V::Mask,
) {
    // SAFETY: as in `multiply`.
    unsafe {
        let c = |r: usize| t.c.add(r * t.c_row_stride);
        if t.add_to_c {
            for r in 0..R {
                for v in 0..N {
                    acc[r][v] = acc[r][v].add(load::<V, N, FORM>(c(r), v, mask));
                }
            }
        }
        if !t.bias.is_null() {
            for v in 0..N {
                let bias = load::<V, N, FORM>(t.bias, v, mask);
                for r in 0..R {
                    acc[r][v] = acc[r][v].add(bias);
                }
            }
        }
        if t.relu {
            for r in 0..R {
                for v in 0..N {
                    acc[r][v] = acc[r][v].relu();
                }
            }
        }
        for r in 0..R {
            for v in 0..N {
                let to = c(r).add(v * V::LEN);
                match FORM == Form::MASKED && v == N - 1 {
                    true => acc[r][v].store_masked(to, mask),
                    false => acc[r][v].store(to),
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn dot<V: Lanes>(k: usize, x: *const V::Elem, y: *const V::Elem) -> V::Elem
where
    V::Elem: std::ops::AddAssign,
{
    const ACCUMULATORS: usize = 8;
    // SAFETY: offsets stay below `k`.
    unsafe {
        let mut acc = [V::zero(); ACCUMULATORS];
        let mut at = 0;
        while at + ACCUMULATORS * V::LEN <= k {
            for sum in &mut acc {
                *sum = sum.fma(V::load(x.add(at)), V::load(y.add(at)));
                at += V::LEN;
            }
        }
        while at < k {
            let mask = V::mask((k - at).min(V::LEN));
            let (x, y) = (V::load_masked(x.add(at), mask), V::load_masked(y.add(at), mask));
            acc[0] = acc[0].fma(x, y);
            at += V::LEN;
        }
        let [a, b, c, d, e, f, g, h] = acc;
        a.add(b).add(c.add(d)).add(e.add(f).add(g.add(h))).horizontal_sum()
    }
}

/// A table of instances: `forms!(wrapper, Vector, FORM, [vectors], [rows])`.
macro_rules! forms {
    ($wrap:ident, $vector:ty, $form:ident, [$($n:literal),*], $rows:tt) => {
        &[$(forms!(@rows $wrap, $vector, $form, $n, $rows)),*]
    };
    (@rows $wrap:ident, $vector:ty, $form:ident, $n:literal, [$($r:literal),*]) => {
        &[$($wrap::<$vector, $r, $n, { Form::$form }>),*]
    };
}

/// A table of wide instances: `wide!(wrapper, Vector, [rows x vectors])`.
macro_rules! wide {
    ($wrap:ident, $vector:ty, [$($r:literal x $n:literal),*]) => {
        &[$(($n, $wrap::<$vector, $r, $n, { Form::FULL }> as Kernel<<$vector as Lanes>::Elem>)),*]
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    unsafe fn avx512<V: Lanes, const R: usize, const N: usize, const FORM: u8>(t: &Tile<V::Elem>) {
        // SAFETY: the caller's.
        unsafe { multiply::<V, R, N, FORM>(t) }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn dot_avx512<V: Lanes<Elem: std::ops::AddAssign>>(
        k: usize,
        x: *const V::Elem,
        y: *const V::Elem,
    ) -> V::Elem {
        // SAFETY: the caller's.
        unsafe { dot::<V>(k, x, y) }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<V: Lanes, const R: usize, const N: usize, const FORM: u8>(t: &Tile<V::Elem>) {
        // SAFETY: the caller's.
        unsafe { multiply::<V, R, N, FORM>(t) }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn dot_avx2<V: Lanes<Elem: std::ops::AddAssign>>(
        k: usize,
        x: *const V::Elem,
        y: *const V::Elem,
    ) -> V::Elem {
        // SAFETY: the caller's.
        unsafe { dot::<V>(k, x, y) }
    }

    // 28 accumulators, two vectors of B and one broadcast element of A: 31 of 32 registers.
    pub(super) static F32_AVX512: Kernels<f32> = Kernels {
        lanes: 16,
        full: forms!(avx512, __m512, FULL, [1, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
        masked: forms!(avx512, __m512, MASKED, [1, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
        packed_a: avx512::<__m512, 14, 2, { Form::PACKED_A }>,
        wide: wide!(avx512, __m512, [1 x 8, 2 x 8, 3 x 4, 4 x 4, 5 x 4, 6 x 4]),
        dot: dot_avx512::<__m512>,
        pack: pack::avx512::f32,
    };
    pub(super) static F64_AVX512: Kernels<f64> = Kernels {
        lanes: 8,
        full: forms!(avx512, __m512d, FULL, [1, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
        masked: forms!(avx512, __m512d, MASKED, [1, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
        packed_a: avx512::<__m512d, 14, 2, { Form::PACKED_A }>,
        wide: wide!(avx512, __m512d, [1 x 8, 2 x 8, 3 x 4, 4 x 4, 5 x 4, 6 x 4]),
        dot: dot_avx512::<__m512d>,
        pack: pack::portable::<f64>,
    };
    // 12 accumulators, two vectors of B and one broadcast element of A: 15 of 16 registers.
    pub(super) static F32_AVX2: Kernels<f32> = Kernels {
        lanes: 8,
        full: forms!(avx2, __m256, FULL, [1, 2], [1, 2, 3, 4, 5, 6]),
        masked: forms!(avx2, __m256, MASKED, [1, 2], [1, 2, 3, 4, 5, 6]),
        packed_a: avx2::<__m256, 6, 2, { Form::PACKED_A }>,
        wide: wide!(avx2, __m256, [1 x 8, 2 x 4]),
        dot: dot_avx2::<__m256>,
        pack: pack::portable::<f32>,
    };
    pub(super) static F64_AVX2: Kernels<f64> = Kernels {
        lanes: 4,
        full: forms!(avx2, __m256d, FULL, [1, 2], [1, 2, 3, 4, 5, 6]),
        masked: forms!(avx2, __m256d, MASKED, [1, 2], [1, 2, 3, 4, 5, 6]),
        packed_a: avx2::<__m256d, 6, 2, { Form::PACKED_A }>,
        wide: wide!(avx2, __m256d, [1 x 8, 2 x 4]),
        dot: dot_avx2::<__m256d>,
        pack: pack::portable::<f64>,
    };
}

unsafe fn portable<V: Lanes, const R: usize, const N: usize, const FORM: u8>(t: &Tile<V::Elem>) {
    // SAFETY: the caller's.
    unsafe { multiply::<V, R, N, FORM>(t) }
}

static F32_PORTABLE: Kernels<f32> = Kernels {
    lanes: 4,
    full: forms!(portable, Portable<f32, 4>, FULL, [1, 2], [1, 2, 3, 4]),
    masked: forms!(portable, Portable<f32, 4>, MASKED, [1, 2], [1, 2, 3, 4]),
    packed_a: portable::<Portable<f32, 4>, 4, 2, { Form::PACKED_A }>,
    wide: wide!(portable, Portable<f32, 4>, [1 x 8]),
    dot: dot::<Portable<f32, 4>>,
    pack: pack::portable::<f32>,
};
static F64_PORTABLE: Kernels<f64> = Kernels {
    lanes: 2,
    full: forms!(portable, Portable<f64, 2>, FULL, [1, 2], [1, 2, 3, 4]),
    masked: forms!(portable, Portable<f64, 2>, MASKED, [1, 2], [1, 2, 3, 4]),
    packed_a: portable::<Portable<f64, 2>, 4, 2, { Form::PACKED_A }>,
    wide: wide!(portable, Portable<f64, 2>, [1 x 8]),
    dot: dot::<Portable<f64, 2>>,
    pack: pack::portable::<f64>,
};

/// An element type that has micro-kernels.
pub(super) trait HasKernels:
    Copy + Default + PartialOrd + std::ops::Add<Output = Self> + Send + Sync + 'static
{
    /// The set for one of [`isa::available`].
    fn set(isa: Isa) -> &'static Kernels<Self>;

    /// The best set this process may run.
    fn best() -> &'static Kernels<Self> {
        Self::set(isa::current())
    }

    /// All sets this process may run, the best first; for tests.
    #[cfg(test)]
    fn sets() -> Vec<&'static Kernels<Self>> {
        isa::available().map(Self::set).collect()
    }
}

macro_rules! has_kernels {
    ($elem:ty, $avx512:ident, $avx2:ident, $portable:ident) => {
        impl HasKernels for $elem {
            fn set(isa: Isa) -> &'static Kernels<Self> {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => &x86::$avx512,
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => &x86::$avx2,
                    _ => &$portable,
                }
            }
        }
    };
}

has_kernels!(f32, F32_AVX512, F32_AVX2, F32_PORTABLE);
has_kernels!(f64, F64_AVX512, F64_AVX2, F64_PORTABLE);
