//! `Squeeze`: removes dimensions of size 1.

use crate::gradients::reshape_like;
use crate::prelude::*;

pub static SQUEEZE: Op = Op {
    name: "Squeeze",
    doc: "The input without its dimensions of size 1, or without those listed.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &["T: type", "squeeze_dims: list(int) >= 0 = []"],
    shape,
    grad: Rule(|g| Ok(vec![reshape_like(g, g.x[0])?])),
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[1, 2, 1, 3])]),
            Case::new(vec![r.tensor(&[1, 2, 1, 3])]).attr("squeeze_dims", Attr::ints(&[-2])),
        ]
    },
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let axes = c.attrs.ints("squeeze_dims")?;
    let x = c.input(0);
    match x.dims() {
        // Without a list of axes, an unknown size may be 1.
        Some(dims) if !axes.is_empty() || x.is_fully_known() => {
            Ok(vec![squeezed(dims, &axes)?.into_iter().collect()])
        }
        _ => Ok(vec![PartialShape::unknown()]),
    }
}

/// The remaining sizes; unknown ones (-1) may be squeezed.
fn squeezed(dims: &[i64], axes: &[i64]) -> Result<Vec<i64>> {
    let mut drop: Vec<bool> = dims.iter().map(|d| axes.is_empty() && *d == 1).collect();
    for axis in axes {
        let axis = axis_in_range(*axis, dims.len())?;
        if dims[axis] != 1 && dims[axis] != -1 {
            return Err(invalid!(
                "Can not squeeze dim[{axis}], expected a dimension of 1, got {}",
                dims[axis]
            ));
        }
        drop[axis] = true;
    }
    Ok(dims.iter().zip(drop).filter(|(_, drop)| !drop).map(|(d, _)| *d).collect())
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let axes = node.attrs.ints("squeeze_dims")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let dims = squeezed(&c.shape(0)?.to_i64(), &axes)?;
        let x = c.take(0)?;
        c.set(0, x.reshape(Shape::from_i64(&dims)?)?);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn a_dimension_that_is_not_1_is_refused() {
        let x = floats(&[2], &[1.0, 2.0]);
        for axis in [0, 1, -2] {
            let attrs = [("squeeze_dims", Attr::ints(&[axis]))];
            assert_eq!(code(call("Squeeze", &[x.clone()], &attrs)), Code::InvalidArgument);
        }
    }
}
