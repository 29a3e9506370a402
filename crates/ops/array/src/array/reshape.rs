//! `Reshape`: the same elements under another shape.

use crate::prelude::*;
use thalweg_core::shape::{MAX_RANK, product};

pub static RESHAPE: Op = Op {
    name: "Reshape",
    doc: "The input's elements under a new shape; one size may be -1: it is inferred.",
    inputs: &["tensor: T", "shape: Tshape"],
    outputs: &["output: T"],
    attrs: &["T: type", "Tshape: {int32, int64} = DT_INT32"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), int_vector(&[3, -1])]),
            Case::new(vec![r.tensor(&[1]), int_vector(&[])]),
        ]
    },
    host_inputs: &["shape"],
    identity_if_same_shape: true,
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    if c.input(1).rank() == Some(0) {
        return Ok(vec![PartialShape::vector(-1)]);
    }
    c.rank(1, 1)?;
    let wanted = c.as_shape(1)?;
    let (Some(dims), Some(total)) = (wanted.dims(), c.input(0).elements()) else { return Ok(vec![wanted]) };
    // -1 in a constant means "infer"; elsewhere it may just be unknown.
    match c.ints(1) {
        Some(ints) => Ok(vec![target_shape(&ints, total as usize)?.as_slice().iter().copied().collect()]),
        None if dims.iter().filter(|d| **d < 0).count() == 1 => {
            let known = product(dims.iter().filter(|d| **d >= 0)).unwrap_or(0);
            if known == 0 || total % known != 0 {
                return Ok(vec![wanted]);
            }
            Ok(vec![dims.iter().map(|d| if *d < 0 { total / known } else { *d }).collect()])
        }
        None => Ok(vec![wanted]),
    }
}

/// The requested sizes, with a -1 inferred from the number of elements.
fn target_shape(wanted: &[i64], total: usize) -> Result<Vec<i64>> {
    if wanted.len() > MAX_RANK {
        return Err(invalid!(
            "a tensor has at most {MAX_RANK} dimensions, the shape asked for has {}",
            wanted.len()
        ));
    }
    let mut unknown = None;
    let mut known: usize = 1;
    for (i, d) in wanted.iter().enumerate() {
        match *d {
            -1 if unknown.is_some() => return Err(invalid!("only one size may be -1, got {wanted:?}")),
            -1 => unknown = Some(i),
            d if d < 0 => return Err(invalid!("size {d} of the shape asked for is negative: {wanted:?}")),
            d => {
                known = known
                    .checked_mul(d as usize)
                    .ok_or_else(|| invalid!("the shape {wanted:?} is too large"))?
            }
        }
    }
    let mut dims = reserve::copied(wanted)?;
    if let Some(i) = unknown {
        if known == 0 || !total.is_multiple_of(known) {
            return Err(invalid!(
                "Input to reshape has {total} values, but the shape {wanted:?} needs a multiple of {known}"
            ));
        }
        dims[i] = (total / known) as i64;
    } else if known != total {
        return Err(invalid!(
            "Input to reshape is a tensor with {total} values, but the requested shape {wanted:?} has {known}"
        ));
    }
    Ok(dims)
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, dy) = (g.x[0], g.dy()?);
    let shape = g.shape_of(x)?;
    Ok(vec![g.binary("Reshape", dy, shape)?.into(), Grad::None])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    // As in TensorFlow, a scalar counts as a vector of one.
    let wanted = if c.shape(1)?.is_scalar() { vec![c.scalar_int(1)?] } else { c.int_vector(1)? };
    let dims = target_shape(&wanted, c.input(0)?.elements())?;
    let x = c.take(0)?;
    c.set(0, x.reshape(Shape::from_i64(&dims)?)?);
    Ok(())
}
