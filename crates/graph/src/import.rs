//! GraphDef to graph: names resolved, types and cycles checked, shapes inferred. A failed import changes nothing.
//!
//! An error of an imported node fails only the steps that need it: nodes that fail to parse are kept as written (`unread`), and where a
//! shape rule fails the shapes are unknown, and the kernel reports the error.

use crate::convert::{attrs_from_proto, attrs_to_proto};
use crate::function::Function;
use crate::graph::Graph;
use crate::infer;
use crate::names::{self, Input};
use crate::node::Node;
use crate::order::topological_order;
use crate::unread::UnreadNode;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs, Func};
use thalweg_core::error::{Result, not_found};
use thalweg_core::invalid;
use thalweg_core::memory;
use thalweg_core::node::NodeId;
use thalweg_core::registry::Registry;
use thalweg_proto::{GraphDef, NodeDef};

/// Bytes of an average node, during and after import.
pub const NODE_BYTES: usize = 1 << 10;

/// A node of a GraphDef: inputs by name.
#[derive(Clone, Debug, Default)]
pub struct NodeSpec {
    pub name: String,
    pub op: String,
    pub inputs: Vec<String>,
    pub device: String,
    pub attrs: Attrs,
}

impl NodeSpec {
    pub fn from_proto(p: &NodeDef) -> Result<NodeSpec> {
        Ok(NodeSpec {
            name: p.name.clone(),
            op: p.op.clone(),
            inputs: p.input.clone(),
            device: p.device.clone(),
            attrs: attrs_from_proto(&p.attr).map_err(|e| e.at_node(&p.name, &p.op))?,
        })
    }

    pub fn to_proto(&self) -> Result<NodeDef> {
        Ok(NodeDef {
            name: self.name.clone(),
            op: self.op.clone(),
            input: self.inputs.clone(),
            device: self.device.clone(),
            attr: attrs_to_proto(&self.attrs).map_err(|e| e.at_node(&self.name, &self.op))?,
            ..Default::default()
        })
    }
}

impl Graph {
    pub fn from_def(registry: Arc<Registry>, def: &GraphDef) -> Result<Graph> {
        let mut graph = Graph::new(registry);
        graph.import(def)?;
        Ok(graph)
    }

    /// Adds the nodes and functions of a GraphDef; inputs may refer to existing nodes.
    pub fn import(&mut self, def: &GraphDef) -> Result<()> {
        if let Some(v) = &def.versions {
            if v.min_consumer > crate::graph::PRODUCER {
                return Err(invalid!(
                    "the graph needs version {} or later of its reader; this is {}",
                    v.min_consumer,
                    crate::graph::PRODUCER
                ));
            }
            self.producer = v.producer;
        }
        let in_functions = def.library.iter().flat_map(|l| &l.function).map(|f| f.node_def.len());
        let nodes = in_functions.fold(def.node.len(), usize::saturating_add);
        memory::check(nodes.saturating_mul(NODE_BYTES))
            .map_err(|e| e.context(format_args!("importing {nodes} nodes")))?;
        let mut library = self.library.clone();
        if let Some(l) = &def.library {
            for f in &l.function {
                library.add(Function::from_proto(f)?)?;
            }
            for g in &l.gradient {
                library.add_gradient(&g.function_name, &g.gradient_func)?;
            }
        }
        library.check_recursion()?;
        let before = std::mem::replace(&mut self.library, library);
        self.import_nodes(&def.node).inspect_err(|_| self.library = before)
    }

    fn import_nodes(&mut self, defs: &[NodeDef]) -> Result<()> {
        let read: Vec<Result<NodeSpec>> = defs.iter().map(|def| self.read_node(def)).collect();
        let errors = self.unread.spread(defs, &read);
        let from = self.len();
        let (mut specs, mut unread) = (Vec::with_capacity(defs.len()), Vec::new());
        for ((def, spec), error) in defs.iter().zip(read).zip(errors) {
            match (spec, error) {
                (Ok(spec), None) => specs.push(spec),
                (Err(error), None) | (_, Some(error)) => {
                    unread.push(UnreadNode { def: def.clone().into(), error, after: from + specs.len() });
                }
            }
        }
        self.add_specs(specs, true)?;
        self.keep_unread(unread).inspect_err(|_| self.truncate(from))
    }

    fn read_node(&self, def: &NodeDef) -> Result<NodeSpec> {
        let spec = NodeSpec::from_proto(def)?;
        let known = match (self.registry.get(&def.op), self.library.get(&def.op)) {
            (Some(_), _) => Ok(()),
            (None, Some(f)) => f.check_read(),
            (None, None) => self.registry.find(&def.op).map(|_| ()),
        };
        known.map_err(|e| e.at_node(&def.name, &def.op))?;
        Ok(spec)
    }

    fn keep_unread(&mut self, nodes: Vec<UnreadNode>) -> Result<()> {
        if nodes.is_empty() {
            return Ok(());
        }
        let mut all = self.unread.clone();
        for node in nodes {
            let (name, op) = (node.def.name.clone(), node.def.op.clone());
            self.check_new_name(&name, true).map_err(|e| e.at_node(&name, &op))?;
            if all.error(&name).is_some() {
                return Err(invalid!("two nodes are named '{name}'").at_node(&name, &op));
            }
            all.push(node);
        }
        all.iter().for_each(|n| self.mark_name(&n.def.name));
        self.unread = all;
        Ok(())
    }

    /// Adds nodes with inputs by name.
    pub fn add_specs(&mut self, specs: Vec<NodeSpec>, checked_names: bool) -> Result<()> {
        let from = self.len();
        self.try_add_specs(specs, checked_names).inspect_err(|_| self.truncate(from))
    }

    fn try_add_specs(&mut self, specs: Vec<NodeSpec>, checked_names: bool) -> Result<()> {
        let from = self.len();
        let mut inputs_of = Vec::with_capacity(specs.len());
        for mut spec in specs {
            inputs_of.push(std::mem::take(&mut spec.inputs));
            self.add_unconnected(&spec, checked_names).map_err(|e| e.at_node(&spec.name, &spec.op))?;
        }
        for (i, inputs) in inputs_of.iter().enumerate() {
            let id = NodeId((from + i) as u32);
            self.connect(id, inputs).map_err(|e| self.node(id).blame(e))?;
        }
        for at in from..self.len() {
            let node = &self.nodes()[at];
            self.check_inputs(node).map_err(|e| node.blame(e))?;
        }
        for id in topological_order(self, from)? {
            let node = self.node(id);
            let unknown = || SmallVec::from_elem(Default::default(), node.outputs.len());
            let shapes = infer::shapes(self, node).unwrap_or_else(|_| unknown());
            self.node_mut(id).shapes = shapes;
        }
        Ok(())
    }

    /// A node with its attrs and output types. Its inputs, which may follow it, are connected later.
    fn add_unconnected(&mut self, spec: &NodeSpec, checked_names: bool) -> Result<()> {
        self.check_new_name(&spec.name, checked_names)?;
        let (op, attrs) = match self.registry.get(&spec.op) {
            Some(op) => (op, spec.attrs.clone()),
            None => self.call_of(spec)?,
        };
        let device = self.shared_device(&spec.device);
        let node = Node {
            name: spec.name.as_str().into(),
            op,
            attrs,
            inputs: SmallVec::new(),
            control: SmallVec::new(),
            device,
            outputs: SmallVec::new(),
            shapes: SmallVec::new(),
            location: None,
        };
        let mut node = self.completed(node)?;
        self.check_functions(&node)?;
        node.shapes = SmallVec::from_elem(Default::default(), node.outputs.len());
        self.push(node)?;
        Ok(())
    }

    fn check_new_name(&self, name: &str, checked: bool) -> Result<()> {
        let valid = if checked { names::is_valid_internal(name) } else { !name.is_empty() };
        if !valid {
            return Err(invalid!("'{name}' is not a valid node name"));
        }
        if self.find(name).is_some() || self.unread.error(name).is_some() {
            return Err(invalid!("two nodes are named '{name}'"));
        }
        Ok(())
    }

    /// A node whose op is a function's name is a call of that function.
    fn call_of(&self, spec: &NodeSpec) -> Result<(&'static thalweg_core::op::Op, Attrs)> {
        let Some(f) = self.library.get(&spec.op) else {
            return Err(match self.registry.find(&spec.op) {
                Err(e) => e,
                Ok(_) => not_found(format_args!("no op or function '{}'", spec.op)),
            });
        };
        let name = if f.is_stateful { "StatefulPartitionedCall" } else { "PartitionedCall" };
        let op = self.registry.find(name)?;
        let (inputs, outputs) = f.types(&spec.attrs)?;
        let mut attrs = Attrs::new();
        let (own, given): (Vec<_>, Vec<_>) = spec.attrs.iter().partition(|(n, _)| n.starts_with('_'));
        for (n, a) in own {
            attrs.set(n.to_string(), a.clone());
        }
        let given = given.into_iter().map(|(n, a)| (n.to_string(), a.clone())).collect();
        attrs.set("f", Func { name: spec.op.clone(), attrs: given });
        attrs.set("Tin", Attr::types(&inputs));
        attrs.set("Tout", Attr::types(&outputs));
        Ok((op, attrs))
    }

    /// Functions in the attrs must exist.
    fn check_functions(&self, node: &Node) -> Result<()> {
        for (name, attr) in node.attrs.iter().filter(|(n, _)| !n.starts_with('_')) {
            let funcs: Vec<&Func> = match attr {
                Attr::Func(f) => vec![f],
                Attr::List(items) => {
                    items.iter().filter_map(|a| if let Attr::Func(f) = a { Some(f) } else { None }).collect()
                }
                _ => continue,
            };
            for f in funcs.iter().filter(|f| !f.name.is_empty()) {
                if self.library.get(&f.name).is_none() && self.registry.get(&f.name).is_none() {
                    return Err(not_found(format_args!(
                        "attr '{name}' names the function '{}', which is not in the library",
                        f.name
                    )));
                }
            }
        }
        Ok(())
    }

    fn connect(&mut self, id: NodeId, inputs: &[String]) -> Result<()> {
        let mut data: SmallVec<[thalweg_core::node::Output; 2]> = SmallVec::new();
        let mut control: SmallVec<[NodeId; 2]> = SmallVec::new();
        let mut waited_for: HashSet<NodeId> = HashSet::new();
        for text in inputs {
            match names::parse_input(text)? {
                Input::Data(..) if !control.is_empty() => {
                    return Err(invalid!("input '{text}' comes after a control input; those must be last"));
                }
                Input::Data(name, index) => {
                    let from = self
                        .find(name)
                        .ok_or_else(|| invalid!("input '{text}': there is no node '{name}'"))?;
                    let outputs = self.node(from).outputs.len();
                    if index as usize >= outputs {
                        return Err(invalid!("input '{text}': node '{name}' has only {outputs} outputs"));
                    }
                    data.push(from.output(index));
                }
                Input::Control(name) => {
                    let from = self
                        .find(name)
                        .ok_or_else(|| invalid!("input '{text}': there is no node '{name}'"))?;
                    if waited_for.insert(from) {
                        control.push(from);
                    }
                }
            }
        }
        let node = self.node_mut(id);
        node.inputs = data;
        node.control = control;
        Ok(())
    }
}
