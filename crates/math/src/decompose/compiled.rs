//! The decompositions of each element type, compiled in this crate once, and not in each that calls them.

use num_complex::Complex;

use super::{Lu, Outcome, Qr, Scalar, Svd, Triangle, Vectors};
use super::{cholesky, eigen, functions, least_squares, svd, symmetric, triangular};
use crate::parallel::Parallel;

/// A number with decompositions. Matrices are square, of size `n`, where nothing else is said.
pub trait Decompose: Scalar {
    /// Overwrites a matrix, of which only the lower triangle is read, with the lower triangular L, where `L L^H` is the matrix. False
    /// if it is not positive definite.
    fn cholesky(par: &dyn Parallel, a: &mut [Self], n: usize) -> Outcome<bool>;

    /// The gradient of the matrix, from its factor L and the gradient of L: Hermitian.
    fn cholesky_gradient(
        par: &dyn Parallel,
        l: &[Self],
        dl: &[Self],
        n: usize,
        out: &mut [Self],
    ) -> Outcome<()>;

    /// The eigenvalues, and if `vectors` is there the eigenvectors, of length 1, as its columns. False if they do not converge.
    fn eigen(
        par: &dyn Parallel,
        a: &[Self],
        n: usize,
        values: &mut [Self::Complex],
        vectors: Option<&mut [Self::Complex]>,
    ) -> Outcome<bool>;

    /// The eigenvalues of a matrix, of which only the lower triangle is read, in ascending order, and if `vectors` is there the
    /// eigenvectors as its columns. False if it does not converge.
    fn symmetric_eigen(
        par: &dyn Parallel,
        a: &[Self],
        n: usize,
        values: &mut [Self::Real],
        vectors: Option<&mut [Self]>,
    ) -> Outcome<bool>;

    /// The exponential. False if a matrix on the way is singular.
    fn exponential(par: &dyn Parallel, a: &[Self], n: usize, out: &mut [Self]) -> Outcome<bool>;

    /// The principal logarithm, of a real matrix its real part.
    fn logarithm(par: &dyn Parallel, a: &[Self], n: usize, out: &mut [Self]) -> Outcome<()>;

    /// The principal square root. NaN where there is none: of a real matrix, one that is real.
    fn square_root(par: &dyn Parallel, a: &[Self], n: usize, out: &mut [Self]) -> Outcome<()>;

    /// The `x` that makes `|a x - b|^2 + penalty |x|^2` least, for each of `k` columns of `b`; if `a` has more columns than rows, the
    /// shortest solution of `a x = b`. By the normal equations: false if the matrix has too low a rank for them.
    fn least_squares(
        par: &dyn Parallel,
        a: &[Self],
        sizes: [usize; 2],
        b: &[Self],
        k: usize,
        penalty: Self::Real,
        out: &mut [Self],
    ) -> Outcome<bool>;

    /// The shortest of the least squares solutions, for matrices of any rank. False if they have infinities or NaN.
    fn min_norm_least_squares(
        par: &dyn Parallel,
        a: &[Self],
        sizes: [usize; 2],
        b: &[Self],
        k: usize,
        out: &mut [Self],
    ) -> Outcome<bool>;

    /// LU with partial pivoting.
    fn lu(par: &dyn Parallel, a: &[Self], n: usize) -> Outcome<Lu<Self>>;

    /// Overwrites `k` right-hand sides with the solution, of the adjoint if `adjoint`.
    fn solve(lu: &Lu<Self>, par: &dyn Parallel, adjoint: bool, b: &mut [Self], k: usize) -> Outcome<()>;

    /// The first `count` columns of Q, and as many rows of R, of a matrix of `m` rows and `n` columns.
    fn qr(
        par: &dyn Parallel,
        a: &[Self],
        sizes: [usize; 2],
        count: usize,
        q: &mut [Self],
        r: &mut [Self],
    ) -> Outcome<()>;

    /// Singular values of a matrix of `m` rows and `n` columns. None if it has infinities or NaN.
    fn svd(par: &dyn Parallel, a: &[Self], sizes: [usize; 2], vectors: Vectors)
    -> Outcome<Option<Svd<Self>>>;

    /// Overwrites the `n` rows of `k` right-hand sides with the solution.
    fn triangular_solve(
        par: &dyn Parallel,
        a: &[Self],
        n: usize,
        triangle: Triangle,
        b: &mut [Self],
        k: usize,
    ) -> Outcome<()>;
}

macro_rules! compiled {
    ($($t:ty),*) => {$(
        impl Decompose for $t {
            fn cholesky(par: &dyn Parallel, a: &mut [Self], n: usize) -> Outcome<bool> {
                cholesky::cholesky(par, a, n)
            }

            fn cholesky_gradient(
                par: &dyn Parallel,
                l: &[Self],
                dl: &[Self],
                n: usize,
                out: &mut [Self],
            ) -> Outcome<()> {
                cholesky::cholesky_gradient(par, l, dl, n, out)
            }

            fn eigen(
                par: &dyn Parallel,
                a: &[Self],
                n: usize,
                values: &mut [Self::Complex],
                vectors: Option<&mut [Self::Complex]>,
            ) -> Outcome<bool> {
                eigen::eigen(par, a, n, values, vectors)
            }

            fn symmetric_eigen(
                par: &dyn Parallel,
                a: &[Self],
                n: usize,
                values: &mut [Self::Real],
                vectors: Option<&mut [Self]>,
            ) -> Outcome<bool> {
                symmetric::symmetric_eigen(par, a, n, values, vectors)
            }

            fn exponential(par: &dyn Parallel, a: &[Self], n: usize, out: &mut [Self]) -> Outcome<bool> {
                functions::exponential(par, a, n, out)
            }

            fn logarithm(par: &dyn Parallel, a: &[Self], n: usize, out: &mut [Self]) -> Outcome<()> {
                functions::logarithm(par, a, n, out)
            }

            fn square_root(par: &dyn Parallel, a: &[Self], n: usize, out: &mut [Self]) -> Outcome<()> {
                functions::square_root(par, a, n, out)
            }

            fn least_squares(
                par: &dyn Parallel,
                a: &[Self],
                sizes: [usize; 2],
                b: &[Self],
                k: usize,
                penalty: Self::Real,
                out: &mut [Self],
            ) -> Outcome<bool> {
                least_squares::least_squares(par, a, sizes, b, k, penalty, out)
            }

            fn min_norm_least_squares(
                par: &dyn Parallel,
                a: &[Self],
                sizes: [usize; 2],
                b: &[Self],
                k: usize,
                out: &mut [Self],
            ) -> Outcome<bool> {
                least_squares::min_norm_least_squares(par, a, sizes, b, k, out)
            }

            fn lu(par: &dyn Parallel, a: &[Self], n: usize) -> Outcome<Lu<Self>> {
                Lu::new(par, a, n)
            }

            fn solve(lu: &Lu<Self>, par: &dyn Parallel, adjoint: bool, b: &mut [Self], k: usize) -> Outcome<()> {
                lu.solve(par, adjoint, b, k)
            }

            fn qr(
                par: &dyn Parallel,
                a: &[Self],
                [m, n]: [usize; 2],
                count: usize,
                q: &mut [Self],
                r: &mut [Self],
            ) -> Outcome<()> {
                let factors = Qr::new(par, a, m, n)?;
                factors.r(r);
                factors.q(par, count, q)
            }

            fn svd(
                par: &dyn Parallel,
                a: &[Self],
                [m, n]: [usize; 2],
                vectors: Vectors,
            ) -> Outcome<Option<Svd<Self>>> {
                svd::svd(par, a, m, n, vectors)
            }

            fn triangular_solve(
                par: &dyn Parallel,
                a: &[Self],
                n: usize,
                triangle: Triangle,
                b: &mut [Self],
                k: usize,
            ) -> Outcome<()> {
                triangular::triangular_solve(par, a, n, triangle, b, k)
            }
        }
    )*};
}

compiled!(f32, f64, Complex<f32>, Complex<f64>);
