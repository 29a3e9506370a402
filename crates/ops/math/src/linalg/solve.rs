//! What follows from LU factors: `MatrixSolve`, `MatrixInverse`, determinants.

use super::algebra::*;
use super::matrices::*;
use super::wrong_size;
use crate::gradients::conj;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &BATCH_MATRIX_DETERMINANT,
    &BATCH_MATRIX_INVERSE,
    &BATCH_MATRIX_SOLVE,
    &LOG_MATRIX_DETERMINANT,
    &MATRIX_DETERMINANT,
    &MATRIX_INVERSE,
    &MATRIX_SOLVE,
];

static MATRIX_SOLVE: Op = Op {
    name: "MatrixSolve",
    doc: "The solutions of systems of linear equations with square matrices, or their adjoints.",
    inputs: &["matrix: T", "rhs: T"],
    outputs: &["output: T"],
    attrs: &["adjoint: bool = false", "T: {double, float, half, complex64, complex128}"],
    shape: solve_shape,
    grad: Rule(|g| {
        let (a, dx, adjoint) = (g.x[0], g.dy()?, g.attrs.bool("adjoint")?);
        let db = g.op("MatrixSolve", [a.into(), dx.into()], &[("adjoint", Attr::Bool(!adjoint))])?;
        Ok(vec![system_gradient(g, db, adjoint)?.into(), db.into()])
    }),
    kernels: cpu!(solve: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![dominant(r, &[2, 3, 3]), r.tensor(&[2, 3, 2])]),
            Case::new(vec![dominant(r, &[3, 3]), r.tensor(&[3, 1])]).attr("adjoint", true),
            Case::new(vec![r.tensor(&[0, 0]), r.tensor(&[0, 2])]),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static BATCH_MATRIX_SOLVE: Op = Op {
    name: "BatchMatrixSolve",
    doc: "Deprecated: as MatrixSolve.",
    attrs: &["adjoint: bool = false", "T: {double, float}"],
    grad: Missing,
    kernels: cpu!(solve: T in f32, f64),
    ..MATRIX_SOLVE
};

fn solve_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let ((batch, n), (other, [rows, k])) = (known_square(c, 0)?, known(c, 1)?);
    let n = merge_dim(n, rows)?;
    Ok(vec![with(&merged(batch, other)?, &[n, k], c.input(1))])
}

fn solve<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let adjoint = c.attrs().bool("adjoint")?;
    same_batches(c, 2)?;
    let ((batch, [n, cols]), (_, [rows, k])) = (matrices(c, 0)?, matrices(c, 1)?);
    if n != cols {
        return Err(invalid!("First input (lhs) must be a square matrix, got {n} by {cols}."));
    }
    if rows != n {
        return Err(invalid!("Input matrix and rhs are incompatible: {} and {}", c.shape(0)?, c.shape(1)?));
    }
    let mut out = c.take(1)?;
    if out.elements() > 0 {
        let (par, a) = (c.par(), c.slice::<T>(0)?);
        let cost = cubed(n).saturating_add(n.saturating_mul(n).saturating_mul(k));
        each(par, parts(out.as_mut_slice::<T>()?, batch.elements()), cost, &|i, out| {
            let lu = T::lu(par, part(a, i, n * n), n).map_err(wrong_size)?;
            if !lu.is_invertible() {
                return Err(invalid!("Input matrix is not invertible."));
            }
            T::solve(&lu, par, adjoint, out, k).map_err(wrong_size)?;
            Ok(())
        })?;
    }
    c.set(0, out);
    Ok(())
}

static MATRIX_INVERSE: Op = Op {
    name: "MatrixInverse",
    doc: "The inverses of square matrices, or of their adjoints.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &["adjoint: bool = false", "T: {double, float, half, complex64, complex128}"],
    shape: square_shape,
    grad: Rule(|g| {
        let (y, dy, adjoint) = (g.y[0], g.dy()?, g.attrs.bool("adjoint")?);
        let inner = mat_mul(g, dy, y, adjoint, !adjoint)?;
        let dx = mat_mul(g, y, inner, !adjoint, false)?;
        Ok(vec![neg(g, dx)?.into()])
    }),
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Plain(inverse::<f32>)),
        cpu_row!([("T", DataType::Double)], Make::Plain(inverse::<f64>)),
        cpu_row!([("T", DataType::Half)], Make::Plain(inverse_half)),
        cpu_row!([("T", DataType::Complex64)], Make::Plain(inverse::<Complex32>)),
        cpu_row!([("T", DataType::Complex128)], Make::Plain(inverse::<ComplexDouble>)),
    ],
    cases: |r| {
        vec![
            Case::new(vec![dominant(r, &[2, 3, 3])]),
            Case::new(vec![dominant(r, &[3, 3])]).attr("adjoint", true),
            Case::new(vec![r.tensor(&[2, 0, 0])]),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static BATCH_MATRIX_INVERSE: Op = Op {
    name: "BatchMatrixInverse",
    doc: "Deprecated: as MatrixInverse.",
    attrs: &["adjoint: bool = false", "T: {double, float}"],
    grad: Missing,
    kernels: cpu!(inverse: T in f32, f64),
    ..MATRIX_INVERSE
};

fn inverse_half(c: &mut OpCall<'_>) -> Result<()> {
    in_floats(c, inverse::<f32>)
}

fn inverse<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let adjoint = c.attrs().bool("adjoint")?;
    map_square::<T>(c, |par, x, n, out| {
        let lu = T::lu(par, x, n).map_err(wrong_size)?;
        if !lu.is_invertible() {
            return Err(invalid!("Input is not invertible."));
        }
        out.fill(T::ZERO);
        out.iter_mut().step_by(n + 1).for_each(|d| *d = T::ONE);
        T::solve(&lu, par, adjoint, out, n).map_err(wrong_size)?;
        Ok(())
    })
}

static MATRIX_DETERMINANT: Op = Op {
    name: "MatrixDeterminant",
    doc: "The determinants of square matrices.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &["T: {half, float, double, complex64, complex128}"],
    shape: determinant_shape,
    grad: Rule(|g| {
        let (y, dy) = (g.y[0], g.dy()?);
        let y = conj(g, y)?;
        let factor = mul(g, dy, y)?;
        times_adjoint_inverse(g, factor)
    }),
    kernels: cpu!(determinant: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![dominant(r, &[2, 3, 3])]),
            Case::new(vec![r.tensor(&[2, 2])]),
            Case::new(vec![r.tensor(&[2, 0, 0])]).without_difference(&[0]),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static BATCH_MATRIX_DETERMINANT: Op = Op {
    name: "BatchMatrixDeterminant",
    doc: "Deprecated: as MatrixDeterminant.",
    attrs: &["T: {float, double, complex64, complex128}"],
    grad: Missing,
    ..MATRIX_DETERMINANT
};

static LOG_MATRIX_DETERMINANT: Op = Op {
    name: "LogMatrixDeterminant",
    doc: "The signs of the determinants of square matrices, and the logarithms of their absolute values.",
    outputs: &["sign: T", "log_abs_determinant: T"],
    grad: Rule(|g| {
        let dlog = g.dy_or_zeros(1)?;
        times_adjoint_inverse(g, dlog)
    }),
    kernels: cpu!(log_determinant: T in f32, f64, Complex32, ComplexDouble),
    ..MATRIX_DETERMINANT
};

fn determinant_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (batch, _) = known_square(c, 0)?;
    c.all(with(&batch, &[], PartialShape::unknown()))
}

/// A number for each matrix, times the adjoint of its inverse.
fn times_adjoint_inverse(g: &mut GradCall<'_>, factor: Output) -> Result<Vec<Grad>> {
    let x = g.x[0];
    let inverse = g.op("MatrixInverse", [x.into()], &[("adjoint", Attr::Bool(true))])?;
    let factor = expand(g, factor, -1)?;
    let factor = expand(g, factor, -1)?;
    Ok(vec![mul(g, factor, inverse)?.into()])
}

fn determinant<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let (batch, n) = square_matrices(c, 0)?;
    let mut out = Tensor::uninit(T::DTYPE, batch)?;
    let (par, x) = (c.par(), c.slice::<T>(0)?);
    each(par, out.as_mut_slice::<T>()?.iter_mut(), cubed(n), &|i, out| {
        **out = T::lu(par, part(x, i, n * n), n).map_err(wrong_size)?.determinant();
        Ok(())
    })?;
    c.set(0, out);
    Ok(())
}

fn log_determinant<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let (batch, n) = square_matrices(c, 0)?;
    let (mut sign, mut log) = (Tensor::uninit(T::DTYPE, batch.clone())?, Tensor::uninit(T::DTYPE, batch)?);
    let (par, x) = (c.par(), c.slice::<T>(0)?);
    let items = sign.as_mut_slice::<T>()?.iter_mut().zip(log.as_mut_slice::<T>()?);
    each(par, items, cubed(n), &|i, (sign, log)| {
        let (s, l) = T::lu(par, part(x, i, n * n), n).map_err(wrong_size)?.log_determinant();
        (**sign, **log) = (s, T::from_real(l));
        Ok(())
    })?;
    c.set(0, sign);
    c.set(1, log);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn a_singular_matrix_has_no_inverse() {
        let singular = floats(&[2, 2], &[1.0, 2.0, 2.0, 4.0]);
        for result in [
            call("MatrixInverse", &[singular.clone()], &[]),
            call("MatrixSolve", &[singular.clone(), singular.clone()], &[]),
            call("Lu", &[singular.clone()], &[]),
            call("MatrixInverse", &[floats(&[1, 1], &[f32::NAN])], &[]),
        ] {
            let e = result.unwrap_err();
            assert_eq!(e.code(), Code::InvalidArgument);
            assert!(e.message().contains("not invertible"), "{e}");
        }
        assert_eq!(
            call("MatrixDeterminant", &[singular], &[]).unwrap()[0].as_slice::<f32>().unwrap(),
            &[0.0]
        );
    }

    #[test]
    fn matrices_that_do_not_fit_are_refused() {
        let of = |d: &[usize]| floats(d, &vec![1.0; d.iter().product()]);
        for (a, b) in [
            (of(&[2, 2]), of(&[2])),
            (of(&[1, 2, 2]), of(&[2, 2])),
            (of(&[2, 2]), of(&[3, 1])),
            (of(&[2, 3]), of(&[2, 1])),
        ] {
            assert_eq!(code(call("MatrixSolve", &[a, b], &[])), Code::InvalidArgument);
        }
        assert_eq!(code(call("MatrixInverse", &[of(&[2, 3])], &[])), Code::InvalidArgument);
        assert_eq!(code(call("Cholesky", &[of(&[2])], &[])), Code::InvalidArgument);
    }

    #[test]
    fn a_matrix_of_nothing_has_determinant_1() {
        let none = floats(&[3, 0, 0], &[]);
        let got = call("LogMatrixDeterminant", &[none], &[]).unwrap();
        assert_eq!(got[0].as_slice::<f32>().unwrap(), &[1.0; 3]);
        assert_eq!(got[1].as_slice::<f32>().unwrap(), &[0.0; 3]);
    }
}
