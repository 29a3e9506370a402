//! `DeviceIndex`, `GraphDefVersion`: what a node can know of where it runs.

use crate::prelude::*;

pub static DEVICE_INDEX: Op = Op {
    name: "DeviceIndex",
    doc: "The place of this device's type in a list of types; the length of the list if it is not there.",
    outputs: &["index: int32"],
    attrs: &["device_names: list(string)"],
    shape: shape_call::scalar,
    kernels: cpu!(index),
    ..Op::STATEFUL
};

fn index(c: &mut OpCall<'_>) -> Result<()> {
    let names = c.attrs().strs("device_names")?;
    // `/job:localhost/replica:0/task:0/device:CPU:0`.
    let device = &c.step.device.name;
    let kind = device.rsplit_once("/device:").and_then(|(_, d)| d.split(':').next()).unwrap_or("CPU");
    let at = names.iter().position(|n| n.as_ref() == kind.as_bytes()).unwrap_or(names.len());
    c.set(0, Tensor::scalar(i32::try_from(at).unwrap_or(i32::MAX)));
    Ok(())
}

pub static GRAPH_DEF_VERSION: Op = Op {
    name: "GraphDefVersion",
    doc: "The version of TensorFlow's graphs that this program reads and writes.",
    outputs: &["version: int32"],
    shape: shape_call::scalar,
    kernels: cpu!(version),
    ..Op::STATEFUL
};

/// As `PRODUCER` of `thalweg_graph`.
const VERSION: i32 = 2474;

fn version(c: &mut OpCall<'_>) -> Result<()> {
    c.set(0, Tensor::scalar(VERSION));
    Ok(())
}
