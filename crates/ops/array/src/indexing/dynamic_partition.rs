//! `DynamicPartition`: slices distributed over tensors by partition number.

use crate::indices::coordinates_text;
use crate::moving::{Gather, apply};
use crate::prelude::*;

pub static DYNAMIC_PARTITION: Op = Op {
    name: "DynamicPartition",
    doc: "Output p has, in order, the slices of `data` whose `partitions` entry is p.",
    inputs: &["data: T", "partitions: int32"],
    outputs: &["outputs: num_partitions * T"],
    attrs: &["num_partitions: int >= 1", "T: type"],
    shape: |c| {
        let rest = after_prefix(&c.input(0), &c.input(1))?;
        c.all(PartialShape::vector(-1).concat(&rest))
    },
    grad: Rule(grad),
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[5, 2]), int_vector(&[1, 0, 1, 2, 0])]).attr("num_partitions", 4),
            Case::new(vec![r.tensor(&[2, 3]), r.ints(&[2, 3], 0, 2)]).attr("num_partitions", 2),
        ]
    },
    ..Op::PURE
};

/// The dimensions of `data` after `prefix`, with which it must begin.
pub fn after_prefix(data: &PartialShape, prefix: &PartialShape) -> Result<PartialShape> {
    let (Some(d), Some(p)) = (data.dims(), prefix.dims()) else { return Ok(PartialShape::unknown()) };
    let begins = d.len() >= p.len() && d.iter().zip(p).all(|(a, b)| a == b || *a < 0 || *b < 0);
    if !begins {
        return Err(invalid!("data.shape must start with that of the indices, got {data} and {prefix}"));
    }
    Ok(d[p.len()..].iter().copied().collect())
}

/// The gradients of the outputs, merged by DynamicStitch.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (data, partitions) = (g.x[0], g.x[1]);
    let parts: Vec<Output> = (0..g.y.len()).map(|i| g.dy_or_zeros(i)).collect::<Result<_>>()?;
    let (zero, one) = (g.constant(Tensor::scalar(0i32))?, g.constant(Tensor::scalar(1i32))?);
    let n = g.unary("Size", partitions)?;
    let places = g.op("Range", [zero.into(), n.into(), one.into()], &[])?;
    let shape = g.shape_of(partitions)?;
    let places = g.binary("Reshape", places, shape)?;
    let count = g.attrs.int("num_partitions")?;
    let places =
        g.ops("DynamicPartition", [places.into(), partitions.into()], &[("num_partitions", count.into())])?;
    let stitched = g.op("ParallelDynamicStitch", [places.into(), parts.into()], &[])?;
    let shape = g.shape_of(data)?;
    Ok(vec![g.binary("Reshape", stitched, shape)?.into(), Grad::None])
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let count = node.outputs.len();
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (data, partitions) = (c.input(0)?, c.input(1)?);
        let depth = partitions.rank();
        if !data.shape().starts_with(partitions.shape()) {
            return Err(invalid!(
                "data.shape must start with partitions.shape, got data.shape = {}, partitions.shape = {}",
                data.shape(),
                partitions.shape()
            ));
        }
        let mut picks: Vec<Vec<usize>> = reserve::filled(count, Vec::new())?;
        for (i, p) in partitions.as_slice::<i32>()?.iter().enumerate() {
            let Some(picks) = usize::try_from(*p).ok().and_then(|p| picks.get_mut(p)) else {
                let at = coordinates_text(i, partitions.shape());
                return Err(invalid!("partitions{at} = {p} is not in [0, {count})"));
            };
            reserve::push(picks, i)?;
        }
        let rest = &data.shape()[depth..];
        let run = rest.iter().product();
        let part = |picks: &Vec<usize>| {
            let dims: Vec<usize> = std::iter::once(picks.len()).chain(rest.iter().copied()).collect();
            let mut out = Tensor::uninit(data.dtype(), Shape::new(&dims)?)?;
            apply(&Gather::rows(partitions.elements(), run, picks, c.par()), data, &mut out)?;
            Ok(out)
        };
        let outputs = reserve::try_collect(picks.iter().map(part))?;
        outputs.into_iter().enumerate().for_each(|(i, out)| c.set(i, out));
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn a_partition_that_is_not_there_is_refused() {
        let x = floats(&[2], &[1.0, 2.0]);
        for partitions in [ints(&[2], &[0, 9]), ints(&[2], &[0, -1]), ints(&[1], &[0])] {
            let r = call("DynamicPartition", &[x.clone(), partitions], &[("num_partitions", 2.into())]);
            assert_eq!(code(r), Code::InvalidArgument);
        }
    }
}
