//! `MatrixSetDiag`, `MatrixSetDiagV2`, `MatrixSetDiagV3`: matrices with their diagonals replaced.

use super::band::{Align, Band, BandCopy, LEFT, MAIN};
use crate::prelude::*;

pub static MATRIX_SET_DIAG: Op = Op {
    name: "MatrixSetDiag",
    doc: "The input with the main diagonals of its innermost matrices replaced.",
    inputs: &["input: T", "diagonal: T"],
    outputs: &["output: T"],
    attrs: &["T: type"],
    shape: |c| shape(c, Some(MAIN)),
    grad: Rule(grad),
    kernels: cpu!(run_v1),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3, 4]), r.tensor(&[2, 3])])],
    ..Op::PURE
};

pub static BATCH_MATRIX_SET_DIAG: Op =
    Op { name: "BatchMatrixSetDiag", doc: "Deprecated: as MatrixSetDiag.", grad: Missing, ..MATRIX_SET_DIAG };

pub static MATRIX_SET_DIAG_V2: Op = Op {
    name: "MatrixSetDiagV2",
    doc: "The input with the diagonals `k` of its innermost matrices replaced; packed diagonals are aligned left.",
    inputs: &["input: T", "diagonal: T", "k: int32"],
    shape: |c| shape(c, Band::known(c, 2)?),
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3, 4]), r.tensor(&[2, 3]), Tensor::scalar(1i32)]),
            Case::new(vec![r.tensor(&[3, 4]), r.tensor(&[3, 3]), int_vector(&[-1, 1])]),
        ]
    },
    host_inputs: &["k"],
    ..MATRIX_SET_DIAG
};

pub static MATRIX_SET_DIAG_V3: Op = Op {
    name: "MatrixSetDiagV3",
    doc: "The input with the diagonals `k` of its innermost matrices replaced; `align` says how diagonals are packed.",
    attrs: &["T: type", "align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'"],
    ..MATRIX_SET_DIAG_V2
};

fn shape(c: &ShapeCall<'_>, band: Option<Band>) -> Result<Vec<PartialShape>> {
    let x = c.rank_at_least(0, 2)?;
    let Some((dims, band)) = x.dims().zip(band) else { return Ok(vec![x]) };
    let packed = band.packed_shape(dims)?;
    packed.merge(&c.input(1)).map_err(|e| e.context("diagonal"))?;
    Ok(vec![x])
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (diagonal, dy) = (g.x[1], g.dy()?);
    let zeros = g.unary("ZerosLike", diagonal)?;
    let align: Vec<(&'static str, Attr)> =
        g.attrs.get("align").map(|a| ("align", a.clone())).into_iter().collect();
    if g.x.len() == 2 {
        let dx = g.binary("MatrixSetDiag", dy, zeros)?;
        return Ok(vec![dx.into(), g.unary("MatrixDiagPart", dy)?.into()]);
    }
    let (k, zero) = (g.x[2], g.number(0.0, dy)?);
    let part = if align.is_empty() { "MatrixDiagPartV2" } else { "MatrixDiagPartV3" };
    let dx = g.op(g.op, [dy.into(), zeros.into(), k.into()], &align)?;
    let dd = g.op(part, [dy.into(), k.into(), zero.into()], &align)?;
    Ok(vec![dx.into(), dd.into(), Grad::None])
}

fn run_v1(c: &mut OpCall<'_>) -> Result<()> {
    set_diagonals(c, MAIN, LEFT)
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let align = Align::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let band = Band::input(c, 2)?;
        set_diagonals(c, band, align)
    }))
}

fn set_diagonals(c: &mut OpCall<'_>, band: Band, align: Align) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let [batch @ .., rows, cols] = shape.dims() else {
        return Err(invalid!("input must be at least 2-dim, received shape: {shape}"));
    };
    band.check(*rows as i64, *cols as i64)?;
    let longest = band.longest(*rows as i64, *cols as i64);
    let packed: Vec<i64> = batch.iter().map(|d| *d as i64).chain(band.packed_dims(longest)).collect();
    if c.shape(1)?.to_i64().as_slice() != packed {
        return Err(invalid!("diagonal must have shape {packed:?} for input {shape}, got {}", c.shape(1)?));
    }
    let copy = BandCopy { batch: batch.iter().product(), rows: *rows, cols: *cols, band, align };
    let mut out = c.take(0)?;
    if out.elements() > 0 {
        copy.unpack(c.par(), c.input(1)?, &mut out)?;
    }
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn a_diagonal_of_another_length_is_refused() {
        let x = floats(&[2, 3], &[0.0; 6]);
        for diagonal in [floats(&[3], &[1.0; 3]), floats(&[1, 2], &[1.0; 2]), floats(&[], &[1.0])] {
            assert_eq!(code(call("MatrixSetDiag", &[x.clone(), diagonal], &[])), Code::InvalidArgument);
        }
    }
}
