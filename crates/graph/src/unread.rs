//! Nodes that are kept as written: of ops missing in the registry, with attrs that cannot be parsed (unknown data
//! types), and all their users. They are exported as imported; a step that needs one fails with its error, and
//! other steps do not.

use crate::names::{self, Input};
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_core::error::{Error, Result};
use thalweg_proto::NodeDef;

#[derive(Clone)]
pub struct UnreadNode {
    pub def: Arc<NodeDef>,
    /// Why it cannot run.
    pub error: Error,
    /// Index of the next regular node, for its position.
    pub after: usize,
}

#[derive(Clone, Default)]
pub struct UnreadNodes {
    nodes: Vec<UnreadNode>,
    by_name: HashMap<String, usize>,
}

impl UnreadNodes {
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// In import order.
    pub fn iter(&self) -> impl Iterator<Item = &UnreadNode> {
        self.nodes.iter()
    }

    /// The error of the node of this name, if it is unread.
    pub fn error(&self, name: &str) -> Option<&Error> {
        self.by_name.get(name).and_then(|at| self.nodes.get(*at)).map(|n| &n.error)
    }

    pub fn push(&mut self, node: UnreadNode) {
        self.by_name.insert(node.def.name.clone(), self.nodes.len());
        self.nodes.push(node);
    }

    /// Propagates the errors of nodes that cannot be parsed to all their users.
    pub fn spread<T>(&self, defs: &[NodeDef], read: &[Result<T>]) -> Vec<Option<Error>> {
        let mut found: Vec<Option<Error>> = read.iter().map(|r| r.as_ref().err().cloned()).collect();
        if self.is_empty() && found.iter().all(Option::is_none) {
            return found;
        }
        let mut users: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, def) in defs.iter().enumerate() {
            for name in def.input.iter().filter_map(|text| source(text)) {
                if found[at].is_none() {
                    found[at] = self.error(name).cloned();
                }
                users.entry(name).or_default().push(at);
            }
        }
        let mut next: Vec<usize> = (0..found.len()).filter(|at| found[*at].is_some()).collect();
        while let Some(at) = next.pop() {
            for user in users.remove(defs[at].name.as_str()).into_iter().flatten() {
                if found[user].is_none() {
                    found[user] = found[at].clone();
                    next.push(user);
                }
            }
        }
        found
    }
}

/// The node that an input names.
fn source(input: &str) -> Option<&str> {
    match names::parse_input(input).ok()? {
        Input::Data(name, _) | Input::Control(name) => Some(name),
    }
}
