//! `Pack`: tensors of one shape stacked along a new axis.

use crate::moving::Block;
use crate::prelude::*;
use thalweg_core::shape::MAX_RANK;

pub static PACK: Op = Op {
    name: "Pack",
    doc: "The values stacked along a new dimension `axis`.",
    inputs: &["values: N * T"],
    outputs: &["output: T"],
    attrs: &["N: int >= 1", "T: type", "axis: int = 0"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]).attr("axis", 1),
            Case::new(vec![r.tensor(&[2]), r.tensor(&[2])]).attr("axis", -1),
            Case::new(vec![r.tensor(&[])]),
        ]
    },
    partial_value: Some(elements),
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let mut merged = PartialShape::unknown();
    for s in c.inputs {
        merged = merged.merge(s)?;
    }
    let Some(dims) = merged.dims() else { return Ok(vec![merged]) };
    let axis = axis_in_range(c.attrs.int("axis")?, dims.len() + 1)?;
    let mut dims = dims.to_vec();
    dims.insert(axis, c.inputs.len() as i64);
    Ok(vec![dims.into_iter().collect()])
}

/// The elements of packed scalars.
fn elements(c: &mut dyn PartialCall) -> Option<PartialShape> {
    let n = c.inputs();
    if n > MAX_RANK {
        return None;
    }
    let mut element = |i: usize| match c.elements(i).as_ref().and_then(PartialShape::dims) {
        Some([element]) => *element,
        _ => -1,
    };
    Some((0..n).map(&mut element).collect())
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (dy, axis, n) = (g.dy()?, g.attrs.int("axis")?, g.x.len() as i64);
    let parts = g.ops("Unpack", [dy.into()], &[("num", n.into()), ("axis", axis.into())])?;
    Ok(parts.into_iter().map(Grad::Dense).collect())
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let axis = node.attrs.int("axis")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (n, first) = (c.inputs.len(), c.shape(0)?);
        let axis = axis_in_range(axis, first.rank() + 1)?;
        for i in 1..n {
            if c.shape(i)? != first {
                return Err(invalid!(
                    "Shapes of all inputs must match: values[0].shape = {first} != values[{i}].shape = {}",
                    c.shape(i)?
                ));
            }
        }
        let mut dims = first.to_vec();
        dims.insert(axis, n);
        let shape = Shape::new(&dims)?;
        if n == 1 {
            let x = c.take(0)?;
            c.set(0, x.reshape(shape)?);
            return Ok(());
        }
        let mut out = Tensor::uninit(c.output_type(0)?, shape)?;
        let (outer, _, run) = out.shape().around(axis)?;
        for i in 0..n {
            Block::at(0, i * run).dim(outer, run as isize, (n * run) as isize).dim(run, 1, 1).copy(
                c.par(),
                c.input(i)?,
                &mut out,
            )?;
        }
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn values_of_different_shapes_are_refused() {
        let (a, b) = (floats(&[2], &[1.0, 2.0]), floats(&[1], &[1.0]));
        assert_eq!(code(call("Pack", &[a.clone(), b], &[])), Code::InvalidArgument);
        assert_eq!(code(call("Pack", &[a], &[("axis", 2.into())])), Code::InvalidArgument);
    }
}
