//! `MatrixSquareRoot`, `MatrixLogarithm`, `MatrixExponential`.

use super::algebra::*;
use super::matrices::*;
use super::wrong_size;
use crate::prelude::*;
use thalweg_math::decompose::ComplexScalar;

pub static OPS: &[&Op] = &[&MATRIX_EXPONENTIAL, &MATRIX_LOGARITHM, &MATRIX_SQUARE_ROOT];

static MATRIX_SQUARE_ROOT: Op = Op {
    name: "MatrixSquareRoot",
    doc: "Matrices whose squares are the input: their principal square roots.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &["T: {double, float, half, complex64, complex128}"],
    shape: square_shape,
    grad: Rule(square_root_grad),
    kernels: cpu!(square_root: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![dominant(r, &[2, 3, 3])]), Case::new(vec![r.positive(&[1, 1])])],
    expensive: true,
    ..Op::PURE
};

static MATRIX_LOGARITHM: Op = Op {
    name: "MatrixLogarithm",
    doc: "Matrices whose exponentials are the input: their principal logarithms.",
    attrs: &["T: {complex64, complex128}"],
    grad: Missing,
    kernels: cpu!(logarithm: T in Complex32, ComplexDouble),
    cases: |r| {
        let x = crate::convert::converted(&dominant(r, &[2, 3, 3]), DataType::Complex64);
        vec![Case::new(x.into_iter().collect())]
    },
    ..MATRIX_SQUARE_ROOT
};

static MATRIX_EXPONENTIAL: Op = Op {
    name: "MatrixExponential",
    doc: "Deprecated: the exponentials of matrices.",
    grad: Missing,
    kernels: cpu!(exponential: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3, 3])])],
    ..MATRIX_SQUARE_ROOT
};

fn square_root<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    map_square::<T>(c, |par, x, n, out| {
        T::square_root(par, x, n, out).map_err(wrong_size)?;
        Ok(())
    })
}

fn logarithm<T: Field + ComplexScalar>(c: &mut OpCall<'_>) -> Result<()> {
    map_square::<T>(c, |par, x, n, out| {
        T::logarithm(par, x, n, out).map_err(wrong_size)?;
        Ok(())
    })
}

fn exponential<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    map_square::<T>(c, |par, x, n, out| match T::exponential(par, x, n, out).map_err(wrong_size)? {
        true => Ok(()),
        false => Err(invalid!("The exponential of the matrix could not be computed: it is not finite.")),
    })
}

/// `X dX + dX X = dA`, as a system for the rows of dX one after another: `(S (x) I + I (x) S^T)^H vec(dA) = vec(dS)`.
fn square_root_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (s, ds) = (g.y[0], g.dy()?);
    let (shape, n) = (g.shape_of(s)?, size(g, s, -1)?);
    let batch = {
        let (zero, end) = (g.constant(int_vector(&[0]))?, g.constant(int_vector(&[-2]))?);
        let one = g.constant(int_vector(&[1]))?;
        g.op(
            "StridedSlice",
            [shape.into(), zero.into(), end.into(), one.into()],
            &[("begin_mask", Attr::Int(1))],
        )?
    };
    let eye = {
        let ones = g.unary("OnesLike", s)?;
        band(g, ones, 0, 0)?
    };
    let square = mul(g, n, n)?;
    let one = g.constant(Tensor::scalar(1i32))?;
    // Kronecker products: [.., i, 1, j, 1] times [.., 1, k, 1, l] as matrices of i k rows.
    let kronecker = |g: &mut GradCall<'_>, x: Output, y: Output| -> Result<Output> {
        let left = expand(g, x, -1)?;
        let left = expand(g, left, -3)?;
        let right = expand(g, y, -2)?;
        let right = expand(g, right, -4)?;
        let all = mul(g, left, right)?;
        let sizes = pack(g, &[square, square], 0)?;
        let shape = concat(g, batch, sizes, 0)?;
        g.binary("Reshape", all, shape)
    };
    let turned = adjoint(g, s)?;
    let turned = crate::gradients::conj(g, turned)?;
    let (first, second) = (kronecker(g, s, eye)?, kronecker(g, eye, turned)?);
    let system = add(g, first, second)?;
    let sizes = pack(g, &[square, one], 0)?;
    let as_column = concat(g, batch, sizes, 0)?;
    let column = g.binary("Reshape", ds, as_column)?;
    let solved = g.op("MatrixSolve", [system.into(), column.into()], &[("adjoint", Attr::Bool(true))])?;
    Ok(vec![g.binary("Reshape", solved, shape)?.into()])
}
