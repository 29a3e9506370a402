//! `Cholesky`, `CholeskyGrad`, `Lu`, `Qr`, and the deprecated forms of the first.

use super::algebra::*;
use super::matrices::*;
use super::wrong_size;
use crate::prelude::*;
use thalweg_math::decompose::RealScalar;

pub static OPS: &[&Op] = &[&CHOLESKY, &CHOLESKY_GRAD, &BATCH_CHOLESKY, &BATCH_CHOLESKY_GRAD, &LU, &QR];

static CHOLESKY: Op = Op {
    name: "Cholesky",
    doc: "Lower triangular factors L of Hermitian, positive definite matrices `L L^H`, of which the lower triangles are read; NaN if they are not.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &["T: {double, float, half, complex64, complex128}"],
    shape: square_shape,
    grad: Rule(cholesky_grad),
    kernels: cpu!(cholesky: T in f32, f64, Complex32, ComplexDouble),
    // Only the lower triangle is read, but its gradient is spread over both.
    cases: |r| {
        let case = |x: Tensor| Case::new(vec![x]).without_difference(&[0]);
        vec![case(definite(r, &[2, 3, 3])), case(definite(r, &[1, 1])), case(r.tensor(&[2, 0, 0]))]
    },
    expensive: true,
    ..Op::PURE
};

static BATCH_CHOLESKY: Op = Op {
    name: "BatchCholesky",
    doc: "Deprecated: as Cholesky.",
    attrs: &["T: {double, float}"],
    grad: Missing,
    kernels: cpu!(cholesky: T in f32, f64),
    ..CHOLESKY
};

static CHOLESKY_GRAD: Op = Op {
    name: "CholeskyGrad",
    doc: "The gradient of a matrix, from that of its Cholesky factor.",
    inputs: &["l: T", "grad: T"],
    attrs: &["T: {half, float, double}"],
    shape: |c| {
        let ((batch, n), (other, m)) = (known_square(c, 0)?, known_square(c, 1)?);
        let n = merge_dim(n, m)?;
        Ok(vec![with(&merged(batch, other)?, &[n, n], c.input(0))])
    },
    grad: Missing,
    kernels: cpu!(gradient: T in f32, f64),
    cases: |r| vec![Case::new(vec![definite(r, &[2, 3, 3]), r.tensor(&[2, 3, 3])])],
    ..CHOLESKY
};

static BATCH_CHOLESKY_GRAD: Op = Op {
    name: "BatchCholeskyGrad",
    doc: "Deprecated: as CholeskyGrad.",
    attrs: &["T: {float, double}"],
    ..CHOLESKY_GRAD
};

fn cholesky<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    map_square::<T>(c, |par, x, n, out| {
        out.copy_from_slice(x);
        if !T::cholesky(par, out, n).map_err(wrong_size)? {
            let nan = T::from_real(T::Real::NAN);
            for (i, row) in out.chunks_exact_mut(n).enumerate() {
                row[..=i].fill(nan);
                row[i + 1..].fill(T::ZERO);
            }
        }
        Ok(())
    })
}

fn gradient<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    same_batches(c, 2)?;
    let ((_, n), (_, m)) = (square_matrices(c, 0)?, square_matrices(c, 1)?);
    if n != m {
        return Err(invalid!("Inputs must have the same shape, got {} and {}", c.shape(0)?, c.shape(1)?));
    }
    let grads = c.input(1)?.clone();
    let grads = grads.as_slice::<T>()?;
    let (batch, _) = square_matrices(c, 0)?;
    let mut out = Tensor::uninit(T::DTYPE, c.shape(0)?.clone())?;
    if out.elements() > 0 {
        let (par, l) = (c.par(), c.slice::<T>(0)?);
        each(par, parts(out.as_mut_slice::<T>()?, batch.elements()), cubed(n), &|i, out| {
            T::cholesky_gradient(par, part(l, i, n * n), part(grads, i, n * n), n, out)
                .map_err(wrong_size)?;
            Ok(())
        })?;
    }
    c.set(0, out);
    Ok(())
}

/// `L^-H P L^-1` made Hermitian, P the lower triangle of `L^H dL`, its diagonal halved.
fn cholesky_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (l, dl) = (g.y[0], g.dy()?);
    let product = mat_mul(g, l, dl, true, false)?;
    let middle = lower(g, product, true)?;
    let solve = |g: &mut GradCall<'_>, b: Output| {
        g.op("MatrixTriangularSolve", [l.into(), b.into()], &[("adjoint", Attr::Bool(true))])
    };
    let left = solve(g, middle)?;
    let turned = adjoint(g, left)?;
    let both = solve(g, turned)?;
    let other = adjoint(g, both)?;
    let sum = add(g, both, other)?;
    Ok(vec![scaled(g, sum, 0.5)?.into()])
}

static LU: Op = Op {
    name: "Lu",
    doc: "LU factors with partial pivoting, in one matrix, the unit diagonal of L left out; and the permutation: row i of L U is row p[i] of the input.",
    inputs: &["input: T"],
    outputs: &["lu: T", "p: output_idx_type"],
    attrs: &["T: {double, float, half, complex64, complex128}", "output_idx_type: {int32, int64} = DT_INT32"],
    shape: |c| {
        let (batch, n) = known_square(c, 0)?;
        let p = with(&batch, &[n], PartialShape::unknown());
        Ok(vec![with(&batch, &[n, n], c.input(0)), p])
    },
    kernels: cpu!(lu: T in f32, f64, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![dominant(r, &[2, 3, 3])]),
            Case::new(vec![r.tensor(&[4, 4])]).attr("output_idx_type", DataType::Int64),
            Case::new(vec![r.tensor(&[0, 0])]),
        ]
    },
    expensive: true,
    ..Op::PURE
};

fn lu<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let (batch, n) = square_matrices(c, 0)?;
    let mut out = Tensor::uninit(T::DTYPE, c.shape(0)?.clone())?;
    let mut order = Tensor::uninit(DataType::Int64, joined(&batch, &[n])?)?;
    if out.elements() > 0 {
        let (par, x, count) = (c.par(), c.slice::<T>(0)?, batch.elements());
        let items = parts(out.as_mut_slice::<T>()?, count).zip(parts(order.as_mut_slice::<i64>()?, count));
        each(par, items, cubed(n), &|i, (out, order)| {
            let lu = T::lu(par, part(x, i, n * n), n).map_err(wrong_size)?;
            if !lu.is_invertible() {
                return Err(invalid!("Input is not invertible."));
            }
            out.copy_from_slice(&lu.factors);
            order.iter_mut().zip(&lu.permutation).for_each(|(to, from)| *to = *from as i64);
            Ok(())
        })?;
    }
    let order = crate::convert::converted(&order, c.output_type(1)?)?;
    c.set(0, out);
    c.set(1, order);
    Ok(())
}

static QR: Op = Op {
    name: "Qr",
    doc: "Matrices as products of Q, with orthonormal columns, and upper triangular R; `full_matrices` makes Q square.",
    inputs: &["input: T"],
    outputs: &["q: T", "r: T"],
    attrs: &["full_matrices: bool = false", "T: {double, float, half, complex64, complex128}"],
    shape: |c| {
        let (batch, [m, n]) = known(c, 0)?;
        let least = if m < 0 || n < 0 { -1 } else { m.min(n) };
        let k = if c.attrs.bool("full_matrices")? { m } else { least };
        let shape = |tail: &[i64]| with(&batch, tail, PartialShape::unknown());
        Ok(vec![shape(&[m, k]), shape(&[k, n])])
    },
    grad: Rule(qr_grad),
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Plain(qr::<f32>)),
        cpu_row!([("T", DataType::Double)], Make::Plain(qr::<f64>)),
        cpu_row!([("T", DataType::Half)], Make::Plain(qr_half)),
        cpu_row!([("T", DataType::Complex64)], Make::Plain(qr::<Complex32>)),
        cpu_row!([("T", DataType::Complex128)], Make::Plain(qr::<ComplexDouble>)),
    ],
    cases: |r| {
        vec![
            Case::new(vec![dominant(r, &[2, 3, 3])]),
            Case::new(vec![dominant(r, &[4, 2])]),
            Case::new(vec![dominant(r, &[2, 4])]),
            Case::new(vec![dominant(r, &[2, 4])]).attr("full_matrices", true),
        ]
    },
    expensive: true,
    ..Op::PURE
};

fn qr_half(c: &mut OpCall<'_>) -> Result<()> {
    in_floats(c, qr::<f32>)
}

fn qr<T: Field>(c: &mut OpCall<'_>) -> Result<()> {
    let (batch, [m, n]) = matrices(c, 0)?;
    let k = if c.attrs().bool("full_matrices")? { m } else { m.min(n) };
    let mut q = Tensor::zeros(T::DTYPE, joined(&batch, &[m, k])?)?;
    let mut r = Tensor::zeros(T::DTYPE, joined(&batch, &[k, n])?)?;
    if q.elements() > 0 {
        let (par, x, count) = (c.par(), c.slice::<T>(0)?, batch.elements());
        let items = parts(q.as_mut_slice::<T>()?, count).zip(parts(r.as_mut_slice::<T>()?, count));
        each(par, items, cubed(m.max(n)), &|i, (q, r)| {
            T::qr(par, part(x, i, m * n), [m, n], k, q, r).map_err(wrong_size)?;
            Ok(())
        })?;
    }
    c.set(0, q);
    c.set(1, r);
    Ok(())
}

/// `x R^-H`.
fn divided(g: &mut GradCall<'_>, x: Output, r: Output) -> Result<Output> {
    let turned = adjoint(g, x)?;
    let solved = g.op("MatrixTriangularSolve", [r.into(), turned.into()], &[("lower", Attr::Bool(false))])?;
    adjoint(g, solved)
}

/// Of wide matrices `[x, y]` with `R = [u, v]`, the columns of x are a square matrix with factors Q and u; y is `Q v`. Of others
/// y has no columns.
fn qr_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (a, q, r) = (g.x[0], g.y[0], g.y[1]);
    let shape = g.graph.shape(a);
    if let (Some([.., m, n]), true) = (shape.dims(), g.attrs.bool("full_matrices")?)
        && *n >= 0
        && m > n
    {
        return Err(unimplemented("Qr has no gradient for full matrices with more rows than columns"));
    }
    let (dq, dr) = (g.dy_or_zeros(0)?, g.dy_or_zeros(1)?);
    let count = size(g, q, -2)?;
    let (_, y) = split_columns(g, a, count)?;
    let (u, _) = split_columns(g, r, count)?;
    let (du, dv) = split_columns(g, dr, count)?;
    let from_y = mat_mul(g, y, dv, false, true)?;
    let dq = add(g, dq, from_y)?;
    let (dx, dy) = (qr_grad_tall(g, q, u, dq, du)?, mat_mul(g, q, dv, false, false)?);
    Ok(vec![concat(g, dx, dy, -1)?.into()])
}

fn qr_grad_tall(g: &mut GradCall<'_>, q: Output, r: Output, dq: Output, dr: Output) -> Result<Output> {
    let qdq = mat_mul(g, q, dq, true, false)?;
    let rdr = mat_mul(g, r, dr, false, true)?;
    let both = {
        let (qdq_h, rdr_h) = (adjoint(g, qdq)?, adjoint(g, rdr)?);
        let (x, y) = (sub(g, qdq, qdq_h)?, sub(g, rdr, rdr_h)?);
        add(g, x, y)?
    };
    let triangle = lower(g, both, false)?;
    let solved = divided(g, triangle, r)?;
    let inner = add(g, dr, solved)?;
    let within = mat_mul(g, q, inner, false, false)?;
    let projected = mat_mul(g, q, qdq, false, false)?;
    let rest = sub(g, dq, projected)?;
    let outside = divided(g, rest, r)?;
    let dx = add(g, within, outside)?;
    if !g.graph.dtype(q).is_complex() {
        return Ok(dx);
    }
    // The phases of R's diagonal are fixed: it is real.
    let qdq_h = adjoint(g, qdq)?;
    let m = sub(g, rdr, qdq_h)?;
    let diagonal = g.unary("MatrixDiagPart", m)?;
    let real = g.op("Real", [diagonal.into()], &[("Tout", Attr::Type(real_type(g.graph.dtype(q))))])?;
    let real = crate::gradients::cast(g, real, diagonal)?;
    let imaginary = sub(g, diagonal, real)?;
    let correction = g.unary("MatrixDiag", imaginary)?;
    let turned = mat_mul(g, q, correction, false, true)?;
    let turned = divided(g, turned, r)?;
    add(g, dx, turned)
}

/// The type of a complex type's parts.
pub fn real_type(t: DataType) -> DataType {
    if t == DataType::Complex128 { DataType::Double } else { DataType::Float }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn factors_have_the_signs_of_tensorflow() {
        let a = floats(&[2, 2], &[4.0, 1.0, 1.0, 3.0]);
        let close = |got: &thalweg_core::tensor::Tensor, want: [f32; 4]| {
            let got = got.as_slice::<f32>().unwrap();
            assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?}, not {want:?}");
        };
        let qr = call("Qr", &[a.clone()], &[]).unwrap();
        close(&qr[0], [-0.9701426, -0.24253564, -0.24253564, 0.9701425]);
        close(&qr[1], [-4.1231055, -1.6977494, 0.0, 2.667892]);
        close(
            &call("SelfAdjointEigV2", &[a.clone()], &[]).unwrap()[1],
            [-0.52573115, 0.85065085, 0.85065085, 0.52573115],
        );
        close(&call("Svd", &[a], &[]).unwrap()[2], [0.85065085, -0.52573115, 0.52573115, 0.85065085]);
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factor() {
        let got = call("Cholesky", &[floats(&[2, 2], &[-4.0, -1.0, -1.0, -3.0])], &[]).unwrap();
        let got = got[0].as_slice::<f32>().unwrap();
        assert!(got[0].is_nan() && got[1] == 0.0 && got[2].is_nan() && got[3].is_nan());
    }

    #[test]
    fn nan_ends_every_decomposition() {
        let nan = floats(&[3, 3], &[f32::NAN; 9]);
        assert!(call("Svd", &[nan.clone()], &[]).unwrap()[0].as_slice::<f32>().unwrap()[0].is_nan());
        assert!(call("Qr", &[nan.clone()], &[]).is_ok());
        assert!(call("SelfAdjointEigV2", &[nan.clone()], &[]).is_err());
        assert!(call("Eig", &[nan], &[("Tout", thalweg_core::dtype::DataType::Complex64.into())]).is_err());
    }
}
