//! `DynamicStitch`, `ParallelDynamicStitch`: slices of several tensors merged by their indices.

use super::dynamic_partition::after_prefix;
use crate::moving::{Scatter, apply};
use crate::prelude::*;

pub static DYNAMIC_STITCH: Op = Op {
    name: "DynamicStitch",
    doc: "Slice `indices[n][i]` of the result is `data[n][i]`; the last wins for duplicate indices.",
    inputs: &["indices: N * int32", "data: N * T"],
    outputs: &["merged: T"],
    attrs: &["N: int >= 1", "T: type"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![int_vector(&[0, 2]), int_vector(&[3, 1]), r.tensor(&[2, 2]), r.tensor(&[2, 2])]),
            Case::new(vec![Tensor::scalar(1i32), r.ints(&[1, 1], 0, 1), r.tensor(&[]), r.tensor(&[1, 1])]),
        ]
    },
    ..Op::PURE
};

pub static PARALLEL_DYNAMIC_STITCH: Op = Op { name: "ParallelDynamicStitch", ..DYNAMIC_STITCH };

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let n = c.inputs.len() / 2;
    let mut rest = PartialShape::unknown();
    let mut largest = Some(-1);
    for i in 0..n {
        rest = rest.merge(&after_prefix(&c.input(n + i), &c.input(i))?)?;
        largest = match (largest, c.ints(i)) {
            (Some(m), Some(values)) => Some(values.into_iter().fold(m, i64::max)),
            _ => None,
        };
    }
    Ok(vec![PartialShape::vector(largest.map_or(-1, |m| m + 1)).concat(&rest)])
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (dy, n) = (g.dy()?, g.x.len() / 2);
    let mut grads = vec![Grad::None; n];
    for i in 0..n {
        let indices = g.x[i];
        grads.push(g.binary("Gather", dy, indices)?.into());
    }
    Ok(grads)
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let n = c.inputs.len() / 2;
    let first = (c.shape(0)?, c.shape(n)?);
    let mut rows = 0;
    let mut places: Vec<Vec<usize>> = reserve::with_capacity(n)?;
    for i in 0..n {
        let (indices, data) = (c.input(i)?, c.input(n + i)?);
        if !data.shape().starts_with(indices.shape()) {
            return Err(invalid!(
                "data[{i}].shape = {} does not start with indices[{i}].shape = {}",
                data.shape(),
                indices.shape()
            ));
        }
        if data.shape()[indices.rank()..] != first.1[first.0.rank()..] {
            return Err(invalid!(
                "Need data[0].shape[{}:] = data[{i}].shape[{}:], got data[0].shape = {}, data[{i}].shape = {}",
                first.0.rank(),
                indices.rank(),
                first.1,
                data.shape()
            ));
        }
        let mut at = reserve::with_capacity(indices.elements())?;
        for (j, v) in indices.as_slice::<i32>()?.iter().enumerate() {
            let v = usize::try_from(*v).map_err(|_| invalid!("indices[{i}][{j}] = {v} is out of range"))?;
            rows = rows.max(v + 1);
            at.push(v);
        }
        places.push(at);
    }
    let rest = &first.1[first.0.rank()..];
    let dims: Vec<usize> = std::iter::once(rows).chain(rest.iter().copied()).collect();
    let run = rest.iter().product();
    let mut out = Tensor::zeros(c.output_type(0)?, Shape::new(&dims)?)?;
    for (i, places) in places.iter().enumerate() {
        apply(&Scatter { run, places, one_for_all: false }, c.input(n + i)?, &mut out)?;
    }
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn indices_outside_and_uneven_lists_are_refused() {
        let x = floats(&[1], &[1.0]);
        let negative = ints(&[1], &[0xdeadbeefu32 as i32]);
        assert_eq!(code(call("DynamicStitch", &[negative, x.clone()], &[])), Code::InvalidArgument);
        let one = ints(&[1], &[0]);
        assert_eq!(
            code(call("DynamicStitch", &[one.clone(), x.clone(), x.clone()], &[])),
            Code::InvalidArgument
        );
        let pair = floats(&[1, 2], &[1.0, 2.0]);
        assert_eq!(code(call("DynamicStitch", &[one.clone(), one, x, pair], &[])), Code::InvalidArgument);
    }

    #[test]
    fn a_far_index_is_refused_before_memory_is_asked_for() {
        let row = floats(&[1, 64], &[1.0; 64]);
        let r = call("DynamicStitch", &[ints(&[1], &[i32::MAX]), row], &[]);
        assert_eq!(code(r), Code::ResourceExhausted);
    }
}
