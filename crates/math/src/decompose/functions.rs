//! Functions of square matrices: square root, logarithm, exponential.

use super::schur::{Schur, schur};
use super::{ComplexScalar, Lu, Outcome, RealScalar, Scalar, axpy, largest, product, transposed};
use crate::parallel::Parallel;
use crate::scratch;

/// The principal square root. NaN where there is none: of a real matrix, one that is real.
pub fn square_root<T: Scalar>(par: &dyn Parallel, a: &[T], n: usize, out: &mut [T]) -> Outcome<()> {
    let nan = T::from_real(T::Real::NAN);
    let Some(Schur { mut t, columns }) = schur(par, a, n, true)? else {
        out.fill(nan);
        return Ok(());
    };
    triangular_root(&mut t, n);
    let root = from_schur(par, &t, &columns, n)?;
    // Rounding leaves imaginary parts far smaller than this; a negative eigenvalue, ones as large as its root.
    let most = largest(&root) * T::Real::EPSILON.sqrt();
    let is_real = root.iter().all(|z| z.im().abs() <= most);
    if !T::IS_COMPLEX && !is_real {
        out.fill(nan);
        return Ok(());
    }
    out.iter_mut().zip(root).for_each(|(x, z)| *x = T::from_complex(z));
    Ok(())
}

/// `U T U^H`, from the columns of U as rows.
fn from_schur<C: ComplexScalar>(par: &dyn Parallel, t: &[C], columns: &[C], n: usize) -> Outcome<Vec<C>> {
    let mut left = scratch::filled(n * n, C::ZERO);
    product(par, &transposed(par, columns, n, n), t, [n, n, n], &mut left)?;
    let mut right = scratch::collect(columns.iter().copied());
    super::conjugate(&mut right);
    let mut out = scratch::filled(n * n, C::ZERO);
    product(par, &left, &right, [n, n, n], &mut out)?;
    Ok(out)
}

/// Of an upper triangular matrix, in place (Bjorck and Hammarling), row by row from below.
fn triangular_root<C: ComplexScalar>(t: &mut [C], n: usize) {
    for i in (0..n).rev() {
        let (head, below) = t.split_at_mut((i + 1) * n);
        let row = &mut head[i * n..];
        row[i] = row[i].sqrt();
        for (k, other) in (i + 1..n).zip(below.chunks_exact(n)) {
            row[k] = row[k] / (row[i] + other[k]);
            axpy(-row[k], &other[k + 1..], &mut row[k + 1..]);
        }
    }
}

/// Nodes and weights of Gauss and Legendre's rule of seven points, on [0, 1]. The rule for the integral of `X (I + s X)^-1` is
/// the diagonal Pade approximant of the logarithm.
const NODES: [(f64, f64); 7] = [
    (0.025446043828620738, 0.064742483084434847),
    (0.12923440720030278, 0.13985269574463833),
    (0.2970774243113014, 0.19091502525255948),
    (0.5, 0.20897959183673469),
    (0.70292257568869859, 0.19091502525255948),
    (0.87076559279969722, 0.13985269574463833),
    (0.97455395617137926, 0.064742483084434847),
];

/// How near to the identity that approximant is good to double precision.
const NEAR: f64 = 0.25;
/// Square roots that may be taken to get there.
const MOST_ROOTS: usize = 100;

/// The principal logarithm, of a real matrix its real part: square roots until the matrix is near to the identity, then an approximant.
pub fn logarithm<T: Scalar>(par: &dyn Parallel, a: &[T], n: usize, out: &mut [T]) -> Outcome<()> {
    let Some(Schur { mut t, columns }) = schur(par, a, n, true)? else {
        out.fill(T::from_real(T::Real::NAN));
        return Ok(());
    };
    let logs = scratch::collect((0..n).map(|i| t[i * n + i].ln()));
    let mut roots = 0;
    while from_identity(&t, n) > NEAR && roots < MOST_ROOTS {
        triangular_root(&mut t, n);
        roots += 1;
    }
    let mut log = triangular_logarithm(&t, n);
    let doubled = T::Real::from_f64(2f64.powi(roots as i32));
    log.iter_mut().for_each(|x| *x = x.scale(doubled));
    for (i, value) in logs.into_iter().enumerate() {
        log[i * n + i] = value;
    }
    let log = from_schur(par, &log, &columns, n)?;
    out.iter_mut().zip(log).for_each(|(x, z)| *x = T::from_complex(z));
    Ok(())
}

/// The largest sum of a row of `|T - I|`.
fn from_identity<C: ComplexScalar>(t: &[C], n: usize) -> f64 {
    let row = |(i, row): (usize, &[C])| {
        let one = |j| if i == j { C::ONE } else { C::ZERO };
        row.iter().enumerate().map(|(j, x)| (*x - one(j)).abs().to_f64()).sum::<f64>()
    };
    t.chunks_exact(n.max(1)).enumerate().map(row).fold(0.0, |most, x| if x <= most { most } else { x })
}

/// Of an upper triangular matrix near to the identity.
fn triangular_logarithm<C: ComplexScalar>(t: &[C], n: usize) -> Vec<C> {
    let mut x = scratch::collect(t.iter().copied());
    x.iter_mut().step_by(n + 1).for_each(|d| *d = *d - C::ONE);
    let mut log = scratch::filled(n * n, C::ZERO);
    let mut y = scratch::filled(n * n, C::ZERO);
    for (node, weight) in NODES {
        let (node, weight) = (C::Real::from_f64(node), C::from_real(C::Real::from_f64(weight)));
        // Solves (I + node X) Y = X, row by row from below.
        for i in (0..n).rev() {
            let (head, below) = y.split_at_mut((i + 1) * n);
            let (row, x) = (&mut head[i * n..], &x[i * n..(i + 1) * n]);
            row.copy_from_slice(x);
            for (k, other) in (i + 1..n).zip(below.chunks_exact(n)) {
                axpy(-x[k].scale(node), &other[k..], &mut row[k..]);
            }
            let pivot = C::ONE + x[i].scale(node);
            row[i..].iter_mut().for_each(|y| *y = *y / pivot);
            axpy(weight, &row[i..], &mut log[i * n + i..(i + 1) * n]);
        }
    }
    log
}

/// Coefficients of the diagonal Pade approximant of the exponential of degree 13 (Higham), and the norm it is good for.
const PADE: [f64; 14] = [
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
];
const PADE_NORM: f64 = 5.371920351148152;

/// The exponential, by scaling and squaring. False if a matrix on the way is singular.
pub fn exponential<T: Scalar>(par: &dyn Parallel, a: &[T], n: usize, out: &mut [T]) -> Outcome<bool> {
    let norm = a
        .chunks_exact(n.max(1))
        .map(|row| row.iter().map(|x| x.abs().to_f64()).sum::<f64>())
        .fold(0.0, f64::max);
    let squarings = if norm.is_finite() { (norm / PADE_NORM).log2().ceil().max(0.0) as i32 } else { 0 };
    let scale = T::Real::from_f64(0.5f64.powi(squarings));
    let x = scratch::collect(a.iter().map(|x| x.scale(scale)));
    let times = |a: &[T], b: &[T]| {
        let mut c = scratch::filled(n * n, T::ZERO);
        product(par, a, b, [n, n, n], &mut c)?;
        Ok(c)
    };
    let x2 = times(&x, &x)?;
    let x4 = times(&x2, &x2)?;
    let x6 = times(&x4, &x2)?;
    let sum = |terms: [(f64, &[T]); 3], constant: f64| {
        let mut sum = scratch::filled(n * n, T::ZERO);
        for (factor, term) in terms {
            axpy(T::from_real(T::Real::from_f64(factor)), term, &mut sum);
        }
        let constant = T::from_real(T::Real::from_f64(constant));
        sum.iter_mut().step_by(n + 1).for_each(|d| *d = *d + constant);
        sum
    };
    let add = |mut a: Vec<T>, b: &[T]| {
        axpy(T::ONE, b, &mut a);
        a
    };
    let p = &PADE;
    let high = times(&x6, &sum([(p[13], &x6), (p[11], &x4), (p[9], &x2)], 0.0))?;
    let odd = times(&x, &add(high, &sum([(p[7], &x6), (p[5], &x4), (p[3], &x2)], p[1])))?;
    let high = times(&x6, &sum([(p[12], &x6), (p[10], &x4), (p[8], &x2)], 0.0))?;
    let even = add(high, &sum([(p[6], &x6), (p[4], &x4), (p[2], &x2)], p[0]));
    let under = scratch::collect(even.iter().zip(&odd).map(|(e, o)| *e - *o));
    let lu = Lu::new(par, &under, n)?;
    if !lu.is_invertible() {
        return Ok(false);
    }
    let mut result = add(odd, &even);
    lu.solve(par, false, &mut result, n)?;
    for _ in 0..squarings {
        result = times(&result, &result)?;
    }
    out.copy_from_slice(&result);
    Ok(true)
}
