//! `Reshape`: the same elements under another shape.

use crate::prelude::*;
use thalweg_core::shape::product;

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
            Case::new(vec![r.tensor(&[0, 8]), int_vector(&[0, -1, 4])]),
        ]
    },
    host_inputs: &["shape"],
    identity_if_same_shape: true,
    ..Op::PURE
};

pub fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    if c.input(1).rank() == Some(0) {
        return Ok(vec![PartialShape::vector(-1)]);
    }
    c.rank(1, 1)?;
    let wanted = c.as_shape(1)?;
    let (Some(dims), Some(total)) = (wanted.dims(), c.input(0).elements()) else { return Ok(vec![wanted]) };
    // -1 in a constant means "infer"; elsewhere it may just be unknown.
    match c.ints(1) {
        Some(ints) => {
            let from = c.input(0).to_shape().unwrap_or_default();
            Ok(vec![target_shape(&ints, &from)?.as_slice().iter().copied().collect()])
        }
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

/// TensorFlow's limit here; other ops allow one more.
const TOO_MANY: usize = 254;

/// The requested sizes, with a -1 inferred from the number of elements of `from`. Beside a 0 it is inferred from the sizes that are
/// not 0, and may be anything.
fn target_shape(wanted: &[i64], from: &Shape) -> Result<Vec<i64>> {
    if wanted.len() >= TOO_MANY {
        return Err(invalid!("too many dimensions: must be < {TOO_MANY}, but received {}", wanted.len()));
    }
    let mut unknown = None;
    let mut known: usize = 1;
    for (i, d) in wanted.iter().enumerate() {
        match *d {
            -1 if unknown.is_some() => return Err(invalid!("only one size may be -1, got {wanted:?}")),
            -1 => unknown = Some(i),
            0 => {}
            d if d < 0 => return Err(invalid!("size {d} of the shape asked for is negative: {wanted:?}")),
            d => {
                known = known
                    .checked_mul(d as usize)
                    .ok_or_else(|| invalid!("the shape {wanted:?} is too large"))?
            }
        }
    }
    let total = from.elements();
    let has_zero = wanted.contains(&0);
    let mut dims = reserve::copied(wanted)?;
    if let Some(i) = unknown {
        let passed_over = has_zero && total == 0;
        let counted = if passed_over { from.iter().filter(|n| **n > 0).product() } else { total };
        if !passed_over && !counted.is_multiple_of(known) {
            return Err(invalid!(
                "Input to reshape is a tensor with {total} values, but the requested shape requires a multiple of {known}"
            ));
        }
        dims[i] = (counted / known) as i64;
    }
    let asked =
        if dims.contains(&0) { 0 } else { known.saturating_mul(unknown.map_or(1, |i| dims[i] as usize)) };
    if asked != total {
        return Err(invalid!(
            "Input to reshape is a tensor with {total} values, but the requested shape has {asked}"
        ));
    }
    Ok(dims)
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, dy) = (g.x[0], g.dy()?);
    let shape = g.shape_of(x)?;
    Ok(vec![g.binary("Reshape", dy, shape)?.into(), Grad::None])
}

pub fn run(c: &mut OpCall<'_>) -> Result<()> {
    // As in TensorFlow, a scalar counts as a vector of one.
    let wanted = if c.shape(1)?.is_scalar() { vec![c.scalar_int(1)?] } else { c.int_vector(1)? };
    let dims = target_shape(&wanted, c.shape(0)?)?;
    let x = c.take(0)?;
    c.set(0, x.reshape(Shape::from_i64(&dims)?)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, ints};

    fn reshaped(from: &[usize], to: &[i32]) -> Result<String> {
        let x = Tensor::zeros(DataType::Float, Shape::new(from)?)?;
        let y = call("Reshape", &[x, ints(&[to.len()], to)], &[])?;
        Ok(y[0].shape().to_string())
    }

    #[test]
    fn an_unknown_size_beside_zeros_follows_from_the_others() {
        for (from, to, want) in [
            (&[0, 8][..], &[0, -1, 4][..], "[0,2,4]"),
            (&[0, 8], &[-1, 0], "[8,0]"),
            (&[0, 8], &[0, -1, 3], "[0,2,3]"),
            (&[0, 0], &[0, -1], "[0,1]"),
            (&[0], &[-1], "[0]"),
        ] {
            assert_eq!(reshaped(from, to).unwrap(), want, "{from:?} to {to:?}");
        }
    }

    #[test]
    fn the_words_are_those_that_users_search_for() {
        let text = |from: &[usize], to: &[i32]| reshaped(from, to).unwrap_err().to_string();
        assert!(text(&[4], &[-1, 0]).contains("tensor with 4 values, but the requested shape has 0"));
        assert!(text(&[4], &[3, 7]).contains("but the requested shape has 21"));
        assert!(text(&[6], &[4, -1]).contains("but the requested shape requires a multiple of 4"));
        assert!(text(&[1], &[1; 254]).contains("too many dimensions: must be < 254, but received 254"));
        assert!(reshaped(&[1], &[1; 253]).is_ok());
    }
}
