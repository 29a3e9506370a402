//! `MatchingFiles`: files by glob.

use super::as_text;
use crate::files;
use crate::prelude::*;
use bytes::Bytes;
use std::collections::BTreeSet;

pub static MATCHING_FILES: Op = Op {
    name: "MatchingFiles",
    doc: "The names of the files that match any of the patterns, in order.",
    inputs: &["pattern: string"],
    outputs: &["filenames: string"],
    shape: |c| match c.input(0) {
        s if s.rank().is_some_and(|r| r > 1) => {
            Err(invalid!("pattern must be a scalar or a vector, got shape {s}"))
        }
        _ => Ok(vec![PartialShape::vector(-1)]),
    },
    kernels: cpu!(run),
    expensive: true,
    // Files may change between steps.
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let patterns = c.input(0)?;
    if patterns.rank() > 1 {
        return Err(invalid!("pattern must be a scalar or a vector, got shape {}", patterns.shape()));
    }
    let mut found = BTreeSet::new();
    for pattern in patterns.strings()? {
        found.extend(files::matching(&c.step.device.access, &as_text(pattern)?)?);
    }
    let names = found.into_iter().map(|p| Bytes::from(p.into_os_string().into_encoded_bytes()));
    let names = reserve::collect(names)?;
    c.set(0, Tensor::from_objects(Shape::vector(names.len()), names)?);
    Ok(())
}
