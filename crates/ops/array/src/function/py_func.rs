//! `PyFunc`, `PyFuncStateless`, `EagerPyFunc`: calls of Python functions. They are known, so that graphs with them can be read and
//! the rest of them run, but there is no Python here to call.

use crate::prelude::*;

pub static OPS: &[&Op] = &[&PY_FUNC, &PY_FUNC_STATELESS, &EAGER_PY_FUNC];

static PY_FUNC: Op = Op {
    name: "PyFunc",
    doc: "Calls a Python function of the client, which only a runtime inside its process can: an error that says so.",
    inputs: &["input: Tin"],
    outputs: &["output: Tout"],
    attrs: &["token: string", "Tin: list(type) >= 0", "Tout: list(type) >= 0"],
    kernels: cpu!(refuse),
    ..Op::STATEFUL
};

static PY_FUNC_STATELESS: Op = Op { name: "PyFuncStateless", stateful: false, ..PY_FUNC };

static EAGER_PY_FUNC: Op = Op {
    name: "EagerPyFunc",
    attrs: &["token: string", "is_async: bool = false", "Tin: list(type) >= 0", "Tout: list(type) >= 0"],
    ..PY_FUNC
};

fn refuse(c: &mut OpCall<'_>) -> Result<()> {
    let token = Lossy(c.attrs().bytes("token")?);
    let e = unimplemented(format_args!(
        "{} calls the Python function '{token}', which lives in the process that built the graph; this runtime has no Python",
        c.node.op
    ));
    Err(e.hint(
        "write it with ops (tf.function, tf.while_loop), or compute it in the client and feed the result",
    ))
}
