//! `Slice`: a slice by begin and size.

use super::boxes::slice_box;
use crate::prelude::*;

pub static SLICE: Op = Op {
    name: "Slice",
    doc: "The part of the input that begins at `begin` and has size `size`; a size of -1 reaches to the end.",
    inputs: &["input: T", "begin: Index", "size: Index"],
    outputs: &["output: T"],
    attrs: &["T: type", "Index: {int32, int64}"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[3, 4]), int_vector(&[1, 0]), int_vector(&[2, -1])]),
            Case::new(vec![r.tensor(&[3, 4]), int_vector(&[0, 1]), int_vector(&[-1, 2])]),
            Case::new(vec![r.tensor(&[3]), int_vector(&[3]), int_vector(&[0])]),
        ]
    },
    host_inputs: &["begin", "size"],
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let n = merge_dim(c.rank(1, 1)?.dim(0), c.rank(2, 1)?.dim(0))?;
    let (begin, size) = (c.ints(1), c.ints(2));
    let rank = [begin.as_ref(), size.as_ref()].into_iter().flatten().map(Vec::len).next();
    let rank = if n >= 0 { Some(n as usize) } else { rank };
    let x = match rank {
        Some(rank) => c.rank(0, rank)?,
        None => c.input(0),
    };
    match (x.dims(), begin, size) {
        (Some(dims), Some(begin), Some(size)) => {
            Ok(vec![box_size(dims, &begin, &size)?.into_iter().collect()])
        }
        // If `begin` is unknown, a size of -1 is unknown too.
        (Some(_), None, Some(size)) => Ok(vec![PartialShape::new(&size)?]),
        (Some(dims), _, None) => Ok(vec![PartialShape::unknown_of_rank(dims.len())]),
        _ => Ok(vec![PartialShape::unknown()]),
    }
}

/// The requested sizes, checked against those of the input (-1: unknown).
fn box_size(dims: &[i64], begin: &[i64], size: &[i64]) -> Result<Vec<i64>> {
    if begin.len() != dims.len() || size.len() != dims.len() {
        return Err(invalid!(
            "Expected begin and size arguments to be 1-D tensors of size {}, but got {} and {}",
            dims.len(),
            begin.len(),
            size.len()
        ));
    }
    (0..dims.len())
        .map(|i| match (dims[i], begin[i], size[i]) {
            (-1, b, s) if b >= 0 && s >= -1 => Ok(s),
            (d, b, _) if b < 0 || (d >= 0 && b > d) => {
                Err(invalid!("Expected begin[{i}] in [0, {d}], but got {b}"))
            }
            (d, b, -1) => Ok(d - b),
            (d, b, s) if s < 0 || s > d - b => {
                Err(invalid!("Expected size[{i}] in [0, {}], but got {s}", d - b))
            }
            (_, _, s) => Ok(s),
        })
        .collect()
}

/// The gradient padded with zeros to the shape of the input.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, begin, y, dy) = (g.x[0], g.x[1], g.y[0], g.dy()?);
    let index = [("out_type", g.graph.dtype(begin).into())];
    let (whole, part) = (g.op("Shape", [x.into()], &index)?, g.op("Shape", [y.into()], &index)?);
    let rest = g.binary("Sub", whole, part)?;
    let after = g.binary("Sub", rest, begin)?;
    let paddings = g.op("Pack", [vec![begin, after].into()], &[("axis", 1.into())])?;
    Ok(vec![g.binary("Pad", dy, paddings)?.into(), Grad::None, Grad::None])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (x, rank) = (c.input(0)?, c.shape(0)?.rank());
    let good = |s: &Shape| s.dims() == [rank];
    if !good(c.shape(1)?) || !good(c.shape(2)?) {
        return Err(invalid!(
            "Expected begin and size arguments to be 1-D tensors of size {rank}, but got shapes {} and {} instead.",
            c.shape(1)?,
            c.shape(2)?
        ));
    }
    let (begin, size) = (c.int_vector(1)?, c.int_vector(2)?);
    let size = box_size(&x.shape().to_i64(), &begin, &size)?;
    let begin: Vec<usize> = begin.iter().map(|b| *b as usize).collect();
    let out = slice_box(c, x, &begin, &Shape::from_i64(&size)?)?;
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn a_box_outside_is_refused() {
        let x = floats(&[3], &[1.0, 2.0, 3.0]);
        for (begin, size) in [(-1, 1), (4, 0), (1, 3), (0, -2), (i32::MAX, i32::MAX)] {
            let inputs = [x.clone(), ints(&[1], &[begin]), ints(&[1], &[size])];
            assert_eq!(code(call("Slice", &inputs, &[])), Code::InvalidArgument);
        }
        let inputs = [x.clone(), ints(&[], &[0]), ints(&[1], &[1])];
        let text = call("Slice", &inputs, &[]).unwrap_err().to_string();
        let words = "to be 1-D tensors of size 1, but got shapes [] and [1] instead.";
        assert!(text.contains(words), "{text}");
        let inputs = [x, ints(&[2], &[0, 0]), ints(&[2], &[1, 1])];
        assert_eq!(code(call("Slice", &inputs, &[])), Code::InvalidArgument);
    }
}
