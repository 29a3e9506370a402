//! `TF_Graph`, and the operations that it hands out: pointers that stay valid as long as the graph or a session on it.

use crate::buffer::Buffer;
use crate::pointers::{Handle, Out, Text, c_text, need};
use crate::status::{Status, answer, quiet};
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use thalweg_client::Scope;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::{self, NodeId};
use thalweg_core::registry::Registry;
use thalweg_core::sync::lock;
use thalweg_graph::convert::op_to_proto;
use thalweg_proto::VersionDef;

/// The registry that all graphs share: signatures are parsed once.
pub fn registry() -> Arc<Registry> {
    static REGISTRY: OnceLock<Arc<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(|| Arc::new(thalweg_ops::registry())).clone()
}

/// `TF_Graph`. Sessions on it keep what it holds.
pub struct Graph(pub Arc<SharedGraph>);

pub struct SharedGraph {
    pub scope: Scope,
    /// Of each node, by its number. Boxed, as C keeps their addresses.
    #[allow(clippy::vec_box)]
    operations: Mutex<Vec<Box<Operation>>>,
    own: Weak<SharedGraph>,
}

/// `TF_Operation`: a node. Its texts are C's.
pub struct Operation {
    graph: Weak<SharedGraph>,
    pub id: NodeId,
    pub name: CString,
    op: CString,
    /// The function that the node calls, where its caller gave that as its type.
    called: OnceLock<CString>,
    /// The requested device, and those before it, which somebody may still read.
    devices: Mutex<Vec<CString>>,
}

/// `TF_Output` and `TF_Input`: an output or input of an operation.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Port {
    pub operation: Handle<Operation>,
    pub index: c_int,
}

impl Port {
    pub const fn none(null: Handle<Operation>) -> Port {
        Port { operation: null, index: -1 }
    }
}

impl Operation {
    pub fn graph(&self) -> Result<Arc<SharedGraph>> {
        self.graph.upgrade().ok_or_else(|| invalid!("the graph of an operation has been deleted"))
    }

    pub fn op(&self) -> &CStr {
        self.called.get().unwrap_or(&self.op)
    }

    /// Valid as long as the operation, whatever is requested later.
    pub fn device(&self) -> *const c_char {
        lock(&self.devices).last().map_or(c"".as_ptr(), |device| device.as_ptr())
    }

    pub fn set_device(&self, device: &str) {
        lock(&self.devices).push(c_text(device));
    }

    /// Reads the node.
    pub fn read<T>(&self, read: impl FnOnce(&thalweg_graph::Graph, &thalweg_graph::Node) -> T) -> Result<T> {
        Ok(self.graph()?.scope.read(|g| read(g, g.node(self.id))))
    }
}

impl SharedGraph {
    pub fn new() -> Arc<SharedGraph> {
        Arc::new_cyclic(|own| SharedGraph {
            scope: Scope::with_registry(registry()),
            operations: Mutex::default(),
            own: own.clone(),
        })
    }

    pub fn operation(&self, id: NodeId) -> Handle<Operation> {
        self.operation_as(id, None)
    }

    /// The operation, shown with another type than its node's: the name of the function that it calls.
    pub fn operation_as(&self, id: NodeId, op: Option<&str>) -> Handle<Operation> {
        let mut operations = lock(&self.operations);
        if operations.len() <= id.at() {
            self.scope.read(|g| {
                let known = operations.len();
                for (i, node) in g.nodes().iter().enumerate().skip(known) {
                    operations.push(Box::new(Operation {
                        graph: self.own.clone(),
                        id: NodeId(i as u32),
                        name: c_text(&node.name),
                        op: c_text(node.op.name),
                        called: OnceLock::new(),
                        devices: Mutex::new(vec![c_text(&node.device)]),
                    }));
                }
            });
        }
        let Some(operation) = operations.get(id.at()) else { return Handle::null() };
        if let Some(op) = op {
            let _ = operation.called.set(c_text(op));
        }
        Handle::of(operation)
    }

    pub fn port(&self, o: node::Output) -> Port {
        Port { operation: self.operation(o.node), index: o.index as c_int }
    }

    /// The node of an operation of this graph.
    pub fn node(&self, operation: &Operation) -> Result<NodeId> {
        if Weak::ptr_eq(&self.own, &operation.graph) {
            return Ok(operation.id);
        }
        let name = operation.name.to_string_lossy();
        Err(invalid!("the operation '{name}' is of another graph"))
    }

    /// The output that a `TF_Output` names.
    pub fn output(&self, port: &Port) -> Result<node::Output> {
        let id = self.node(port.operation.need()?)?;
        let (count, name) = self.scope.read(|g| (g.node(id).outputs.len(), g.node(id).name.clone()));
        match u32::try_from(port.index) {
            Ok(index) if (index as usize) < count => Ok(id.output(index)),
            _ => Err(invalid!("Node '{name}' (num of outputs = {count}) has no output {}", port.index)),
        }
    }

    pub fn outputs(&self, ports: &[Port]) -> Result<Vec<node::Output>> {
        ports.iter().map(|port| self.output(port)).collect()
    }

    pub fn nodes(&self, operations: &[Handle<Operation>]) -> Result<Vec<NodeId>> {
        operations.iter().map(|handle| self.node(handle.need()?)).collect()
    }

    /// An error that was recorded while the graph was built on, which goes on.
    pub fn check(&self) -> Result<()> {
        self.scope.take_error().map_or(Ok(()), |e| Err(e.without_location()))
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewGraph() -> Box<Graph> {
    Box::new(Graph(SharedGraph::new()))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteGraph(graph: Option<Box<Graph>>) {
    quiet((), || {
        drop(graph);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphOperationByName(graph: Option<&Graph>, name: Text) -> Handle<Operation> {
    quiet(Handle::null(), || {
        let graph = &need(graph)?.0;
        let found = {
            let name = name.str()?;
            graph.scope.read(|g| g.find(name))
        };
        Ok(found.map_or(Handle::null(), |id| graph.operation(id)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphNextOperation(graph: Option<&Graph>, at: Option<&mut usize>) -> Handle<Operation> {
    quiet(Handle::null(), || {
        let (graph, at) = (&need(graph)?.0, need(at)?);
        if *at >= graph.scope.read(|g| g.len()) {
            return Ok(Handle::null());
        }
        let operation = graph.operation(NodeId(*at as u32));
        *at += 1;
        Ok(operation)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphToGraphDef(
    graph: Option<&Graph>,
    into: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || need(into)?.put(&need(graph)?.0.scope.to_graph_def()?));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphGetOpDef(
    graph: Option<&Graph>,
    name: Text,
    into: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let name = name.str()?;
        let into = need(into)?;
        let function = need(graph)?.0.scope.read(|g| g.library.get(name).map(|f| f.to_proto()));
        if let Some(function) = function {
            return into.put(&function?.signature.unwrap_or_default());
        }
        let registry = registry();
        let op = registry.find(name)?;
        into.put(&op_to_proto(op, registry.signature(op)?)?)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphVersions(
    graph: Option<&Graph>,
    into: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let producer = need(graph)?.0.scope.read(|g| g.producer);
        need(into)?.put(&VersionDef { producer, ..Default::default() })
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationToNodeDef(
    operation: Option<&Operation>,
    into: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let operation = need(operation)?;
        need(into)?.put(&operation.read(|g, _| g.node_def(operation.id, Default::default()))??)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphDebugString(graph: Option<&Graph>, length: Out<usize>) -> *mut c_char {
    quiet(std::ptr::null_mut(), || {
        let text = c_text(&thalweg_proto::text::print(&need(graph)?.0.scope.to_graph_def()?));
        length.put(text.as_bytes().len());
        crate::pointers::c_copy(&text)
    })
}

/// The value of an output that follows from constants alone.
#[unsafe(no_mangle)]
pub extern "C" fn TF_TryEvaluateConstant(
    graph: Option<&Graph>,
    output: Port,
    result: Out<Option<Box<crate::tensor::Tensor>>>,
    status: Option<&mut Status>,
) -> u8 {
    answer(status, 0, || {
        result.put(None);
        let graph = &need(graph)?.0;
        let output = graph.output(&output)?;
        let Some(value) = graph.scope.read(|g| g.constant(output)) else { return Ok(0) };
        result.put(Some(Box::new(crate::tensor::Tensor::of(value)?)));
        Ok(1)
    })
}
