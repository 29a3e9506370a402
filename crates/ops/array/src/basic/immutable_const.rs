//! `ImmutableConst`: a tensor whose contents are the bytes of a file.

use crate::files;
use crate::prelude::*;
use std::path::Path;

pub static IMMUTABLE_CONST: Op = Op {
    name: "ImmutableConst",
    doc: "The tensor whose elements are the bytes of the file `memory_region_name`.",
    outputs: &["tensor: dtype"],
    attrs: &["dtype: type", "shape: shape", "memory_region_name: string"],
    shape: |c| Ok(vec![c.attrs.shape("shape")?.clone()]),
    grad: Stops,
    kernels: cpu!(run),
    // The file may change between steps, but a constant of it is asked for.
    stateful: true,
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (dtype, shape) = (c.output_type(0)?, c.attrs().shape("shape")?);
    if !dtype.is_plain() {
        return Err(unimplemented(format_args!("{dtype} is not currently supported for ImmutableConstOp")));
    }
    let shape = shape.to_shape().ok_or_else(|| invalid!("shape must be fully known, got {shape}"))?;
    let wanted =
        shape.elements().checked_mul(dtype.size()).ok_or_else(|| invalid!("shape {shape} is too large"))?;
    let name = String::from_utf8_lossy(c.attrs().bytes("memory_region_name")?).into_owned();
    let bytes = files::read(&c.step.device.access, Path::new(&name))?;
    let Some(bytes) = bytes.get(..wanted) else {
        return Err(internal(format_args!(
            "Readonly memory region has wrong length ({}) when allocating {wanted}",
            bytes.len()
        )));
    };
    c.set(0, Tensor::from_bytes(dtype, shape, bytes)?);
    Ok(())
}
