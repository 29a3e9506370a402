//! Importing a GraphDef into a graph in use: under a prefix, with some of its inputs taken from nodes that are there.

use crate::graph::Graph;
use crate::names::{self, Input};
use std::collections::{BTreeSet, HashMap, HashSet};
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_proto::attr_value::Value;
use thalweg_proto::{GraphDef, NodeDef};

/// How a GraphDef is imported.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Nodes are named `prefix/name`; empty: as in the GraphDef.
    pub prefix: String,
    /// A prefix in use gets a number.
    pub unique_prefix: bool,
    /// Names in use get a number.
    pub unique_names: bool,
    /// The device of nodes that name none.
    pub default_device: String,
    /// Outputs of the GraphDef's nodes, and what replaces them as inputs.
    pub inputs: HashMap<(String, u32), Output>,
    /// Nodes of the GraphDef, and what replaces them as control inputs.
    pub control_inputs: HashMap<String, NodeId>,
    /// Nodes that run before all imported ones.
    pub after: Vec<NodeId>,
}

/// What an import has made.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The new names of the GraphDef's nodes.
    pub names: HashMap<String, String>,
    /// Replacements of inputs that no node had.
    pub unused_inputs: Vec<(String, u32)>,
}

impl Graph {
    /// Imports a GraphDef. Unlike `import`, inputs refer to its own nodes only, and a node that cannot be read is an error. A failed import
    /// changes nothing.
    pub fn import_with(&mut self, mut def: GraphDef, options: &ImportOptions) -> Result<Imported> {
        let names = self.new_names(&def, options)?;
        let mut used = HashSet::new();
        for node in &mut def.node {
            let shown = (node.name.clone(), node.op.clone());
            self.renamed(node, &names, options, &mut used).map_err(|e| e.at_node(&shown.0, &shown.1))?;
        }
        let (len, unread, library) = (self.len(), self.unread.clone(), self.library.clone());
        self.import(&def)?;
        let failed = self.unread.iter().nth(unread.iter().count()).map(|node| node.error.clone());
        if let Some(error) = failed {
            (self.unread, self.library) = (unread, library);
            self.truncate(len);
            return Err(error);
        }
        let unused: BTreeSet<_> = options.inputs.keys().filter(|key| !used.contains(*key)).cloned().collect();
        let unused = unused.into_iter().filter(|(name, _)| !names.contains_key(name)).collect();
        Ok(Imported { names, unused_inputs: unused })
    }

    /// The prefix, with a number if nodes have it already.
    fn free_prefix(&self, prefix: &str) -> String {
        let taken: HashSet<&str> = self.nodes().iter().flat_map(|n| scopes_of(&n.name)).collect();
        let numbered = (1..).map(|i| format!("{prefix}_{i}"));
        let mut free =
            std::iter::once(prefix.to_string()).chain(numbered).filter(|p| !taken.contains(p.as_str()));
        free.next().unwrap_or_default()
    }

    fn new_names(&mut self, def: &GraphDef, options: &ImportOptions) -> Result<HashMap<String, String>> {
        let prefix = options.prefix.trim_end_matches('/');
        if !prefix.is_empty() && !names::is_valid(prefix) {
            return Err(invalid!("'{prefix}' is not a valid name prefix"));
        }
        let prefix = match (prefix.is_empty(), options.unique_prefix) {
            (true, _) => String::new(),
            (false, true) => format!("{}/", self.free_prefix(prefix)),
            (false, false) => format!("{prefix}/"),
        };
        let mut names = HashMap::with_capacity(def.node.len());
        for node in &def.node {
            let wanted = format!("{prefix}{}", node.name);
            let name = match options.unique_names {
                true => self.unique_name(&wanted),
                false if self.find(&wanted).is_some() => {
                    return Err(invalid!("Node name '{wanted}' already exists in the Graph"));
                }
                false => wanted,
            };
            if names.insert(node.name.clone(), name).is_some() {
                return Err(invalid!("two nodes are named '{}'", node.name));
            }
        }
        Ok(names)
    }

    fn renamed(
        &self,
        node: &mut NodeDef,
        names: &HashMap<String, String>,
        options: &ImportOptions,
        used: &mut HashSet<(String, u32)>,
    ) -> Result<()> {
        let own = node.name.clone();
        let new_name =
            |old: &str| names.get(old).ok_or_else(|| invalid!("Node '{own}': Unknown input node '{old}'"));
        // A node that follows another imported one follows what that waits for.
        let mut follows = false;
        let mut inputs = Vec::with_capacity(node.input.len());
        for text in &node.input {
            inputs.push(match names::parse_input(text)? {
                Input::Control(name) => match options.control_inputs.get(name) {
                    Some(other) => format!("^{}", self.node(*other).name),
                    None => {
                        follows = true;
                        format!("^{}", new_name(name)?)
                    }
                },
                Input::Data(name, index) => {
                    let key = (name.to_string(), index);
                    if let Some(other) = options.inputs.get(&key) {
                        used.insert(key);
                        self.tensor_name(*other)
                    } else {
                        follows = true;
                        format!("{}:{index}", new_name(name)?)
                    }
                }
            });
        }
        if !follows {
            inputs.extend(options.after.iter().map(|id| format!("^{}", self.node(*id).name)));
        }
        node.input = inputs;
        node.name = new_name(&own)?.clone();
        if node.device.is_empty() {
            node.device = options.default_device.clone();
        }
        if let Some(Value::List(list)) = node.attr.get_mut("_class").and_then(|a| a.value.as_mut()) {
            for class in &mut list.s {
                let other = std::str::from_utf8(class).ok().and_then(|c| c.strip_prefix("loc:@"));
                if let Some(new) = other.and_then(|name| names.get(name)) {
                    *class = format!("loc:@{new}").into();
                }
            }
        }
        Ok(())
    }
}

/// A name, and the scopes that it is in.
fn scopes_of(name: &str) -> impl Iterator<Item = &str> {
    let scopes = name.match_indices('/').filter_map(|(at, _)| name.get(..at));
    std::iter::once(name).chain(scopes)
}
