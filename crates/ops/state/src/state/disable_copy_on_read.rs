//! `DisableCopyOnRead`: a hint on sharing a variable's memory; no effect here, as shared values are never
//! written.

use crate::prelude::*;

pub static DISABLE_COPY_ON_READ: Op = Op {
    name: "DisableCopyOnRead",
    doc: "A hint that reads of the variable may share its memory; here they always may.",
    inputs: &["resource: resource"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    c.resource::<Variable>(0).map(|_| ())
}
