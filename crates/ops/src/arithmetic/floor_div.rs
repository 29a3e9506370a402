//! `FloorDiv`: x / y rounded down.

use super::no_zero_divisor;
use crate::prelude::*;

pub static FLOOR_DIV: Op = Op {
    name: "FloorDiv",
    doc: "x / y rounded towards minus infinity, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}",
    ],
    shape: broadcast,
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_integer: T in i32, i64, u8, u16, u32, u64, i8, i16),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.positive(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.positive(&[3, 1, 2])]),
        ]
    },
    ..Op::PURE
};

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.floor_div(y))
}

fn run_integer<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    no_zero_divisor::<T>(c)?;
    binary(c, |x: T, y: T| x.floor_div(y))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::error::Code;

    #[test]
    fn an_integer_divided_by_zero_is_an_error() {
        let e = call("FloorDiv", &[ints(&[2], &[1, 2]), ints(&[2], &[1, 0])], &[]).unwrap_err();
        assert_eq!((e.code(), e.message()), (Code::InvalidArgument, "Integer division by zero"));
        assert!(call("FloorDiv", &[ints(&[0], &[]), ints(&[], &[0])], &[]).is_ok());
    }

    #[test]
    fn the_least_integer_by_minus_one_does_not_trap() {
        let z = call("FloorDiv", &[ints(&[1], &[i32::MIN]), ints(&[], &[-1])], &[]).unwrap();
        assert_eq!(z[0].as_slice::<i32>().unwrap(), &[i32::MIN]);
    }
}
