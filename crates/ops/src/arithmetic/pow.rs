//! `Pow`: x to the power y.

use crate::broadcast::broadcast_shape;
use crate::gradients::{broadcast_pair, conj_x, conj_y};
use crate::prelude::*;

pub static POW: Op = Op {
    name: "Pow",
    doc: "x to the power y, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    attrs: &["T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}"],
    shape: broadcast,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_integer: T in i8, i16, i32, i64; run_complex: T in Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.positive(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.positive(&[4, 1]), r.tensor(&[3, 1, 2])]),
        ]
    },
    ..Op::PURE
};

/// By x: y x^(y-1). By y: z log x, where x has a logarithm.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
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

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.via2(y, f32::powf, f64::powf))
}

fn run_integer<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let any = broadcast_shape(c.shape(0)?, c.shape(1)?)?.elements() > 0;
    if any && c.slice::<T>(1)?.iter().any(|y| *y < T::ZERO) {
        return Err(invalid!("Integers to negative integer powers are not allowed"));
    }
    binary(c, integer_power::<T>)
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

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| {
        x.map2(y, |x, y| match (x.norm() == 0.0, y.norm() == 0.0) {
            (_, true) => ComplexDouble::ONE,
            (true, false) => ComplexDouble::ZERO,
            _ => x.powc(y),
        })
    })
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
}
