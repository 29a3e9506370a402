//! The factors multiply to the matrix, for real and complex numbers of sizes around the blocks.

use super::eigen::eigen;
use super::functions::{exponential, logarithm, square_root};
use super::least_squares::{least_squares, min_norm_least_squares};
use super::symmetric::symmetric_eigen;
use super::*;
use crate::parallel::Serial;
use num_complex::Complex;

struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }

    fn matrix<T: Scalar>(&mut self, n: usize) -> Vec<T> {
        let number = |r: &mut Self| (T::Real::from_f64(r.unit()), T::Real::from_f64(r.unit()));
        (0..n).map(|_| number(self)).map(|(re, im)| T::from_complex(T::Complex::new(re, im))).collect()
    }
}

const SIZES: &[usize] = &[0, 1, 2, 3, 7, 31, 50, 101];

#[track_caller]
fn close<T: Scalar>(a: &[T], b: &[T], what: &str) {
    let worst = a
        .iter()
        .zip(b)
        .map(|(a, b)| (*a - *b).abs().to_f64())
        .fold(0.0, |m, x| if x > m || x.is_nan() { x } else { m });
    let allowed = T::Real::EPSILON.to_f64() * 2e4;
    assert!(worst < allowed, "{what}: {worst} over {allowed}");
}

fn times<T: Scalar>(a: &[T], b: &[T], sizes: [usize; 3]) -> Vec<T> {
    let mut out = vec![T::ZERO; sizes[0] * sizes[2]];
    product(&Serial, a, b, sizes, &mut out).unwrap();
    out
}

fn adjoint_of<T: Scalar>(a: &[T], m: usize, n: usize) -> Vec<T> {
    adjoint(&Serial, a, m, n)
}

fn cholesky_is_right<T: Scalar>() {
    for &n in SIZES {
        let x: Vec<T> = Random(n as u64).matrix(n * n);
        let mut a = times(&x, &adjoint_of(&x, n, n), [n, n, n]);
        a.iter_mut().step_by(n + 1).for_each(|d| *d = *d + T::ONE);
        let mut l = a.clone();
        assert!(super::cholesky(&Serial, &mut l, n).unwrap());
        close(&times(&l, &adjoint_of(&l, n, n), [n, n, n]), &a, "L L^H");
        a.iter_mut().take(1).for_each(|d| *d = -T::ONE);
        assert_eq!(super::cholesky(&Serial, &mut a, n), Ok(n == 0));
    }
}

fn lu_is_right<T: Scalar>() {
    for &n in SIZES {
        let a: Vec<T> = Random(n as u64 + 9).matrix(n * n);
        let lu = Lu::new(&Serial, &a, n).unwrap();
        let x: Vec<T> = Random(3).matrix(n * 2);
        for adjoint in [false, true] {
            let used = if adjoint { adjoint_of(&a, n, n) } else { a.clone() };
            let mut got = times(&used, &x, [n, n, 2]);
            lu.solve(&Serial, adjoint, &mut got, 2).unwrap();
            let far: f64 = got.iter().zip(&x).map(|(a, b)| (*a - *b).abs().to_f64()).fold(0.0, f64::max);
            assert!(far < T::Real::EPSILON.to_f64() * 1e6, "{n}: {far}");
        }
        let (sign, log) = lu.log_determinant();
        if n < 10 {
            close(&[lu.determinant()], &[sign.scale(log.exp())], "determinant");
        }
    }
}

fn qr_is_right<T: Scalar>() {
    for &n in SIZES {
        for m in [n, n + 5, n.saturating_sub(2), 2 * n] {
            let a: Vec<T> = Random((m * 7 + n) as u64).matrix(m * n);
            let qr = Qr::new(&Serial, &a, m, n).unwrap();
            for k in [m.min(n), m] {
                let (mut q, mut r) = (vec![T::ZERO; m * k], vec![T::ZERO; k * n]);
                qr.q(&Serial, k, &mut q).unwrap();
                qr.r(&mut r);
                close(&times(&q, &r, [m, k, n]), &a, "Q R");
                close(&times(&adjoint_of(&q, m, k), &q, [k, m, k]), &identity::<T>(k), "Q^H Q");
            }
        }
    }
}

fn svd_is_right<T: Scalar>() {
    for &n in SIZES {
        for m in [n, n + 3, n / 2] {
            let mut a: Vec<T> = Random((m * 5 + n) as u64).matrix(m * n);
            // A low rank: the last column is that before.
            if n > 2 {
                (0..m).for_each(|i| a[i * n + n - 1] = a[i * n + n - 2]);
            }
            for vectors in [Vectors::Thin, Vectors::Full] {
                let full = vectors == Vectors::Full;
                let k = m.min(n);
                let Svd { values, u, v } = svd(&Serial, &a, m, n, vectors).unwrap().unwrap();
                let (p, q) = if full { (m, n) } else { (k, k) };
                assert!(values.windows(2).all(|w| w[0] >= w[1]));
                close(&times(&adjoint_of(&u, m, p), &u, [p, m, p]), &identity::<T>(p), "U^H U");
                close(&times(&adjoint_of(&v, n, q), &v, [q, n, q]), &identity::<T>(q), "V^H V");
                let mut us = vec![T::ZERO; m * q];
                for i in 0..m {
                    (0..k).for_each(|j| us[i * q + j] = u[i * p + j].scale(values[j]));
                }
                close(&times(&us, &adjoint_of(&v, n, q), [m, q, n]), &a, "U S V^H");
            }
        }
    }
}

fn symmetric_is_right<T: Scalar>() {
    for &n in SIZES {
        let x: Vec<T> = Random(n as u64 + 77).matrix(n * n);
        let a: Vec<T> = x.iter().zip(adjoint_of(&x, n, n)).map(|(a, b)| *a + b).collect();
        let (mut e, mut v) = (vec![T::Real::ZERO; n], vec![T::ZERO; n * n]);
        assert!(symmetric_eigen(&Serial, &a, n, &mut e, Some(&mut v)).unwrap());
        assert!(e.windows(2).all(|w| w[0] <= w[1]));
        let scaled: Vec<T> = v.iter().enumerate().map(|(i, v)| v.scale(e[i % n])).collect();
        close(&times(&scaled, &adjoint_of(&v, n, n), [n, n, n]), &a, "V E V^H");
        let mut alone = vec![T::Real::ZERO; n];
        assert!(symmetric_eigen::<T>(&Serial, &a, n, &mut alone, None).unwrap());
        close(&alone, &e, "values");
    }
}

fn eigen_is_right<T: Scalar>() {
    for &n in SIZES {
        let a: Vec<T> = Random(n as u64 + 5).matrix(n * n);
        let zero = T::Complex::ZERO;
        let (mut e, mut v) = (vec![zero; n], vec![zero; n * n]);
        assert!(eigen(&Serial, &a, n, &mut e, Some(&mut v)).unwrap(), "{n}");
        let scaled: Vec<T::Complex> = v.iter().enumerate().map(|(i, v)| *v * e[i % n]).collect();
        let wide: Vec<T::Complex> = a.iter().map(|x| x.to_complex()).collect();
        close(&times(&wide, &v, [n, n, n]), &scaled, "A V = V E");
    }
}

fn functions_are_right<T: Scalar>() {
    for &n in &[0, 1, 2, 3, 7, 20] {
        let x: Vec<T> = Random(n as u64 + 5).matrix(n * n);
        let mut a: Vec<T> =
            x.iter().map(|x| x.scale(T::Real::from_f64(0.5 / (n as f64).sqrt().max(1.0)))).collect();
        a.iter_mut().step_by(n + 1).for_each(|d| *d = *d + T::from_real(T::Real::from_f64(2.0)));
        let mut root = vec![T::ZERO; n * n];
        square_root(&Serial, &a, n, &mut root).unwrap();
        close(&times(&root, &root, [n, n, n]), &a, "square of the root");
        let wide: Vec<T::Complex> = a.iter().map(|x| x.to_complex()).collect();
        let (mut log, mut again) = (vec![T::Complex::ZERO; n * n], vec![T::Complex::ZERO; n * n]);
        logarithm(&Serial, &wide, n, &mut log).unwrap();
        assert!(exponential(&Serial, &log, n, &mut again).unwrap());
        close(&again, &wide, "exponential of the logarithm");
    }
}

fn systems_are_right<T: Scalar>() {
    for &n in &[1usize, 2, 3, 7, 31] {
        let mut r = Random(n as u64);
        let [above, mut main, below]: [Vec<T>; 3] = std::array::from_fn(|_| r.matrix(n));
        main.iter_mut().for_each(|d| *d = *d + T::from_real(T::Real::from_f64(3.0)));
        let a = Tridiagonal { above: &above, main: &main, below: &below };
        let x: Vec<T> = r.matrix(n * 2);
        let mut b = vec![T::ZERO; n * 2];
        tridiagonal_product(a, &x, 2, &mut b);
        let (mut plain, mut pivoted) = (b.clone(), b);
        assert!(a.solve(&mut plain, 2) && a.solve_pivoting(&mut pivoted, 2, false));
        close(&plain, &x, "tridiagonal");
        close(&pivoted, &x, "tridiagonal with pivots");
        let (m, k) = (n + 3, 2);
        let tall: Vec<T> = r.matrix(m * n);
        let b = times(&tall, &x, [m, n, k]);
        let (mut fast, mut slow) = (vec![T::ZERO; n * k], vec![T::ZERO; n * k]);
        if n < 10 {
            assert!(least_squares(&Serial, &tall, [m, n], &b, k, T::Real::ZERO, &mut fast).unwrap());
            assert!(min_norm_least_squares(&Serial, &tall, [m, n], &b, k, &mut slow).unwrap());
            close(&slow, &x, "least squares by singular values");
        }
    }
}

macro_rules! for_all_numbers {
    ($($name:ident: $check:ident;)*) => {$(
        #[test]
        fn $name() {
            $check::<f32>();
            $check::<f64>();
            $check::<Complex<f32>>();
            $check::<Complex<f64>>();
        }
    )*};
}

for_all_numbers! {
    cholesky_factors_multiply_to_the_matrix: cholesky_is_right;
    lu_solves: lu_is_right;
    qr_factors_multiply_to_the_matrix: qr_is_right;
    singular_vectors_multiply_to_the_matrix: svd_is_right;
    eigenvectors_of_hermitian_matrices: symmetric_is_right;
    eigenvectors_of_general_matrices: eigen_is_right;
    functions_invert_each_other: functions_are_right;
    special_systems: systems_are_right;
}

#[test]
fn nan_ends_every_iteration() {
    for bad in [f64::NAN, f64::INFINITY] {
        let a = vec![bad; 49];
        let mut e = vec![0.0; 7];
        assert!(svd(&Serial, &a, 7, 7, Vectors::Full).unwrap().is_none());
        assert!(!symmetric_eigen(&Serial, &a, 7, &mut e, None).unwrap());
        assert!(!eigen(&Serial, &a, 7, &mut [Complex::ZERO; 7], None).unwrap());
        let mut out = vec![0.0; 49];
        square_root(&Serial, &a, 7, &mut out).unwrap();
        assert!(out.iter().all(|x| x.is_nan()));
        assert!(!Lu::new(&Serial, &[f64::NAN; 49], 7).unwrap().is_invertible());
    }
}

#[test]
fn a_real_matrix_with_a_negative_eigenvalue_has_no_real_root() {
    let mut out = [0f64; 4];
    square_root(&Serial, &[-4.0, -1.0, -1.0, -3.0], 2, &mut out).unwrap();
    assert!(out.iter().all(|x| x.is_nan()));
}

#[test]
fn matrices_of_low_rank_have_singular_vectors_too() {
    for (n, rank) in [(40, 3), (33, 0), (64, 63), (50, 25)] {
        let mut r = Random(n as u64);
        let (left, right): (Vec<f64>, Vec<f64>) = (r.matrix(n * rank), r.matrix(rank * n));
        let mut a = times(&left, &right, [n, rank, n]);
        // Zeros on the diagonal of the bidiagonal form too: rows and columns that are zero.
        (0..n).for_each(|i| (a[7 * n + i], a[i * n + 5], a[i * n + n - 1]) = (0.0, 0.0, 0.0));
        let Svd { values, u, v } = svd(&Serial, &a, n, n, Vectors::Thin).unwrap().unwrap();
        assert!(values[rank..].iter().all(|s| *s < 1e-12), "{values:?}");
        close(&times(&adjoint_of(&u, n, n), &u, [n, n, n]), &identity::<f64>(n), "U^T U");
        close(&times(&adjoint_of(&v, n, n), &v, [n, n, n]), &identity::<f64>(n), "V^T V");
        let us: Vec<f64> = u.iter().enumerate().map(|(i, u)| u * values[i % n]).collect();
        close(&times(&us, &adjoint_of(&v, n, n), [n, n, n]), &a, "U S V^T");
        let alone = svd(&Serial, &a, n, n, Vectors::None).unwrap().unwrap();
        close(&alone.values, &values, "values alone");
        assert!(alone.u.is_empty() && alone.v.is_empty());
    }
}

#[test]
fn a_slice_of_another_size_is_an_error() {
    assert!(product(&Serial, &[1.0; 5], &[1.0; 6], [2, 3, 2], &mut [0.0; 4]).is_err());
}
