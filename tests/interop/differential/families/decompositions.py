"""Decompositions, systems of linear equations, functions of matrices. Factors that are not unique are compared by what they multiply to."""

import numpy as np
import tensorflow as tf


def size(g, low=0):
    return low if g.coin(0.06) else g.int(1, 6)


def batch(g):
    return g.shape(0, 2, zeros=g.coin(0.1))


def plain(g, dtype, shape):
    """About 1 each; sometimes not finite. Of infinite complex numbers and halves the parts depend on the order of the operations."""
    return g.array(dtype, shape, "nonfinite" if dtype in (tf.float32, tf.float64) and g.coin(0.04) else "plain")


def dominant(g, dtype, shape):
    """Well conditioned: a large diagonal, in descending order."""
    x = g.array(dtype, shape, "unit") * np.asarray(0.5, tf.as_dtype(dtype).as_numpy_dtype)
    k = min(shape[-2:])
    i = np.arange(k)
    x[..., i, i] += (2.0 + k - i).astype(x.dtype)
    return x


def definite(g, dtype, shape):
    x = dominant(g, dtype, shape)
    return ((x + np.conj(np.swapaxes(x, -1, -2))) / np.asarray(2, x.dtype)).astype(x.dtype)


def square(g):
    n = size(g)
    return batch(g) + (n, n)


def rectangle(g):
    return batch(g) + (size(g), size(g))


def adjoint(x):
    return tf.linalg.adjoint(x)


def cholesky(g):
    shape = square(g)
    x = plain(g, g.t(), shape) if g.coin(0.2) else definite(g, g.t(), shape)
    return g.program(lambda t: tf.raw_ops.MatrixBandPart(input=tf.raw_ops.Cholesky(input=t[0]), num_lower=-1, num_upper=0), x, judge="decomposition")


def cholesky_grad(g):
    shape = square(g)
    return g.case(definite(g, g.t(), shape), g.array(g.t(), shape, "plain"), judge="decomposition")


def lu(g):
    return g.case(plain(g, g.t(), square(g)) if g.coin(0.3) else dominant(g, g.t(), square(g)), judge="decomposition")


def qr(g):
    shape, full = rectangle(g), g.coin()

    def build(t):
        q, r = tf.raw_ops.Qr(input=t[0], full_matrices=full)
        # Halves are rounded on the way, down to the signs.
        return [tf.matmul(q, r), tf.matmul(q, q, adjoint_a=True)] if g.t() == tf.float16 else [q, r]

    return g.program(build, dominant(g, g.t(), shape), judge="decomposition")


def svd(g):
    shape, full = rectangle(g), g.coin(0.3)
    x = plain(g, g.t(), shape) if g.coin() else dominant(g, g.t(), shape)
    k = min(shape[-2:])

    def build(t):
        s, u, v = tf.raw_ops.Svd(input=t[0], full_matrices=full)
        alone = tf.raw_ops.Svd(input=t[0], compute_uv=False)[0]
        product = tf.matmul(u[..., :k] * s[..., None, :], v[..., :k], adjoint_b=True)
        return [s, alone, product, tf.matmul(u, u, adjoint_a=True), tf.matmul(v, v, adjoint_a=True)]

    return g.program(build, x, judge="decomposition")


def self_adjoint_eig(g):
    x = plain(g, g.t(), square(g)) if g.coin(0.3) else definite(g, g.t(), square(g))

    def build(t):
        e, v = tf.raw_ops.SelfAdjointEigV2(input=t[0])
        alone = tf.raw_ops.SelfAdjointEigV2(input=t[0], compute_v=False)[0]
        return [e, alone, tf.matmul(v * e[..., None, :], v, adjoint_b=True)]

    return g.program(build, x, judge="decomposition")


def eig(g):
    x = dominant(g, g.t(), square(g))
    out = tf.complex64 if g.t() in (tf.float32, tf.complex64) else tf.complex128
    g.types["Tout"] = out

    def build(t):
        e, v = tf.raw_ops.Eig(input=t[0], Tout=out)
        alone = tf.raw_ops.Eig(input=t[0], compute_v=False, Tout=out)[0]
        # Sums of powers: whatever the order of the eigenvalues.
        powers = [tf.reduce_sum(p, -1) for p in (e, e * e, alone, alone * alone)]
        again = tf.matmul(tf.cast(t[0], out), v) - v * e[..., None, :]
        lengths = tf.reduce_sum(tf.abs(v) ** 2, -2)
        return [*powers, again, lengths]

    return g.program(build, x, judge="decomposition")


def one_matrix(make, adjoint=False):
    def generate(g):
        x = plain(g, g.t(), square(g)) if g.coin(0.1) else make(g, g.t(), square(g))
        return g.case(x, judge="decomposition", **({"adjoint": g.coin()} if adjoint else {}))

    return generate


def definite_only(g):
    return g.case(definite(g, g.t(), square(g)), judge="decomposition")


def rhs(g, a, rows):
    return plain(g, g.t(), a + (rows, size(g)))


def matrix_solve(g):
    shape = square(g)
    return g.case(dominant(g, g.t(), shape), rhs(g, shape[:-2], shape[-1]), adjoint=g.coin(), judge="decomposition")


def triangular_solve(g):
    n = size(g)
    a, b = g.broadcast_pair(2)
    return g.case(dominant(g, g.t(), a + (n, n)), rhs(g, b, n), lower=g.coin(), adjoint=g.coin(), judge="decomposition")


def banded_solve(g):
    n = g.int(1, 6)
    a, b = g.broadcast_pair(2)
    lower, bands = g.coin(), g.int(1, n)
    x = g.array(g.t(), a + (bands, n), "unit")
    x[..., 0 if lower else bands - 1, :] += np.asarray(3, x.dtype)
    return g.case(x, rhs(g, b, n), lower=lower, adjoint=g.coin(), judge="decomposition")


def solve_ls(g):
    shape = batch(g) + (g.int(1, 6), g.int(1, 6))
    l2 = g.pick([0.0, 0.0, 0.1, 2.0])
    return g.case(dominant(g, g.t(), shape), g.array(g.t(), shape[:-1] + (g.int(1, 3),), "plain"), np.float64(l2), fast=g.coin(0.7), judge="decomposition")


def tridiagonal_solve(g):
    n, b = size(g), batch(g)
    x = g.array(g.t(), b + (3, n), "plain")
    if g.coin(0.8):
        x[..., 1, :] += np.asarray(9, x.dtype)
    pivoting = g.coin()
    return g.case(x, g.array(g.t(), b + (n, size(g)), "plain"), partial_pivoting=pivoting, perturb_singular=pivoting and g.coin(0.2), judge="decomposition")


def tridiagonal_mat_mul(g):
    n, b = g.int(1, 6), batch(g)
    diagonals = [g.array(g.t(), b + (1, n), "plain") for _ in range(3)]
    return g.case(*diagonals, g.array(g.t(), b + (n, size(g)), "plain"), judge="sum")


def cross(g):
    shape = g.shape(0, 3) + (3,)
    return g.case(g.array(g.t(), shape, "plain"), g.array(g.t(), shape, "plain"), judge="sum")


def sparse_mat_mul(g):
    ta, tb = g.coin(), g.coin()
    m, k, n = (g.int(1, 9) for _ in range(3))
    a = g.array(g.t("Ta"), (k, m) if ta else (m, k), "plain")
    b = g.array(g.t("Tb"), (n, k) if tb else (k, n), "plain")
    a[g.rng.random(a.shape) < 0.5] = 0
    return g.case(a, b, transpose_a=ta, transpose_b=tb, a_is_sparse=g.coin(), b_is_sparse=g.coin(), judge="sum")


EQUATIONS = [
    "ij,jk->ik", "bij,bjk->bik", "ij,jk->ki", "bij,bkj->kbi", "ij->ji", "ij->", "ij->j", "ijk->kj", "ii->i", "ii->", "i->ii", "iij->ij", "ij,ij->ij",
    "ij,ij->", "i,j->ij", "ij,kl->ijl", "ii,ij->j", "ij,jk->kk", "abcd,cdbe->aeb", "...ij,...jk->...ik", "...i->...", "i...i->...",
    "...,...->...", "b...i,...->i...b", "...ij,j->...i", "...ij,...ij->...", "ab...,b...->...a",
]  # fmt: skip


def einsum(g):
    equation = g.pick(EQUATIONS)
    terms = equation.split("->")[0].split(",")
    sizes = {label: g.int(1, 5) if g.coin(0.95) else 0 for label in "abcdeijkl"}
    hidden = g.broadcast_pair(2) if len(terms) == 2 else (g.shape(0, 2),)
    inputs = []
    for term, more in zip(terms, hidden):
        before, _, after = term.partition("...")
        shape = [sizes[c] for c in before] + (list(more) if "..." in term else []) + [sizes[c] for c in after]
        inputs.append(g.array(g.t(), tuple(shape), "plain"))
    return g.case(inputs, equation=equation, judge="long_sum")


GENERATORS = {
    "Cholesky": cholesky, "CholeskyGrad": cholesky_grad, "Lu": lu, "Qr": qr, "Svd": svd, "SelfAdjointEigV2": self_adjoint_eig, "Eig": eig,
    "MatrixInverse": one_matrix(dominant, adjoint=True), "MatrixDeterminant": one_matrix(dominant), "LogMatrixDeterminant": one_matrix(dominant),
    "MatrixSquareRoot": definite_only, "MatrixLogarithm": definite_only, "MatrixSolve": matrix_solve, "MatrixTriangularSolve": triangular_solve,
    "BandedTriangularSolve": banded_solve, "MatrixSolveLs": solve_ls, "TridiagonalSolve": tridiagonal_solve, "TridiagonalMatMul": tridiagonal_mat_mul,
    "Cross": cross, "SparseMatMul": sparse_mat_mul, "Einsum": einsum,
}  # fmt: skip
