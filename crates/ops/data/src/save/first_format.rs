//! `Save`, `SaveSlices`, `Restore`, `RestoreSlice`: checkpoints of the first format, in one file.

use super::{path, text, texts};
use crate::files;
use crate::prelude::*;
use bytes::Bytes;
use thalweg_io::bundle::{ShapeAndSlice, SliceReader, SliceWriter};

pub static OPS: &[&Op] = &[&SAVE, &SAVE_SLICES, &RESTORE, &RESTORE_SLICE];

static SAVE: Op = Op {
    name: "Save",
    doc: "Writes tensors to a checkpoint of the first format.",
    inputs: &["filename: string", "tensor_names: string", "data: T"],
    attrs: &["T: list(type) >= 1"],
    shape: |c| {
        c.scalar(0)?;
        c.rank(1, 1)?;
        Ok(vec![])
    },
    kernels: cpu!(save),
    expensive: true,
    ..Op::STATEFUL
};

static SAVE_SLICES: Op = Op {
    name: "SaveSlices",
    doc: "Writes tensors, or slices of them, to a checkpoint of the first format.",
    inputs: &["filename: string", "tensor_names: string", "shapes_and_slices: string", "data: T"],
    kernels: cpu!(save_slices),
    ..SAVE
};

fn save(c: &mut OpCall<'_>) -> Result<()> {
    write(c, None, 2)
}

fn save_slices(c: &mut OpCall<'_>) -> Result<()> {
    write(c, Some(2), 3)
}

fn write(c: &OpCall<'_>, slices: Option<usize>, data: usize) -> Result<()> {
    let tensors = c.arg(data);
    let names = texts(c, 1, tensors.len())?;
    let slices = slices.map(|i| texts(c, i, tensors.len())).transpose()?;
    let mut writer = SliceWriter::default();
    for (n, (name, i)) in names.iter().zip(tensors).enumerate() {
        match slices.as_ref().and_then(|s| s.get(n)).filter(|s| !s.is_empty()) {
            Some(slice) => writer.add_slice(name, &ShapeAndSlice::parse(slice)?, c.input(i)?)?,
            None => writer.add(name, c.input(i)?)?,
        }
    }
    files::replace(&c.step.device.access, &path(c, 0)?, &writer.finish()?)
}

static RESTORE: Op = Op {
    name: "Restore",
    doc: "Reads a tensor from a checkpoint of the first format.",
    inputs: &["file_pattern: string", "tensor_name: string"],
    outputs: &["tensor: dt"],
    attrs: &["dt: type", "preferred_shard: int = -1"],
    shape: |c| {
        (0..c.inputs.len()).try_for_each(|i| c.scalar(i))?;
        shape_call::unknown(c)
    },
    kernels: cpu!(restore),
    expensive: true,
    ..Op::STATEFUL
};

static RESTORE_SLICE: Op = Op {
    name: "RestoreSlice",
    doc: "Reads a slice of a tensor from a checkpoint of the first format.",
    inputs: &["file_pattern: string", "tensor_name: string", "shape_and_slice: string"],
    kernels: cpu!(restore_slice),
    ..RESTORE
};

fn restore(c: &mut OpCall<'_>) -> Result<()> {
    read(c, None)
}

fn restore_slice(c: &mut OpCall<'_>) -> Result<()> {
    let slice = text(c, 2)?;
    read(c, Some(slice).filter(|s| !s.is_empty()))
}

fn read(c: &mut OpCall<'_>, slice: Option<String>) -> Result<()> {
    let (pattern, name) = (text(c, 0)?, text(c, 1)?);
    let access = &c.step.device.access;
    let found = files::matching(access, &pattern)?;
    if found.is_empty() {
        return Err(not_found(format_args!(
            "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {pattern}"
        )));
    }
    let contents = reserve::try_collect(found.iter().map(|p| files::read(access, p).map(Bytes::from)))?;
    let reader = SliceReader::new(contents).map_err(|e| e.context(&pattern))?;
    let (stored, want) = (reader.dtype(&name)?, c.output_type(0)?);
    if stored != want {
        return Err(invalid!(
            "Expected to restore a tensor of type {want}, got a tensor of type {stored} instead: tensor_name = {name}"
        ));
    }
    let t = match slice {
        Some(slice) => reader.read_slice(&name, &ShapeAndSlice::parse(&slice)?)?,
        None => reader.read(&name)?,
    };
    c.set(0, t);
    Ok(())
}
