//! `MatrixTriangularSolve`, `BandedTriangularSolve`: systems with triangular matrices; batches broadcast.

use super::algebra::*;
use super::batch_mat_mul::{pairs, sum_to_batch_of};
use super::matrices::*;
use super::wrong_size;
use crate::broadcast::broadcast_shape;
use crate::prelude::*;
use thalweg_core::shape_call::broadcast_shapes;
use thalweg_math::decompose::{Triangle, banded_solve};

pub static OPS: &[&Op] =
    &[&BANDED_TRIANGULAR_SOLVE, &BATCH_MATRIX_TRIANGULAR_SOLVE, &MATRIX_TRIANGULAR_SOLVE];

static MATRIX_TRIANGULAR_SOLVE: Op = Op {
    name: "MatrixTriangularSolve",
    doc: "The solutions of systems of linear equations with the lower or upper triangles of matrices, or their adjoints.",
    inputs: &["matrix: T", "rhs: T"],
    outputs: &["output: T"],
    attrs: &[
        "lower: bool = true",
        "adjoint: bool = false",
        "T: {bfloat16, double, float, half, complex64, complex128}",
    ],
    shape: |c| {
        let ((batch, n), (other, [rows, k])) = (known_square(c, 0)?, known(c, 1)?);
        solution_shape(batch, other, merge_dim(n, rows)?, k)
    },
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![dominant(r, &[2, 3, 3]), r.tensor(&[2, 3, 2])]),
            Case::new(vec![dominant(r, &[3, 3]), r.tensor(&[2, 3, 1])]).attr("lower", false),
            Case::new(vec![dominant(r, &[2, 1, 3, 3]), r.tensor(&[2, 3, 1])]).attr("adjoint", true),
            Case::new(vec![r.tensor(&[0, 0]), r.tensor(&[0, 2])]),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static BATCH_MATRIX_TRIANGULAR_SOLVE: Op = Op {
    name: "BatchMatrixTriangularSolve",
    doc: "Deprecated: as MatrixTriangularSolve.",
    attrs: &["lower: bool = true", "adjoint: bool = false", "T: {double, float}"],
    grad: Missing,
    kernels: cpu!(run: T in f32, f64),
    ..MATRIX_TRIANGULAR_SOLVE
};

static BANDED_TRIANGULAR_SOLVE: Op = Op {
    name: "BandedTriangularSolve",
    doc: "The solutions of systems of linear equations with triangular matrices that are given by their diagonals, one in a row.",
    attrs: &[
        "lower: bool = true",
        "adjoint: bool = false",
        "T: {double, float, half, complex64, complex128}",
    ],
    shape: |c| {
        let ((batch, [_, n]), (other, [rows, k])) = (known(c, 0)?, known(c, 1)?);
        solution_shape(batch, other, merge_dim(n, rows)?, k)
    },
    kernels: cpu!(run_banded: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.positive(&[2, 2, 4]), r.tensor(&[2, 4, 2])]),
            Case::new(vec![r.positive(&[3, 4]), r.tensor(&[2, 4, 1])]).attr("adjoint", true),
            Case::new(vec![r.positive(&[2, 4]), r.tensor(&[4, 1])]).attr("lower", false),
        ]
    },
    ..MATRIX_TRIANGULAR_SOLVE
};

fn solution_shape(
    batch: Option<Vec<i64>>,
    other: Option<Vec<i64>>,
    rows: i64,
    k: i64,
) -> Result<Vec<PartialShape>> {
    let (Some(a), Some(b)) = (batch, other) else { return Ok(vec![PartialShape::unknown()]) };
    let both = broadcast_shapes(&a.into_iter().collect(), &b.into_iter().collect())?;
    Ok(vec![both.concat(&[rows, k].into_iter().collect())])
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (a, b, dx) = (g.x[0], g.x[1], g.dy()?);
    let (is_lower, adjoint) = (g.attrs.bool("lower")?, g.attrs.bool("adjoint")?);
    let attrs = [("lower", Attr::Bool(is_lower)), ("adjoint", Attr::Bool(!adjoint))];
    let db = g.op(g.op, [a.into(), dx.into()], &attrs)?;
    let da = system_gradient(g, db, adjoint)?;
    let da = match g.op == "MatrixTriangularSolve" {
        true if is_lower => band(g, da, -1, 0)?,
        true => band(g, da, 0, -1)?,
        false => diagonals(g, da, is_lower)?,
    };
    Ok(vec![sum_to_batch_of(g, da, a, b)?.into(), sum_to_batch_of(g, db, b, a)?.into()])
}

/// The diagonals of a gradient that the banded matrix has.
fn diagonals(g: &mut GradCall<'_>, da: Output, is_lower: bool) -> Result<Output> {
    let (bands, one) = (size(g, g.x[0], -2)?, g.constant(Tensor::scalar(1i32))?);
    let (most, zero) = (sub(g, bands, one)?, g.constant(Tensor::scalar(0i32))?);
    let ends = if is_lower { [neg(g, most)?, zero] } else { [zero, most] };
    let k = pack(g, &ends, 0)?;
    let padding = g.number(0.0, da)?;
    let align = [("align", Attr::from("LEFT_RIGHT"))];
    g.op("MatrixDiagPartV3", [da.into(), k.into(), padding.into()], &align)
}

/// One right-hand side and the index of its matrix, for each solution.
struct Systems {
    out: Tensor,
    pairs: Vec<(usize, usize)>,
    a: [usize; 2],
    k: usize,
    triangle: Triangle,
}

impl Systems {
    fn of(c: &OpCall<'_>) -> Result<Systems> {
        for i in 0..2 {
            if c.shape(i)?.rank() < 2 {
                return Err(invalid!("In[{i}] ndims must be >= 2: {}", c.shape(i)?.rank()));
            }
        }
        let ((batch_a, a), (batch_b, [rows, k])) = (matrices(c, 0)?, matrices(c, 1)?);
        if rows != a[1] {
            return Err(invalid!(
                "In[0] and In[1] do not fit: shapes {} and {}; the matrix needs as many columns as the right-hand side has rows",
                c.shape(0)?,
                c.shape(1)?
            ));
        }
        let batch = broadcast_shape(&batch_a, &batch_b).map_err(|_| {
            invalid!("In[0] and In[1] must have compatible batch dimensions: {batch_a} vs. {batch_b}")
        })?;
        let out = Tensor::uninit(c.input(1)?.dtype(), joined(&batch, &[rows, k])?)?;
        let pairs = if out.elements() == 0 { Vec::new() } else { pairs(&batch_a, &batch_b)? };
        let (lower, adjoint) = (c.attrs().bool("lower")?, c.attrs().bool("adjoint")?);
        Ok(Systems { out, pairs, a, k, triangle: Triangle { lower, adjoint, unit: false } })
    }

    /// Solves each in place of its right-hand side.
    fn solve<T: Field>(
        mut self,
        c: &mut OpCall<'_>,
        f: impl Fn(&[T], &mut [T]) -> Result<()> + Sync,
    ) -> Result<()> {
        let ([rows, n], k) = (self.a, self.k);
        let (a, b, pairs) = (c.slice::<T>(0)?, c.slice::<T>(1)?, &self.pairs);
        let cost = n.saturating_mul(n).saturating_mul(k);
        each(c.par(), parts(self.out.as_mut_slice::<T>()?, pairs.len()), cost, &|i, out| {
            out.copy_from_slice(part(b, pairs[i].1, n * k));
            f(part(a, pairs[i].0, rows * n), out)
        })?;
        c.set(0, self.out);
        Ok(())
    }
}

fn run<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let systems = Systems::of(c)?;
    let ([rows, n], k, triangle, par) = (systems.a, systems.k, systems.triangle, c.par());
    if rows != n {
        return Err(invalid!("Input matrix must be square, got {rows} by {n}."));
    }
    systems.solve::<T>(c, |a, b| {
        T::triangular_solve(par, a, n, triangle, b, k).map_err(wrong_size)?;
        Ok(())
    })
}

fn run_banded<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let systems = Systems::of(c)?;
    let ([bands, n], k, triangle) = (systems.a, systems.k, systems.triangle);
    for i in 0..2 {
        if c.input(i)?.elements() == 0 {
            return Err(invalid!("In[{i}] must not be an empty tensor: its shape is {}", c.shape(i)?));
        }
    }
    systems.solve::<T>(c, |a, b| {
        if !banded_solve(a, bands, n, triangle, b, k) {
            return Err(invalid!("Input matrix is not invertible."));
        }
        Ok(())
    })
}
