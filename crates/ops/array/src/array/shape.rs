//! `Shape`, `ShapeN`: the sizes of a tensor's dimensions, as a tensor.

use crate::convert::int_tensor;
use crate::prelude::*;

pub static SHAPE: Op = Op {
    name: "Shape",
    doc: "The shape of the input, as a vector.",
    inputs: &["input: T"],
    outputs: &["output: out_type"],
    attrs: &["T: type", "out_type: {int32, int64} = DT_INT32"],
    shape: |c| Ok(vec![PartialShape::vector(c.input(0).rank().map_or(-1, |r| r as i64))]),
    grad: Stops,
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[])]).attr("out_type", DataType::Int64),
        ]
    },
    shape_value: Some(value),
    partial_value: Some(sizes),
    ..Op::PURE
};

pub static SHAPE_N: Op = Op {
    name: "ShapeN",
    doc: "The shapes of the inputs, as vectors.",
    inputs: &["input: N * T"],
    outputs: &["output: N * out_type"],
    attrs: &["N: int >= 1", "T: type", "out_type: {int32, int64} = DT_INT32"],
    shape: |c| Ok(c.inputs.iter().map(|s| PartialShape::vector(s.rank().map_or(-1, |r| r as i64))).collect()),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[])])],
    ..SHAPE
};

fn value(shape: &PartialShape, attrs: &Attrs) -> Option<Tensor> {
    let known = shape.dims().filter(|_| shape.is_fully_known())?;
    int_tensor(attrs.dtype("out_type").ok()?, known).ok()
}

fn sizes(c: &mut dyn PartialCall) -> Option<PartialShape> {
    Some(c.shape(c.output())).filter(|s| s.rank().is_some())
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    for i in 0..c.inputs.len() {
        let dims = c.shape(i)?.to_i64();
        let out = int_tensor(c.output_type(i)?, &dims)?;
        c.set(i, out);
    }
    Ok(())
}
