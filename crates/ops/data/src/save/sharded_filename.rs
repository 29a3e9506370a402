//! `ShardedFilename`, `ShardedFilespec`: file names of checkpoint shards.

use super::text;
use crate::prelude::*;

pub static SHARDED_FILENAME: Op = Op {
    name: "ShardedFilename",
    doc: "The name of a shard: `basename-00003-of-00010`.",
    inputs: &["basename: string", "shard: int32", "num_shards: int32"],
    outputs: &["filename: string"],
    shape: all_scalars,
    grad: Stops,
    kernels: cpu!(filename),
    cases: |_| vec![Case::new(vec![Tensor::string("dir/part"), Tensor::scalar(3i32), Tensor::scalar(10i32)])],
    ..Op::PURE
};

pub static SHARDED_FILESPEC: Op = Op {
    name: "ShardedFilespec",
    doc: "The pattern that all shards match: `basename-?????-of-00010`.",
    inputs: &["basename: string", "num_shards: int32"],
    kernels: cpu!(filespec),
    cases: |_| vec![Case::new(vec![Tensor::string("dir/part"), Tensor::scalar(10i32)])],
    ..SHARDED_FILENAME
};

fn all_scalars(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    (0..c.inputs.len()).try_for_each(|i| c.scalar(i))?;
    shape_call::scalar(c)
}

fn filename(c: &mut OpCall<'_>) -> Result<()> {
    let name = reserve::text(format_args!(
        "{}-{:05}-of-{:05}",
        text(c, 0)?,
        c.scalar::<i32>(1)?,
        c.scalar::<i32>(2)?
    ))?;
    c.set(0, Tensor::string(name));
    Ok(())
}

fn filespec(c: &mut OpCall<'_>) -> Result<()> {
    let name = reserve::text(format_args!("{}-?????-of-{:05}", text(c, 0)?, c.scalar::<i32>(1)?))?;
    c.set(0, Tensor::string(name));
    Ok(())
}
