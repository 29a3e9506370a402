//! Sine, cosine, tangent and their inverses.

use crate::gradients::{broadcast_pair, slope_at_x};
use crate::prelude::*;
use thalweg_math::elementary;

pub static OPS: &[&Op] = &[&SIN, &COS, &TAN, &ASIN, &ACOS, &ATAN, &ATAN2];

static SIN: Op = Op {
    name: "Sin",
    doc: "sin(x), elementwise; x in radians.",
    grad: Rule(|g| slope_at_x(g, |g, x| g.unary("Cos", x))),
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::sin,
             T: Float in floats_but_f32 => |x| x.via(f32::sin, f64::sin);
             T: ComplexNumber in complexes => |z| z.map(|z| z.sin()))
};

static COS: Op = Op {
    name: "Cos",
    doc: "cos(x), elementwise; x in radians.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let sin = g.unary("Sin", x)?;
            g.unary("Neg", sin)
        })
    }),
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::cos,
             T: Float in floats_but_f32 => |x| x.via(f32::cos, f64::cos);
             T: ComplexNumber in complexes => |z| z.map(|z| z.cos()))
};

static TAN: Op = Op {
    name: "Tan",
    doc: "tan(x), elementwise; x in radians.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let cos = g.unary("Cos", x)?;
            let secant = g.unary("Reciprocal", cos)?;
            g.unary("Square", secant)
        })
    }),
    cases: |r| vec![Case::new(vec![r.range(&[2, 3], -1.2, 1.2)])],
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::tan,
             T: Float in floats_but_f32 => |x| x.via(f32::tan, f64::tan);
             T: ComplexNumber in complexes => |z| z.map(|z| z.tan()))
};

static ASIN: Op = Op {
    name: "Asin",
    doc: "asin(x), elementwise, in radians.",
    grad: Rule(|g| slope_at_x(g, slope_of_asin)),
    cases: |r| vec![Case::new(vec![r.range(&[2, 3], -0.9, 0.9)])],
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::asin,
             T: Float in floats_but_f32 => |x| x.via(f32::asin, f64::asin);
             T: ComplexNumber in complexes => |z| z.map(|z| z.asin()))
};

static ACOS: Op = Op {
    name: "Acos",
    doc: "acos(x), elementwise, in radians.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let slope = slope_of_asin(g, x)?;
            g.unary("Neg", slope)
        })
    }),
    cases: |r| vec![Case::new(vec![r.range(&[2, 3], -0.9, 0.9)])],
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::acos,
             T: Float in floats_but_f32 => |x| x.via(f32::acos, f64::acos);
             T: ComplexNumber in complexes => |z| z.map(|z| z.acos()))
};

static ATAN: Op = Op {
    name: "Atan",
    doc: "atan(x), elementwise, in radians.",
    grad: Rule(|g| {
        slope_at_x(g, |g, x| {
            let (one, square) = (g.number(1.0, x)?, g.unary("Square", x)?);
            let sum = g.binary("Add", one, square)?;
            g.unary("Reciprocal", sum)
        })
    }),
    ..unary!(UNARY_COMPLEX, fused, f32 by elementary::atan,
             T: Float in floats_but_f32 => |x| x.via(f32::atan, f64::atan);
             T: ComplexNumber in complexes => |z| z.map(|z| z.atan()))
};

static ATAN2: Op = Op {
    name: "Atan2",
    doc: "The angle of the point (x, y) from the x axis, in radians, elementwise; shapes broadcast.",
    inputs: &["y: T", "x: T"],
    attrs: UNARY_FLOAT.attrs,
    grad: Rule(|g| {
        let (y, x, dz) = (g.x[0], g.x[1], g.dy()?);
        let (xx, yy) = (g.unary("Square", x)?, g.unary("Square", y)?);
        let radius = g.binary("AddV2", xx, yy)?;
        let scaled = g.binary("RealDiv", dz, radius)?;
        let dy = g.binary("Mul", x, scaled)?;
        let minus = g.unary("Neg", y)?;
        let dx = g.binary("Mul", minus, scaled)?;
        broadcast_pair(g, dy, dx)
    }),
    ..binary!(BINARY, f32 by elementary::atan2,
              T: Float in floats_but_f32 => |y, x| y.via2(x, f32::atan2, f64::atan2))
};

/// 1 / sqrt(1 - x²).
fn slope_of_asin(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let (one, square) = (g.number(1.0, x)?, g.unary("Square", x)?);
    let rest = g.binary("Sub", one, square)?;
    let root = g.unary("Sqrt", rest)?;
    g.unary("Reciprocal", root)
}
