//! `RestoreV2`: tensors from a checkpoint.

use super::{check_names, path, texts};
use crate::files;
use crate::prelude::*;
use thalweg_io::bundle::ShapeAndSlice;

pub static RESTORE_V2: Op = Op {
    name: "RestoreV2",
    doc: "Reads tensors, or slices of them, from the checkpoint with this prefix.",
    inputs: &["prefix: string", "tensor_names: string", "shape_and_slices: string"],
    outputs: &["tensors: dtypes"],
    attrs: &["dtypes: list(type) >= 1"],
    shape,
    kernels: cpu!(run),
    expensive: true,
    ..Op::STATEFUL
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    check_names(c, c.outputs)?;
    let Some(slices) = c.constant(2) else { return shape_call::unknown(c) };
    let known = |text: &bytes::Bytes| match text.as_ref() {
        b"" => Ok(PartialShape::unknown()),
        text => Ok((&ShapeAndSlice::parse(&super::as_text(text)?)?.slice_shape).into()),
    };
    reserve::try_collect(slices.strings()?.iter().map(known))
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let count = c.node.outputs.len();
    let (names, slices) = (texts(c, 1, count)?, texts(c, 2, count)?);
    let mut reader = files::read_checkpoint(&c.step.device.access, &path(c, 0)?)?;
    for (i, (name, slice)) in names.iter().zip(&slices).enumerate() {
        let (want, stored) = (c.output_type(i)?, reader.entry(name)?.dtype);
        if want != stored {
            return Err(invalid!(
                "tensor_name = {name}; expected dtype {want} does not equal original dtype {stored}"
            ));
        }
        let t = match slice.as_str() {
            "" => reader.read(name)?,
            text => reader.read_slice(name, &ShapeAndSlice::parse(text)?)?,
        };
        c.set(i, t);
    }
    Ok(())
}
