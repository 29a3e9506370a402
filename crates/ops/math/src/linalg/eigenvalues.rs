//! `SelfAdjointEigV2`, `Eig`, and the deprecated `SelfAdjointEig`, `BatchSelfAdjointEig`, `BatchSelfAdjointEigV2`.

use super::algebra::*;
use super::matrices::*;
use super::wrong_size;
use crate::gradients::{cast, conj};
use crate::prelude::*;
use thalweg_math::decompose::{RealScalar, Scalar};

pub static OPS: &[&Op] =
    &[&BATCH_SELF_ADJOINT_EIG, &BATCH_SELF_ADJOINT_EIG_V2, &EIG, &SELF_ADJOINT_EIG, &SELF_ADJOINT_EIG_V2];

static SELF_ADJOINT_EIG_V2: Op = Op {
    name: "SelfAdjointEigV2",
    doc: "The eigenvalues, ascending, of Hermitian matrices, of which the lower triangles are read; with `compute_v` the eigenvectors, as columns.",
    inputs: &["input: T"],
    outputs: &["e: T", "v: T"],
    attrs: &["compute_v: bool = true", "T: {double, float, half, complex64, complex128}"],
    shape: eigen_shape,
    grad: Rule(self_adjoint_grad),
    kernels: cpu!(self_adjoint: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![definite(r, &[2, 3, 3])]),
            Case::new(vec![definite(r, &[3, 3])]).attr("compute_v", false),
            Case::new(vec![r.tensor(&[1, 1])]),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static BATCH_SELF_ADJOINT_EIG_V2: Op = Op {
    name: "BatchSelfAdjointEigV2",
    doc: "Deprecated: as SelfAdjointEigV2.",
    attrs: &["compute_v: bool = true", "T: {double, float}"],
    grad: Missing,
    kernels: cpu!(self_adjoint: T in f32, f64),
    ..SELF_ADJOINT_EIG_V2
};

static SELF_ADJOINT_EIG: Op = Op {
    name: "SelfAdjointEig",
    doc: "Deprecated: the eigenvalues of symmetric matrices in the first row, and below them the eigenvectors, as columns.",
    outputs: &["output: T"],
    attrs: &["T: {double, float, half}"],
    shape: |c| {
        let (batch, n) = known_square(c, 0)?;
        let rows = if n < 0 { -1 } else { n.saturating_add(1) };
        Ok(vec![with(&batch, &[rows, n], PartialShape::unknown())])
    },
    grad: Missing,
    kernels: cpu!(values_above_vectors: T in f32, f64),
    cases: |r| vec![Case::new(vec![definite(r, &[2, 3, 3])])],
    ..SELF_ADJOINT_EIG_V2
};

static BATCH_SELF_ADJOINT_EIG: Op = Op {
    name: "BatchSelfAdjointEig",
    doc: "Deprecated: as SelfAdjointEig.",
    attrs: &["T: {double, float}"],
    ..SELF_ADJOINT_EIG
};

static EIG: Op = Op {
    name: "Eig",
    doc: "The eigenvalues of square matrices, in any order; with `compute_v` the eigenvectors, of length 1, as columns.",
    outputs: &["e: Tout", "v: Tout"],
    attrs: &[
        "compute_v: bool = true",
        "T: {float, double, complex64, complex128}",
        "Tout: {complex64, complex128}",
    ],
    grad: Rule(eig_grad),
    kernels: cpu!(eig: T in f32, f64, Complex32, ComplexDouble),
    // Triangular: the order of the eigenvalues and the signs of the vectors are the same for every algorithm. A difference changes
    // the order.
    cases: |r| {
        let mut triangular = |dims: &[usize]| {
            let mut x = dominant(r, dims);
            let n = dims.last().copied().unwrap_or(1).max(1);
            for (i, v) in x.as_mut_slice::<f32>().into_iter().flatten().enumerate() {
                if i / n % n > i % n {
                    *v = 0.0;
                }
            }
            x
        };
        let mut case = |dims: &[usize], vectors: bool| {
            let case = Case::new(vec![triangular(dims)]).attr("Tout", DataType::Complex64);
            case.attr("compute_v", vectors).without_difference(&[0])
        };
        vec![case(&[2, 3, 3], true), case(&[3, 3], false)]
    },
    ..SELF_ADJOINT_EIG_V2
};

fn eigen_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (batch, n) = known_square(c, 0)?;
    let values = with(&batch, &[n], PartialShape::unknown());
    if !c.attrs.bool("compute_v")? {
        return Ok(vec![values, PartialShape::vector(0)]);
    }
    Ok(vec![values, with(&batch, &[n, n], c.input(0))])
}

/// Memory for eigenvalues, and for eigenvectors if they are asked for, else for nothing.
fn outputs_of<T: Field>(c: &OpCall<'_>) -> Result<(Shape, usize, Tensor, Option<Tensor>)> {
    let (batch, n) = square_matrices(c, 0)?;
    let e = Tensor::uninit(T::DTYPE, joined(&batch, &[n])?)?;
    let vectors = c.attrs().bool("compute_v")?;
    let v = vectors.then(|| Tensor::uninit(T::DTYPE, c.shape(0)?.clone())).transpose()?;
    Ok((batch, n, e, v))
}

/// The items of a loop: a matrix's eigenvalues, and its eigenvectors or nothing.
fn items<'a, T: Field>(
    e: &'a mut Tensor,
    v: &'a mut Option<Tensor>,
    count: usize,
) -> Result<impl Iterator<Item = (&'a mut [T], &'a mut [T])>> {
    let v = v.as_mut().map_or(Ok(&mut [][..]), |v| v.as_mut_slice::<T>())?;
    Ok(parts(e.as_mut_slice::<T>()?, count).zip(parts(v, count)))
}

fn set(c: &mut OpCall<'_>, e: Tensor, v: Option<Tensor>) -> Result<()> {
    let none = Tensor::zeros(e.dtype(), Shape::vector(0))?;
    c.set(0, e);
    c.set(1, v.unwrap_or(none));
    Ok(())
}

fn not_converged() -> Error {
    invalid!("Self-adjoint eigen decomposition was not successful. The input might not be valid.")
}

fn self_adjoint<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let (batch, n, mut e, mut v) = outputs_of::<T>(c)?;
    if e.elements() > 0 {
        let (par, x, vectors) = (c.par(), c.slice::<T>(0)?, v.is_some());
        each(par, items::<T>(&mut e, &mut v, batch.elements())?, cubed(n), &|i, (e, v)| {
            let mut values = reserve::filled(n, T::Real::ZERO)?;
            let into = vectors.then_some(&mut **v);
            if !T::symmetric_eigen(par, part(x, i, n * n), n, &mut values, into).map_err(wrong_size)? {
                return Err(not_converged());
            }
            e.iter_mut().zip(values).for_each(|(e, v)| *e = T::from_real(v));
            Ok(())
        })?;
    }
    set(c, e, v)
}

fn values_above_vectors<T: Field<Real = T> + RealScalar>(c: &mut OpCall<'_>) -> Result<()> {
    let (batch, n) = square_matrices(c, 0)?;
    let rows = n.checked_add(1).ok_or_else(|| invalid!("a matrix of {n} rows is too large"))?;
    let mut out = Tensor::uninit(T::DTYPE, joined(&batch, &[rows, n])?)?;
    if out.elements() > 0 {
        let (par, x) = (c.par(), c.slice::<T>(0)?);
        each(par, parts(out.as_mut_slice::<T>()?, batch.elements()), cubed(n), &|i, out| {
            let (values, vectors) = out.split_at_mut(n);
            match T::symmetric_eigen(par, part(x, i, n * n), n, values, Some(vectors)).map_err(wrong_size)? {
                true => Ok(()),
                false => Err(not_converged()),
            }
        })?;
    }
    c.set(0, out);
    Ok(())
}

fn eig<T: Field>(c: &mut OpCall<'_>) -> Result<()>
where
    T::Complex: Field,
{
    if c.output_type(0)? != <T::Complex as Element>::DTYPE {
        return Err(invalid!("Tout must be {} for {}", <T::Complex as Element>::DTYPE, T::DTYPE));
    }
    let (batch, n, mut e, mut v) = outputs_of::<T::Complex>(c)?;
    if e.elements() > 0 {
        let (par, x, vectors) = (c.par(), c.slice::<T>(0)?, v.is_some());
        each(par, items::<T::Complex>(&mut e, &mut v, batch.elements())?, cubed(n), &|i, (e, v)| {
            let into = vectors.then_some(&mut **v);
            if !T::eigen(par, part(x, i, n * n), n, e, into).map_err(wrong_size)? {
                return Err(invalid!(
                    "Eigen decomposition was not successful. The input might not be valid."
                ));
            }
            Ok(())
        })?;
    }
    set(c, e, v)
}

/// The eigenvectors: the second output, or computed now.
fn vectors(g: &mut GradCall<'_>) -> Result<Output> {
    if g.attrs.bool("compute_v")? {
        return Ok(g.y[1]);
    }
    let x = g.x[0];
    let mut attrs = vec![("compute_v", Attr::Bool(true))];
    if g.op == "Eig" {
        attrs.push(("Tout", Attr::Type(g.attrs.dtype("Tout")?)));
    }
    let made = g.ops(g.op, [x.into()], &attrs)?;
    made.get(1).copied().ok_or_else(|| internal("eigenvectors have no output"))
}

/// `V (dE + F * V^H dV) V^H`, F the reciprocal gaps; of the lower triangle alone.
fn self_adjoint_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (e, de, v) = (g.y[0], g.dy_or_zeros(0)?, vectors(g)?);
    let mut middle = g.unary("MatrixDiag", de)?;
    if g.attrs.bool("compute_v")? {
        let (gaps, dv) = (reciprocal_gaps(g, e)?, g.dy_or_zeros(1)?);
        let along = mat_mul(g, v, dv, true, false)?;
        let turning = mul(g, gaps, along)?;
        middle = add(g, middle, turning)?;
    }
    let right = mat_mul(g, middle, v, false, true)?;
    let dx = mat_mul(g, v, right, false, false)?;
    let other = adjoint(g, dx)?;
    let both = add(g, dx, other)?;
    Ok(vec![lower(g, both, true)?.into()])
}

/// `V^-H (dE + conj(F) * (V^H dV - V^H V Re(diag(V^H dV)))) V^H`.
fn eig_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, e, de, v) = (g.x[0], g.y[0], g.dy_or_zeros(0)?, vectors(g)?);
    let mut middle = g.unary("MatrixDiag", de)?;
    if g.attrs.bool("compute_v")? {
        let (gaps, dv) = (reciprocal_gaps(g, e)?, g.dy_or_zeros(1)?);
        let gaps = conj(g, gaps)?;
        let along = mat_mul(g, v, dv, true, false)?;
        let diagonal = g.unary("MatrixDiagPart", along)?;
        let real = super::factors::real_type(g.graph.dtype(v));
        let diagonal = g.op("Real", [diagonal.into()], &[("Tout", Attr::Type(real))])?;
        let diagonal = cast(g, diagonal, v)?;
        let (diagonal, overlaps) = (g.unary("MatrixDiag", diagonal)?, mat_mul(g, v, v, true, false)?);
        let kept = mat_mul(g, overlaps, diagonal, false, false)?;
        let turning = sub(g, along, kept)?;
        let turning = mul(g, gaps, turning)?;
        middle = add(g, middle, turning)?;
    }
    let right = mat_mul(g, middle, v, false, true)?;
    let dx = g.op("MatrixSolve", [v.into(), right.into()], &[("adjoint", Attr::Bool(true))])?;
    if g.graph.dtype(x).is_complex() {
        return Ok(vec![dx.into()]);
    }
    Ok(vec![g.op("Real", [dx.into()], &[("Tout", Attr::Type(g.graph.dtype(x)))])?.into()])
}
