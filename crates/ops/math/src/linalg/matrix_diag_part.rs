//! `MatrixDiagPart`, `MatrixDiagPartV2`, `MatrixDiagPartV3`: the diagonals of matrices.

use super::band::{Align, Band, BandCopy, LEFT, MAIN};
use crate::moving::filled;
use crate::prelude::*;

pub static MATRIX_DIAG_PART: Op = Op {
    name: "MatrixDiagPart",
    doc: "The main diagonals of the innermost matrices.",
    inputs: &["input: T"],
    outputs: &["diagonal: T"],
    attrs: &["T: type"],
    shape: |c| shape(c, Some(MAIN)),
    grad: Rule(grad),
    kernels: cpu!(run_v1),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3, 4])]), Case::new(vec![r.tensor(&[0, 2])])],
    ..Op::PURE
};

pub static BATCH_MATRIX_DIAG_PART: Op = Op {
    name: "BatchMatrixDiagPart",
    doc: "Deprecated: as MatrixDiagPart.",
    grad: Missing,
    ..MATRIX_DIAG_PART
};

pub static MATRIX_DIAG_PART_V2: Op = Op {
    name: "MatrixDiagPartV2",
    doc: "The diagonals `k` of the innermost matrices, packed to the left, padded with `padding_value`.",
    inputs: &["input: T", "k: int32", "padding_value: T"],
    shape: |c| {
        c.scalar(2)?;
        shape(c, Band::known(c, 1)?)
    },
    kernels: cpu!(make prepare),
    cases: |r| {
        let case = |x: Tensor, k: &[i32]| {
            Case::new(vec![x, int_vector(k), Tensor::scalar(9f32)]).without_difference(&[2])
        };
        vec![
            case(r.tensor(&[2, 3, 4]), &[1]),
            case(r.tensor(&[2, 3, 4]), &[-1, 2]),
            case(r.tensor(&[4, 2]), &[-3, -1]),
        ]
    },
    host_inputs: &["k", "padding_value"],
    ..MATRIX_DIAG_PART
};

pub static MATRIX_DIAG_PART_V3: Op = Op {
    name: "MatrixDiagPartV3",
    doc: "The diagonals `k` of the innermost matrices, packed as `align` says, padded with `padding_value`.",
    attrs: &["T: type", "align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'"],
    ..MATRIX_DIAG_PART_V2
};

fn shape(c: &ShapeCall<'_>, band: Option<Band>) -> Result<Vec<PartialShape>> {
    let x = c.rank_at_least(0, 2)?;
    let (Some(dims), Some(band)) = (x.dims(), band) else { return Ok(vec![PartialShape::unknown()]) };
    Ok(vec![band.packed_shape(dims)?])
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, dy) = (g.x[0], g.dy()?);
    let zeros = g.unary("ZerosLike", x)?;
    let mut args: Vec<Arg> = vec![zeros.into(), dy.into()];
    args.extend(g.x.get(1).map(Arg::from));
    let align = g.attrs.get("align").cloned();
    let op = match (g.x.len(), &align) {
        (1, _) => "MatrixSetDiag",
        (_, None) => "MatrixSetDiagV2",
        _ => "MatrixSetDiagV3",
    };
    let dx = g.graph.add(op, args, align.map(|a| ("align", a)).into_iter().collect())?;
    let mut grads = vec![Grad::None; g.x.len()];
    grads[0] = dx[0].into();
    Ok(grads)
}

fn run_v1(c: &mut OpCall<'_>) -> Result<()> {
    diagonals(c, MAIN, None, LEFT)
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let align = Align::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (band, padding) = (Band::input(c, 1)?, c.input(2)?.clone());
        if padding.elements() != 1 {
            return Err(invalid!(
                "padding_value must have only one element, received shape: {}",
                padding.shape()
            ));
        }
        diagonals(c, band, Some(padding.reshape(Shape::scalar())?), align)
    }))
}

fn diagonals(c: &mut OpCall<'_>, band: Band, padding: Option<Tensor>, align: Align) -> Result<()> {
    let x = c.input(0)?;
    let [batch @ .., rows, cols] = x.shape().dims() else {
        return Err(invalid!("input must be at least 2-dim, received shape: {}", x.shape()));
    };
    band.check(*rows as i64, *cols as i64)?;
    let longest = band.longest(*rows as i64, *cols as i64);
    let dims: Vec<i64> = batch.iter().map(|d| *d as i64).chain(band.packed_dims(longest)).collect();
    let mut out = filled(c.par(), x.dtype(), Shape::from_i64(&dims)?, padding.as_ref())?;
    let copy = BandCopy { batch: batch.iter().product(), rows: *rows, cols: *cols, band, align };
    if x.elements() > 0 {
        copy.pack(c.par(), x, &mut out)?;
    }
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn diagonals_outside_are_refused() {
        for k in
            [ints(&[], &[2]), ints(&[], &[-1]), ints(&[2], &[1, 0]), ints(&[3], &[0; 3]), ints(&[1, 1], &[0])]
        {
            let r = call("MatrixDiagPartV3", &[floats(&[1, 2], &[1.0, 2.0]), k, floats(&[], &[0.0])], &[]);
            assert_eq!(code(r), Code::InvalidArgument);
        }
        assert_eq!(code(call("MatrixDiagPart", &[floats(&[2], &[1.0, 2.0])], &[])), Code::InvalidArgument);
    }
}
