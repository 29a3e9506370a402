//! The passes over a matrix that a reduction makes for each of its columns: an update of rank two, which the column before has left,
//! together with the product that the next reflector needs. A pass reads each element once.

use super::Scalar;
use super::vectors::total;
use crate::simd::{Loop, widest};

/// Rows that are passed together.
const ROWS: usize = 4;

/// `A -= u z^T + y v^T`, elementwise of rows and columns.
pub struct Update<'a, T> {
    pub u: &'a [T],
    pub z: &'a [T],
    pub y: &'a [T],
    pub v: &'a [T],
}

/// Updates rows of `stride` elements from column `first` on, and returns in `sums` what `x^H` times them is then. The vectors of the
/// update have the lengths of the rows and columns that are meant.
pub fn update_and_project<T: Scalar>(
    a: &mut [T],
    stride: usize,
    first: usize,
    update: Update<'_, T>,
    x: &[T],
    sums: &mut [T],
) {
    sums.fill(T::ZERO);
    widest(Project { a, stride, first, update, x, sums })
}

struct Project<'a, T> {
    a: &'a mut [T],
    stride: usize,
    first: usize,
    update: Update<'a, T>,
    x: &'a [T],
    sums: &'a mut [T],
}

impl<T: Scalar> Loop for Project<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        if T::IS_COMPLEX { self.rows::<FMA, 4>() } else { self.rows::<FMA, 16>() }
    }
}

impl<T: Scalar> Project<'_, T> {
    #[inline(always)]
    fn rows<const FMA: bool, const L: usize>(self) {
        let Project { a, stride, first, update: Update { u, z, y, v }, x, sums } = self;
        let mut rows = a.chunks_exact_mut(stride);
        let factors = u.iter().zip(y).zip(x).map(|((u, y), x)| [-*u, -*y, x.conj()]);
        let mut factors = factors.zip(&mut rows);
        let len = sums.len();
        let (z, v) = (z[..len].as_chunks::<L>(), v[..len].as_chunks::<L>());
        let sums = sums.as_chunks_mut::<L>();
        let rest = len - sums.1.len();
        loop {
            let four: [_; ROWS] = std::array::from_fn(|_| factors.next());
            let last = four.iter().any(Option::is_none);
            let mut four = four.map(|row| row.map(|(f, row)| (f, &mut row[first..][..len])));
            for (j, ((sum, z), v)) in sums.0.iter_mut().zip(z.0).zip(v.0).enumerate() {
                let (mut total, z, v) = (*sum, *z, *v);
                for (f, row) in four.iter_mut().flatten() {
                    let Some(part) = row[j * L..].first_chunk_mut::<L>() else { continue };
                    // In a local array, which is known not to overlap with the others.
                    let mut x = *part;
                    for i in 0..L {
                        x[i] = x[i].add_product::<FMA>(f[0], z[i]).add_product::<FMA>(f[1], v[i]);
                        total[i] = total[i].add_product::<FMA>(f[2], x[i]);
                    }
                    *part = x;
                }
                *sum = total;
            }
            for (f, row) in four.iter_mut().flatten() {
                for (((sum, x), z), v) in sums.1.iter_mut().zip(&mut row[rest..]).zip(z.1).zip(v.1) {
                    *x = x.add_product::<FMA>(f[0], *z).add_product::<FMA>(f[1], *v);
                    *sum = sum.add_product::<FMA>(f[2], *x);
                }
            }
            if last {
                return;
            }
        }
    }
}

/// The products of rows of `stride` elements, from column `first` on, with a vector, without conjugation.
pub fn times_vector<T: Scalar>(a: &[T], stride: usize, first: usize, v: &[T], out: &mut [T]) {
    widest(Times { a, stride, first, v, out })
}

struct Times<'a, T> {
    a: &'a [T],
    stride: usize,
    first: usize,
    v: &'a [T],
    out: &'a mut [T],
}

impl<T: Scalar> Loop for Times<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let len = self.v.len();
        let mut rows = self.a.chunks_exact(self.stride).map(|row| &row[self.first..][..len]);
        let mut out = self.out.chunks_exact_mut(ROWS);
        for out in &mut out {
            let rows: [_; ROWS] = std::array::from_fn(|_| rows.next().unwrap_or_default());
            out.copy_from_slice(&products::<T, FMA, ROWS>(rows, self.v));
        }
        for (out, row) in out.into_remainder().iter_mut().zip(rows) {
            *out = products::<T, FMA, 1>([row], self.v)[0];
        }
    }
}

#[inline(always)]
fn products<T: Scalar, const FMA: bool, const N: usize>(rows: [&[T]; N], v: &[T]) -> [T; N] {
    if T::IS_COMPLEX { lanes::<T, FMA, N, 4>(rows, v) } else { lanes::<T, FMA, N, 16>(rows, v) }
}

#[inline(always)]
fn lanes<T: Scalar, const FMA: bool, const N: usize, const L: usize>(rows: [&[T]; N], v: &[T]) -> [T; N] {
    let mut sums = [[T::ZERO; L]; N];
    let (chunks, rest) = v.as_chunks::<L>();
    let rows = rows.map(|row| row.as_chunks::<L>());
    for (i, v) in chunks.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(&rows) {
            let Some(row) = row.0.get(i) else { continue };
            for (s, (x, v)) in sums.iter_mut().zip(row.iter().zip(v)) {
                *s = s.add_product::<FMA>(*x, *v);
            }
        }
    }
    for (sums, row) in sums.iter_mut().zip(&rows) {
        for (s, (x, v)) in sums.iter_mut().zip(row.1.iter().zip(rest)) {
            *s = s.add_product::<FMA>(*x, *v);
        }
    }
    sums.map(total)
}

/// Of a Hermitian matrix, of which only the lower triangle of the rows and columns from `first` on is read and written:
/// `A -= v w^H + w v^H`, then `sums = A x`. Vectors begin at `first`.
pub fn update_and_multiply_hermitian<T: Scalar>(
    a: &mut [T],
    stride: usize,
    first: usize,
    [v, w]: [&[T]; 2],
    x: &[T],
    sums: &mut [T],
) {
    sums.fill(T::ZERO);
    widest(Hermitian { a, stride, first, v, w, x, sums })
}

struct Hermitian<'a, T> {
    a: &'a mut [T],
    stride: usize,
    first: usize,
    v: &'a [T],
    w: &'a [T],
    x: &'a [T],
    sums: &'a mut [T],
}

impl<T: Scalar> Loop for Hermitian<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        if T::IS_COMPLEX { self.rows::<FMA, 4>() } else { self.rows::<FMA, 16>() }
    }
}

impl<T: Scalar> Hermitian<'_, T> {
    #[inline(always)]
    fn rows<const FMA: bool, const L: usize>(&mut self) {
        let a = std::mem::take(&mut self.a);
        for (r, row) in a.chunks_exact_mut(self.stride).skip(self.first).enumerate() {
            let Some(row) = row.get_mut(self.first..=self.first + r) else { return };
            let (Some(v), Some(w), Some(x)) = (self.v.get(r), self.w.get(r), self.x.get(r)) else { return };
            let factors = [-*v, -*w, *x];
            let Some((last, row)) = row.split_last_mut() else { return };
            let sum = self.row::<FMA, L>(row, factors);
            let two = *v * w.conj();
            *last = T::from_real(last.re() - two.re() - two.re());
            if let Some(s) = self.sums.get_mut(r) {
                *s = *s + sum + *last * *x;
            }
        }
    }

    /// A row left of the diagonal: its product with `x`; what it adds to the sums before it.
    #[inline(always)]
    fn row<const FMA: bool, const L: usize>(&mut self, row: &mut [T], [fv, fw, fx]: [T; 3]) -> T {
        let len = row.len();
        let (row, v, w, x, sums) = (
            row.as_chunks_mut::<L>(),
            self.v[..len].as_chunks::<L>(),
            self.w[..len].as_chunks::<L>(),
            self.x[..len].as_chunks::<L>(),
            self.sums[..len].as_chunks_mut::<L>(),
        );
        let mut partial = [T::ZERO; L];
        let step = |a: &mut T, v: T, w: T, x: T, sum: &mut T, partial: &mut T| {
            *a = a.add_product::<FMA>(fv, w.conj()).add_product::<FMA>(fw, v.conj());
            *partial = partial.add_product::<FMA>(*a, x);
            *sum = sum.add_product::<FMA>(a.conj(), fx);
        };
        let chunks = row.0.iter_mut().zip(v.0).zip(w.0).zip(x.0).zip(sums.0);
        for ((((a, v), w), x), s) in chunks {
            // In local arrays, which are known not to overlap.
            let (mut next, v, w, x, mut sums) = (*a, *v, *w, *x, *s);
            for i in 0..L {
                step(&mut next[i], v[i], w[i], x[i], &mut sums[i], &mut partial[i]);
            }
            (*a, *s) = (next, sums);
        }
        let rest = row.1.iter_mut().zip(v.1).zip(w.1).zip(x.1).zip(sums.1).zip(&mut partial);
        for (((((a, v), w), x), s), p) in rest {
            step(a, *v, *w, *x, s, p);
        }
        total(partial)
    }
}
