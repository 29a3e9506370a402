//! `Runnable`: a node's kernel, ready to run.

use crate::error::{Error, Result, unimplemented};
use crate::kernel::{AsyncKernel, Kernel, KernelNode, OpCall};
use crate::op::{Make, Op};
use crate::registry::find_kernel;
use std::sync::Arc;

/// A node's kernel, ready to run.
#[derive(Clone)]
pub enum Runnable {
    Plain(fn(&mut OpCall<'_>) -> Result<()>),
    Prepared(Arc<dyn Kernel>),
    Async(Arc<dyn AsyncKernel>),
}

impl Runnable {
    /// The kernel for a node on a device type; the error lists the supported types.
    pub fn make(op: &'static Op, node: &KernelNode, device_type: &str) -> Result<Runnable> {
        let row =
            find_kernel(op, &node.attrs, device_type).ok_or_else(|| no_kernel(op, node, device_type))?;
        Ok(match row.make {
            Make::Plain(run) => Runnable::Plain(run),
            Make::Prepared(make) => Runnable::Prepared(Arc::from(make(node)?)),
            Make::Async(make) => Runnable::Async(make(node)?),
        })
    }
}

fn no_kernel(op: &'static Op, node: &KernelNode, device_type: &str) -> Error {
    let mut supported: Vec<String> = op
        .kernels
        .iter()
        .map(|row| row.types.iter().map(|(a, t)| format!("{a}={t}")).collect::<Vec<_>>().join(" "))
        .collect();
    supported.dedup();
    let got: Vec<String> = node
        .attrs
        .iter()
        .filter_map(|(n, a)| if let crate::attr::Attr::Type(t) = a { Some(format!("{n}={t}")) } else { None })
        .collect();
    unimplemented(format_args!(
        "No {device_type} kernel for {} with {}; there are kernels for: {}",
        op.name,
        got.join(" "),
        if supported.is_empty() { "nothing".to_string() } else { supported.join(", ") }
    ))
}
