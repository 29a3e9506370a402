//! Hyperbolic sine, cosine, tangent and their inverses.

use crate::gradients::{conj_x, conj_y, slope_at_x, slope_at_y};
use crate::prelude::*;
use thalweg_math::elementary;

pub static OPS: &[&Op] = &[&SINH, &COSH, &TANH, &TANH_GRAD, &ASINH, &ACOSH, &ATANH];

static SINH: Op = Op {
    name: "Sinh",
    doc: "sinh(x), elementwise.",
    grad: Rule(|g| slope_at_x(g, |g, x| g.unary("Cosh", x))),
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::sinh,
             T: Float in floats_but_f32 => |x| x.via(f32::sinh, f64::sinh);
             T: ComplexNumber in complexes => |z| z.map(|z| z.sinh()))
};

static COSH: Op = Op {
    name: "Cosh",
    doc: "cosh(x), elementwise.",
    grad: Rule(|g| slope_at_x(g, |g, x| g.unary("Sinh", x))),
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::cosh,
             T: Float in floats_but_f32 => |x| x.via(f32::cosh, f64::cosh);
             T: ComplexNumber in complexes => |z| z.map(|z| z.cosh()))
};

pub static TANH: Op = Op {
    name: "Tanh",
    doc: "tanh(x), elementwise.",
    grad: Rule(|g| {
        let (y, dy) = (conj_y(g, 0)?, g.dy()?);
        Ok(vec![g.binary("TanhGrad", y, dy)?.into()])
    }),
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::tanh,
             T: Float in floats_but_f32 => |x| x.via(f32::tanh, f64::tanh);
             T: ComplexNumber in complexes => |z| z.map(|z| z.tanh()))
};

static TANH_GRAD: Op = Op {
    name: "TanhGrad",
    doc: "dy * (1 - y * y), where y = tanh(x).",
    grad: Rule(|g| {
        let (a, b, d) = (conj_x(g, 0)?, conj_x(g, 1)?, g.dy()?);
        let minus_two = g.number(-2.0, d)?;
        let scaled = g.binary("Mul", d, minus_two)?;
        let with_b = g.binary("Mul", scaled, b)?;
        Ok(vec![g.binary("Mul", with_b, a)?.into(), g.binary("TanhGrad", a, d)?.into()])
    }),
    ..binary_alike!(UNARY_GRAD, T: Number in floats, complexes => |y, dy| dy.mul(T::ONE.sub(y.mul(y))))
};

static ASINH: Op = Op {
    name: "Asinh",
    doc: "asinh(x), elementwise.",
    grad: Rule(|g| {
        slope_at_y(g, |g, y| {
            let cosh = g.unary("Cosh", y)?;
            g.unary("Reciprocal", cosh)
        })
    }),
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::asinh,
             T: Float in floats_but_f32 => |x| x.via(|x| asinh(x as f64) as f32, asinh);
             T: ComplexNumber in complexes => |z| z.map(|z| z.asinh()))
};

static ACOSH: Op = Op {
    name: "Acosh",
    doc: "acosh(x), elementwise, for x from 1.",
    grad: Rule(|g| {
        slope_at_y(g, |g, y| {
            let sinh = g.unary("Sinh", y)?;
            g.unary("Reciprocal", sinh)
        })
    }),
    cases: |r| vec![Case::new(vec![r.range(&[2, 3], 1.2, 3.0)])],
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::acosh,
             T: Float in floats_but_f32 => |x| x.via(|x| acosh(x as f64) as f32, acosh);
             T: ComplexNumber in complexes => |z| z.map(|z| z.acosh()))
};

static ATANH: Op = Op {
    name: "Atanh",
    doc: "atanh(x), elementwise, for x in [-1, 1].",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let (one, square) = (g.number(1.0, x)?, g.unary("Square", x)?);
            let rest = g.binary("Sub", one, square)?;
            g.unary("Reciprocal", rest)
        })
    }),
    cases: |r| vec![Case::new(vec![r.range(&[2, 3], -0.9, 0.9)])],
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::atanh,
             T: Float in floats_but_f32 => |x| x.via(f32::atanh, f64::atanh);
             T: ComplexNumber in complexes => |z| z.map(|z| z.atanh()))
};

/// Without the overflow of `f64::asinh`, which doubles x before it takes the logarithm.
fn asinh(x: f64) -> f64 {
    if x.abs() > 1e9 { (x.abs().ln() + std::f64::consts::LN_2).copysign(x) } else { x.asinh() }
}

/// Without the overflow of `f64::acosh`, which doubles x before it takes the logarithm.
fn acosh(x: f64) -> f64 {
    if x > 1e9 { x.ln() + std::f64::consts::LN_2 } else { x.acosh() }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::call;

    #[test]
    fn the_largest_numbers_have_finite_inverses() {
        for op in ["Acosh", "Asinh"] {
            let (single, double) = (Tensor::scalar(f32::MAX), Tensor::scalar(f64::MAX));
            let single = call(op, &[single], &[]).unwrap()[0].to_scalar::<f32>().unwrap();
            let double = call(op, &[double], &[]).unwrap()[0].to_scalar::<f64>().unwrap();
            assert!(
                (single - 89.415_99).abs() < 1e-4 && (double - 710.475_860_073_943_9).abs() < 1e-9,
                "{op}"
            );
        }
    }
}
