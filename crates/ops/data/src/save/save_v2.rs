//! `SaveV2`: tensors into a checkpoint.

use super::{check_names, path, texts};
use crate::files;
use crate::prelude::*;
use thalweg_io::bundle::ShapeAndSlice;

pub static SAVE_V2: Op = Op {
    name: "SaveV2",
    doc: "Writes tensors, or slices of them, to the checkpoint with this prefix; the write is atomic.",
    inputs: &["prefix: string", "tensor_names: string", "shape_and_slices: string", "tensors: dtypes"],
    attrs: &["dtypes: list(type) >= 1"],
    shape: |c| {
        check_names(c, c.inputs.len().saturating_sub(3))?;
        Ok(vec![])
    },
    kernels: cpu!(run),
    expensive: true,
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let tensors = c.arg(3);
    let (names, slices) = (texts(c, 1, tensors.len())?, texts(c, 2, tensors.len())?);
    let mut writer = files::write_checkpoint(&c.step.device.access, &path(c, 0)?)?;
    for ((name, slice), i) in names.iter().zip(&slices).zip(tensors) {
        let t = c.input(i)?;
        if slice.is_empty() {
            writer.add(name, t)?;
        } else {
            writer.add_slice(name, &ShapeAndSlice::parse(slice)?, t)?;
        }
    }
    writer.finish()
}
