//! `Tile`: a tensor repeated along its dimensions.

use crate::moving::Block;
use crate::prelude::*;

pub static TILE: Op = Op {
    name: "Tile",
    doc: "The input repeated `multiples[i]` times along dimension i.",
    inputs: &["input: T", "multiples: Tmultiples"],
    outputs: &["output: T"],
    attrs: &["T: type", "Tmultiples: {int32, int64} = DT_INT32"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), int_vector(&[2, 1])]),
            Case::new(vec![r.tensor(&[2, 1, 3]), int_vector(&[1, 4, 2])]),
            Case::new(vec![r.tensor(&[2]), int_vector(&[0])]),
        ]
    },
    host_inputs: &["multiples"],
    identity_if_same_shape: true,
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let n = c.rank(1, 1)?.dim(0);
    let multiples = c.as_shape(1)?;
    let rank = if n >= 0 { Some(n as usize) } else { multiples.rank() };
    let x = rank.map_or_else(|| Ok(c.input(0)), |rank| c.rank(0, rank))?;
    let Some(dims) = x.dims() else { return Ok(vec![x]) };
    let product = |(i, d): (usize, &i64)| match (*d, multiples.dim(i)) {
        (-1, _) | (_, -1) => Ok(-1),
        (d, m) => d.checked_mul(m).ok_or_else(|| invalid!("{d} times {m} is too large for a dimension")),
    };
    Ok(vec![dims.iter().enumerate().map(product).collect::<Result<_>>()?])
}

/// Splits each dimension into copies and size, and sums over the copies.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, multiples, dy) = (g.x[0], g.x[1], g.dy()?);
    let shape = g.op("Shape", [x.into()], &[("out_type", g.graph.dtype(multiples).into())])?;
    let pairs = g.op("Pack", [vec![multiples, shape].into()], &[("axis", 1.into())])?;
    let all = g.constant(Tensor::vector(&[-1i32])?)?;
    let split = g.binary("Reshape", pairs, all)?;
    let (zero, two) = (g.constant(Tensor::scalar(0i32))?, g.constant(Tensor::scalar(2i32))?);
    let n = g.unary("Size", split)?;
    let axes = g.op("Range", [zero.into(), n.into(), two.into()], &[])?;
    let dy = g.binary("Reshape", dy, split)?;
    Ok(vec![g.op("Sum", [dy.into(), axes.into()], &[])?.into(), Grad::None])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    if c.shape(1)?.rank() != 1 {
        return Err(invalid!("Expected multiples to be 1-D, but got shape {}", c.shape(1)?));
    }
    let (x, multiples) = (c.input(0)?, c.int_vector(1)?);
    if multiples.len() != x.rank() {
        return Err(invalid!(
            "Expected multiples argument to be a vector of length {} but got length {}",
            x.rank(),
            multiples.len()
        ));
    }
    if let Some(i) = multiples.iter().position(|m| *m < 0) {
        return Err(invalid!("Expected multiples[{i}] >= 0, but got {}", multiples[i]));
    }
    let sizes = x.shape().iter().zip(&multiples);
    let dims: Option<Vec<i64>> = sizes.map(|(n, m)| (*n as i64).checked_mul(*m)).collect();
    let dims = dims.ok_or_else(|| invalid!("shape {} times {multiples:?} is too large", x.shape()))?;
    let mut out = Tensor::uninit(x.dtype(), Shape::from_i64(&dims)?)?;
    let mut block = Block::at(0, 0);
    for (i, (from, to)) in x.shape().strides().iter().zip(out.shape().strides()).enumerate() {
        let n = x.shape()[i];
        block = block.dim(multiples[i] as usize, 0, (n * to) as isize).dim(n, *from as isize, to as isize);
    }
    block.copy(c.par(), x, &mut out)?;
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn multiples_that_do_not_fit_are_refused() {
        let x = floats(&[2], &[1.0, 2.0]);
        for m in [ints(&[1], &[-1]), ints(&[2], &[1, 1]), ints(&[], &[1])] {
            assert_eq!(code(call("Tile", &[x.clone(), m], &[])), Code::InvalidArgument);
        }
        let text = call("Tile", &[x.clone(), ints(&[], &[1])], &[]).unwrap_err().to_string();
        assert!(text.contains("Expected multiples to be 1-D, but got shape []"), "{text}");
        let huge = Tensor::vector(&[i64::MAX]).unwrap();
        assert_eq!(code(call("Tile", &[x, huge], &[])), Code::InvalidArgument);
    }
}
