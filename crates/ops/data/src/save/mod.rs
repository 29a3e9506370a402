//! Checkpoints and plain files.

mod first_format;
mod matching_files;
mod merge_v2_checkpoints;
mod read_file;
mod remapping;
mod restore_v2;
mod save_v2;
mod sharded_filename;
#[cfg(test)]
mod tests;
mod write_file;

use crate::prelude::*;
use std::path::PathBuf;

pub static OPS: &[&Op] = join![first_format::OPS, remapping::OPS, SINGLE];

static SINGLE: &[&Op] = &[
    &matching_files::MATCHING_FILES,
    &merge_v2_checkpoints::MERGE_V2_CHECKPOINTS,
    &read_file::READ_FILE,
    &restore_v2::RESTORE_V2,
    &save_v2::SAVE_V2,
    &sharded_filename::SHARDED_FILENAME,
    &sharded_filename::SHARDED_FILESPEC,
    &write_file::WRITE_FILE,
];

/// A scalar string input that must be text.
fn text(c: &OpCall<'_>, i: usize) -> Result<String> {
    match c.input(i)?.strings()? {
        [one] if c.shape(i)?.is_scalar() => as_text(one),
        _ => Err(invalid!("{} must be a scalar, got shape {}", c.input_name(i), c.shape(i)?)),
    }
}

fn path(c: &OpCall<'_>, i: usize) -> Result<PathBuf> {
    text(c, i).map(PathBuf::from)
}

/// A vector of strings, one for each of `count` tensors.
fn texts(c: &OpCall<'_>, i: usize, count: usize) -> Result<Vec<String>> {
    let t = c.input(i)?;
    if t.rank() != 1 || t.elements() != count {
        return Err(invalid!(
            "{} must be a vector with one element for each of the {count} tensors, got shape {}",
            c.input_name(i),
            t.shape()
        ));
    }
    reserve::try_collect(t.strings()?.iter().map(|s| as_text(s)))
}

fn as_text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(reserve::copied(bytes)?).map_err(|_| {
        invalid!("names of files and tensors must be UTF-8 text, got '{}'", bytes.escape_ascii())
    })
}

/// Inputs 1 and 2 of SaveV2 and RestoreV2: a name and a slice for each of `count` tensors.
fn check_names(c: &ShapeCall<'_>, count: usize) -> Result<()> {
    c.scalar(0)?;
    for i in [1, 2] {
        c.rank(i, 1)?.merge(&PartialShape::vector(count as i64))?;
    }
    Ok(())
}
