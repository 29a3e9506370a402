//! `FloorMod`: the remainder of division rounded down.

use super::no_zero_divisor;
use crate::gradients::broadcast_pair;
use crate::prelude::*;

pub static FLOOR_MOD: Op = Op {
    name: "FloorMod",
    doc: "The remainder of x / y with the sign of y, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &["T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, double}"],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_integer: T in i32, i64, u8, u16, u32, u64, i8, i16),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.positive(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.positive(&[3, 1, 2])]),
        ]
    },
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y, dz) = (g.x[0], g.x[1], g.dy()?);
    let quotient = g.binary("FloorDiv", x, y)?;
    let minus = g.unary("Neg", quotient)?;
    let dy = g.binary("Mul", dz, minus)?;
    broadcast_pair(g, dz, dy)
}

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.floor_mod(y))
}

fn run_integer<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    no_zero_divisor::<T>(c)?;
    binary(c, |x: T, y: T| x.floor_mod(y))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::error::Code;

    #[test]
    fn an_integer_divided_by_zero_is_an_error() {
        let e = call("FloorMod", &[ints(&[2], &[1, 2]), ints(&[2], &[1, 0])], &[]).unwrap_err();
        assert_eq!((e.code(), e.message()), (Code::InvalidArgument, "Integer division by zero"));
        assert!(call("FloorMod", &[ints(&[0], &[]), ints(&[], &[0])], &[]).is_ok());
    }
}
