//! `Add`: x + y, and strings joined.

use super::add_v2::ADD_V2;
use crate::elementwise::binary_strings;
use crate::prelude::*;
use bytes::Bytes;

pub static ADD: Op = Op {
    name: "Add",
    doc: "x + y, elementwise; strings are joined; shapes broadcast.",
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}",
    ],
    kernels: &[
        cpu_row!([("T", DataType::String)], Make::Plain(join)),
        cpu_row!([("T", DataType::Float)], Make::Plain(run::<f32>)),
        cpu_row!([("T", DataType::Double)], Make::Plain(run::<f64>)),
        cpu_row!([("T", DataType::Half)], Make::Plain(run::<f16>)),
        cpu_row!([("T", DataType::Bfloat16)], Make::Plain(run::<bf16>)),
        cpu_row!([("T", DataType::Uint8)], Make::Plain(run::<u8>)),
        cpu_row!([("T", DataType::Int8)], Make::Plain(run::<i8>)),
        cpu_row!([("T", DataType::Int16)], Make::Plain(run::<i16>)),
        cpu_row!([("T", DataType::Int32)], Make::Plain(run::<i32>)),
        cpu_row!([("T", DataType::Int64)], Make::Plain(run::<i64>)),
        cpu_row!([("T", DataType::Complex64)], Make::Plain(run::<Complex32>)),
        cpu_row!([("T", DataType::Complex128)], Make::Plain(run::<ComplexDouble>)),
    ],
    commutative: false,
    ..ADD_V2
};

use super::add_v2::run;

fn join(c: &mut OpCall<'_>) -> Result<()> {
    let both =
        |x: &Bytes, y: &Bytes| Ok(Bytes::from(reserve::join([x.as_ref(), y.as_ref()].into_iter(), b"")?));
    let (shape, joined) = binary_strings(c, both)?;
    c.set(0, Tensor::from_objects(shape, joined)?);
    Ok(())
}
