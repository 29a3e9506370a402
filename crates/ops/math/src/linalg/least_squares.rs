//! `MatrixSolveLs`, `BatchMatrixSolveLs`: least squares.

use super::algebra::*;
use super::matrices::*;
use super::wrong_size;
use crate::gradients::cast;
use crate::prelude::*;
use thalweg_math::decompose::RealScalar;

pub static OPS: &[&Op] = &[&BATCH_MATRIX_SOLVE_LS, &MATRIX_SOLVE_LS];

static MATRIX_SOLVE_LS: Op = Op {
    name: "MatrixSolveLs",
    doc: "Least squares solutions of systems of linear equations, or their shortest solutions; `fast` by the normal equations, with a regularizer, else for matrices of any rank.",
    inputs: &["matrix: T", "rhs: T", "l2_regularizer: double"],
    outputs: &["output: T"],
    attrs: &["T: {double, float, half, complex64, complex128}", "fast: bool = true"],
    shape: |c| {
        let ((batch, [m, n]), (other, [rows, k])) = (known(c, 0)?, known(c, 1)?);
        c.scalar(2)?;
        merge_dim(m, rows)?;
        Ok(vec![with(&merged(batch, other)?, &[n, k], PartialShape::unknown())])
    },
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| {
        let case = |a: Tensor, b: Tensor, l2: f64| {
            Case::new(vec![a, b, Tensor::scalar(l2)]).without_difference(&[2])
        };
        vec![
            case(dominant(r, &[2, 4, 3]), r.tensor(&[2, 4, 2]), 0.0),
            case(dominant(r, &[4, 3]), r.tensor(&[4, 1]), 0.5),
            case(dominant(r, &[2, 3]), r.tensor(&[2, 1]), 0.0),
            case(dominant(r, &[2, 3]), r.tensor(&[2, 1]), 0.5),
        ]
    },
    expensive: true,
    host_inputs: &["l2_regularizer"],
    ..Op::PURE
};

static BATCH_MATRIX_SOLVE_LS: Op = Op {
    name: "BatchMatrixSolveLs",
    doc: "Deprecated: as MatrixSolveLs.",
    attrs: &["T: {double, float}", "fast: bool = true"],
    grad: Missing,
    kernels: cpu!(run: T in f32, f64),
    ..MATRIX_SOLVE_LS
};

fn run<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let fast = c.attrs().bool("fast")?;
    same_batches(c, 2)?;
    let ((batch, [m, n]), (_, [rows, k])) = (matrices(c, 0)?, matrices(c, 1)?);
    if !c.shape(2)?.is_scalar() {
        return Err(invalid!("l2_regularizer must be scalar, got shape {}", c.shape(2)?));
    }
    let penalty = c.scalar::<f64>(2)?;
    if penalty < 0.0 {
        return Err(invalid!("l2_regularizer must be >= 0, got {penalty}."));
    }
    if rows != m {
        return Err(invalid!("Input matrix and rhs are incompatible: {} and {}", c.shape(0)?, c.shape(1)?));
    }
    let mut out = Tensor::zeros(T::DTYPE, joined(&batch, &[n, k])?)?;
    if out.elements() > 0 && m > 0 {
        let (par, a, b) = (c.par(), c.slice::<T>(0)?, c.slice::<T>(1)?);
        let penalty = T::Real::from_f64(penalty);
        each(par, parts(out.as_mut_slice::<T>()?, batch.elements()), cubed(m.max(n)), &|i, out| {
            let (a, b) = (part(a, i, m * n), part(b, i, m * k));
            if fast && !T::least_squares(par, a, [m, n], b, k, penalty, out).map_err(wrong_size)? {
                return Err(invalid!(
                    "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger l2_regularizer > 0."
                ));
            }
            if !fast && !T::min_norm_least_squares(par, a, [m, n], b, k, out).map_err(wrong_size)? {
                out.fill(T::from_real(T::Real::NAN));
            }
            Ok(())
        })?;
    }
    c.set(0, out);
    Ok(())
}

/// Solutions of systems with `A^H A`, or `A A^H`, plus a multiple of the identity.
fn solve_gramian(
    g: &mut GradCall<'_>,
    adjoint_first: bool,
    penalty: Output,
    rhs: &[Output],
) -> Result<Vec<Output>> {
    let a = g.x[0];
    let gramian = mat_mul(g, a, a, adjoint_first, !adjoint_first)?;
    let diagonal = g.unary("MatrixDiagPart", gramian)?;
    let diagonal = add(g, diagonal, penalty)?;
    let gramian = g.binary("MatrixSetDiag", gramian, diagonal)?;
    let l = g.unary("Cholesky", gramian)?;
    let mut solutions = Vec::new();
    for b in rhs {
        let half = g.op("MatrixTriangularSolve", [l.into(), b.into()], &[])?;
        let attrs = [("adjoint", Attr::Bool(true))];
        solutions.push(g.op("MatrixTriangularSolve", [l.into(), half.into()], &attrs)?);
    }
    Ok(solutions)
}

/// At least as many rows as columns.
fn overdetermined(g: &mut GradCall<'_>, dx: Output, penalty: Output) -> Result<[Output; 2]> {
    let (a, b, x) = (g.x[0], g.x[1], g.y[0]);
    let z = solve_gramian(g, true, penalty, &[dx])?[0];
    let xz = mat_mul(g, x, z, false, true)?;
    let turned = adjoint(g, xz)?;
    let both = add(g, xz, turned)?;
    let (from_x, from_b) = (mat_mul(g, a, both, false, false)?, mat_mul(g, b, z, false, true)?);
    Ok([sub(g, from_b, from_x)?, mat_mul(g, a, z, false, false)?])
}

/// Fewer rows than columns.
fn underdetermined(g: &mut GradCall<'_>, dx: Output, penalty: Output) -> Result<[Output; 2]> {
    let (a, b) = (g.x[0], g.x[1]);
    let rhs = mat_mul(g, a, dx, false, false)?;
    let solved = solve_gramian(g, false, penalty, &[rhs, b])?;
    let (db, z) = (solved[0], solved[1]);
    let inner = mat_mul(g, z, a, true, false)?;
    let first = mat_mul(g, db, inner, false, false)?;
    let inside = mat_mul(g, a, db, true, false)?;
    let outside = sub(g, dx, inside)?;
    let second = mat_mul(g, z, outside, false, true)?;
    Ok([sub(g, second, first)?, db])
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    if !g.attrs.bool("fast")? {
        return Err(unimplemented("MatrixSolveLs has no gradient unless it is fast"));
    }
    let (a, dx, l2) = (g.x[0], g.dy()?, g.x[2]);
    let penalty = cast(g, l2, a)?;
    let shape = g.graph.shape(a);
    let [da, db] = match shape.dims() {
        Some([.., m, n]) if *m >= 0 && *n >= 0 && m >= n => overdetermined(g, dx, penalty)?,
        Some([.., m, n]) if *m >= 0 && *n >= 0 => underdetermined(g, dx, penalty)?,
        _ => {
            // Both; a penalty keeps the one that is not meant from failing.
            let (m, n) = (size(g, a, -2)?, size(g, a, -1)?);
            let (tall, wide) = (g.binary("GreaterEqual", m, n)?, g.binary("Less", m, n)?);
            let (if_wide, if_tall) = (cast(g, wide, a)?, cast(g, tall, a)?);
            let (for_tall, for_wide) = (add(g, penalty, if_wide)?, add(g, penalty, if_tall)?);
            let over = overdetermined(g, dx, for_tall)?;
            let under = underdetermined(g, dx, for_wide)?;
            let mut pick = |i: usize| g.op("SelectV2", [tall.into(), over[i].into(), under[i].into()], &[]);
            [pick(0)?, pick(1)?]
        }
    };
    Ok(vec![da.into(), db.into(), Grad::None])
}
