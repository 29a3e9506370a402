//! `Size`: the number of elements.

use crate::convert::int_tensor;
use crate::prelude::*;

pub static SIZE: Op = Op {
    name: "Size",
    doc: "The number of elements of the input.",
    inputs: &["input: T"],
    outputs: &["output: out_type"],
    attrs: &["T: type", "out_type: {int32, int64} = DT_INT32"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[0, 3])]).attr("out_type", DataType::Int64),
        ]
    },
    host_outputs: &["output"],
    shape_value: Some(|s, attrs| scalar(attrs, s.elements()?)),
    ..Op::PURE
};

fn scalar(attrs: &Attrs, n: i64) -> Option<Tensor> {
    int_tensor(attrs.dtype("out_type").ok()?, &[n]).ok()?.reshape(Shape::scalar()).ok()
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let n = c.shape(0)?.elements() as i64;
    let out = int_tensor(c.output_type(0)?, &[n])?.reshape(Shape::scalar())?;
    c.set(0, out);
    Ok(())
}
