//! `_Send`, `Send`: sends its input to the receiver with the same key.

use crate::prelude::*;
use thalweg_core::rendezvous::{Parcel, rendezvous_key};

pub static SEND: Op = Op {
    name: "_Send",
    doc: "Sends a tensor to the device that receives it.",
    inputs: &["tensor: T"],
    attrs: &[
        "T: type",
        "tensor_name: string",
        "send_device: string",
        "send_device_incarnation: int",
        "recv_device: string",
        "client_terminated: bool = false",
    ],
    kernels: cpu!(make prepare),
    class: Class::Send,
    ..Op::STATEFUL
};

/// For tensors in host memory, where all are.
pub static HOST_SEND: Op = Op { name: "_HostSend", ..SEND };

/// For graphs of clients.
pub static CLIENT_SEND: Op = Op { name: "Send", ..SEND };

/// Both ends of a transfer, as their attrs name them.
pub struct Key {
    send: String,
    incarnation: u64,
    recv: String,
    tensor: String,
}

impl Key {
    pub fn of(node: &KernelNode) -> Result<Key> {
        Ok(Key {
            send: node.attrs.str("send_device")?.to_string(),
            incarnation: node.attrs.int("send_device_incarnation")? as u64,
            recv: node.attrs.str("recv_device")?.to_string(),
            tensor: node.attrs.str("tensor_name")?.to_string(),
        })
    }

    pub fn at(&self, frame_iter: (u64, u64)) -> String {
        rendezvous_key(&self.send, self.incarnation, &self.recv, &self.tensor, frame_iter.0, frame_iter.1)
    }
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let key = Key::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let parcel = if c.is_dead { Parcel::dead() } else { Parcel::live(c.take(0)?) };
        c.step.rendezvous.send(&key.at(c.frame_iter), parcel)
    }))
}
