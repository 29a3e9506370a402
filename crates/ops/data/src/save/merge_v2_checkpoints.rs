//! `MergeV2Checkpoints`: merges the shards that tasks wrote.

use super::{as_text, path};
use crate::files;
use crate::prelude::*;
use std::path::PathBuf;
use thalweg_io::bundle::Merge;

pub static MERGE_V2_CHECKPOINTS: Op = Op {
    name: "MergeV2Checkpoints",
    doc: "Merges several checkpoints: moves their data and writes one index.",
    inputs: &["checkpoint_prefixes: string", "destination_prefix: string"],
    attrs: &["delete_old_dirs: bool = true", "allow_missing_files: bool = false"],
    shape: |c| {
        c.rank(0, 1)?;
        c.scalar(1)?;
        Ok(vec![])
    },
    kernels: cpu!(make prepare),
    expensive: true,
    ..Op::STATEFUL
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let options = Merge {
        delete_old_dirs: node.attrs.bool("delete_old_dirs")?,
        allow_missing_files: node.attrs.bool("allow_missing_files")?,
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let parts = c.input(0)?.strings()?.iter().map(|p| as_text(p).map(PathBuf::from));
        files::merge_checkpoints(&c.step.device.access, parts.collect::<Result<_>>()?, &path(c, 1)?, &options)
    }))
}
