//! `TridiagonalSolve`, `TridiagonalMatMul`: matrices given by three diagonals.

use super::algebra::*;
use super::matrices::*;
use crate::gradients::conj;
use crate::prelude::*;
use thalweg_math::decompose::{RealScalar, Tridiagonal, tridiagonal_product};

pub static OPS: &[&Op] = &[&TRIDIAGONAL_MAT_MUL, &TRIDIAGONAL_SOLVE];

static TRIDIAGONAL_SOLVE: Op = Op {
    name: "TridiagonalSolve",
    doc: "The solutions of systems of linear equations with tridiagonal matrices, given by three rows: above, on and below the diagonal. NaN if they are singular.",
    inputs: &["diagonals: T", "rhs: T"],
    outputs: &["output: T"],
    attrs: &[
        "partial_pivoting: bool = true",
        "perturb_singular: bool = false",
        "T: {double, float, complex64, complex128}",
    ],
    shape: |c| {
        let ((batch, [three, n]), (other, [rows, k])) = (known(c, 0)?, known(c, 1)?);
        merge_dim(three, 3)?;
        let n = merge_dim(n, rows)?;
        Ok(vec![with(&merged(batch, other)?, &[n, k], c.input(1))])
    },
    grad: Rule(solve_grad),
    kernels: cpu!(solve: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| {
        let mut diagonals = |dims: &[usize]| {
            let mut x = r.tensor(dims);
            let n = dims.last().copied().unwrap_or(1).max(1);
            for (i, v) in x.as_mut_slice::<f32>().into_iter().flatten().enumerate() {
                *v += if i / n % 3 == 1 { 5.0 } else { 0.0 };
            }
            x
        };
        let (a, b, c) = (diagonals(&[2, 3, 4]), diagonals(&[3, 3]), diagonals(&[3, 1]));
        vec![
            Case::new(vec![a, r.tensor(&[2, 4, 2])]),
            Case::new(vec![b, r.tensor(&[3, 1])]).attr("partial_pivoting", false),
            Case::new(vec![c, r.tensor(&[1, 2])]),
        ]
    },
    ..Op::PURE
};

fn solve<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let (pivoting, perturb) = (c.attrs().bool("partial_pivoting")?, c.attrs().bool("perturb_singular")?);
    if perturb && !pivoting {
        return Err(invalid!("Setting perturb_singular requires also setting partial_pivoting."));
    }
    same_batches(c, 2)?;
    let ((batch, [three, n]), (_, [rows, k])) = (matrices(c, 0)?, matrices(c, 1)?);
    if three != 3 {
        return Err(invalid!("Expected diagonals to be provided as a matrix with 3 rows, got {three} rows."));
    }
    if rows != n {
        return Err(invalid!(
            "Expected the same number of left-hand sides and right-hand sides, got {n} and {rows}."
        ));
    }
    let mut out = c.take(1)?;
    if out.elements() > 0 {
        let x = c.slice::<T>(0)?;
        each(c.par(), parts(out.as_mut_slice::<T>()?, batch.elements()), n.saturating_mul(k), &|i, out| {
            let x = part(x, i, 3 * n);
            let a = Tridiagonal { above: part(x, 0, n), main: part(x, 1, n), below: part(x, 2, n) };
            let solved = if pivoting { a.solve_pivoting(out, k, perturb) } else { a.solve(out, k) };
            if !solved {
                out.fill(T::from_real(T::Real::NAN));
            }
            Ok(())
        })?;
    }
    c.set(0, out);
    Ok(())
}

/// The last dimension moved left by one if `left`, else right, with a zero in the place left free.
fn moved(g: &mut GradCall<'_>, x: Output, left: bool) -> Result<Output> {
    let column = expand(g, x, -1)?;
    let column = if left { rows_up(g, column)? } else { rows_down(g, column)? };
    let axis = Attr::List(vec![Attr::Int(-1)]);
    g.op("Squeeze", [column.into()], &[("squeeze_dims", axis)])
}

/// Row `i` of the diagonals, without its dimension.
fn diagonal(g: &mut GradCall<'_>, x: Output, i: i32) -> Result<Output> {
    let row = rows(g, x, Some(i), if i == 2 { None } else { Some(i + 1) })?;
    let axis = Attr::List(vec![Attr::Int(-2)]);
    g.op("Squeeze", [row.into()], &[("squeeze_dims", axis)])
}

/// Three vectors as rows.
fn stacked(g: &mut GradCall<'_>, rows: [Output; 3]) -> Result<Output> {
    pack(g, &rows, -2)
}

fn solve_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, dx, a) = (g.y[0], g.dy()?, conj(g, g.x[0])?);
    let attrs = ["partial_pivoting", "perturb_singular"]
        .map(|name| g.attrs.bool(name).map(|v| (name, Attr::Bool(v))));
    let [pivoting, perturb] = attrs;
    let (above, main, below) = (diagonal(g, a, 0)?, diagonal(g, a, 1)?, diagonal(g, a, 2)?);
    let (new_above, new_below) = (moved(g, below, true)?, moved(g, above, false)?);
    let turned = stacked(g, [new_above, main, new_below])?;
    let db = g.op("TridiagonalSolve", [turned.into(), dx.into()], &[pivoting?, perturb?])?;
    // The three diagonals of -db x^H.
    let x = conj(g, x)?;
    let (up, down) = (rows_up(g, x)?, rows_down(g, x)?);
    let mut of = |x: Output| {
        let products = mul(g, db, x)?;
        let along = sum(g, products, -1)?;
        neg(g, along)
    };
    let parts = [of(up)?, of(x)?, of(down)?];
    Ok(vec![stacked(g, parts)?.into(), db.into()])
}

static TRIDIAGONAL_MAT_MUL: Op = Op {
    name: "TridiagonalMatMul",
    doc: "The products of tridiagonal matrices, given by three diagonals, with matrices.",
    inputs: &["superdiag: T", "maindiag: T", "subdiag: T", "rhs: T"],
    outputs: &["output: T"],
    attrs: &["T: {double, float, complex64, complex128}"],
    shape: |c| {
        let (mut batch, [mut n, k]) = known(c, 3)?;
        for i in 0..3 {
            let (other, [one, m]) = known(c, i)?;
            merge_dim(one, 1)?;
            (batch, n) = (merged(batch, other)?, merge_dim(n, m)?);
        }
        Ok(vec![with(&batch, &[n, k], c.input(3))])
    },
    grad: Rule(mat_mul_grad),
    kernels: cpu!(multiply: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| {
        let mut case = |batch: &[usize], n: usize, k: usize| {
            let mut diagonal = || r.tensor(&[batch, &[1, n]].concat());
            let diagonals = vec![diagonal(), diagonal(), diagonal()];
            Case::new([diagonals, vec![r.tensor(&[batch, &[n, k]].concat())]].concat())
        };
        vec![case(&[2], 4, 2), case(&[], 1, 3)]
    },
    ..TRIDIAGONAL_SOLVE
};

fn multiply<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let names = ["superdiagonal", "main diagonal", "subdiagonal"];
    matrices(c, 0)?;
    same_batches(c, 4)?;
    let (batch, [n, k]) = matrices(c, 3)?;
    for (i, name) in names.iter().enumerate() {
        if matrices(c, i)?.1 != [1, n] {
            return Err(invalid!(
                "Invalid {name} shape: {} for a right-hand side of {}",
                c.shape(i)?,
                c.shape(3)?
            ));
        }
    }
    let mut out = Tensor::uninit(T::DTYPE, c.shape(3)?.clone())?;
    if out.elements() > 0 {
        let (above, main, below) = (c.slice::<T>(0)?, c.slice::<T>(1)?, c.slice::<T>(2)?);
        let rhs = c.slice::<T>(3)?;
        each(c.par(), parts(out.as_mut_slice::<T>()?, batch.elements()), n.saturating_mul(k), &|i, out| {
            let a =
                Tridiagonal { above: part(above, i, n), main: part(main, i, n), below: part(below, i, n) };
            tridiagonal_product(a, part(rhs, i, n * k), k, out);
            Ok(())
        })?;
    }
    c.set(0, out);
    Ok(())
}

fn mat_mul_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (dy, rhs) = (g.dy()?, conj(g, g.x[3])?);
    let (up, down) = (rows_up(g, rhs)?, rows_down(g, rhs)?);
    let mut of = |x: Output| {
        let products = mul(g, x, dy)?;
        let along = sum(g, products, -1)?;
        expand(g, along, -2)
    };
    let grads = [of(up)?, of(rhs)?, of(down)?];
    let mut scaled = |i: usize| {
        let x = g.x[i];
        let column = adjoint(g, x)?;
        mul(g, column, dy)
    };
    let (above, main, below) = (scaled(0)?, scaled(1)?, scaled(2)?);
    let (above, below) = (rows_down(g, above)?, rows_up(g, below)?);
    let sum = add(g, above, main)?;
    let drhs = add(g, sum, below)?;
    Ok(grads.into_iter().chain([drhs]).map(Grad::from).collect())
}
