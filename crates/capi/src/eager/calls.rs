//! Ops that call functions: a graph of one node, in a session on the context's devices.

use super::context::Context;
use super::kernels::Inputs;
use crate::graph::registry;
use std::sync::Mutex;
use thalweg_core::attr::Attrs;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::node::Output;
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Graph, NodeRequest, NodeSpec};
use thalweg_runtime::{Callable, Session};

/// A call that has been made a graph.
struct Known {
    op: String,
    attrs: Attrs,
    types: Vec<DataType>,
    callable: Callable,
    /// It ends the resources of its devices when it is dropped, so it stays.
    _session: Session,
}

#[derive(Default)]
pub struct Calls {
    known: Mutex<Vec<Known>>,
    /// Those of functions that have been removed.
    old: Mutex<Vec<Known>>,
}

impl Calls {
    /// Functions have changed.
    pub fn clear(&self) {
        let mut known = lock(&self.known);
        lock(&self.old).append(&mut known);
    }

    pub fn run(
        &self,
        context: &Context,
        op: &str,
        device: &str,
        (attrs, inputs): (Attrs, Inputs),
    ) -> Result<Vec<Tensor>> {
        let values = inputs.concat();
        let types: Vec<DataType> = values.iter().map(Tensor::dtype).collect();
        let is_it = |k: &&Known| k.op == op && k.types == types && k.attrs == attrs;
        let found = lock(&self.known).iter().find(is_it).map(|k| k.callable.clone());
        let callable = match found {
            Some(callable) => callable,
            None => {
                let session =
                    Session::with_devices(registry(), context.options.clone(), context.devices.clone())?;
                let (graph, feeds, fetches) = graph_of(context, op, device, &types, &attrs)?;
                session.extend(&graph)?;
                let targets: Vec<_> = graph.ids().skip(feeds.len()).collect();
                let callable = session.callable(&feeds, &fetches, &targets)?;
                let op = op.to_string();
                lock(&self.known).push(Known {
                    op,
                    attrs,
                    types,
                    callable: callable.clone(),
                    _session: session,
                });
                callable
            }
        };
        callable.run(values)
    }
}

/// A placeholder for each input, then the node.
fn graph_of(
    context: &Context,
    op: &str,
    device: &str,
    types: &[DataType],
    attrs: &Attrs,
) -> Result<(Graph, Vec<Output>, Vec<Output>)> {
    let mut graph = Graph::new(registry());
    graph.library = lock(&context.library).clone();
    let mut feeds = Vec::with_capacity(types.len());
    for (i, dtype) in types.iter().enumerate() {
        let name = format!("input{i}");
        let mut request = NodeRequest { op: "Placeholder", name: &name, ..Default::default() };
        request.attrs.set("dtype", *dtype);
        feeds.push(graph.add_node(request)?.output(0));
    }
    let spec = NodeSpec {
        name: "call".to_string(),
        op: op.to_string(),
        inputs: feeds.iter().map(|o| graph.tensor_name(*o)).collect(),
        device: device.to_string(),
        attrs: attrs.clone(),
    };
    graph.add_specs(vec![spec], true)?;
    let call = graph.get("call")?;
    let fetches = (0..graph.node(call).outputs.len() as u32).map(|i| call.output(i)).collect();
    Ok((graph, feeds, fetches))
}
