//! `RestoreV2`: tensors from a checkpoint.

use super::{check_names, path, texts};
use crate::files;
use crate::prelude::*;
use crate::tasks;
use std::sync::Mutex;
use thalweg_core::sync::lock;
use thalweg_io::bundle::{BundleReader, ShapeAndSlice};

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

/// Fewer bytes than this are read by one thread.
const LARGE: u64 = 1 << 20;

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let count = c.node.outputs.len();
    let (names, slices) = (texts(c, 1, count)?, texts(c, 2, count)?);
    let (prefix, device) = (path(c, 0)?, &c.step.device);
    let mut reader = files::read_checkpoint(&device.access, &prefix)?;
    let mut bytes = 0u64;
    for (i, name) in names.iter().enumerate() {
        let (want, stored) = (c.output_type(i)?, reader.entry(name)?);
        bytes = bytes.saturating_add(stored.bytes);
        if want != stored.dtype {
            return Err(invalid!(
                "tensor_name = {name}; expected dtype {want} does not equal original dtype {}",
                stored.dtype
            ));
        }
    }
    let wanted = names.iter().zip(&slices).map(|(name, slice)| (name.as_str(), slice.as_str()));
    let values: Vec<Tensor> = if bytes < LARGE || c.par().threads() == 1 {
        reserve::try_collect(wanted.map(|(name, slice)| read(&mut reader, name, slice)))?
    } else {
        // A reader for each thread. Clearing the pages of the tensors takes longer than reading them.
        let readers = Mutex::new(vec![reader]);
        tasks::run(c.par(), reserve::collect(wanted)?, |(name, slice)| {
            let _charged = device.memory.enter();
            let free = lock(&readers).pop();
            let mut reader = free.map_or_else(|| files::read_checkpoint(&device.access, &prefix), Ok)?;
            let value = read(&mut reader, name, slice);
            lock(&readers).push(reader);
            value
        })?
    };
    values.into_iter().enumerate().for_each(|(i, value)| c.set(i, value));
    Ok(())
}

fn read(reader: &mut BundleReader, name: &str, slice: &str) -> Result<Tensor> {
    match slice {
        "" => reader.read(name),
        text => reader.read_slice(name, &ShapeAndSlice::parse(text)?),
    }
}
