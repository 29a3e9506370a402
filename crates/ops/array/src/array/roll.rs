//! `Roll`: elements shifted along dimensions, with wrap-around.

use crate::moving::Block;
use crate::prelude::*;

pub static ROLL: Op = Op {
    name: "Roll",
    doc: "The input with its elements moved by `shift` along `axis`; those shifted past one end wrap around to the other.",
    inputs: &["input: T", "shift: Tshift", "axis: Taxis"],
    outputs: &["output: T"],
    attrs: &["T: type", "Tshift: {int32, int64}", "Taxis: {int32, int64}"],
    shape: |c| {
        for i in [1, 2] {
            if c.input(i).rank().is_some_and(|r| r > 1) {
                let name = if i == 1 { "shift" } else { "axis" };
                return Err(invalid!("{name} must be a scalar or a 1-D vector. Found: {}", c.input(i)));
            }
        }
        Ok(vec![c.rank_at_least(0, 1)?])
    },
    grad: Rule(|g| {
        let (shift, axis, dy) = (g.x[1], g.x[2], g.dy()?);
        let back = g.unary("Neg", shift)?;
        Ok(vec![g.op("Roll", [dy.into(), back.into(), axis.into()], &[])?.into(), Grad::None, Grad::None])
    }),
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[5]), Tensor::scalar(2i32), Tensor::scalar(0i32)]),
            Case::new(vec![r.tensor(&[2, 5]), int_vector(&[1, -2, 9]), int_vector(&[0, -1, 1])]),
            Case::new(vec![r.tensor(&[0, 2]), int_vector(&[1]), int_vector(&[0])]),
        ]
    },
    host_inputs: &["shift", "axis"],
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (shift, axis) = (c.input(1)?, c.input(2)?);
    if c.shape(0)?.is_scalar() {
        return Err(invalid!("input must be 1-D or higher"));
    }
    for (t, name) in [(shift, "shift"), (axis, "axis")] {
        if t.rank() > 1 {
            return Err(invalid!("{name} must be a scalar or a 1-D vector. Found: {}", t.shape()));
        }
    }
    if shift.shape() != axis.shape() {
        return Err(invalid!(
            "shift and axis must have the same size, got shapes {} and {}",
            shift.shape(),
            axis.shape()
        ));
    }
    let mut out = c.input(0)?.clone();
    let shape = out.shape().clone();
    let mut turns = vec![0; shape.rank()];
    for (shift, axis) in shift.to_i64s()?.into_iter().zip(axis.to_i64s()?) {
        let axis = axis_in_range(axis, shape.rank())?;
        let n = shape[axis].max(1) as i64;
        turns[axis] = (turns[axis] + shift.rem_euclid(n)) % n;
    }
    for (axis, turn) in turns.into_iter().enumerate().filter(|(_, t)| *t != 0) {
        let (outer, n, inner) = shape.around(axis)?;
        let (row, split) = (n * inner, turn as usize * inner);
        let mut next = Tensor::uninit(out.dtype(), shape.clone())?;
        for (from, to, len) in [(0, split, row - split), (row - split, 0, split)] {
            Block::at(from, to).dim(outer, row as isize, row as isize).dim(len, 1, 1).copy(
                c.par(),
                &out,
                &mut next,
            )?;
        }
        out = next;
    }
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn shifts_and_axes_must_pair_up() {
        let x = floats(&[2], &[1.0, 2.0]);
        let pairs = [
            (ints(&[1], &[1]), ints(&[], &[0])),
            (ints(&[2], &[1, 1]), ints(&[1], &[0])),
            (ints(&[1], &[1]), ints(&[1], &[1])),
        ];
        for (shift, axis) in pairs {
            assert_eq!(code(call("Roll", &[x.clone(), shift, axis], &[])), Code::InvalidArgument);
        }
        let matrix = call("Roll", &[x.clone(), ints(&[1], &[1]), ints(&[1, 2], &[0, 0])], &[]);
        let text = matrix.unwrap_err().to_string();
        assert!(text.contains("axis must be a scalar or a 1-D vector. Found: [1,2]"), "{text}");
        let least = Tensor::scalar(i64::MIN);
        let y = call("Roll", &[x, least, ints(&[], &[0])], &[]).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), &[1.0, 2.0]);
    }
}
