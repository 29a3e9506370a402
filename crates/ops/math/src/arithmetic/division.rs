//! Quotients and remainders.

use crate::broadcast::broadcast_shape;
use crate::gradients::{broadcast_pair, conj_x, one_where_not_zero};
use crate::prelude::*;
use thalweg_math::rounding::Round;

pub static OPS: &[&Op] =
    &[&DIV, &REAL_DIV, &DIV_NO_NAN, &XDIVY, &FLOOR_DIV, &FLOOR_MOD, &TRUNCATE_DIV, &TRUNCATE_MOD, &MOD];

static DIV: Op = Op {
    name: "Div",
    doc: "x / y, elementwise; integers are rounded towards zero; shapes broadcast.",
    grad: Rule(|g| grad_of_quotient(g, "Div")),
    ..binary!(QUOTIENT, T: Number in floats, complexes => |x, y| x.div(y);
              T: Real in integers by no_zero_divisor => |x, y| x.div(y))
};

static REAL_DIV: Op = Op {
    name: "RealDiv",
    doc: "x / y, elementwise; shapes broadcast.",
    grad: Rule(|g| grad_of_quotient(g, "RealDiv")),
    ..binary!(QUOTIENT, fused, T: Number in floats, complexes => |x, y| x.div(y))
};

static DIV_NO_NAN: Op = Op {
    name: "DivNoNan",
    doc: "x / y, elementwise, but 0 where y is 0; shapes broadcast.",
    attrs: &["T: {half, float, bfloat16, double, complex64, complex128}"],
    grad: Rule(|g| grad_of_quotient(g, "DivNoNan")),
    ..binary!(QUOTIENT, T: Number in floats, complexes => |x, y| if y == T::ZERO { T::ZERO } else { x.div(y) })
};

static XDIVY: Op = Op {
    name: "Xdivy",
    doc: "x / y, elementwise, but 0 where x is 0, even if y is 0; shapes broadcast.",
    grad: Rule(|g| {
        let (x, y, dz) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
        let present = one_where_not_zero(g, x)?;
        let slope_x = g.binary("Xdivy", present, y)?;
        let (minus, square) = (g.unary("Neg", x)?, g.unary("Square", y)?);
        let slope_y = g.binary("Xdivy", minus, square)?;
        let (dx, dy) = (g.binary("Mul", slope_x, dz)?, g.binary("Mul", slope_y, dz)?);
        broadcast_pair(g, dx, dy)
    }),
    ..binary!(ZERO_AT_ZERO,
              T: Number in floats, complexes => |x, y| if x == T::ZERO { T::ZERO } else { x.div(y) })
};

static FLOOR_DIV: Op = Op {
    name: "FloorDiv",
    doc: "x / y rounded towards minus infinity, elementwise; shapes broadcast.",
    grad: Stops,
    ..binary!(QUOTIENT, T: Real in floats => |x, y| x.floor_div(y);
              T: Real in integers by no_zero_divisor => |x, y| x.floor_div(y))
};

static FLOOR_MOD: Op = Op {
    name: "FloorMod",
    doc: "The remainder of x / y with the sign of y, elementwise; shapes broadcast.",
    attrs: &["T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, double}"],
    grad: Rule(|g| {
        let (x, y, dz) = (g.x[0], g.x[1], g.dy()?);
        let quotient = g.binary("FloorDiv", x, y)?;
        let minus = g.unary("Neg", quotient)?;
        let dy = g.binary("Mul", dz, minus)?;
        broadcast_pair(g, dz, dy)
    }),
    ..binary!(QUOTIENT, T: Real in floats => |x, y| x.floor_mod(y);
              T: Real in integers by no_zero_divisor => |x, y| x.floor_mod(y))
};

static TRUNCATE_DIV: Op = Op {
    name: "TruncateDiv",
    doc: "x / y rounded towards zero, elementwise; shapes broadcast.",
    grad: Stops,
    ..binary!(QUOTIENT, T: Float in floats => |x, y| x.div(y).via(f32::towards_zero, f64::towards_zero);
              T: Real in integers by no_zero_divisor => |x, y| x.div(y))
};

static TRUNCATE_MOD: Op = Op {
    name: "TruncateMod",
    doc: "The remainder of x / y with the sign of x, elementwise; shapes broadcast.",
    attrs: &["T: {int32, int64, bfloat16, half, float, double}"],
    cases: |r| vec![Case::new(vec![r.tensor(&[4, 1]), r.positive(&[3, 1, 2])])],
    ..binary!(QUOTIENT, T: Real in floats => |x, y| x.truncate_mod(y);
              T: Real in int32_and_int64 by no_zero_divisor => |x, y| x.truncate_mod(y))
};

static MOD: Op =
    Op { name: "Mod", attrs: &["T: {int32, int64, half, half, bfloat16, float, double}"], ..TRUNCATE_MOD };

/// d/dx: 1 / y. d/dy: -x / y², each division by `op`.
fn grad_of_quotient(g: &mut GradCall<'_>, op: &'static str) -> Result<Vec<Grad>> {
    let (x, y, dz) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
    let dx = g.binary(op, dz, y)?;
    let minus = g.unary("Neg", x)?;
    let once = g.binary(op, minus, y)?;
    let twice = g.binary(op, once, y)?;
    let dy = g.binary("Mul", dz, twice)?;
    broadcast_pair(g, dx, dy)
}

/// As `binary`, but an error if an element of the result needs a division by zero.
fn no_zero_divisor<T: Number>(c: &mut OpCall<'_>, f: impl Fn(T, T) -> T + Copy + Sync) -> Result<()> {
    let any = broadcast_shape(c.shape(0)?, c.shape(1)?)?.elements() > 0;
    if any && c.slice::<T>(1)?.contains(&T::ZERO) {
        return Err(invalid!("Integer division by zero"));
    }
    binary(c, f)
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::error::Code;

    #[test]
    fn an_integer_divided_by_zero_is_an_error() {
        for op in ["FloorDiv", "FloorMod"] {
            let e = call(op, &[ints(&[2], &[1, 2]), ints(&[2], &[1, 0])], &[]).unwrap_err();
            assert_eq!((e.code(), e.message()), (Code::InvalidArgument, "Integer division by zero"));
            assert!(call(op, &[ints(&[0], &[]), ints(&[], &[0])], &[]).is_ok());
        }
    }

    #[test]
    fn the_least_integer_by_minus_one_does_not_trap() {
        let z = call("FloorDiv", &[ints(&[1], &[i32::MIN]), ints(&[], &[-1])], &[]).unwrap();
        assert_eq!(z[0].as_slice::<i32>().unwrap(), &[i32::MIN]);
    }
}
