//! Looking at the graph under construction, by the ids of its nodes: for front ends, which keep ids and names of their own.

use crate::output::{Operation, Output};
use crate::scope::Scope;
use thalweg_core::node::{self, NodeId};
use thalweg_graph::Graph;

impl Scope {
    /// Reads the graph, which nobody changes meanwhile. What `read` does must not make nodes.
    pub fn read<T>(&self, read: impl FnOnce(&Graph) -> T) -> T {
        read(&self.lock().graph)
    }

    /// Changes the graph directly: attrs, control inputs, imports.
    pub fn change<T>(&self, change: impl FnOnce(&mut Graph) -> T) -> T {
        change(&mut self.lock().graph)
    }

    /// The output of this id, as a value of this scope.
    pub fn output_of(&self, id: node::Output) -> Output {
        Output::new(self, Some(id))
    }

    /// The operation of this id.
    pub fn operation_of(&self, id: NodeId) -> Operation {
        Operation { scope: self.clone(), id: Some(id) }
    }

    /// Whether both build the same graph.
    pub fn shares_graph_with(&self, other: &Scope) -> bool {
        self.is_same_graph(other)
    }

    /// A number for the graph: the same for all of its scopes while any of them lives.
    pub fn graph_key(&self) -> usize {
        std::sync::Arc::as_ptr(&self.shared) as usize
    }

    /// The prefix of names of new nodes: empty, or ends with a slash.
    pub fn name_prefix(&self) -> &str {
        &self.defaults.prefix
    }
}

impl Output {
    /// Its id in the graph; `None` after a mistake.
    pub fn id(&self) -> Option<node::Output> {
        self.id
    }

    /// The scope that made it.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }
}

impl Operation {
    /// Its id in the graph; `None` after a mistake.
    pub fn id(&self) -> Option<NodeId> {
        self.id
    }

    /// The scope that made it.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }
}
