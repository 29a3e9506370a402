//! Powers, roots and reciprocals, and the ops of their gradients.

use crate::broadcast::broadcast_shape;
use crate::elementwise::if_any;
use crate::gradients::{broadcast_pair, conj, conj_x, conj_y, grad_op_of_y, slope_at_x};
use crate::prelude::*;
use thalweg_math::elementary;

pub static OPS: &[&Op] =
    &[&SQUARE, &SQRT, &SQRT_GRAD, &RSQRT, &RSQRT_GRAD, &RECIPROCAL, &INV, &RECIPROCAL_GRAD, &INV_GRAD, &POW];

static SQUARE: Op = Op {
    name: "Square",
    doc: "x * x, elementwise.",
    attrs: &[
        "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}",
    ],
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let two = g.number(2.0, x)?;
            g.binary("Mul", two, x)
        })
    }),
    ..unary!(UNARY, fused, T: Number in floats, integers, complexes => |x| x.mul(x))
};

static SQRT: Op = Op {
    name: "Sqrt",
    doc: "The square root of x, elementwise.",
    grad: Rule(|g| grad_op_of_y(g, "SqrtGrad")),
    cases: positive_case,
    ..unary!(UNARY_COMPLEX, fused, T: Float in floats => |x| x.via(f32::sqrt, f64::sqrt);
             T: ComplexNumber in complexes => |z| z.map(|z| z.sqrt()))
};

static SQRT_GRAD: Op = Op {
    name: "SqrtGrad",
    doc: "dy * 0.5 / y, where y = sqrt(x).",
    grad: Rule(|g| {
        let (a, y, d) = (g.x[0], g.y[0], g.dy()?);
        let da = g.binary("RealDiv", d, a)?;
        let (conjugate, half) = (conj(g, da)?, g.number(0.5, da)?);
        let minus = g.unary("Neg", conjugate)?;
        Ok(vec![g.binary("Mul", minus, y)?.into(), g.binary("Mul", half, da)?.into()])
    }),
    ..binary_alike!(UNARY_GRAD,
                    T: Float in floats => |y, dy| if_any(dy, T::from_f64(0.5).mul(dy).div(y));
                    T: ComplexNumber in complexes => |y, dy| if_any(dy, T::from_f64(0.5).mul(dy).div(y.conjugate())))
};

static RSQRT: Op = Op {
    name: "Rsqrt",
    doc: "1 / sqrt(x), elementwise.",
    grad: Rule(|g| grad_op_of_y(g, "RsqrtGrad")),
    cases: positive_case,
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::rsqrt,
             T: Float in floats_but_f32 => |x| x.via(|x| 1.0 / x.sqrt(), |x| 1.0 / x.sqrt());
             T: ComplexNumber in complexes => |z| z.map(|z| 1.0 / z.sqrt()))
};

static RSQRT_GRAD: Op = Op {
    name: "RsqrtGrad",
    doc: "dy * -0.5 * y^3, where y = rsqrt(x).",
    grad: Rule(|g| {
        let (a, b, d) = (conj_x(g, 0)?, g.x[1], g.dy()?);
        let conjugate = conj(g, d)?;
        let factor = g.number(-1.5, d)?;
        let scaled = g.binary("Mul", factor, conjugate)?;
        let with_b = g.binary("Mul", scaled, b)?;
        let square = g.unary("Square", a)?;
        Ok(vec![g.binary("Mul", with_b, square)?.into(), g.binary("RsqrtGrad", a, d)?.into()])
    }),
    ..binary_alike!(UNARY_GRAD,
                    T: Float in floats => |y, dy| if_any(dy, T::from_f64(-0.5).mul(dy).mul(y).mul(y.mul(y)));
                    T: ComplexNumber in complexes =>
                        |y, dy| if_any(dy, T::from_f64(-0.5).mul(dy).mul(y.mul(y).mul(y).conjugate())))
};

static RECIPROCAL: Op = Op {
    name: "Reciprocal",
    doc: "1 / x, elementwise.",
    grad: Rule(|g| grad_op_of_y(g, "ReciprocalGrad")),
    ..unary!(UNARY_SIGNED, fused, T: Number in floats, complexes => |x| T::ONE.div(x))
};

/// Deprecated.
static INV: Op = Op { name: "Inv", ..RECIPROCAL };

static RECIPROCAL_GRAD: Op = Op {
    name: "ReciprocalGrad",
    doc: "-dy * y * y, where y = 1 / x.",
    grad: Rule(|g| {
        let (a, b, d) = (conj_x(g, 0)?, g.x[1], g.dy()?);
        let conjugate = conj(g, d)?;
        let minus_two = g.number(-2.0, d)?;
        let scaled = g.binary("Mul", conjugate, minus_two)?;
        let with_b = g.binary("Mul", scaled, b)?;
        Ok(vec![g.binary("Mul", with_b, a)?.into(), g.binary("ReciprocalGrad", a, d)?.into()])
    }),
    ..binary_alike!(UNARY_GRAD,
                    T: Number in floats => |y, dy| if_any(dy, dy.neg().mul(y.mul(y)));
                    T: ComplexNumber in complexes => |y, dy| if_any(dy, dy.neg().mul(y.mul(y).conjugate())))
};

static INV_GRAD: Op = Op { name: "InvGrad", ..RECIPROCAL_GRAD };

static POW: Op = Op {
    name: "Pow",
    doc: "x to the power y, elementwise; shapes broadcast.",
    attrs: &["T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}"],
    grad: Rule(grad_of_pow),
    cases: |r| {
        vec![
            Case::new(vec![r.positive(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.positive(&[4, 1]), r.tensor(&[3, 1, 2])]),
        ]
    },
    ..binary!(BINARY, f32 by elementary::pow,
              T: Float in floats_but_f32 => |x, y| x.via2(y, f32::powf, f64::powf);
              T: Real in signed_integers by no_negative_powers => |x, y| integer_power(x, y);
              T: ComplexNumber in complexes => |x, y| x.map2(y, complex_power))
};

/// d/dx: y x^(y-1). d/dy: z log x, 0 if log x is undefined.
fn grad_of_pow(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y, z, dz) = (conj_x(g, 0)?, conj_x(g, 1)?, conj_y(g, 0)?, g.dy()?);
    let (zero, one) = (g.number(0.0, x)?, g.number(1.0, x)?);
    let less = g.binary("Sub", y, one)?;
    let power = g.binary("Pow", x, less)?;
    let slope_x = g.binary("Mul", y, power)?;
    let test = if g.graph.dtype(x).is_complex() { "NotEqual" } else { "Greater" };
    let has_log = g.binary(test, x, zero)?;
    let ones = g.unary("OnesLike", x)?;
    let safe = g.op("SelectV2", [has_log.into(), x.into(), ones.into()], &[])?;
    let log = g.unary("Log", safe)?;
    let slope_y = g.binary("Mul", z, log)?;
    let (dx, dy) = (g.binary("Mul", dz, slope_x)?, g.binary("Mul", dz, slope_y)?);
    broadcast_pair(g, dx, dy)
}

fn no_negative_powers<T: Real>(c: &mut OpCall<'_>, power: impl Fn(T, T) -> T + Copy + Sync) -> Result<()> {
    let any = broadcast_shape(c.shape(0)?, c.shape(1)?)?.elements() > 0;
    if any && c.slice::<T>(1)?.iter().any(|y| *y < T::ZERO) {
        return Err(invalid!("Integers to negative integer powers are not allowed"));
    }
    binary(c, power)
}

/// By repeated squaring, wrapping; the exponent is not negative.
fn integer_power<T: Real>(mut x: T, y: T) -> T {
    let mut left = y.to_f64() as u64;
    let mut z = T::ONE;
    while left > 0 {
        if left & 1 == 1 {
            z = z.mul(x);
        }
        x = x.mul(x);
        left >>= 1;
    }
    z
}

fn complex_power(x: ComplexDouble, y: ComplexDouble) -> ComplexDouble {
    match (x.norm() == 0.0, y.norm() == 0.0) {
        (_, true) => ComplexDouble::ONE,
        (true, false) => ComplexDouble::ZERO,
        _ => x.powc(y),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::error::Code;

    #[test]
    fn integers_have_no_negative_powers() {
        assert_eq!(code(call("Pow", &[ints(&[1], &[1]), ints(&[2], &[1, -1])], &[])), Code::InvalidArgument);
        let z = call("Pow", &[ints(&[4], &[3, -2, 0, 10]), ints(&[4], &[4, 3, 0, 10])], &[]).unwrap();
        assert_eq!(z[0].as_slice::<i32>().unwrap(), &[81, -8, 1, 1410065408]);
    }

    #[test]
    fn where_no_gradient_comes_the_slope_does_not_matter() {
        for op in ["SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"] {
            let (y, dy) = (floats(&[3], &[f32::INFINITY, f32::NAN, 0.0]), floats(&[3], &[0.0, -0.0, 0.0]));
            assert_eq!(call(op, &[y, dy], &[]).unwrap()[0].as_slice::<f32>().unwrap(), &[0.0; 3], "{op}");
        }
    }

    #[test]
    fn gradient_ops_refuse_inputs_of_different_shapes() {
        for op in ["SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad", "ReciprocalGrad", "InvGrad"] {
            for dy in [floats(&[0], &[]), floats(&[], &[1.0]), floats(&[2, 1], &[1.0, 1.0])] {
                assert_eq!(
                    code(call(op, &[floats(&[2], &[1.0, 2.0]), dy], &[])),
                    Code::InvalidArgument,
                    "{op}"
                );
            }
        }
    }
}
