//! `Transpose`, `ConjugateTranspose`: permuted dimensions.

use crate::moving::Block;
use crate::prelude::*;
use thalweg_math::transpose::transpose_bytes;

pub static TRANSPOSE: Op = Op {
    name: "Transpose",
    doc: "The input with its dimensions permuted: dimension i of the output is dimension perm[i] of the input.",
    inputs: &["x: T", "perm: Tperm"],
    outputs: &["y: T"],
    attrs: &["T: type", "Tperm: {int32, int64} = DT_INT32"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), int_vector(&[1, 0])]),
            Case::new(vec![r.tensor(&[2, 3, 4]), int_vector(&[2, 0, 1])]),
            Case::new(vec![r.tensor(&[2, 0, 4]), int_vector(&[2, 0, 1])]),
            Case::new(vec![r.tensor(&[]), int_vector(&[])]),
        ]
    },
    expensive: true,
    host_inputs: &["perm"],
    ..Op::PURE
};

pub static CONJUGATE_TRANSPOSE: Op = Op {
    name: "ConjugateTranspose",
    doc: "The complex conjugate of the input with its dimensions permuted.",
    // No scalar here: TensorFlow's own kernel crashes on one.
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), int_vector(&[1, 0])])],
    kernels: &[
        cpu_row!([], Make::Plain(run)),
        KernelRow {
            priority: 1,
            ..cpu_row!([("T", DataType::Complex64)], Make::Plain(conjugated::<Complex32>))
        },
        KernelRow {
            priority: 1,
            ..cpu_row!([("T", DataType::Complex128)], Make::Plain(conjugated::<ComplexDouble>))
        },
    ],
    ..TRANSPOSE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (x, length) = (c.input(0), c.rank(1, 1)?.dim(0));
    let perm = c.ints(1);
    let rank = match (x.rank(), length, &perm) {
        (Some(rank), _, _) => rank,
        (None, n, _) if n >= 0 => n as usize,
        (None, _, Some(p)) => p.len(),
        _ => return Ok(vec![PartialShape::unknown()]),
    };
    if length >= 0 && length as usize != rank {
        return Err(invalid!("perm must have one number for each of the {rank} dimensions, has {length}"));
    }
    match (perm, rank) {
        (Some(perm), _) => Ok(vec![permutation(&perm, rank)?.iter().map(|p| x.dim(*p)).collect()]),
        (None, 0 | 1) if x.rank().is_some() => Ok(vec![x]),
        (None, _) => Ok(vec![PartialShape::unknown_of_rank(rank)]),
    }
}

/// Checks that `perm` is a permutation; negative axes count from the end.
pub fn permutation(perm: &[i64], rank: usize) -> Result<Vec<usize>> {
    if perm.len() != rank {
        return Err(invalid!(
            "transpose expects a vector of size {rank}. But input(1) is a vector of size {}",
            perm.len()
        ));
    }
    let mut seen = vec![false; rank];
    perm.iter()
        .map(|p| {
            let p = axis_in_range(*p, rank).map_err(|e| e.context("perm"))?;
            match std::mem::replace(&mut seen[p], true) {
                true => Err(invalid!("{p} appears more than once in the permutation {perm:?}")),
                false => Ok(p),
            }
        })
        .collect()
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (perm, dy) = (g.x[1], g.dy()?);
    // Makes axes non-negative: `InvertPermutation` rejects negative ones.
    let out_type = Attr::Type(g.graph.dtype(perm));
    let rank = g.op("Size", [perm.into()], &[("out_type", out_type)])?;
    let perm = g.binary("FloorMod", perm, rank)?;
    let back = g.unary("InvertPermutation", perm)?;
    Ok(vec![g.binary(g.op, dy, back)?.into(), Grad::None])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let perm = permutation(&c.int_vector(1)?, c.shape(0)?.rank())?;
    let out = transposed(c, c.input(0)?, &perm)?;
    c.set(0, out);
    Ok(())
}

/// Permutes the dimensions; shares memory where no element moves.
pub fn transposed(c: &OpCall<'_>, x: &Tensor, perm: &[usize]) -> Result<Tensor> {
    let (dims, strides) = (x.shape(), x.shape().strides());
    let shape = Shape::new(&perm.iter().map(|p| dims[*p]).collect::<Vec<_>>())?;
    // Only dimensions of size 1 may be permuted without moving elements.
    let moving: Vec<usize> = perm.iter().copied().filter(|p| dims[*p] != 1).collect();
    if moving.is_sorted() || x.elements() == 0 {
        return x.clone().reshape(shape);
    }
    let mut out = Tensor::uninit(x.dtype(), shape)?;
    if x.dtype().is_plain() {
        transpose_bytes(c.par(), x.dtype().size(), dims, perm, x.bytes()?, out.bytes_mut()?);
        return Ok(out);
    }
    let to = out.shape().strides();
    let mut block = Block::at(0, 0);
    for (i, p) in perm.iter().enumerate() {
        block = block.dim(dims[*p], strides[*p] as isize, to[i] as isize);
    }
    block.copy(c.par(), x, &mut out)?;
    Ok(out)
}

fn conjugated<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    let perm = permutation(&c.int_vector(1)?, c.shape(0)?.rank())?;
    let mut out = transposed(c, c.input(0)?, &perm)?;
    for x in out.as_mut_slice::<T>()? {
        *x = x.conjugate();
    }
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn what_is_no_permutation_is_refused() {
        let x = floats(&[2, 1], &[1.0, 2.0]);
        for perm in [ints(&[1], &[-10]), ints(&[2], &[0, 0]), ints(&[2], &[0, 2]), ints(&[], &[0])] {
            assert_eq!(code(call("Transpose", &[x.clone(), perm], &[])), Code::InvalidArgument);
        }
    }

    #[test]
    fn axes_may_be_counted_from_the_end() {
        let x = floats(&[1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let y = call("Transpose", &[x, ints(&[3], &[-1, 0, 1])], &[]).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn strings_move_and_complex_numbers_are_conjugated() {
        let s = |t: &str| bytes::Bytes::copy_from_slice(t.as_bytes());
        let x =
            Tensor::from_objects(Shape::new(&[2, 2]).unwrap(), vec![s("a"), s("b"), s("c"), s("d")]).unwrap();
        let y = call("Transpose", &[x, ints(&[2], &[1, 0])], &[]).unwrap();
        assert_eq!(y[0].strings().unwrap(), &[s("a"), s("c"), s("b"), s("d")]);
        let z = Tensor::vector(&[Complex32::new(1.0, 2.0)]).unwrap();
        let y = call("ConjugateTranspose", &[z, ints(&[1], &[0])], &[]).unwrap();
        assert_eq!(y[0].as_slice::<Complex32>().unwrap(), &[Complex32::new(1.0, -2.0)]);
    }
}
