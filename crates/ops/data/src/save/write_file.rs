//! `WriteFile`: a string to a file.

use super::path;
use crate::files;
use crate::prelude::*;

pub static WRITE_FILE: Op = Op {
    name: "WriteFile",
    doc: "Writes a file, overwriting an existing one; creates directories as needed.",
    inputs: &["filename: string", "contents: string"],
    shape: |c| {
        c.scalar(0)?;
        c.scalar(1)?;
        Ok(vec![])
    },
    kernels: cpu!(run),
    expensive: true,
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let path = path(c, 0)?;
    let contents = match c.input(1)?.strings()? {
        [one] if c.shape(1)?.is_scalar() => one,
        _ => return Err(invalid!("{} must be a scalar, got shape {}", c.input_name(1), c.shape(1)?)),
    };
    files::write(&c.step.device.access, &path, contents)
}
