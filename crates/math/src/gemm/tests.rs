//! Products against the definition, computed in `f64`.

use std::sync::Arc;

use half::{bf16, f16};
use num_complex::Complex;

use super::micro_kernel::HasKernels;
use super::*;
use crate::parallel::Serial;
use crate::pool::Pool;

/// Pseudo-random numbers of a fixed seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    fn unit(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 30) as f64 - 1.0
    }
}

/// An element type of a test: made from an `f64`, and compared as one.
trait Sample: GemmElement + PartialEq + std::fmt::Debug {
    fn from_unit(x: f64) -> Self;
    fn value(self) -> f64;
    /// How far a sum of `k` products may be off.
    fn tolerance(k: usize) -> f64;
}

macro_rules! samples {
    ($($elem:ty: $from:expr, $value:expr, $tolerance:expr;)*) => {$(
        impl Sample for $elem {
            fn from_unit(x: f64) -> Self {
                $from(x)
            }
            fn value(self) -> f64 {
                $value(self)
            }
            fn tolerance(k: usize) -> f64 {
                $tolerance * (k as f64 + 2.0)
            }
        }
    )*};
}

samples! {
    f32: |x| x as f32, f64::from, 1e-7;
    f64: |x| x, f64::from, 1e-15;
    f16: f16::from_f64, f16::to_f64, 1e-3;
    bf16: bf16::from_f64, bf16::to_f64, 8e-3;
    i8: |x| (x * 3.0) as i8, f64::from, 0.0;
    i16: |x| (x * 9.0) as i16, f64::from, 0.0;
    i32: |x| (x * 99.0) as i32, f64::from, 0.0;
    i64: |x| (x * 99.0) as i64, |x| x as f64, 0.0;
    u8: |x: f64| (x.abs() * 2.0) as u8, f64::from, 0.0;
    u16: |x: f64| (x.abs() * 9.0) as u16, f64::from, 0.0;
    u32: |x: f64| (x.abs() * 99.0) as u32, f64::from, 0.0;
    u64: |x: f64| (x.abs() * 99.0) as u64, |x| x as f64, 0.0;
}

/// Random nested strides, with every set of kernels, against the definition.
#[test]
fn products_of_im2col_views() {
    fn check<T: Sample + HasKernels>() {
        let mut numbers = Numbers(7);
        let pool = Pool::new(3).unwrap();
        for round in 0..150 {
            let mut axis = |most: usize| {
                let (count, length) = (1 + numbers.below(most), 1 + numbers.below(most));
                NestedAxis { count, length, stride: 1 + numbers.below(3), run_stride: numbers.below(50) }
            };
            let (rows, cols) =
                (axis(if round % 5 == 0 { 30 } else { 9 }), axis(if round % 7 == 0 { 30 } else { 6 }));
            let n = 1 + numbers.below(70);
            let a: Vec<T> = data(&mut numbers, 30 * 50 * 2 + 30 * 3 * 2);
            let a = Im2colRef::new(&a, rows, cols).unwrap();
            let b: Vec<T> = data(&mut numbers, a.cols() * n);
            let b = MatRef::row_major(&b, a.cols(), n).unwrap();
            let before: Vec<T> = data(&mut numbers, a.rows() * n);
            let epilogue = Epilogue { accumulate: round % 2 == 0, ..Epilogue::default() };
            for kernels in T::sets() {
                let mut c = before.clone();
                let view = MatMut::row_major(&mut c, a.rows(), n).unwrap();
                float::product_with(kernels, &*pool, a.into(), b, view, epilogue);
                for (at, (got, before)) in c.iter().zip(&before).enumerate() {
                    let (i, j) = (at / n, at % n);
                    let sum: f64 = (0..a.cols()).map(|p| a.get(i, p).value() * b.get(p, j).value()).sum();
                    let want = if epilogue.accumulate { sum + before.value() } else { sum };
                    let off = (got.value() - want).abs();
                    assert!(off <= T::tolerance(a.cols()), "{rows:?} by {cols:?} by {n}: {off} at {i} {j}");
                }
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn im2col_views_out_of_bounds_are_refused() {
    let axis = |count, length, stride, run_stride| NestedAxis { count, length, stride, run_stride };
    let fits = |rows, cols| Im2colRef::new(&[0f32; 21], rows, cols).is_ok();
    assert!(fits(axis(3, 2, 1, 6), axis(2, 2, 1, 6)));
    assert!(!fits(axis(3, 2, 1, 6), axis(2, 3, 1, 6)));
    assert!(!fits(axis(0, 2, 1, 6), axis(1, 1, 1, 1)));
    assert!(!fits(axis(2, 2, usize::MAX, 6), axis(1, 1, 1, 1)));
    assert!(!fits(axis(usize::MAX, 3, 0, 0), axis(1, 1, 1, 1)));
}

fn data<T: Sample>(numbers: &mut Numbers, len: usize) -> Vec<T> {
    (0..len).map(|_| T::from_unit(numbers.unit())).collect()
}

/// A matrix in one of four layouts: by rows, by columns, with gaps, and with gaps everywhere.
fn view<T>(data: &[T], rows: usize, cols: usize, layout: usize) -> MatRef<'_, T> {
    let (row_stride, col_stride) = [(cols, 1), (1, rows), (cols + 3, 1), (2 * cols, 2)][layout];
    MatRef::new(data, rows, cols, row_stride, col_stride).unwrap()
}

fn room(rows: usize, cols: usize) -> usize {
    2 * (rows + 1) * (cols + 3)
}

struct Case<T> {
    m: usize,
    k: usize,
    n: usize,
    layouts: (usize, usize),
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
    c_stride: usize,
    bias: Option<Vec<T>>,
    accumulate: bool,
    relu: bool,
}

impl<T: Sample> Case<T> {
    fn new(numbers: &mut Numbers, [m, k, n]: [usize; 3]) -> Self {
        let c_stride = n + 5 * numbers.below(2);
        Case {
            m,
            k,
            n,
            layouts: (numbers.below(4), numbers.below(4)),
            a: data(numbers, room(m, k)),
            b: data(numbers, room(k, n)),
            c: data(numbers, m * c_stride),
            c_stride,
            bias: (numbers.below(3) == 0).then(|| data(numbers, n)),
            accumulate: numbers.below(3) == 0,
            relu: numbers.below(3) == 0,
        }
    }

    fn a(&self) -> MatRef<'_, T> {
        view(&self.a, self.m, self.k, self.layouts.0)
    }

    fn b(&self) -> MatRef<'_, T> {
        view(&self.b, self.k, self.n, self.layouts.1)
    }

    fn epilogue(&self) -> Epilogue<'_, T> {
        Epilogue { accumulate: self.accumulate, bias: self.bias.as_deref(), relu: self.relu }
    }

    fn run(&self, par: &dyn Parallel) -> Vec<T> {
        let mut c = self.c.clone();
        let view = MatMut::new(&mut c, self.m, self.n, self.c_stride).unwrap();
        gemm(par, self.a(), self.b(), view, self.epilogue()).unwrap();
        c
    }

    fn expected(&self, i: usize, j: usize) -> f64 {
        let mut sum: f64 = (0..self.k).map(|p| self.a().get(i, p).value() * self.b().get(p, j).value()).sum();
        if self.accumulate {
            sum += self.c[i * self.c_stride + j].value();
        }
        if let Some(bias) = &self.bias {
            sum += bias[j].value();
        }
        if self.relu { sum.max(0.0) } else { sum }
    }

    fn check(&self, c: &[T]) {
        for (at, (&c, &before)) in c.iter().zip(&self.c).enumerate() {
            let (i, j) = (at / self.c_stride, at % self.c_stride);
            if j >= self.n {
                assert_eq!(c, before, "a gap was written in {}", self.name());
                continue;
            }
            let expected = self.expected(i, j);
            let error = (c.value() - expected).abs();
            let allowed = T::tolerance(self.k) * (1.0 + expected.abs());
            assert!(error <= allowed, "({i}, {j}): {c:?}, not {expected}, in {}", self.name());
        }
    }

    fn name(&self) -> String {
        let Case { m, k, n, layouts, accumulate, relu, .. } = self;
        let bias = self.bias.is_some();
        format!("{m}x{k}x{n} layouts {layouts:?} accumulate {accumulate} bias {bias} relu {relu}")
    }
}

fn sizes(numbers: &mut Numbers, count: usize) -> Vec<[usize; 3]> {
    let few = [0, 1, 2, 3, 4, 7, 13, 14, 15, 16, 17, 31, 32, 33, 48, 64, 65];
    let mut sizes: Vec<[usize; 3]> =
        (0..count).map(|_| std::array::from_fn(|_| few[numbers.below(few.len())])).collect();
    sizes.extend([[1, 300, 200], [200, 300, 1], [1, 1000, 1], [2, 77, 300], [5, 40, 333], [70, 600, 40]]);
    // A packed, with partial micro-panels and panels.
    sizes.extend([[30, 40, 900], [31, 520, 930]]);
    sizes
}

fn products_are_right<T: Sample>(count: usize) {
    let mut numbers = Numbers(7);
    for size in sizes(&mut numbers, count) {
        let case = Case::<T>::new(&mut numbers, size);
        case.check(&case.run(&Serial));
    }
}

#[test]
fn products_of_floats_are_right() {
    products_are_right::<f32>(1500);
    products_are_right::<f64>(1500);
}

#[test]
fn products_of_halves_are_right() {
    products_are_right::<f16>(100);
    products_are_right::<bf16>(100);
}

#[test]
fn products_of_integers_are_right() {
    // The narrow ones are kept from overflowing by small sums.
    products_are_right::<i32>(200);
    products_are_right::<i64>(50);
    products_are_right::<u32>(50);
    products_are_right::<u64>(50);
    products_are_right::<i16>(50);
    products_are_right::<u16>(50);
    for size in [[3, 5, 4], [17, 9, 33], [1, 12, 6], [6, 12, 1]] {
        let mut numbers = Numbers(3);
        let (signed, unsigned) = (Case::<i8>::new(&mut numbers, size), Case::<u8>::new(&mut numbers, size));
        signed.check(&signed.run(&Serial));
        unsigned.check(&unsigned.run(&Serial));
    }
}

#[test]
fn large_products_are_right() {
    let mut numbers = Numbers(11);
    for size in
        [[50, 1100, 530], [400, 513, 40], [14, 513, 1030], [530, 64, 70], [300, 450, 990], [3, 900, 600]]
    {
        for _ in 0..3 {
            let case = Case::<f32>::new(&mut numbers, size);
            case.check(&case.run(&Serial));
        }
    }
}

#[test]
fn every_set_of_kernels_is_right() {
    fn check<T: Sample + HasKernels>() {
        let mut numbers = Numbers(5);
        for size in sizes(&mut numbers, 300) {
            let case = Case::<T>::new(&mut numbers, size);
            if case.m == 0 || case.n == 0 {
                continue;
            }
            for kernels in T::sets() {
                let mut c = case.c.clone();
                let view = MatMut::new(&mut c, case.m, case.n, case.c_stride).unwrap();
                float::product_with(kernels, &Serial, case.a().into(), case.b(), view, case.epilogue());
                case.check(&c);
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn integers_wrap() {
    let a = [i32::MAX, 2, u32::MAX as i32, 3];
    let mut c = [0; 4];
    let view = MatRef::row_major(&a, 2, 2).unwrap();
    gemm(&Serial, view, view, MatMut::row_major(&mut c, 2, 2).unwrap(), Epilogue::default()).unwrap();
    assert_eq!(c, [-1, 4, (-(i32::MAX as i64) - 3) as i32, 7]);
}

#[test]
fn complex_products_are_right() {
    let mut numbers = Numbers(9);
    let (m, k, n) = (7, 9, 11);
    let mut fill = |len| (0..len).map(|_| Complex::new(numbers.unit(), numbers.unit())).collect::<Vec<_>>();
    let (a, b, mut c) = (fill(m * k), fill(k * n), fill(m * n));
    let (a, b) = (MatRef::row_major(&a, m, k).unwrap(), MatRef::new(&b, k, n, 1, k).unwrap());
    gemm(&Serial, a, b, MatMut::row_major(&mut c, m, n).unwrap(), Epilogue::default()).unwrap();
    for (at, c) in c.iter().enumerate() {
        let expected: Complex<f64> = (0..k).map(|p| a.get(at / n, p) * b.get(p, at % n)).sum();
        assert!((c - expected).norm() < 1e-12);
    }
    let relu = Epilogue { relu: true, ..Epilogue::default() };
    assert!(gemm(&Serial, a, b, MatMut::row_major(&mut c, m, n).unwrap(), relu).is_err());
}

fn pools() -> [Arc<Pool>; 3] {
    [2, 3, 7].map(|threads| Pool::new(threads).unwrap())
}

#[test]
fn thread_counts_do_not_change_a_bit() {
    fn check<T: Sample>(sizes: &[[usize; 3]]) {
        let (pools, mut numbers) = (pools(), Numbers(13));
        for &size in sizes {
            let case = Case::<T>::new(&mut numbers, size);
            let alone = case.run(&Serial);
            for pool in &pools {
                assert!(case.run(&**pool) == alone, "{} threads, {}", pool.threads(), case.name());
            }
        }
    }
    let sizes = [
        [64, 64, 64],
        [96, 100, 70],
        [300, 40, 33],
        [33, 1000, 300],
        [1, 700, 900],
        [900, 700, 1],
        [1, 5000, 1],
        [2, 300, 2000],
        [128, 784, 512],
        [20, 400, 800],
        [257, 1030, 130],
        [5, 999, 1001],
        [40, 600, 2],
    ];
    check::<f32>(&sizes);
    check::<f32>(&sizes);
    check::<f64>(&sizes);
    check::<f16>(&sizes[..4]);
    check::<i32>(&sizes[..6]);
}

#[test]
fn nan_and_infinity_come_through() {
    for (m, k, n) in [(1, 40, 1), (1, 40, 50), (50, 40, 1), (40, 40, 40), (17, 70, 35)] {
        for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for transpose in [false, true] {
                let (mut a, b) = (vec![1.0f32; m * k], vec![1.0f32; k * n]);
                a[(m - 1) * k + k / 2] = special;
                let b = if transpose { MatRef::new(&b, k, n, 1, k) } else { MatRef::row_major(&b, k, n) }
                    .unwrap();
                let mut c = vec![0.0; m * n];
                let view = MatMut::row_major(&mut c, m, n).unwrap();
                gemm(&Serial, MatRef::row_major(&a, m, k).unwrap(), b, view, Epilogue::default()).unwrap();
                for (at, &x) in c.iter().enumerate() {
                    let expected = if at / n == m - 1 { special } else { k as f32 };
                    assert!(x == expected || x.is_nan() && expected.is_nan(), "{x}, not {expected}");
                }
            }
        }
    }
}

#[test]
fn zero_times_infinity_is_nan() {
    let (a, b) = ([0.0f32; 20], [f32::INFINITY; 20]);
    let mut c = [0.0; 16];
    let (a, b) = (MatRef::row_major(&a, 4, 5).unwrap(), MatRef::row_major(&b, 5, 4).unwrap());
    gemm(&Serial, a, b, MatMut::row_major(&mut c, 4, 4).unwrap(), Epilogue::default()).unwrap();
    assert!(c.iter().all(|x| x.is_nan()));
}

#[test]
fn relu_keeps_nan() {
    for n in [1, 3, 20] {
        let (a, b) = (vec![f32::NAN; 5 * 5], vec![1.0; 5 * n]);
        let mut c = vec![0.0; 5 * n];
        let (a, b) = (MatRef::row_major(&a, 5, 5).unwrap(), MatRef::row_major(&b, 5, n).unwrap());
        let relu = Epilogue { relu: true, ..Epilogue::default() };
        gemm(&Serial, a, b, MatMut::row_major(&mut c, 5, n).unwrap(), relu).unwrap();
        assert!(c.iter().all(|x| x.is_nan()));
    }
}

#[test]
fn sizes_that_do_not_fit_are_errors() {
    let (x, mut y) = ([0.0f32; 64], [0.0f32; 64]);
    let of = |rows, cols| MatRef::row_major(&x, rows, cols).unwrap();
    let mut run = |a, b, (rows, cols), epilogue| {
        gemm(&Serial, a, b, MatMut::row_major(&mut y, rows, cols).unwrap(), epilogue)
    };
    let plain = Epilogue::default();
    assert!(run(of(2, 3), of(3, 4), (2, 4), plain).is_ok());
    assert!(run(of(2, 3), of(4, 4), (2, 4), plain).is_err());
    assert!(run(of(2, 3), of(3, 4), (3, 4), plain).is_err());
    assert!(run(of(2, 3), of(3, 4), (2, 3), plain).is_err());
    assert!(run(of(2, 3), of(3, 4), (2, 4), Epilogue { bias: Some(&x[..3]), ..plain }).is_err());
    let wild = MatRef::new(&x[..0], 2, 0, usize::MAX, usize::MAX).unwrap();
    assert!(run(wild, MatRef::new(&x[..0], 0, 4, usize::MAX, 9).unwrap(), (2, 4), plain).is_ok());
}

#[test]
fn batches_are_products_one_by_one() {
    let (pools, mut numbers) = (pools(), Numbers(17));
    for (count, m, k, n) in
        [(0, 2, 2, 2), (1, 70, 80, 90), (3, 100, 50, 60), (50, 8, 8, 8), (9, 5, 0, 3), (4, 0, 2, 2)]
    {
        let (a, b): (Vec<f32>, Vec<f32>) = (data(&mut numbers, count * m * k), data(&mut numbers, k * n));
        let views: Vec<_> = (0..count).map(|i| MatRef::row_major(&a[i * m * k..], m, k).unwrap()).collect();
        let shared = vec![MatRef::row_major(&b, k, n).unwrap(); count];
        let mut expected = vec![1.0; count * m * n];
        for (i, &view) in views.iter().enumerate() {
            let c = MatMut::row_major(&mut expected[i * m * n..], m, n).unwrap();
            gemm(&Serial, view, shared[0], c, Epilogue::default()).unwrap();
        }
        for pool in &pools {
            let mut c = vec![1.0; count * m * n];
            batch_gemm(&**pool, &views, &shared, &mut c, Epilogue::default()).unwrap();
            assert_eq!(c, expected);
        }
    }
}

#[test]
fn batches_that_do_not_fit_are_errors() {
    let x = [0.0f32; 16];
    let (square, wide) = (MatRef::row_major(&x, 2, 2).unwrap(), MatRef::row_major(&x, 2, 3).unwrap());
    let run = |a: &[_], b: &[_], len| batch_gemm(&Serial, a, b, &mut vec![0.0; len], Epilogue::default());
    assert!(run(&[square, square], &[square, square], 8).is_ok());
    assert!(run(&[square, square], &[square], 8).is_err());
    assert!(run(&[square, square], &[square, wide], 8).is_err());
    assert!(run(&[square, square], &[square, square], 7).is_err());
    assert!(run(&[], &[], 1).is_err());
}

/// Callers that accumulate rely on a single rounding of C.
#[test]
fn a_single_k_block_adds_to_c_once() {
    assert!(is_single_k_block(0) && is_single_k_block(512) && !is_single_k_block(513));
    let k = 512;
    let (a, b) = (vec![1.0f32; k], vec![1.0f32; 2 * k]);
    let (a, b) = (MatRef::row_major(&a, 1, k).unwrap(), MatRef::row_major(&b, k, 2).unwrap());
    // Above 2^24, adding ones singly would be lost.
    let mut c = [16_777_216.0f32; 2];
    let add = Epilogue { accumulate: true, ..Epilogue::default() };
    gemm(&Serial, a, b, MatMut::row_major(&mut c, 1, 2).unwrap(), add).unwrap();
    assert_eq!(c, [16_777_216.0 + 512.0; 2]);
}
