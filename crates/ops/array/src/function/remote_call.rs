//! `RemoteCall`: a function called on a named device. Where the name is a constant, the graph pass that inlines calls puts the body there;
//! this kernel calls it on a device of its own task.

use crate::prelude::*;

pub static REMOTE_CALL: Op = Op {
    name: "RemoteCall",
    doc: "Calls function `f` on the device that `target` names.",
    inputs: &["target: string", "args: Tin"],
    outputs: &["output: Tout"],
    attrs: &["Tin: list(type) >= 1", "Tout: list(type) >= 1", "f: func"],
    kernels: cpu!(async prepare),
    class: Class::Call(CallKind::Remote),
    stateful: true,
    ..Op::PURE
};

struct Remote(Func);

fn prepare(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Remote(node.attrs.func("f")?.clone())))
}

impl AsyncKernel for Remote {
    fn start(&self, call: AsyncCall, done: Done) {
        match (target(&call), call.tensors(1)) {
            (Ok(device), Ok(args)) => {
                call.step.call_on(&device, &self.0, args, Box::new(move |r| done(r.map(outputs))));
            }
            (Err(e), _) | (_, Err(e)) => done(Err(e)),
        }
    }
}

fn target(call: &AsyncCall) -> Result<String> {
    let t = call.tensor(0)?;
    match t.strings()? {
        [one] => Ok(String::from_utf8_lossy(one).into_owned()),
        _ => Err(invalid!("target must be one device name, got shape {}", t.shape())),
    }
}
