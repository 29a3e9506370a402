//! `_Recv`, `Recv`: receives the tensor sent under the same key.

use super::send::Key;
use crate::prelude::*;

pub static RECV: Op = Op {
    name: "_Recv",
    doc: "Receives a tensor from the device that sends it.",
    outputs: &["tensor: tensor_type"],
    attrs: &[
        "tensor_type: type",
        "tensor_name: string",
        "send_device: string",
        "send_device_incarnation: int",
        "recv_device: string",
        "client_terminated: bool = false",
    ],
    kernels: cpu!(async prepare),
    class: Class::Recv,
    ..Op::STATEFUL
};

/// For tensors in host memory, where all are.
pub static HOST_RECV: Op = Op { name: "_HostRecv", ..RECV };

/// For graphs of clients.
pub static CLIENT_RECV: Op = Op { name: "Recv", ..RECV };

struct Recv(Key);

impl AsyncKernel for Recv {
    fn start(&self, call: AsyncCall, done: Done) {
        let key = self.0.at(call.frame_iter);
        let received = move |r: Result<thalweg_core::rendezvous::Parcel>| {
            // An unset output is dead.
            done(r.map(|p| std::iter::once(p.value.map(Value::Tensor)).collect()))
        };
        call.step.rendezvous.recv(&key, Box::new(received));
    }
}

fn prepare(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Recv(Key::of(node)?)))
}
