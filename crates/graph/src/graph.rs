//! `Graph`: the nodes, by number and by name, and adding nodes.

use crate::constant::Folder;
use crate::function::Library;
use crate::infer;
use crate::names::{self, Names};
use crate::node::Node;
use crate::unread::UnreadNodes;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;
use thalweg_core::attr::Attrs;
use thalweg_core::builder::{Arg, Builder};
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, already_exists, not_found, resource_exhausted};
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Op;
use thalweg_core::registry::{Registry, did_you_mean};
use thalweg_core::shape::PartialShape;
use thalweg_core::signature::{Signature, infer_attrs};
use thalweg_core::tensor::Tensor;

/// The GraphDef version that our graphs claim as producer.
pub const PRODUCER: i32 = 2474;

#[derive(Clone)]
pub struct Graph {
    pub registry: Arc<Registry>,
    nodes: Vec<Node>,
    by_name: HashMap<Arc<str>, NodeId>,
    /// For unique names: those of the first `marked` nodes, and of scopes.
    names: Names,
    marked: usize,
    pub library: Library,
    /// GraphDef version of the producer.
    pub producer: i32,
    pub(crate) folder: Arc<Folder>,
    devices: DeviceNames,
    /// Stateful calls that have been inlined since they were added.
    rewritten: Vec<NodeId>,
    /// Imported nodes that fail to parse.
    pub unread: UnreadNodes,
    /// How many gradients of functions this graph, a function's body, is being made for.
    pub(crate) gradient_depth: u32,
}

/// Interned device strings: most nodes share one of a few.
#[derive(Clone, Default)]
struct DeviceNames(HashMap<String, Arc<str>>);

impl DeviceNames {
    fn shared(&mut self, device: &str) -> Arc<str> {
        if let Some(found) = self.0.get(device) {
            return found.clone();
        }
        let made: Arc<str> = device.into();
        self.0.insert(device.to_string(), made.clone());
        made
    }
}

/// A node to be added.
#[derive(Default)]
pub struct NodeRequest<'a> {
    pub op: &'a str,
    /// The name, made unique if taken; the op's type if empty.
    pub name: &'a str,
    pub args: Vec<Arg>,
    pub attrs: Attrs,
    pub control: &'a [NodeId],
    pub device: &'a str,
    pub location: Option<&'static Location<'static>>,
}

impl Graph {
    pub fn new(registry: Arc<Registry>) -> Self {
        Graph {
            registry,
            nodes: Vec::new(),
            by_name: HashMap::new(),
            names: Names::default(),
            marked: 0,
            library: Library::default(),
            producer: PRODUCER,
            folder: Arc::default(),
            devices: DeviceNames::default(),
            rewritten: Vec::new(),
            unread: UnreadNodes::default(),
            gradient_depth: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// The node. Ids come from this graph, so there is one.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.at()]
    }

    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.at()]
    }

    /// Stateful nodes rewritten since they were added, in that order: calls that gradients go through.
    pub fn rewritten(&self) -> &[NodeId] {
        &self.rewritten
    }

    pub(crate) fn rewrite(&mut self, id: NodeId, node: Node) {
        if self.node(id).op.stateful {
            self.rewritten.push(id);
        }
        self.nodes[id.at()] = node;
    }

    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// The node of that name, or an error with a suggestion; for an unread node, its error.
    pub fn get(&self, name: &str) -> Result<NodeId> {
        self.find(name).ok_or_else(|| {
            if let Some(why) = self.unread.error(name) {
                return why.clone();
            }
            let near = did_you_mean(self.nodes.iter().map(|n| &*n.name), name);
            not_found(format_args!("there is no node '{name}' in the graph{near}"))
        })
    }

    /// The output named `node` or `node:k`.
    pub fn output(&self, tensor: &str) -> Result<Output> {
        match names::parse_input(tensor)? {
            names::Input::Data(node, index) => {
                let id = self.get(node)?;
                let outputs = self.node(id).outputs.len();
                if index as usize >= outputs {
                    return Err(invalid!("'{tensor}': node '{node}' has {outputs} outputs"));
                }
                Ok(id.output(index))
            }
            names::Input::Control(_) => Err(invalid!("'{tensor}' is a control input, not a tensor")),
        }
    }

    /// `node:k`, the name of tensors everywhere outside of input lists.
    pub fn tensor_name(&self, o: Output) -> String {
        format!("{}:{}", self.node(o.node).name, o.index)
    }

    pub fn dtype(&self, o: Output) -> DataType {
        self.node(o.node).outputs.get(o.index as usize).map_or(DataType::Float, |p| p.dtype)
    }

    pub fn shape(&self, o: Output) -> PartialShape {
        self.node(o.node).shape(o.index)
    }

    /// The value of a constant output.
    pub fn constant(&self, o: Output) -> Option<Tensor> {
        self.folder.value(self, o)
    }

    pub fn signature(&self, op: &'static Op) -> Result<&Signature> {
        self.registry.signature(op)
    }

    /// Reserves a name (of a scope); returns it, made unique.
    pub fn unique_name(&mut self, base: &str) -> String {
        self.mark_names().unique(base)
    }

    /// The names in use, collected lazily: most imported graphs get no more nodes.
    fn mark_names(&mut self) -> &mut Names {
        for node in self.nodes.get(self.marked..).unwrap_or_default() {
            self.names.mark(&node.name);
        }
        self.marked = self.nodes.len();
        &mut self.names
    }

    /// Adds a node: types are inferred from the inputs, attrs completed and validated, shapes inferred. Errors name the node
    /// and its call site.
    pub fn add_node(&mut self, request: NodeRequest<'_>) -> Result<NodeId> {
        let wanted = if request.name.is_empty() { request.op } else { request.name };
        let location = request.location;
        let (op_name, shown) = (request.op.to_string(), wanted.to_string());
        self.try_add(request).map_err(|e| e.at_node(&shown, &op_name).at(location))
    }

    fn try_add(&mut self, request: NodeRequest<'_>) -> Result<NodeId> {
        let op = self.registry.find(request.op)?;
        let registry = self.registry.clone();
        let signature = registry.signature(op)?;
        let mut attrs = request.attrs;
        let mut inputs: SmallVec<[Output; 2]> = SmallVec::new();
        let mut given = Vec::with_capacity(request.args.len());
        for arg in &request.args {
            let outputs = match arg {
                Arg::One(o) => std::slice::from_ref(o),
                Arg::List(list) => list.as_slice(),
            };
            for o in outputs {
                self.check_output(*o)?;
            }
            given.push(outputs.iter().map(|o| self.dtype(*o)).collect());
            inputs.extend_from_slice(outputs);
        }
        infer_attrs(signature, &given, &mut attrs)?;
        let wanted = if request.name.is_empty() { op.name } else { request.name };
        // As in TensorFlow, a name that ends with a slash was returned by `unique_name`, and is used unchanged.
        let (wanted, is_ours) = match wanted.strip_suffix('/') {
            Some(name) => (name, self.find(name).is_none()),
            None => (wanted, false),
        };
        if !names::is_valid_internal(wanted) {
            return Err(invalid!("'{wanted}' is not a valid node name"));
        }
        let node = Node {
            name: wanted.into(),
            op,
            attrs,
            inputs,
            control: request.control.iter().copied().collect(),
            device: self.devices.shared(request.device),
            outputs: SmallVec::new(),
            shapes: SmallVec::new(),
            location: request.location,
        };
        let mut node = self.completed(node)?;
        self.check_inputs(&node)?;
        node.shapes = infer::shapes(self, &node)?;
        if is_ours {
            self.mark_names().mark(wanted);
        } else {
            node.name = self.mark_names().unique(wanted).into();
        }
        let id = self.push(node)?;
        self.marked = self.nodes.len();
        Ok(id)
    }

    fn check_output(&self, o: Output) -> Result<()> {
        match self.nodes.get(o.node.at()) {
            Some(n) if (o.index as usize) < n.outputs.len() => Ok(()),
            Some(n) => Err(invalid!("'{}' has {} outputs, no output {}", n.name, n.outputs.len(), o.index)),
            None => Err(invalid!("an input comes from a node that is not in this graph")),
        }
    }

    /// The node with its attrs completed and validated, and its output types.
    pub(crate) fn completed(&self, mut node: Node) -> Result<Node> {
        let signature = self.registry.signature(node.op)?;
        signature.complete(&mut node.attrs)?;
        node.outputs = signature.output_ports(&node.attrs)?.into();
        Ok(node)
    }

    /// Checks the number and types of inputs against the signature.
    pub(crate) fn check_inputs(&self, node: &Node) -> Result<()> {
        let ports = self.registry.signature(node.op)?.input_ports(&node.attrs)?;
        if ports.len() != node.inputs.len() {
            return Err(invalid!("takes {} inputs, got {}", ports.len(), node.inputs.len()));
        }
        for (i, (want, input)) in ports.iter().zip(&node.inputs).enumerate() {
            let from = &self.nodes[input.node.at()];
            let Some(have) = from.outputs.get(input.index as usize) else {
                return Err(invalid!(
                    "input {i} is output {} of '{}', which has {}",
                    input.index,
                    from.name,
                    from.outputs.len()
                ));
            };
            if have.dtype != want.dtype {
                return Err(invalid!(
                    "input {i} must be {}, but '{}:{}' is {}",
                    want.dtype,
                    from.name,
                    input.index,
                    have.dtype
                ));
            }
            if want.is_ref && !have.is_ref {
                return Err(invalid!(
                    "input {i} must be a reference ({}_ref), but '{}:{}' is a value",
                    want.dtype,
                    from.name,
                    input.index
                ));
            }
        }
        Ok(())
    }

    /// Appends a finished node.
    pub(crate) fn push(&mut self, node: Node) -> Result<NodeId> {
        let id = NodeId(
            u32::try_from(self.nodes.len())
                .map_err(|_| resource_exhausted("a graph has at most 2^32 nodes"))?,
        );
        if self.by_name.contains_key(&node.name) {
            return Err(already_exists(format_args!("there is a node '{}' already", node.name)));
        }
        self.by_name.insert(node.name.clone(), id);
        self.nodes.push(node);
        Ok(id)
    }

    /// Reserves an unread name.
    pub(crate) fn mark_name(&mut self, name: &str) {
        self.names.mark(name);
    }

    pub(crate) fn shared_device(&mut self, device: &str) -> Arc<str> {
        self.devices.shared(device)
    }

    /// Removes the nodes from index `len` on, after a failed import.
    pub(crate) fn truncate(&mut self, len: usize) {
        for node in self.nodes.drain(len..) {
            self.by_name.remove(&node.name);
        }
        self.marked = self.marked.min(len);
    }

    /// A loop's back edge: connects an input of an existing node.
    pub fn set_input(&mut self, node: NodeId, input: usize, from: Output) -> Result<()> {
        self.check_output(from)?;
        let blamed = self.node(node).clone();
        match self.node_mut(node).inputs.get_mut(input) {
            Some(slot) => *slot = from,
            None => return Err(blamed.blame(invalid!("no input {input}"))),
        }
        self.check_inputs(self.node(node)).map_err(|e| blamed.blame(e))
    }

    pub fn add_control(&mut self, node: NodeId, before: NodeId) {
        let control = &mut self.nodes[node.at()].control;
        if !control.contains(&before) {
            control.push(before);
        }
    }

    pub fn set_attr(&mut self, node: NodeId, name: &str, value: thalweg_core::attr::Attr) {
        self.nodes[node.at()].attrs.set(name.to_string(), value);
    }
}

impl Builder for Graph {
    fn add(&mut self, op: &str, args: Vec<Arg>, attrs: Attrs) -> Result<Vec<Output>> {
        let id = self.add_node(NodeRequest { op, args, attrs, ..Default::default() })?;
        Ok((0..self.node(id).outputs.len() as u32).map(|i| id.output(i)).collect())
    }

    fn dtype(&self, o: Output) -> DataType {
        Graph::dtype(self, o)
    }

    fn shape(&self, o: Output) -> PartialShape {
        Graph::shape(self, o)
    }

    fn constant(&self, o: Output) -> Option<Tensor> {
        Graph::constant(self, o)
    }
}
