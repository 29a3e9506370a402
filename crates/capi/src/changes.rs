//! Changes of nodes that a graph has already. A session that has run with them does not hear of it.

use crate::buffer::Buffer;
use crate::graph::{Graph, Operation, Port};
use crate::pointers::{Text, need};
use crate::status::{Status, answer, quiet};
use thalweg_core::error::{Result, out_of_range};
use thalweg_core::invalid;
use thalweg_core::node::NodeId;
use thalweg_graph::convert::attr_from_proto;
use thalweg_proto::AttrValue;

/// Changes a node of a graph.
fn change<T>(
    graph: Option<&Graph>,
    operation: Option<&Operation>,
    change: impl FnOnce(&mut thalweg_graph::Graph, NodeId) -> Result<T>,
) -> Result<T> {
    let graph = &need(graph)?.0;
    let id = graph.node(need(operation)?)?;
    graph.scope.change(|g| change(g, id))
}

/// Connects an input of an operation to another output.
#[unsafe(no_mangle)]
pub extern "C" fn TF_UpdateEdge(graph: Option<&Graph>, from: Port, to: Port, status: Option<&mut Status>) {
    answer(status, (), || {
        let output = need(graph)?.0.output(&from)?;
        change(graph, to.operation.get(), |g, id| {
            let index = usize::try_from(to.index).unwrap_or(usize::MAX);
            let before = g.node(id).inputs.get(index).copied();
            let before =
                before.ok_or_else(|| out_of_range(format_args!("there is no input {}", to.index)))?;
            let set = g.set_input(id, index, output);
            if let (Err(_), Some(slot)) = (&set, g.node_mut(id).inputs.get_mut(index)) {
                *slot = before;
            }
            set
        })
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_AddOperationControlInput(
    graph: Option<&Graph>,
    operation: Option<&Operation>,
    before: Option<&Operation>,
) {
    quiet((), || {
        let before = need(graph)?.0.node(need(before)?)?;
        change(graph, operation, |g, id| {
            g.add_control(id, before);
            Ok(())
        })
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_RemoveAllControlInputs(graph: Option<&Graph>, operation: Option<&Operation>) {
    quiet((), || {
        change(graph, operation, |g, id| {
            g.node_mut(id).control.clear();
            Ok(())
        })
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetRequestedDevice(graph: Option<&Graph>, operation: Option<&Operation>, device: Text) {
    quiet((), || {
        let device = device.or_empty()?;
        change(graph, operation, |g, id| {
            g.node_mut(id).device = device.into();
            Ok(())
        })?;
        need(operation)?.set_device(device);
        Ok(())
    });
}

/// The value must be one that the operation's signature allows, or the name start with an underscore.
#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttr(
    graph: Option<&Graph>,
    operation: Option<&Operation>,
    name: Text,
    value: Option<&Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let name = name.str()?;
        let value = attr_from_proto(&need(value)?.decode::<AttrValue>("AttrValue")?)?;
        change(graph, operation, |g, id| {
            if let Some(spec) = g.signature(g.node(id).op)?.attr(name) {
                // Types and shapes of outputs follow from attrs: these stay as they were made.
                spec.check(&value)?;
                if g.node(id).attrs.get(name) != Some(&value) {
                    return Err(invalid!(
                        "attr '{name}' decides what the operation is, and cannot be changed"
                    ));
                }
            }
            g.set_attr(id, name, value);
            Ok(())
        })
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ClearAttr(
    graph: Option<&Graph>,
    operation: Option<&Operation>,
    name: Text,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let name = name.str()?;
        change(graph, operation, |g, id| {
            if g.signature(g.node(id).op)?.attr(name).is_some() {
                return Err(invalid!("attr '{name}' is of the operation's signature, and cannot be cleared"));
            }
            g.node_mut(id).attrs.remove(name);
            Ok(())
        })
    });
}

/// Every op has a rule for its shapes.
#[unsafe(no_mangle)]
pub extern "C" fn TF_SetRequireShapeInferenceFns(_: Option<&Graph>, _: bool) {}
