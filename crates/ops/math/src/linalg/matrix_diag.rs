//! `MatrixDiag`, `MatrixDiagV2`, `MatrixDiagV3`: matrices with given diagonals.

use super::band::{Align, Band, BandCopy, LEFT, MAIN};
use crate::axis::single_constant;
use crate::moving::filled;
use crate::prelude::*;

pub static MATRIX_DIAG: Op = Op {
    name: "MatrixDiag",
    doc: "Square matrices with the innermost dimension of the input as diagonals and zeros elsewhere.",
    inputs: &["diagonal: T"],
    outputs: &["output: T"],
    attrs: &["T: type"],
    shape: |c| {
        let x = c.rank_at_least(0, 1)?;
        let last = x.rank().map_or(-1, |r| x.dim(r - 1));
        Ok(vec![x.concat(&PartialShape::vector(last))])
    },
    grad: Rule(|g| {
        let dy = g.dy()?;
        Ok(vec![g.unary("MatrixDiagPart", dy)?.into()])
    }),
    kernels: cpu!(run_v1),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])]), Case::new(vec![r.tensor(&[0])])],
    ..Op::PURE
};

pub static BATCH_MATRIX_DIAG: Op =
    Op { name: "BatchMatrixDiag", doc: "Deprecated: as MatrixDiag.", grad: Missing, ..MATRIX_DIAG };

pub static MATRIX_DIAG_V2: Op = Op {
    name: "MatrixDiagV2",
    doc: "Matrices with the given diagonals, `padding_value` elsewhere; packed diagonals are aligned left.",
    inputs: &["diagonal: T", "k: int32", "num_rows: int32", "num_cols: int32", "padding_value: T"],
    shape: shape_v2,
    grad: Rule(grad_v2),
    kernels: cpu!(make prepare),
    cases: |r| {
        let case = |x: Tensor, k: &[i32], rows: i32, cols: i32| {
            let sizes = [int_vector(k), Tensor::scalar(rows), Tensor::scalar(cols)];
            Case::new([vec![x], sizes.to_vec(), vec![Tensor::scalar(9f32)]].concat()).without_difference(&[4])
        };
        vec![
            case(r.tensor(&[2, 3]), &[1], -1, -1),
            case(r.tensor(&[2, 3, 3]), &[-1, 1], 3, 4),
            case(r.tensor(&[2, 2]), &[-2, -1], 4, 2),
        ]
    },
    host_inputs: &["k", "num_rows", "num_cols", "padding_value"],
    ..MATRIX_DIAG
};

pub static MATRIX_DIAG_V3: Op = Op {
    name: "MatrixDiagV3",
    doc: "Matrices with the given diagonals, `padding_value` elsewhere; `align` says how diagonals are packed.",
    attrs: &["T: type", "align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'"],
    grad: Rule(grad_v2),
    ..MATRIX_DIAG_V2
};

fn shape_v2(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let x = c.rank_at_least(0, 1)?;
    for scalar in 2..5 {
        c.scalar(scalar)?;
    }
    let (band, rows, cols) = (Band::known(c, 1)?, single_constant(c, 2)?, single_constant(c, 3)?);
    let (Some(dims), Some(band)) = (x.dims(), band) else { return Ok(vec![PartialShape::unknown()]) };
    let packed = band.packed_dims(-1).len();
    let Some((batch, last)) = dims.len().checked_sub(packed).and_then(|n| Some((&dims[..n], dims.last()?)))
    else {
        return Err(invalid!("diagonal must be at least {packed}-dim, received shape: {x}"));
    };
    if packed == 2 {
        merge_dim(dims[dims.len() - 2], band.count())?;
    }
    let (rows, cols) = match (*last, rows, cols) {
        (-1, rows, cols) => (rows.unwrap_or(-1), cols.unwrap_or(-1)),
        (_, None, _) | (_, _, None) => (-1, -1),
        (last, Some(rows), Some(cols)) => matrix_size(band, last, rows, cols)?,
    };
    Ok(vec![batch.iter().copied().chain([rows, cols]).collect()])
}

/// Rows and columns of the matrix; -1 is inferred from the longest diagonal.
fn matrix_size(band: Band, longest: i64, rows: i64, cols: i64) -> Result<(i64, i64)> {
    // Declared lengths may overflow.
    let least_rows = longest.saturating_sub(band.high.min(0));
    let least_cols = longest.saturating_add(band.low.max(0));
    let (rows, cols) = match (rows, cols) {
        (-1, -1) => (least_rows.max(least_cols), least_rows.max(least_cols)),
        (-1, cols) => (least_rows, cols),
        (rows, -1) => (rows, least_cols),
        sizes => sizes,
    };
    if rows < least_rows || cols < least_cols {
        return Err(invalid!(
            "The number of rows or columns is too small: {rows} by {cols} where {least_rows} by {least_cols} are needed"
        ));
    }
    if rows != least_rows && cols != least_cols {
        return Err(invalid!(
            "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal: {rows} by {cols}, the longest diagonal having {longest}"
        ));
    }
    Ok((rows, cols))
}

fn grad_v2(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (k, dy) = (g.x[1], g.dy()?);
    let zero = g.number(0.0, dy)?;
    let dx = match g.attrs.get("align").cloned() {
        None => g.op("MatrixDiagPartV2", [dy.into(), k.into(), zero.into()], &[])?,
        Some(align) => g.op("MatrixDiagPartV3", [dy.into(), k.into(), zero.into()], &[("align", align)])?,
    };
    Ok(vec![dx.into(), Grad::None, Grad::None, Grad::None, Grad::None])
}

fn run_v1(c: &mut OpCall<'_>) -> Result<()> {
    matrices(c, MAIN, -1, -1, None, LEFT)
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let align = Align::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (band, rows, cols) = (Band::input(c, 1)?, c.scalar_int(2)?, c.scalar_int(3)?);
        let padding = c.input(4)?.clone();
        if !padding.shape().is_scalar() {
            return Err(invalid!("padding_value must be a scalar, received shape: {}", padding.shape()));
        }
        matrices(c, band, rows, cols, Some(padding), align)
    }))
}

fn matrices(
    c: &mut OpCall<'_>,
    band: Band,
    rows: i64,
    cols: i64,
    padding: Option<Tensor>,
    align: Align,
) -> Result<()> {
    let x = c.input(0)?;
    let packed = band.packed_dims(-1).len();
    let Some((batch, inner)) = x.rank().checked_sub(packed).map(|n| x.shape().split_at(n)) else {
        return Err(invalid!("diagonal must be at least {packed}-dim, received shape: {}", x.shape()));
    };
    if packed == 2 && inner[0] as i64 != band.count() {
        return Err(invalid!(
            "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range: {} for {} to {}",
            inner[0],
            band.low,
            band.high
        ));
    }
    let longest = inner.last().copied().unwrap_or(0) as i64;
    let (rows, cols) = matrix_size(band, longest, rows, cols)?;
    let dims: Vec<i64> = batch.iter().map(|d| *d as i64).chain([rows, cols]).collect();
    let mut out = filled(c.par(), x.dtype(), Shape::from_i64(&dims)?, padding.as_ref())?;
    let copy =
        BandCopy { batch: batch.iter().product(), rows: rows as usize, cols: cols as usize, band, align };
    if x.elements() > 0 {
        copy.unpack(c.par(), x, &mut out)?;
    }
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Band, matrix_size};
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn a_diagonal_that_is_said_to_be_endless_is_no_overflow() {
        let band = Band { low: 7, high: 9 };
        assert_eq!(matrix_size(band, i64::MAX, -1, -1).unwrap(), (i64::MAX, i64::MAX));
        assert!(matrix_size(band, i64::MAX, 4, 4).is_err());
    }

    #[test]
    fn sizes_that_do_not_fit_the_diagonals_are_refused() {
        let run = |dims: &[usize], k: &[i32], rows, cols| {
            let x = floats(dims, &vec![1.0; dims.iter().product()]);
            let one = |v| ints(&[], &[v]);
            call("MatrixDiagV3", &[x, ints(&[k.len()], k), one(rows), one(cols), floats(&[], &[0.0])], &[])
        };
        assert_eq!(code(run(&[3], &[0], 2, -1)), Code::InvalidArgument);
        assert_eq!(code(run(&[3], &[0], 4, 4)), Code::InvalidArgument);
        assert_eq!(code(run(&[3], &[1, 0], -1, -1)), Code::InvalidArgument);
        assert_eq!(code(run(&[3, 3], &[0, 1], -1, -1)), Code::InvalidArgument);
        assert_eq!(code(run(&[3], &[0, 1], -1, -1)), Code::InvalidArgument);
        assert_eq!(code(run(&[3], &[i32::MAX], i32::MAX, i32::MAX)), Code::InvalidArgument);
        assert_eq!(code(run(&[3], &[], -1, -1)), Code::InvalidArgument);
    }
}
