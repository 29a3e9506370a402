//! `ReadFile`: a whole file.

use super::path;
use crate::files;
use crate::prelude::*;

pub static READ_FILE: Op = Op {
    name: "ReadFile",
    doc: "The bytes of a file.",
    inputs: &["filename: string"],
    outputs: &["contents: string"],
    shape: |c| {
        c.scalar(0)?;
        shape_call::scalar(c)
    },
    kernels: cpu!(run),
    expensive: true,
    // A file may change from step to step.
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    c.set(0, Tensor::string(files::read(&c.step.device.access, &path(c, 0)?)?));
    Ok(())
}
