//! `Svd`, `BatchSvd`: singular values and vectors.

use super::algebra::*;
use super::matrices::*;
use super::wrong_size;
use crate::prelude::*;
use thalweg_math::decompose::{RealScalar, Vectors};

pub static OPS: &[&Op] = &[&BATCH_SVD, &SVD];

static SVD: Op = Op {
    name: "Svd",
    doc: "The singular values, descending, of matrices; with `compute_uv` the singular vectors, as columns, `full_matrices` of them completed to bases.",
    inputs: &["input: T"],
    outputs: &["s: T", "u: T", "v: T"],
    attrs: &[
        "compute_uv: bool = true",
        "full_matrices: bool = false",
        "T: {double, float, half, complex64, complex128}",
    ],
    shape,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![dominant(r, &[2, 3, 3])]),
            Case::new(vec![dominant(r, &[4, 2])]),
            Case::new(vec![dominant(r, &[2, 4])]).attr("compute_uv", false),
            Case::new(vec![dominant(r, &[2, 2])]).attr("full_matrices", true),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static BATCH_SVD: Op = Op {
    name: "BatchSvd",
    doc: "Deprecated: as Svd.",
    attrs: &[
        "compute_uv: bool = true",
        "full_matrices: bool = false",
        "T: {double, float, complex64, complex128}",
    ],
    grad: Missing,
    ..SVD
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (batch, [m, n]) = known(c, 0)?;
    let least = if m < 0 || n < 0 { -1 } else { m.min(n) };
    let shape = |tail: &[i64]| with(&batch, tail, PartialShape::unknown());
    if !c.attrs.bool("compute_uv")? {
        return Ok(vec![shape(&[least]), PartialShape::vector(0), PartialShape::vector(0)]);
    }
    let (p, q) = if c.attrs.bool("full_matrices")? { (m, n) } else { (least, least) };
    Ok(vec![shape(&[least]), shape(&[m, p]), shape(&[n, q])])
}

fn run<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let (batch, [m, n]) = matrices(c, 0)?;
    let (vectors, full) = (c.attrs().bool("compute_uv")?, c.attrs().bool("full_matrices")?);
    let wanted = match (vectors, full) {
        (false, _) => Vectors::None,
        (true, false) => Vectors::Thin,
        (true, true) => Vectors::Full,
    };
    let (k, count) = (m.min(n), batch.elements());
    let (p, q) = if full { (m, n) } else { (k, k) };
    let mut s = Tensor::uninit(T::DTYPE, joined(&batch, &[k])?)?;
    let of = |rows: usize, cols: usize| match vectors {
        true => Tensor::zeros(T::DTYPE, joined(&batch, &[rows, cols])?),
        false => Tensor::zeros(T::DTYPE, Shape::vector(0)),
    };
    let (mut u, mut v) = (of(m, p)?, of(n, q)?);
    if s.elements() > 0 || u.elements() > 0 || v.elements() > 0 {
        let (par, x) = (c.par(), c.slice::<T>(0)?);
        let items = parts(s.as_mut_slice::<T>()?, count)
            .zip(parts(u.as_mut_slice::<T>()?, count))
            .zip(parts(v.as_mut_slice::<T>()?, count));
        each(par, items, cubed(m.max(n)).saturating_mul(4), &|i, ((s, u), v)| {
            let Some(svd) = T::svd(par, part(x, i, m * n), [m, n], wanted).map_err(wrong_size)? else {
                let nan = T::from_real(T::Real::NAN);
                [&mut **s, u, v].into_iter().for_each(|out| out.fill(nan));
                return Ok(());
            };
            s.iter_mut().zip(svd.values).for_each(|(s, v)| *s = T::from_real(v));
            if vectors {
                u.copy_from_slice(&svd.u);
                v.copy_from_slice(&svd.v);
            }
            Ok(())
        })?;
    }
    c.set(0, s);
    c.set(1, u);
    c.set(2, v);
    Ok(())
}

/// The part of a gradient that turns vectors among themselves: `F * X + its adjoint`.
fn turning(g: &mut GradCall<'_>, gaps: Output, x: Output) -> Result<Output> {
    let part = mul(g, gaps, x)?;
    let other = adjoint(g, part)?;
    add(g, part, other)
}

/// `(dU - U U^H dU - U2 dU2^H U) S^-1`: what turns the vectors out of their span. `dx` are gradients of the columns `x`, `rest` of
/// those that complete the basis.
fn outward(g: &mut GradCall<'_>, x: Basis, along: Output, inverse: Output) -> Result<Output> {
    let inside = mat_mul(g, x.first, along, false, false)?;
    let outside = sub(g, x.d_first, inside)?;
    let back = mat_mul(g, x.d_rest, x.first, true, false)?;
    let back = mat_mul(g, x.rest, back, false, false)?;
    let outside = sub(g, outside, back)?;
    mat_mul(g, outside, inverse, false, false)
}

/// Singular vectors and those that complete a basis, which may be none, with gradients.
#[derive(Clone, Copy)]
struct Basis {
    first: Output,
    rest: Output,
    d_first: Output,
    d_rest: Output,
}

impl Basis {
    fn of(g: &mut GradCall<'_>, i: usize, count: Output) -> Result<Basis> {
        let (x, dx) = (g.y[i], g.dy_or_zeros(i)?);
        let ((first, rest), (d_first, d_rest)) = (split_columns(g, x, count)?, split_columns(g, dx, count)?);
        Ok(Basis { first, rest, d_first, d_rest })
    }
}

/// `U (dS + (F * U^H dU + ..) S + S (F * V^H dV + ..)) V^H`, and what turns vectors out of their span; F are the reciprocal gaps of
/// the squares of the singular values.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, ds) = (g.x[0], g.dy_or_zeros(0)?);
    let middle = g.unary("MatrixDiag", ds)?;
    if !g.attrs.bool("compute_uv")? {
        let made = g.ops("Svd", [x.into()], &[])?;
        let [_, u, v] = made[..] else { return Err(internal("Svd has three outputs")) };
        let right = mat_mul(g, middle, v, false, true)?;
        return Ok(vec![mat_mul(g, u, right, false, false)?.into()]);
    }
    let shape = g.graph.shape(x);
    if let (Some([.., m, n]), true) = (shape.dims(), g.attrs.bool("full_matrices")?)
        && *m >= 0
        && *n >= 0
        && m.abs_diff(*n) > 1
    {
        return Err(unimplemented(
            "Svd has no gradient for full matrices with rows and columns that differ by more than 1",
        ));
    }
    let s = g.y[0];
    let count = size(g, s, -1)?;
    let (u, v) = (Basis::of(g, 1, count)?, Basis::of(g, 2, count)?);
    let squares = mul(g, s, s)?;
    let (gaps, values, inverse) =
        (reciprocal_gaps(g, squares)?, g.unary("MatrixDiag", s)?, inverse_diagonal(g, s)?);
    let along_u = mat_mul(g, u.first, u.d_first, true, false)?;
    let along_v = mat_mul(g, v.first, v.d_first, true, false)?;
    let (turn_u, turn_v) = (turning(g, gaps, along_u)?, turning(g, gaps, along_v)?);
    let left = mat_mul(g, turn_u, values, false, false)?;
    let right = mat_mul(g, values, turn_v, false, false)?;
    let mut middle = add(g, middle, left)?;
    middle = add(g, middle, right)?;
    if g.graph.dtype(x).is_complex() {
        middle = phases(g, middle, along_v, inverse)?;
    }
    let from_middle = mat_mul(g, middle, v.first, false, true)?;
    let mut dx = mat_mul(g, u.first, from_middle, false, false)?;
    let (out_u, out_v) = (outward(g, u, along_u, inverse)?, outward(g, v, along_v, inverse)?);
    let (from_u, from_v) =
        (mat_mul(g, out_u, v.first, false, true)?, mat_mul(g, u.first, out_v, false, true)?);
    dx = add(g, dx, from_u)?;
    Ok(vec![add(g, dx, from_v)?.into()])
}

/// The phases of pairs of singular vectors are free: their part in the gradient.
fn phases(g: &mut GradCall<'_>, middle: Output, along: Output, inverse: Output) -> Result<Output> {
    let diagonal = g.unary("MatrixDiagPart", along)?;
    let conjugate = g.unary("Conj", diagonal)?;
    let twice = sub(g, conjugate, diagonal)?;
    let matrix = g.unary("MatrixDiag", twice)?;
    let matrix = scaled(g, matrix, 0.5)?;
    let part = mat_mul(g, inverse, matrix, false, false)?;
    add(g, middle, part)
}
