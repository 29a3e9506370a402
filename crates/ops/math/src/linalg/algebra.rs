//! Formulas of matrices, for gradient rules.

use crate::prelude::*;

/// `x y`, with adjoints by flags.
pub fn mat_mul(g: &mut GradCall<'_>, x: Output, y: Output, adj_x: bool, adj_y: bool) -> Result<Output> {
    let flags = [("adj_x", Attr::Bool(adj_x)), ("adj_y", Attr::Bool(adj_y))];
    g.op("BatchMatMulV2", [x.into(), y.into()], &flags)
}

/// The conjugate transpose of the innermost matrices.
pub fn adjoint(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let perm = match g.graph.shape(x).rank() {
        Some(rank) if rank >= 2 => {
            let mut perm: Vec<i32> = (0..rank as i32).collect();
            perm.swap(rank - 2, rank - 1);
            g.constant(int_vector(&perm))?
        }
        _ => {
            let rank = g.unary("Rank", x)?;
            let (zero, one) = (g.constant(Tensor::scalar(0i32))?, g.constant(Tensor::scalar(1i32))?);
            let two = g.constant(Tensor::scalar(2i32))?;
            let (last, before) = (g.binary("Sub", rank, one)?, g.binary("Sub", rank, two)?);
            let batch = g.op("Range", [zero.into(), before.into(), one.into()], &[])?;
            let swapped = pack(g, &[last, before], 0)?;
            concat(g, batch, swapped, 0)?
        }
    };
    let op = if g.graph.dtype(x).is_complex() { "ConjugateTranspose" } else { "Transpose" };
    g.binary(op, x, perm)
}

pub fn add(g: &mut GradCall<'_>, x: Output, y: Output) -> Result<Output> {
    g.binary("AddV2", x, y)
}

pub fn sub(g: &mut GradCall<'_>, x: Output, y: Output) -> Result<Output> {
    g.binary("Sub", x, y)
}

pub fn mul(g: &mut GradCall<'_>, x: Output, y: Output) -> Result<Output> {
    g.binary("Mul", x, y)
}

pub fn neg(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    g.unary("Neg", x)
}

pub fn scaled(g: &mut GradCall<'_>, x: Output, by: f64) -> Result<Output> {
    let by = g.number(by, x)?;
    mul(g, x, by)
}

pub fn expand(g: &mut GradCall<'_>, x: Output, axis: i32) -> Result<Output> {
    let axis = g.constant(Tensor::scalar(axis))?;
    g.binary("ExpandDims", x, axis)
}

/// The lower triangles, with their diagonals halved if `halved`.
pub fn lower(g: &mut GradCall<'_>, x: Output, halved: bool) -> Result<Output> {
    let band = band(g, x, -1, 0)?;
    if !halved {
        return Ok(band);
    }
    let diagonal = g.unary("MatrixDiagPart", band)?;
    let half = scaled(g, diagonal, 0.5)?;
    g.binary("MatrixSetDiag", band, half)
}

pub fn band(g: &mut GradCall<'_>, x: Output, below: i64, above: i64) -> Result<Output> {
    let (below, above) = (g.constant(Tensor::scalar(below))?, g.constant(Tensor::scalar(above))?);
    g.op("MatrixBandPart", [x.into(), below.into(), above.into()], &[])
}

/// `1 / x`, and 0 where `x` is 0.
fn safe_reciprocal(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let (square, least) = (mul(g, x, x)?, g.number(1e-20, x)?);
    let under = add(g, square, least)?;
    g.binary("Div", x, under)
}

/// The matrix `1 / (e_j - e_i)`, with zeros on its diagonal.
pub fn reciprocal_gaps(g: &mut GradCall<'_>, e: Output) -> Result<Output> {
    let (row, column) = (expand(g, e, -2)?, expand(g, e, -1)?);
    let gaps = sub(g, row, column)?;
    let inverse = safe_reciprocal(g, gaps)?;
    let zeros = g.unary("ZerosLike", e)?;
    g.binary("MatrixSetDiag", inverse, zeros)
}

/// A diagonal matrix of `1 / s`.
pub fn inverse_diagonal(g: &mut GradCall<'_>, s: Output) -> Result<Output> {
    let inverse = safe_reciprocal(g, s)?;
    g.unary("MatrixDiag", inverse)
}

/// The size of a dimension, counted from the end: -1 is the last.
pub fn size(g: &mut GradCall<'_>, x: Output, at: i32) -> Result<Output> {
    let shape = g.shape_of(x)?;
    let (begin, end) = (g.constant(int_vector(&[at]))?, g.constant(int_vector(&[at.wrapping_add(1)]))?);
    let one = g.constant(int_vector(&[1]))?;
    let masks = [("shrink_axis_mask", Attr::Int(1)), ("end_mask", Attr::Int((at == -1) as i64))];
    g.op("StridedSlice", [shape.into(), begin.into(), end.into(), one.into()], &masks)
}

/// Columns of the innermost matrices: those before `at`, or those from it on.
pub fn split_columns(g: &mut GradCall<'_>, x: Output, at: Output) -> Result<(Output, Output)> {
    let zero = g.constant(Tensor::scalar(0i32))?;
    let bound = pack(g, &[zero, zero, at], 0)?;
    let (none, ones) = (g.constant(int_vector(&[0; 3]))?, g.constant(int_vector(&[1; 3]))?);
    // x[..., :, a:b]
    let masks = |begin: i64, end: i64| {
        [("ellipsis_mask", Attr::Int(1)), ("begin_mask", Attr::Int(begin)), ("end_mask", Attr::Int(end))]
    };
    let before = g.op("StridedSlice", [x.into(), none.into(), bound.into(), ones.into()], &masks(6, 2))?;
    let after = g.op("StridedSlice", [x.into(), bound.into(), none.into(), ones.into()], &masks(2, 6))?;
    Ok((before, after))
}

/// `a[..., begin:end, :]`; None is an open end.
pub fn rows(g: &mut GradCall<'_>, x: Output, begin: Option<i32>, end: Option<i32>) -> Result<Output> {
    let from = g.constant(int_vector(&[0, begin.unwrap_or(0), 0]))?;
    let (to, ones) = (g.constant(int_vector(&[0, end.unwrap_or(0), 0]))?, g.constant(int_vector(&[1; 3]))?);
    let open = |bound: Option<i32>| Attr::Int(if bound.is_none() { 6 } else { 4 });
    let masks = [("ellipsis_mask", Attr::Int(1)), ("begin_mask", open(begin)), ("end_mask", open(end))];
    g.op("StridedSlice", [x.into(), from.into(), to.into(), ones.into()], &masks)
}

/// Rows moved down by one, zeros first.
pub fn rows_down(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let (first, kept) = (rows(g, x, None, Some(1))?, rows(g, x, None, Some(-1))?);
    let zeros = g.unary("ZerosLike", first)?;
    concat(g, zeros, kept, -2)
}

/// Rows moved up by one, zeros last.
pub fn rows_up(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let (first, kept) = (rows(g, x, None, Some(1))?, rows(g, x, Some(1), None)?);
    let zeros = g.unary("ZerosLike", first)?;
    concat(g, kept, zeros, -2)
}

/// Tensors of one shape along a new axis.
pub fn pack(g: &mut GradCall<'_>, parts: &[Output], axis: i64) -> Result<Output> {
    g.op("Pack", [parts.into()], &[("axis", Attr::Int(axis))])
}

pub fn concat(g: &mut GradCall<'_>, x: Output, y: Output, axis: i32) -> Result<Output> {
    let axis = g.constant(Tensor::scalar(axis))?;
    g.op("ConcatV2", [vec![x, y].into(), axis.into()], &[])
}

/// Sums over an axis, counted from the end.
pub fn sum(g: &mut GradCall<'_>, x: Output, axis: i32) -> Result<Output> {
    let axis = g.constant(int_vector(&[axis]))?;
    g.binary("Sum", x, axis)
}

/// The gradient of `op(a)` and of `b` in `op(a) x = b`, of which the solution's gradient is known: `db` solves the adjoint system.
pub fn system_gradient(g: &mut GradCall<'_>, db: Output, adjoint: bool) -> Result<Output> {
    let x = g.y[0];
    let da = if adjoint { mat_mul(g, x, db, false, true)? } else { mat_mul(g, db, x, false, true)? };
    neg(g, da)
}
