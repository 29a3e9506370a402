//! `ConcatOffset`: the offsets of concatenated values.

use crate::convert::int_tensor;
use crate::prelude::*;

pub static CONCAT_OFFSET: Op = Op {
    name: "ConcatOffset",
    doc: "The offset of each shape in a concatenation along `concat_dim`.",
    inputs: &["concat_dim: int32", "shape: N * shape_type"],
    outputs: &["offset: N * shape_type"],
    attrs: &["N: int >= 2", "shape_type: {int32, int64} = DT_INT32"],
    shape: |c| {
        c.scalar(0)?;
        (1..c.inputs.len()).map(|i| c.rank(i, 1)).collect()
    },
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        vec![Case::new(vec![
            Tensor::scalar(1i32),
            int_vector(&[2, 2, 7]),
            int_vector(&[2, 3, 7]),
            int_vector(&[2, 9, 7]),
        ])]
    },
    host_inputs: &["concat_dim", "shape"],
    host_outputs: &["offset"],
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let first = c.int_vector(1)?;
    let axis = axis_in_range(c.scalar_int(0)?, first.len())?;
    let mut start = reserve::filled(first.len(), 0i64)?;
    for i in 1..c.inputs.len() {
        let sizes = c.int_vector(i)?;
        let differs = |d: &usize| *d != axis && sizes.get(*d) != first.get(*d);
        if sizes.len() != first.len() || (0..first.len()).any(|d| differs(&d)) {
            return Err(invalid!(
                "All dimensions except {axis} must match. Input {} has shape {sizes:?} and doesn't match input 0 with shape {first:?}.",
                i - 1
            ));
        }
        let out = int_tensor(c.output_type(i - 1)?, &start)?;
        c.set(i - 1, out);
        start[axis] = start[axis]
            .checked_add(sizes[axis])
            .ok_or_else(|| invalid!("the sizes along dimension {axis} add up past 2^63"))?;
    }
    Ok(())
}
