//! The innermost product: a few rows of A times a few vectors' width of B, summed in
//! registers.
//!
//! Written once, over the register type, the number of rows and the number of vectors;
//! a [`Kernels`] holds the compiled forms for one element type on one instruction set.
//! Every form adds up an element of C in the same order, so which form computes an
//! element does not change it.

// Loops here are counted, over constants, so that they unroll and the arrays become registers.
#![allow(clippy::needless_range_loop)]

use super::lanes::{Lanes, Portable};
use super::pack::{self, Pack};
use crate::isa::{self, Isa};
use crate::prefetch::line as prefetch;

/// One call of a kernel: `c = [c +] a * b`, then what the epilogue asks for.
#[derive(Clone, Copy)]
pub(super) struct Tile<T> {
    pub k: usize,
    pub a: *const T,
    pub a_row_stride: usize,
    pub a_col_stride: usize,
    /// After so many steps along `k`, and then after every `a_run`, A goes on `a_jump` elements further.
    pub a_run_left: usize,
    pub a_run: usize,
    pub a_jump: isize,
    /// Rows of B: `cols` elements each, so far apart; or, if `b_packed`, full ones without gaps.
    pub b: *const T,
    pub b_row_stride: usize,
    pub b_packed: bool,
    /// Where to leave a copy of B as full rows without gaps, zeros after `cols`; or null.
    pub packed: *mut T,
    /// Rows of B, full ones, to copy meanwhile, one every [`STEPS`] steps of `k`: how many,
    /// from where and to where, without gaps.
    pub ahead_rows: usize,
    pub ahead: *const T,
    pub ahead_stride: usize,
    pub ahead_to: *mut T,
    pub c: *mut T,
    pub c_row_stride: usize,
    /// How many columns of C there are, at most the kernel's width, more than one vector less.
    pub cols: usize,
    pub add_to_c: bool,
    /// `cols` elements added to each row, or null.
    pub bias: *const T,
    pub relu: bool,
}

pub(super) type Kernel<T> = unsafe fn(&Tile<T>);

/// The sum of the products of `k` elements at each of two places.
pub(super) type Dot<T> = unsafe fn(k: usize, x: *const T, y: *const T) -> T;

/// The kernels of one element type on one instruction set.
#[derive(Clone, Copy)]
pub(super) struct Kernels<T: 'static> {
    /// Elements in a vector.
    pub lanes: usize,
    /// `whole[v - 1][r - 1]` computes `r` rows by `v` vectors.
    pub whole: &'static [&'static [Kernel<T>]],
    /// The same where the last vector is not a whole one.
    pub partial: &'static [&'static [Kernel<T>]],
    /// Computes `max_rows` rows by the most vectors of `whole`, of a strip of A.
    pub strip: Kernel<T>,
    /// For matrices of few rows: `wide[r - 1]` computes `r` rows by this many vectors.
    pub wide: &'static [(usize, Kernel<T>)],
    pub dot: Dot<T>,
    pub pack: Pack<T>,
}

/// Elements from one step of `k` to the next in a strip of A: so many rows, one beside the other, in whole cache lines.
pub(super) const fn strip_width(rows: usize) -> usize {
    rows.next_power_of_two()
}

impl<T> Kernels<T> {
    pub fn max_rows(&self) -> usize {
        self.whole[0].len()
    }

    /// Columns of the widest of `whole`.
    pub fn most_cols(&self) -> usize {
        self.whole.len() * self.lanes
    }

    /// The width of the kernels that the rows of a product of `m` rows are given to.
    pub fn width(&self, m: usize) -> usize {
        self.wide.get(m - 1).map_or(self.whole.len(), |wide| wide.0) * self.lanes
    }

    /// How many of `cols` columns to take next, and the kernel for them.
    pub fn cols(&self, rows: usize, cols: usize) -> usize {
        let wide = self.width(rows);
        if cols >= wide { wide } else { cols.min(self.whole.len() * self.lanes) }
    }

    /// The kernel for `rows` rows and as many columns as `cols` said.
    pub fn get(&self, rows: usize, cols: usize) -> Kernel<T> {
        match self.wide.get(rows - 1) {
            Some(&(vectors, kernel)) if vectors * self.lanes == cols => kernel,
            _ => {
                let forms = if cols.is_multiple_of(self.lanes) { self.whole } else { self.partial };
                forms[cols.div_ceil(self.lanes) - 1][rows - 1]
            }
        }
    }
}

/// What a kernel may take for granted: each form is a function of its own, because one with more loops than three
/// keeps its sums in memory (the compiler runs out of registers where there are enough).
struct Form;

impl Form {
    /// All columns of all vectors are there.
    const WHOLE: u8 = 0;
    /// The same, and A is a strip.
    const STRIP: u8 = 1;
    /// Of the last vector only some.
    const PARTIAL: u8 = 2;
}

/// # Safety
///
/// The CPU has the instructions of `V`, and the pointers of the tile are valid for the
/// extents it states, `c` and `packed` for writing and apart from all else.
#[inline(always)]
unsafe fn multiply<V: Lanes, const R: usize, const N: usize, const FORM: u8>(t: &Tile<V::Elem>) {
    // SAFETY: all accesses are inside the extents the caller vouches for.
    unsafe {
        let mask = V::mask(t.cols - (N - 1) * V::LEN);
        let mut sums = [[V::zero(); N]; R];
        if t.b_packed {
            sum_packed::<V, R, N, FORM>(t, &mut sums);
        } else if t.packed.is_null() {
            sum_in_place::<V, R, N, FORM, false>(t, &mut sums, mask);
        } else {
            sum_in_place::<V, R, N, FORM, true>(t, &mut sums, mask);
        }
        finish::<V, R, N, FORM>(t, &mut sums, mask);
    }
}

/// Strides of A. Of a strip the compiler is to know where its rows are.
#[inline(always)]
fn strides<T, const R: usize, const FORM: u8>(t: &Tile<T>) -> (usize, usize) {
    if FORM == Form::STRIP { (1, strip_width(R)) } else { (t.a_row_stride, t.a_col_stride) }
}

/// How many rows before it is copied a row of B is asked for.
const FETCH: usize = 8;

/// The same where B is read in place, at each step.
const FETCH_IN_PLACE: usize = 16;

/// Steps of `k` between two looks ahead.
pub(super) const STEPS: usize = 8;

#[inline(always)]
unsafe fn sum_packed<V: Lanes, const R: usize, const N: usize, const FORM: u8>(
    t: &Tile<V::Elem>,
    sums: &mut [[V; N]; R],
) {
    // SAFETY: as in `multiply`.
    unsafe {
        let (row_stride, col_stride) = strides::<_, R, FORM>(t);
        let width = N * V::LEN;
        let (mut a, mut b) = (t.a, t.b);
        let (mut ahead, mut ahead_to, mut ahead_rows) = (t.ahead, t.ahead_to, t.ahead_rows);
        let mut c = t.c as *const V::Elem;
        let mut left = t.k;
        let mut run = t.k.min(t.a_run_left);
        while left > 0 {
            left -= run;
            while run > 0 {
                if left + run <= R * STEPS {
                    // Soon done: have the rows of C near, one by one.
                    prefetch_row::<V, N>(c, t.cols);
                    c = c.wrapping_add(t.c_row_stride);
                }
                if ahead_rows > 0 {
                    prefetch_row::<V, N>(ahead.wrapping_add(FETCH * t.ahead_stride), width);
                    for v in 0..N {
                        V::load(ahead.add(v * V::LEN)).store(ahead_to.add(v * V::LEN));
                    }
                    ahead = ahead.wrapping_add(t.ahead_stride);
                    ahead_to = ahead_to.wrapping_add(width);
                    ahead_rows -= 1;
                }
                let steps = run.min(STEPS);
                run -= steps;
                if FORM == Form::STRIP && steps == STEPS {
                    // Four steps without a jump, and with places the compiler knows: 1 to 3 %.
                    for _ in 0..STEPS / 4 {
                        add_packed_row(a, b, row_stride, sums);
                        add_packed_row(a.wrapping_add(col_stride), b.wrapping_add(width), row_stride, sums);
                        add_packed_row(
                            a.wrapping_add(2 * col_stride),
                            b.wrapping_add(2 * width),
                            row_stride,
                            sums,
                        );
                        add_packed_row(
                            a.wrapping_add(3 * col_stride),
                            b.wrapping_add(3 * width),
                            row_stride,
                            sums,
                        );
                        (a, b) = (a.wrapping_add(4 * col_stride), b.wrapping_add(4 * width));
                    }
                } else {
                    for _ in 0..steps {
                        add_packed_row(a, b, row_stride, sums);
                        (a, b) = (a.wrapping_add(col_stride), b.wrapping_add(width));
                    }
                }
            }
            a = a.wrapping_offset(t.a_jump);
            run = left.min(t.a_run);
        }
    }
}

/// One step of `k`, by a row of B of whole vectors.
#[inline(always)]
unsafe fn add_packed_row<V: Lanes, const R: usize, const N: usize>(
    a: *const V::Elem,
    b: *const V::Elem,
    row_stride: usize,
    sums: &mut [[V; N]; R],
) {
    // SAFETY: as in `multiply`.
    unsafe {
        let mut row = [V::zero(); N];
        for v in 0..N {
            row[v] = V::load(b.add(v * V::LEN));
        }
        add_products(a, row_stride, &row, sums);
    }
}

#[inline(always)]
unsafe fn sum_in_place<V: Lanes, const R: usize, const N: usize, const FORM: u8, const PACK: bool>(
    t: &Tile<V::Elem>,
    sums: &mut [[V; N]; R],
    mask: V::Mask,
) {
    // SAFETY: as in `multiply`.
    unsafe {
        let (row_stride, col_stride) = strides::<_, R, FORM>(t);
        let (mut a, mut b, mut packed) = (t.a, t.b, t.packed);
        let (mut left, mut run_left) = (t.k, t.a_run_left);
        // One loop in another, and no choice in the inner one: with any, the compiler keeps the elements of A in memory.
        while left > 0 {
            let steps = left.min(run_left);
            left -= steps;
            run_left -= steps;
            for _ in 0..steps {
                prefetch_row::<V, N>(b.wrapping_add(FETCH_IN_PLACE * t.b_row_stride), t.cols);
                let mut row = [V::zero(); N];
                for v in 0..N {
                    row[v] = load::<V, N, FORM>(b, v, mask);
                    if PACK {
                        row[v].store(packed.add(v * V::LEN));
                    }
                }
                add_products(a, row_stride, &row, sums);
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

/// Asks for all cache lines of a row: one more than vectors if it does not begin on one.
#[inline(always)]
fn prefetch_row<V: Lanes, const N: usize>(row: *const V::Elem, cols: usize) {
    for v in 0..N {
        prefetch(row.wrapping_add(v * V::LEN));
    }
    prefetch(row.wrapping_add(cols - 1));
}

/// The `v`th vector of a row. A mask takes one of the slots that products need: with ten rows 5 % of them.
#[inline(always)]
unsafe fn load<V: Lanes, const N: usize, const FORM: u8>(row: *const V::Elem, v: usize, mask: V::Mask) -> V {
    // SAFETY: as in `multiply`.
    unsafe {
        let at = row.add(v * V::LEN);
        if FORM == Form::PARTIAL && v == N - 1 { V::load_masked(at, mask) } else { V::load(at) }
    }
}

#[inline(always)]
unsafe fn add_products<V: Lanes, const R: usize, const N: usize>(
    a: *const V::Elem,
    stride: usize,
    row: &[V; N],
    sums: &mut [[V; N]; R],
) {
    for r in 0..R {
        // SAFETY: as in `multiply`.
        unsafe {
            let x = V::splat(a.add(r * stride));
            for v in 0..N {
                sums[r][v] = sums[r][v].add_product(x, row[v]);
            }
        }
    }
}

/// What is asked for besides the sums, one thing after another: all in one loop would be compiled once for each set of wishes.
#[inline(always)]
unsafe fn finish<V: Lanes, const R: usize, const N: usize, const FORM: u8>(
    t: &Tile<V::Elem>,
    sums: &mut [[V; N]; R],
    mask: V::Mask,
) {
    // SAFETY: as in `multiply`.
    unsafe {
        let c = |r: usize| t.c.add(r * t.c_row_stride);
        if t.add_to_c {
            for r in 0..R {
                for v in 0..N {
                    sums[r][v] = sums[r][v].add(load::<V, N, FORM>(c(r), v, mask));
                }
            }
        }
        if !t.bias.is_null() {
            for v in 0..N {
                let bias = load::<V, N, FORM>(t.bias, v, mask);
                for r in 0..R {
                    sums[r][v] = sums[r][v].add(bias);
                }
            }
        }
        if t.relu {
            for r in 0..R {
                for v in 0..N {
                    sums[r][v] = sums[r][v].relu();
                }
            }
        }
        for r in 0..R {
            for v in 0..N {
                let to = c(r).add(v * V::LEN);
                match FORM == Form::PARTIAL && v == N - 1 {
                    true => sums[r][v].store_masked(to, mask),
                    false => sums[r][v].store(to),
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
    const SUMS: usize = 8;
    // SAFETY: offsets stay below `k`.
    unsafe {
        let mut sums = [V::zero(); SUMS];
        let mut at = 0;
        while at + SUMS * V::LEN <= k {
            for sum in &mut sums {
                *sum = sum.add_product(V::load(x.add(at)), V::load(y.add(at)));
                at += V::LEN;
            }
        }
        while at < k {
            let mask = V::mask((k - at).min(V::LEN));
            let (x, y) = (V::load_masked(x.add(at), mask), V::load_masked(y.add(at), mask));
            sums[0] = sums[0].add_product(x, y);
            at += V::LEN;
        }
        let [a, b, c, d, e, f, g, h] = sums;
        a.add(b).add(c.add(d)).add(e.add(f).add(g.add(h))).sum()
    }
}

/// Lists the compiled forms: `forms!(wrapper, Vector, FORM, [vectors], [rows])`.
macro_rules! forms {
    ($wrap:ident, $vector:ty, $form:ident, [$($n:literal),*], $rows:tt) => {
        &[$(forms!(@rows $wrap, $vector, $form, $n, $rows)),*]
    };
    (@rows $wrap:ident, $vector:ty, $form:ident, $n:literal, [$($r:literal),*]) => {
        &[$($wrap::<$vector, $r, $n, { Form::$form }>),*]
    };
}

/// Lists the wide forms: `wide!(wrapper, Vector, [rows x vectors])`.
macro_rules! wide {
    ($wrap:ident, $vector:ty, [$($r:literal x $n:literal),*]) => {
        &[$(($n, $wrap::<$vector, $r, $n, { Form::WHOLE }> as Kernel<<$vector as Lanes>::Elem>)),*]
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    unsafe fn avx512<V: Lanes, const R: usize, const N: usize, const FORM: u8>(t: &Tile<V::Elem>) {
        // SAFETY: passed on to the caller.
        unsafe { multiply::<V, R, N, FORM>(t) }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn dot_avx512<V: Lanes<Elem: std::ops::AddAssign>>(
        k: usize,
        x: *const V::Elem,
        y: *const V::Elem,
    ) -> V::Elem {
        // SAFETY: passed on to the caller.
        unsafe { dot::<V>(k, x, y) }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<V: Lanes, const R: usize, const N: usize, const FORM: u8>(t: &Tile<V::Elem>) {
        // SAFETY: passed on to the caller.
        unsafe { multiply::<V, R, N, FORM>(t) }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn dot_avx2<V: Lanes<Elem: std::ops::AddAssign>>(
        k: usize,
        x: *const V::Elem,
        y: *const V::Elem,
    ) -> V::Elem {
        // SAFETY: passed on to the caller.
        unsafe { dot::<V>(k, x, y) }
    }

    // 28 sums, two vectors of B and one element of A fill 31 of 32 registers.
    pub(super) static F32_AVX512: Kernels<f32> = Kernels {
        lanes: 16,
        whole: forms!(avx512, __m512, WHOLE, [1, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
        partial: forms!(avx512, __m512, PARTIAL, [1, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
        strip: avx512::<__m512, 14, 2, { Form::STRIP }>,
        wide: wide!(avx512, __m512, [1 x 8, 2 x 8, 3 x 4, 4 x 4, 5 x 4, 6 x 4]),
        dot: dot_avx512::<__m512>,
        pack: pack::avx512::f32,
    };
    pub(super) static F64_AVX512: Kernels<f64> = Kernels {
        lanes: 8,
        whole: forms!(avx512, __m512d, WHOLE, [1, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
        partial: forms!(avx512, __m512d, PARTIAL, [1, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
        strip: avx512::<__m512d, 14, 2, { Form::STRIP }>,
        wide: wide!(avx512, __m512d, [1 x 8, 2 x 8, 3 x 4, 4 x 4, 5 x 4, 6 x 4]),
        dot: dot_avx512::<__m512d>,
        pack: pack::transposed::<f64>,
    };
    // 12 sums, two vectors and one element: 15 of 16 registers.
    pub(super) static F32_AVX2: Kernels<f32> = Kernels {
        lanes: 8,
        whole: forms!(avx2, __m256, WHOLE, [1, 2], [1, 2, 3, 4, 5, 6]),
        partial: forms!(avx2, __m256, PARTIAL, [1, 2], [1, 2, 3, 4, 5, 6]),
        strip: avx2::<__m256, 6, 2, { Form::STRIP }>,
        wide: wide!(avx2, __m256, [1 x 8, 2 x 4]),
        dot: dot_avx2::<__m256>,
        pack: pack::transposed::<f32>,
    };
    pub(super) static F64_AVX2: Kernels<f64> = Kernels {
        lanes: 4,
        whole: forms!(avx2, __m256d, WHOLE, [1, 2], [1, 2, 3, 4, 5, 6]),
        partial: forms!(avx2, __m256d, PARTIAL, [1, 2], [1, 2, 3, 4, 5, 6]),
        strip: avx2::<__m256d, 6, 2, { Form::STRIP }>,
        wide: wide!(avx2, __m256d, [1 x 8, 2 x 4]),
        dot: dot_avx2::<__m256d>,
        pack: pack::transposed::<f64>,
    };
}

unsafe fn plain<V: Lanes, const R: usize, const N: usize, const FORM: u8>(t: &Tile<V::Elem>) {
    // SAFETY: passed on to the caller.
    unsafe { multiply::<V, R, N, FORM>(t) }
}

static F32_PORTABLE: Kernels<f32> = Kernels {
    lanes: 4,
    whole: forms!(plain, Portable<f32, 4>, WHOLE, [1, 2], [1, 2, 3, 4]),
    partial: forms!(plain, Portable<f32, 4>, PARTIAL, [1, 2], [1, 2, 3, 4]),
    strip: plain::<Portable<f32, 4>, 4, 2, { Form::STRIP }>,
    wide: wide!(plain, Portable<f32, 4>, [1 x 8]),
    dot: dot::<Portable<f32, 4>>,
    pack: pack::transposed::<f32>,
};
static F64_PORTABLE: Kernels<f64> = Kernels {
    lanes: 2,
    whole: forms!(plain, Portable<f64, 2>, WHOLE, [1, 2], [1, 2, 3, 4]),
    partial: forms!(plain, Portable<f64, 2>, PARTIAL, [1, 2], [1, 2, 3, 4]),
    strip: plain::<Portable<f64, 2>, 4, 2, { Form::STRIP }>,
    wide: wide!(plain, Portable<f64, 2>, [1 x 8]),
    dot: dot::<Portable<f64, 2>>,
    pack: pack::transposed::<f64>,
};

/// An element type that has kernels.
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
