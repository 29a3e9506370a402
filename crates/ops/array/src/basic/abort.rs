//! `Abort`: an error that says so. TensorFlow's ends its process; a server of several clients must not.

use crate::prelude::*;

pub static ABORT: Op = Op {
    name: "Abort",
    doc: "Fails the step; it does not end the process.",
    attrs: &["error_msg: string = ''", "exit_without_error: bool = false"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let text = String::from_utf8_lossy(c.attrs().bytes("error_msg")?).into_owned();
    Err(aborted(format_args!("Abort was called: {text}")))
}
