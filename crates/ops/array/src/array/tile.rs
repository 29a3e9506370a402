//! `Tile`: a tensor repeated along its dimensions; `TileGrad`: the sums of the copies.

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

pub static TILE_GRAD: Op = Op {
    name: "TileGrad",
    doc: "The sum of the `multiples[i]` parts of the input along each dimension i.",
    inputs: &["input: T", "multiples: int32"],
    outputs: &["output: T"],
    attrs: &["T: type"],
    shape: |c| {
        let (x, multiples) = (c.input(0), c.as_shape(1)?);
        let part = |(i, d): (usize, &i64)| match multiples.dim(i) {
            m @ 1.. if *d >= 0 => d / m,
            _ => -1,
        };
        let parts = x.dims().map(|dims| dims.iter().enumerate().map(part).collect());
        Ok(vec![parts.unwrap_or_else(PartialShape::unknown)])
    },
    grad: Missing,
    kernels: cpu!(parts_summed: T in f32, f64, f16, bf16, Complex32, ComplexDouble, u8, i8, i16, i32, i64),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[4, 3]), int_vector(&[2, 1])]),
            Case::new(vec![r.tensor(&[2, 4, 6]), int_vector(&[1, 4, 2])]),
            Case::new(vec![r.tensor(&[0, 2]), int_vector(&[3, 2])]),
        ]
    },
    host_inputs: &["multiples"],
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

fn parts_summed<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let (multiples, x) = (c.int_vector(1)?, c.slice::<T>(0)?);
    let dims = c.shape(0)?.dims();
    let part = |(d, m): (&usize, &i64)| match usize::try_from(*m) {
        Ok(m @ 1..) if d % m == 0 => Ok(d / m),
        _ => Err(invalid!("a dimension of {d} has no {m} parts")),
    };
    if multiples.len() != dims.len() {
        return Err(invalid!("{} multiples for a tensor of rank {}", multiples.len(), dims.len()));
    }
    let parts = dims.iter().zip(&multiples).map(part).collect::<Result<Vec<usize>>>()?;
    let mut out = Tensor::zeros(T::DTYPE, Shape::new(&parts)?)?;
    let (sums, strides) = (out.as_mut_slice::<T>()?, Shape::new(&parts)?.strides());
    let mut at = vec![0usize; dims.len()];
    for v in x {
        let to: usize = at.iter().zip(&parts).zip(strides.iter()).map(|((i, n), s)| i % n * s).sum();
        sums[to] = sums[to].add(*v);
        for (i, n) in at.iter_mut().zip(dims).rev() {
            *i += 1;
            if *i < *n {
                break;
            }
            *i = 0;
        }
    }
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
