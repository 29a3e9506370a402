//! `ConcatV2`, `Concat`: tensors concatenated along an axis.

use crate::axis::{constant_axis, single_int};
use crate::moving::Block;
use crate::prelude::*;
use std::ops::Range;

pub static CONCAT_V2: Op = Op {
    name: "ConcatV2",
    doc: "The values concatenated along `axis`.",
    inputs: &["values: N * T", "axis: Tidx"],
    outputs: &["output: T"],
    attrs: &["N: int >= 2", "T: type", "Tidx: {int32, int64} = DT_INT32"],
    shape: |c| {
        let n = c.inputs.len();
        shape(c, 0..n.saturating_sub(1), n.saturating_sub(1))
    },
    grad: Rule(|g| {
        let (axis, values) = (g.x[g.x.len() - 1], 0..g.x.len() - 1);
        let mut dx = grad(g, values, axis)?;
        dx.push(Grad::None);
        Ok(dx)
    }),
    kernels: cpu!(run_v2),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 1]), Tensor::scalar(1i32)]),
            Case::new(vec![r.tensor(&[1, 3]), r.tensor(&[0, 3]), r.tensor(&[2, 3]), Tensor::scalar(-2i64)]),
        ]
    },
    host_inputs: &["axis"],
    partial_value: Some(joined),
    ..Op::PURE
};

pub static CONCAT: Op = Op {
    name: "Concat",
    doc: "The values concatenated along `concat_dim`.",
    inputs: &["concat_dim: int32", "values: N * T"],
    attrs: &["N: int >= 2", "T: type"],
    shape: |c| shape(c, 1..c.inputs.len(), 0),
    grad: Rule(|g| {
        let mut dx = grad(g, 1..g.x.len(), g.x[0])?;
        dx.insert(0, Grad::None);
        Ok(dx)
    }),
    kernels: cpu!(run_v1),
    cases: |r| vec![Case::new(vec![Tensor::scalar(1i32), r.tensor(&[2, 3]), r.tensor(&[2, 1])])],
    host_inputs: &["concat_dim"],
    partial_value: None,
    ..CONCAT_V2
};

pub fn shape(c: &ShapeCall<'_>, values: Range<usize>, axis: usize) -> Result<Vec<PartialShape>> {
    let shapes = c.inputs.get(values).unwrap_or(&[]);
    c.scalar(axis)?;
    let rank = shapes.iter().find_map(PartialShape::rank);
    let Some(rank) = rank else { return Ok(vec![PartialShape::unknown()]) };
    if shapes.iter().any(|s| s.rank() == Some(0)) {
        return Err(invalid!("Can't concatenate scalars (use tf.stack instead)"));
    }
    let Some(axis) = constant_axis(c, axis, Some(rank))? else {
        return Ok(vec![PartialShape::unknown_of_rank(rank)]);
    };
    let mut merged = PartialShape::unknown_of_rank(rank);
    let mut total = Some(0i64);
    for s in shapes {
        let size = s.dim(axis);
        total = total.filter(|_| size >= 0).and_then(|t| t.checked_add(size));
        let others = match s.dims() {
            Some(dims) => dims.iter().enumerate().map(|(i, d)| if i == axis { -1 } else { *d }).collect(),
            None => PartialShape::unknown(),
        };
        merged = merged.merge(&others)?;
    }
    let dims = merged.dims().unwrap_or(&[]).iter().enumerate();
    Ok(vec![dims.map(|(i, d)| if i == axis { total.unwrap_or(-1) } else { *d }).collect()])
}

/// The elements of joined vectors, if each length is known.
fn joined(c: &mut dyn PartialCall) -> Option<PartialShape> {
    let mut all = PartialShape::scalar();
    for part in 0..c.inputs().checked_sub(1)? {
        all = all.concat(&c.elements(part)?);
    }
    Some(all)
}

/// The gradient, split by value.
fn grad(g: &mut GradCall<'_>, values: Range<usize>, axis: Output) -> Result<Vec<Grad>> {
    let (dy, values) = (g.dy()?, g.x[values].to_vec());
    let shapes = g.ops("ShapeN", [values.as_slice().into()], &[])?;
    let axis = match g.graph.dtype(axis) {
        DataType::Int32 => axis,
        _ => g.op("Cast", [axis.into()], &[("DstT", DataType::Int32.into())])?,
    };
    let starts = g.ops("ConcatOffset", [axis.into(), shapes.as_slice().into()], &[])?;
    let part = |(start, size): (&Output, &Output)| {
        Ok(g.op("Slice", [dy.into(), start.into(), size.into()], &[])?.into())
    };
    starts.iter().zip(&shapes).map(part).collect()
}

fn run_v2(c: &mut OpCall<'_>) -> Result<()> {
    let n = c.inputs.len().saturating_sub(1);
    concat(c, 0..n, n)
}

fn run_v1(c: &mut OpCall<'_>) -> Result<()> {
    let n = c.inputs.len();
    concat(c, 1..n, 0)
}

pub fn concat(c: &mut OpCall<'_>, values: Range<usize>, axis: usize) -> Result<()> {
    let first = c.shape(values.start)?;
    if values.clone().any(|i| c.shape(i).is_ok_and(Shape::is_scalar)) {
        return Err(invalid!("ConcatOp : Can't concatenate scalars (use tf.stack instead)"));
    }
    let axis = single_int(c, axis)?;
    let axis = axis_in_range(axis, first.rank()).map_err(|_| {
        let r = first.rank();
        invalid!("ConcatOp : Expected concatenating dimensions in the range [-{r}, {r}), but got {axis}")
    })?;
    let mut total = 0usize;
    for i in values.clone() {
        let s = c.shape(i)?;
        if s.rank() != first.rank() {
            return Err(invalid!(
                "ConcatOp : Ranks of all input tensors should match: shape[0] = {first} vs. shape[{}] = {s}",
                i - values.start
            ));
        }
        if let Some(d) = (0..s.rank()).find(|d| *d != axis && s[*d] != first[*d]) {
            return Err(invalid!(
                "ConcatOp : Dimension {d} in both shapes must be equal: shape[0] = {first} vs. shape[{}] = {s}",
                i - values.start
            ));
        }
        total = total.checked_add(s[axis]).ok_or_else(|| invalid!("ConcatOp : the result is too large"))?;
    }
    let mut out = Tensor::uninit(c.output_type(0)?, first.with(axis, total)?)?;
    let (outer, row, inner) = out.shape().around(axis)?;
    let mut at = 0;
    for i in values {
        let x = c.input(i)?;
        let run = x.shape()[axis] * inner;
        Block::at(0, at).dim(outer, run as isize, (row * inner) as isize).dim(run, 1, 1).copy(
            c.par(),
            x,
            &mut out,
        )?;
        at += run;
    }
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn an_axis_past_32_bits_is_refused() {
        let x = floats(&[2], &[1.0, 2.0]);
        let axis = Tensor::scalar(0xb500005bi64);
        assert_eq!(code(call("ConcatV2", &[x.clone(), x, axis], &[])), Code::InvalidArgument);
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let axis = ints(&[], &[0]);
        let x = floats(&[1, 2], &[1.0, 2.0]);
        for other in [floats(&[1, 1], &[1.0]), floats(&[2], &[1.0, 2.0]), floats(&[], &[1.0])] {
            let inputs = [x.clone(), other, axis.clone()];
            assert_eq!(code(call("ConcatV2", &inputs, &[])), Code::InvalidArgument);
        }
        let s = floats(&[], &[1.0]);
        let mixed = call("ConcatV2", &[floats(&[1], &[1.0]), s.clone(), axis.clone()], &[]);
        assert!(mixed.unwrap_err().to_string().contains("Can't concatenate scalars (use tf.stack instead)"));
        assert_eq!(code(call("ConcatV2", &[s.clone(), s, axis], &[])), Code::InvalidArgument);
    }

    #[test]
    fn strings_are_joined() {
        let (a, b) = (Tensor::string("a"), Tensor::string("b"));
        let [a, b] = [a, b].map(|t| t.reshape(Shape::vector(1)).unwrap());
        let y = call("ConcatV2", &[a, b, ints(&[], &[0])], &[]).unwrap();
        assert_eq!(y[0].strings().unwrap().iter().map(|s| s.as_ref()).collect::<Vec<_>>(), [b"a", b"b"]);
    }
}
