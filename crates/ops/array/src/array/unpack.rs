//! `Unpack`: the slices of a tensor along an axis.

use super::split::part;
use crate::prelude::*;

pub static UNPACK: Op = Op {
    name: "Unpack",
    doc: "The `num` slices of the input along `axis`, without that dimension.",
    inputs: &["value: T"],
    outputs: &["output: num * T"],
    attrs: &["num: int >= 0", "T: type", "axis: int = 0"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3])]).attr("num", 2),
            Case::new(vec![r.tensor(&[2, 3, 2])]).attr("num", 3).attr("axis", -2),
            Case::new(vec![r.tensor(&[2])]).attr("num", 2),
        ]
    },
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let x = c.rank_at_least(0, 1)?;
    let Some(dims) = x.dims() else { return c.all(PartialShape::unknown()) };
    let axis = axis_in_range(c.attrs.int("axis")?, dims.len())?;
    merge_dim(dims[axis], c.attrs.int("num")?)?;
    let mut dims = dims.to_vec();
    dims.remove(axis);
    c.all(dims.into_iter().collect())
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let parts: Vec<Output> = (0..g.y.len()).map(|i| g.dy_or_zeros(i)).collect::<Result<_>>()?;
    if parts.is_empty() {
        return Ok(vec![Grad::None]);
    }
    let axis = g.attrs.int("axis")?;
    Ok(vec![g.op("Pack", [parts.into()], &[("axis", axis.into())])?.into()])
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (axis, num) = (node.attrs.int("axis")?, node.attrs.int("num")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = c.shape(0)?.clone();
        let axis = axis_in_range(axis, shape.rank())?;
        if shape[axis] as i64 != num {
            return Err(invalid!("Input shape axis {axis} must equal {num}, got shape {shape}"));
        }
        for i in 0..shape[axis] {
            let slice = part(c, c.input(0)?, axis, i, 1)?.reshape(shape.without(axis))?;
            c.set(i, slice);
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn another_number_of_slices_is_refused() {
        let x = floats(&[2], &[1.0, 2.0]);
        assert_eq!(code(call("Unpack", &[x], &[("num", 3.into())])), Code::InvalidArgument);
        let scalar = floats(&[], &[1.0]);
        assert_eq!(code(call("Unpack", &[scalar], &[("num", 1.into())])), Code::InvalidArgument);
    }
}
