//! Collections: named lists of outputs and operations, as in TensorFlow's graphs.

use crate::output::{Operation, Output};
use crate::scope::Scope;
use std::collections::HashMap;
use thalweg_core::node::{self, NodeId};

/// The names that the library itself uses.
pub mod keys {
    /// Results of the loss functions.
    pub const LOSSES: &str = "losses";
    /// Terms of the loss over the weights.
    pub const REGULARIZATION_LOSSES: &str = "regularization_losses";
    /// Operations to run with each training step: updates of moving averages.
    pub const UPDATE_OPS: &str = "update_ops";
    /// Summary ops, which `summary::merge_all` merges.
    pub const SUMMARIES: &str = "summaries";
    /// Handles of variables that are not saved in checkpoints: the counts of metrics.
    pub const LOCAL_VARIABLES: &str = "local_variables";
    /// Operations that initialise lookup tables.
    pub const TABLE_INITIALIZERS: &str = "table_initializer";
    /// Paths of files that exported models take along: vocabularies.
    pub const ASSET_FILEPATHS: &str = "asset_filepaths";
}

/// The collections of one graph, by name.
#[derive(Default)]
pub struct Collections {
    outputs: HashMap<String, Vec<node::Output>>,
    operations: HashMap<String, Vec<NodeId>>,
}

impl Scope {
    /// Appends an output to a collection; see [`keys`] for the names that the library reads.
    pub fn add_to_collection(&self, name: &str, value: &Output) {
        let Some(id) = value.id else { return };
        self.lock().collections.outputs.entry(name.to_string()).or_default().push(id);
    }

    /// Appends an operation to a collection.
    pub fn add_operation_to_collection(&self, name: &str, value: &Operation) {
        let Some(id) = value.id else { return };
        self.lock().collections.operations.entry(name.to_string()).or_default().push(id);
    }

    /// The outputs of a collection, in the order they were added.
    pub fn collection(&self, name: &str) -> Vec<Output> {
        let found = self.lock().collections.outputs.get(name).cloned().unwrap_or_default();
        found.into_iter().map(|o| Output::new(self, Some(o))).collect()
    }

    /// The operations of a collection, in the order they were added.
    pub fn operations_in_collection(&self, name: &str) -> Vec<Operation> {
        let found = self.lock().collections.operations.get(name).cloned().unwrap_or_default();
        found.into_iter().map(|id| Operation { scope: self.clone(), id: Some(id) }).collect()
    }
}
