//! `BroadcastGradientArgs`: the axes over which gradients of broadcast inputs are summed.

use crate::broadcast::broadcast_shape;
use crate::convert::int_tensor;
use crate::prelude::*;

pub static BROADCAST_GRADIENT_ARGS: Op = Op {
    name: "BroadcastGradientArgs",
    doc: "For two shapes that broadcast, the axes to reduce the gradient of each over.",
    inputs: &["s0: T", "s1: T"],
    outputs: &["r0: T", "r1: T"],
    attrs: &["T: {int32, int64} = DT_INT32"],
    shape: |c| {
        c.rank(0, 1)?;
        c.rank(1, 1)?;
        Ok(vec![PartialShape::vector(-1), PartialShape::vector(-1)])
    },
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        vec![
            Case::new(vec![int_vector(&[2, 3]), int_vector(&[2, 3])]),
            Case::new(vec![int_vector(&[2, 1, 3]), int_vector(&[4, 1])]),
            Case::new(vec![int_vector(&[]), int_vector(&[2, 1])]),
        ]
    },
    host_inputs: &["s0", "s1"],
    host_outputs: &["r0", "r1"],
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (a, b) = (c.int_vector(0)?, c.int_vector(1)?);
    let full = broadcast_shape(&Shape::from_i64(&a)?, &Shape::from_i64(&b)?)?;
    // Dimensions of size 1 in both are reduced for both, except if the shapes are equal.
    let axes = |s: &[i64]| -> Vec<i64> {
        let missing = full.rank() - s.len();
        (0..full.rank()).filter(|i| *i < missing || s[i - missing] == 1).map(|i| i as i64).collect()
    };
    let (mut ra, mut rb) = (axes(&a), axes(&b));
    if a == b {
        (ra, rb) = (Vec::new(), Vec::new());
    }
    let dtype = c.output_type(0)?;
    c.set(0, int_tensor(dtype, &ra)?);
    c.set(1, int_tensor(dtype, &rb)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::error::Code;

    #[test]
    fn the_axes_are_those_that_tensorflow_gives() {
        let of = |a: &[i32], b: &[i32]| {
            let r = call("BroadcastGradientArgs", &[ints(&[a.len()], a), ints(&[b.len()], b)], &[]).unwrap();
            (r[0].to_i64s().unwrap(), r[1].to_i64s().unwrap())
        };
        assert_eq!(of(&[1], &[1]), (vec![], vec![]));
        assert_eq!(of(&[2, 1, 3], &[1, 3]), (vec![1], vec![0, 1]));
        assert_eq!(of(&[1, 1, 3], &[2, 1, 1]), (vec![0, 1], vec![1, 2]));
        assert_eq!(of(&[1, 1], &[1]), (vec![0, 1], vec![0, 1]));
        assert_eq!(of(&[0, 2], &[1, 2]), (vec![], vec![0]));
        let bad = call("BroadcastGradientArgs", &[ints(&[1], &[2]), ints(&[1], &[3])], &[]);
        assert_eq!(code(bad), Code::InvalidArgument);
    }
}
