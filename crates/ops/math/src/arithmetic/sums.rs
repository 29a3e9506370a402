//! Sums and differences.

use crate::elementwise::binary_strings;
use crate::gradients::broadcast_pair;
use crate::prelude::*;
use bytes::Bytes;

pub static OPS: &[&Op] = &[&ADD, &ADD_V2, &SUB, &SQUARED_DIFFERENCE];

pub static ADD_V2: Op = Op {
    name: "AddV2",
    doc: "x + y, elementwise; shapes broadcast.",
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, int64, complex64, complex128}",
    ],
    grad: Rule(|g| {
        let dz = g.dy()?;
        broadcast_pair(g, dz, dz)
    }),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[])]),
            Case::new(vec![r.tensor(&[4, 1]), r.tensor(&[3, 1, 2])]),
        ]
    },
    commutative: true,
    epilogue: Some(SUM_EPILOGUE),
    ..binary!(BINARY, fused, T: Number in floats, integers, complexes => |x, y| x.add(y))
};

/// The second input is preferred: in a chain of sums the first is the accumulated value.
pub const SUM_EPILOGUE: Epilogue = Epilogue { product: &[1, 0], after_another: false };

static ADD: Op = Op {
    name: "Add",
    doc: "x + y, elementwise; strings are joined; shapes broadcast.",
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}",
    ],
    kernels: cpu!(join for T = String, add: T in f32, f64, f16, bf16, u8, i8, i16, i32, i64, Complex32, ComplexDouble),
    commutative: false,
    ..ADD_V2
};

fn add<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, y: T| x.add(y))
}

fn join(c: &mut OpCall<'_>) -> Result<()> {
    let both =
        |x: &Bytes, y: &Bytes| Ok(Bytes::from(reserve::join([x.as_ref(), y.as_ref()].into_iter(), b"")?));
    let (shape, joined) = binary_strings(c, both)?;
    c.set(0, Tensor::from_objects(shape, joined)?);
    Ok(())
}

static SUB: Op = Op {
    name: "Sub",
    doc: "x - y, elementwise; shapes broadcast.",
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, complex128, uint32, uint64}",
    ],
    grad: Rule(|g| {
        let dz = g.dy()?;
        let minus = g.unary("Neg", dz)?;
        broadcast_pair(g, dz, minus)
    }),
    ..binary!(BINARY, fused, T: Number in floats, integers, complexes => |x, y| x.sub(y))
};

static SQUARED_DIFFERENCE: Op = Op {
    name: "SquaredDifference",
    doc: "(x - y)^2, elementwise; conj(x - y) * (x - y) for complex numbers; shapes broadcast.",
    attrs: &["T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"],
    grad: Rule(|g| {
        let (x, y, dz) = (g.x[0], g.x[1], g.dy()?);
        let two = g.number(2.0, dz)?;
        let scaled = g.binary("Mul", two, dz)?;
        let difference = g.binary("Sub", x, y)?;
        let dx = g.binary("Mul", scaled, difference)?;
        let dy = g.unary("Neg", dx)?;
        broadcast_pair(g, dx, dy)
    }),
    commutative: true,
    ..binary!(BINARY, fused, T: Number in floats, int32_and_int64 => |x, y| square(x.sub(y));
              T: ComplexNumber in complexes => |x, y| x.sub(y).conjugate().mul(x.sub(y)))
};

#[inline]
fn square<T: Number>(d: T) -> T {
    d.mul(d)
}
