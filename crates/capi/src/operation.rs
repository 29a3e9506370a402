//! What is asked of operations: names, inputs, outputs, control edges.

use crate::graph::{Operation, Port};
use crate::pointers::{Handle, Out, Text, need};
use crate::status::{Status, answer, quiet};
use std::ffi::{CStr, c_char, c_int};
use std::ops::Range;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::NodeId;
use thalweg_core::signature::{ArgSpec, Port as Typed, Signature};
use thalweg_graph::{Graph, Node};

fn text(operation: Option<&Operation>, text: impl Fn(&Operation) -> &CStr) -> *const c_char {
    operation.map_or(c"".as_ptr(), |o| text(o).as_ptr())
}

fn read<T>(operation: Option<&Operation>, read: impl FnOnce(&Graph, &Node) -> T) -> Result<T> {
    need(operation)?.read(read)
}

/// References have numbers of their own.
fn number(port: &Typed) -> c_int {
    port.dtype.wire() + if port.is_ref { 100 } else { 0 }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationName(operation: Option<&Operation>) -> *const c_char {
    text(operation, |o| &o.name)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationOpType(operation: Option<&Operation>) -> *const c_char {
    text(operation, Operation::op)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationDevice(operation: Option<&Operation>) -> *const c_char {
    operation.map_or(c"".as_ptr(), Operation::device)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationNumOutputs(operation: Option<&Operation>) -> c_int {
    quiet(0, || read(operation, |_, n| n.outputs.len() as c_int))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationNumInputs(operation: Option<&Operation>) -> c_int {
    quiet(0, || read(operation, |_, n| n.inputs.len() as c_int))
}

/// 0 if there is no such output.
#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationOutputType(output: Port) -> c_int {
    quiet(0, || {
        read(output.operation.get(), |_, n| {
            usize::try_from(output.index).ok().and_then(|i| n.outputs.get(i)).map_or(0, number)
        })
    })
}

/// 0 if there is no such input.
#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationInputType(input: Port) -> c_int {
    quiet(0, || {
        read(input.operation.get(), |g, n| {
            let ports = g.signature(n.op)?.input_ports(&n.attrs)?;
            Ok(usize::try_from(input.index).ok().and_then(|i| ports.get(i)).map_or(0, number))
        })?
    })
}

/// The range of ports of a named argument.
fn list_length(
    operation: Option<&Operation>,
    name: &Text,
    what: &str,
    pick: impl Fn(&Signature, &Node) -> Result<(Vec<ArgSpec>, Vec<Range<usize>>)>,
) -> Result<c_int> {
    let name = name.str()?;
    read(operation, |g, n| {
        let (args, ranges) = pick(g.signature(n.op)?, n)?;
        let found = args.iter().zip(ranges).find(|(arg, _)| arg.name == name);
        found
            .map(|(_, range)| range.len() as c_int)
            .ok_or_else(|| invalid!("{what} arg name '{name}' not found in '{}'", n.op.name))
    })?
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationOutputListLength(
    operation: Option<&Operation>,
    name: Text,
    status: Option<&mut Status>,
) -> c_int {
    answer(status, -1, || {
        list_length(operation, &name, "Output", |s, n| Ok((s.outputs.clone(), s.output_ranges(&n.attrs)?)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationInputListLength(
    operation: Option<&Operation>,
    name: Text,
    status: Option<&mut Status>,
) -> c_int {
    answer(status, -1, || {
        list_length(operation, &name, "Input", |s, n| Ok((s.inputs.clone(), s.input_ranges(&n.attrs)?)))
    })
}

/// Null and -1 if there is no such input.
#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationInput(input: Port) -> Port {
    quiet(Port::none(Handle::null()), || {
        let operation = need(input.operation.get())?;
        let from = operation.read(|_, n| n.inputs.get(usize::try_from(input.index).ok()?).copied())?;
        Ok(operation.graph()?.port(need(from)?))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationAllInputs(operation: Option<&Operation>, inputs: Out<Port>, places: c_int) {
    quiet((), || {
        let operation = need(operation)?;
        let from = operation.read(|_, n| n.inputs.clone())?;
        let graph = operation.graph()?;
        inputs.fill(places, from.into_iter().map(|o| graph.port(o)));
        Ok(())
    });
}

/// The inputs that an output goes to.
fn consumers(output: &Port) -> Result<Vec<(NodeId, usize)>> {
    let operation = output.operation.need()?;
    operation.read(|g, _| {
        let is_it = |o: &thalweg_core::node::Output| {
            o.node == operation.id && usize::try_from(output.index).is_ok_and(|i| i == o.index as usize)
        };
        let of = |id: NodeId| {
            let inputs = g.node(id).inputs.iter().enumerate().filter(|(_, o)| is_it(o));
            inputs.map(move |(i, _)| (id, i)).collect::<Vec<_>>()
        };
        g.ids().flat_map(of).collect()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationOutputNumConsumers(output: Port) -> c_int {
    quiet(0, || Ok(consumers(&output)?.len() as c_int))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationOutputConsumers(output: Port, found: Out<Port>, places: c_int) -> c_int {
    quiet(0, || {
        let graph = output.operation.need()?.graph()?;
        let ports = consumers(&output)?.into_iter();
        let ports = ports.map(|(id, i)| Port { operation: graph.operation(id), index: i as c_int });
        Ok(found.fill(places, ports))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationNumControlInputs(operation: Option<&Operation>) -> c_int {
    quiet(0, || read(operation, |_, n| n.control.len() as c_int))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetControlInputs(
    operation: Option<&Operation>,
    found: Out<Handle<Operation>>,
    places: c_int,
) -> c_int {
    quiet(0, || {
        let operation = need(operation)?;
        let control = operation.read(|_, n| n.control.clone())?;
        let graph = operation.graph()?;
        Ok(found.fill(places, control.into_iter().map(|id| graph.operation(id))))
    })
}

/// The nodes that wait for one.
fn followers(operation: Option<&Operation>) -> Result<Vec<NodeId>> {
    let id = need(operation)?.id;
    read(operation, |g, _| g.ids().filter(|other| g.node(*other).control.contains(&id)).collect())
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationNumControlOutputs(operation: Option<&Operation>) -> c_int {
    quiet(0, || Ok(followers(operation)?.len() as c_int))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetControlOutputs(
    operation: Option<&Operation>,
    found: Out<Handle<Operation>>,
    places: c_int,
) -> c_int {
    quiet(0, || {
        let graph = need(operation)?.graph()?;
        Ok(found.fill(places, followers(operation)?.into_iter().map(|id| graph.operation(id))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetNumAttrs(operation: Option<&Operation>) -> c_int {
    quiet(0, || read(operation, |_, n| n.attrs.len() as c_int))
}

fn attr_name(operation: Option<&Operation>, index: c_int) -> Result<String> {
    let name = read(operation, |_, n| {
        n.attrs.iter().nth(usize::try_from(index).ok()?).map(|(name, _)| name.to_string())
    })?;
    name.ok_or_else(|| invalid!("an operation has no attr {index}"))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrNameLength(operation: Option<&Operation>, index: c_int) -> c_int {
    quiet(-1, || Ok(attr_name(operation, index)?.len() as c_int))
}

/// Without a zero at its end.
#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrName(
    operation: Option<&Operation>,
    index: c_int,
    into: Out<u8>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let name = attr_name(operation, index)?;
        into.fill(c_int::MAX, name.bytes());
        Ok(())
    });
}
