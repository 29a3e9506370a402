//! Placement: a device for every node, from its device spec and its colocation constraints.

use crate::device::{Device, DeviceSpec};
use std::collections::HashMap;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::NodeId;
use thalweg_graph::{Graph, Node};

/// Devices of the nodes of a graph, by number in the device list. Grows with the graph.
#[derive(Default, Clone)]
pub struct Placement {
    devices: Vec<u16>,
}

impl Placement {
    pub fn of(&self, id: NodeId) -> u16 {
        self.devices.get(id.at()).copied().unwrap_or(0)
    }

    /// Places new nodes. `soft`: a missing device, or a conflict, is no error.
    pub fn extend(&mut self, graph: &Graph, devices: &[Device], soft: bool) -> Result<()> {
        let from = self.devices.len();
        let mut groups = Groups::new(graph, from, &self.devices)?;
        let mut specs: HashMap<&str, DeviceSpec> = HashMap::new();
        let mut wanted: HashMap<usize, DeviceSpec> = HashMap::new();
        // Users of state are colocated with its owner, whatever their device, so owners come first.
        let (owners, users): (Vec<usize>, Vec<usize>) =
            (from..graph.len()).partition(|at| !groups.uses_state[at - from]);
        for at in owners.into_iter().chain(users) {
            let node = &graph.nodes()[at];
            if node.device.is_empty() {
                continue;
            }
            let spec = match specs.get(&*node.device) {
                Some(s) => s,
                None => {
                    let s = DeviceSpec::parse(&node.device).map_err(|e| node.blame(e))?;
                    specs.entry(&node.device).or_insert(s)
                }
            };
            let root = groups.find(at - from);
            let merged = match wanted.get(&root) {
                None => Some(spec.clone()),
                Some(have) => have.merge(spec),
            };
            match merged {
                Some(s) => drop(wanted.insert(root, s)),
                None if soft || groups.uses_state[at - from] => {}
                None => return Err(node.blame(conflict(node, &wanted[&root]))),
            }
        }
        let mut placed = Vec::with_capacity(graph.len() - from);
        for at in from..graph.len() {
            let root = groups.find(at - from);
            let device = match (groups.fixed(root), wanted.get(&root)) {
                (Some(d), _) => d,
                (None, None) => 0,
                (None, Some(spec)) => {
                    choose(devices, spec, soft).ok_or_else(|| no_device(&graph.nodes()[at], devices))?
                }
            };
            placed.push(device);
        }
        self.devices.extend(placed);
        Ok(())
    }
}

fn choose(devices: &[Device], spec: &DeviceSpec, soft: bool) -> Option<u16> {
    let exact = devices.iter().position(|d| spec.matches(&d.spec));
    let loose = || {
        let without_kind = DeviceSpec { kind: None, index: None, ..spec.clone() };
        devices.iter().position(|d| without_kind.matches(&d.spec)).or(Some(0))
    };
    exact.or_else(|| if soft { loose() } else { None }).map(|i| i as u16)
}

fn conflict(node: &Node, others: &DeviceSpec) -> thalweg_core::error::Error {
    invalid!(
        "Cannot colocate nodes: '{}' asks for device '{}', but the nodes it must be with ask for '{others}'",
        node.name,
        node.device
    )
}

fn no_device(node: &Node, devices: &[Device]) -> thalweg_core::error::Error {
    let mut names: Vec<&str> = devices.iter().map(|d| d.name()).collect();
    names.sort_unstable();
    invalid!(
        "Cannot assign a device for operation {}: {{{{node {}}}}} was explicitly assigned to {} but available devices are [ {} ]. \
         Make sure the device specification refers to a valid device.",
        node.name,
        node.name,
        node.device,
        names.join(", ")
    )
    .at_node(&node.name, node.op.name)
    .at(node.location)
}

/// Colocation groups of new nodes, as a union-find forest.
struct Groups {
    parent: Vec<u32>,
    /// Groups colocated with a placed node.
    fixed: HashMap<usize, u16>,
    /// New nodes that take a variable or resource of another node.
    uses_state: Vec<bool>,
}

impl Groups {
    fn new(graph: &Graph, from: usize, placed: &[u16]) -> Result<Groups> {
        let new = graph.len() - from;
        let mut groups =
            Groups { parent: (0..new as u32).collect(), fixed: HashMap::new(), uses_state: vec![false; new] };
        for at in from..graph.len() {
            let node = &graph.nodes()[at];
            for name in node.colocated_with() {
                // A node may name itself as its own group.
                match graph.find(name) {
                    Some(other) => groups.join(at, other.at(), from, placed),
                    None if graph.unread.error(name).is_some() => {}
                    None => {
                        return Err(
                            node.blame(invalid!("is to be colocated with '{name}', which does not exist"))
                        );
                    }
                }
            }
            let signature = graph.signature(node.op)?;
            let takes_refs = signature.inputs.iter().any(|a| a.is_ref);
            for input in &node.inputs {
                let port = graph.node(input.node).outputs[input.index as usize];
                // State is used on its own device.
                if (port.is_ref && takes_refs) || port.dtype == DataType::Resource {
                    groups.join(at, input.node.at(), from, placed);
                    groups.uses_state[at - from] = true;
                }
            }
        }
        Ok(groups)
    }

    fn find(&mut self, mut i: usize) -> usize {
        while self.parent[i] as usize != i {
            let up = self.parent[self.parent[i] as usize];
            self.parent[i] = up;
            i = up as usize;
        }
        i
    }

    fn fixed(&self, root: usize) -> Option<u16> {
        self.fixed.get(&root).copied()
    }

    fn join(&mut self, a: usize, b: usize, from: usize, placed: &[u16]) {
        let root = self.find(a - from);
        match b.checked_sub(from) {
            None => drop(self.fixed.insert(root, placed[b])),
            Some(b) => {
                let other = self.find(b);
                self.parent[other] = root as u32;
                if let Some(d) = self.fixed.remove(&other) {
                    self.fixed.insert(root, d);
                }
            }
        }
    }
}
