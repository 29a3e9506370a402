//! Collections: lists of outputs and operations that parts of a program leave for others to find.

use crate::output::{Operation, Output};
use crate::scope::Scope;
use std::collections::HashMap;
use thalweg_core::node::{self, NodeId};

/// The names that the library itself uses.
pub mod keys {
    /// Terms of the loss: regularisation, and what the loss functions give.
    pub const LOSSES: &str = "losses";
    pub const REGULARIZATION_LOSSES: &str = "regularization_losses";
    /// What must run beside a training step: moving averages.
    pub const UPDATE_OPS: &str = "update_ops";
    pub const SUMMARIES: &str = "summaries";
    /// Handles of variables that checkpoints need not hold: the counts of metrics.
    pub const LOCAL_VARIABLES: &str = "local_variables";
    /// Operations that initialise lookup tables.
    pub const TABLE_INITIALIZERS: &str = "table_initializer";
}

#[derive(Default)]
pub struct Collections {
    outputs: HashMap<String, Vec<node::Output>>,
    operations: HashMap<String, Vec<NodeId>>,
}

impl Scope {
    pub fn add_to_collection(&self, name: &str, value: &Output) {
        let Some(id) = value.id else { return };
        self.lock().collections.outputs.entry(name.to_string()).or_default().push(id);
    }

    pub fn add_operation_to_collection(&self, name: &str, value: &Operation) {
        let Some(id) = value.id else { return };
        self.lock().collections.operations.entry(name.to_string()).or_default().push(id);
    }

    /// The outputs of a collection, in the order they were added.
    pub fn collection(&self, name: &str) -> Vec<Output> {
        let found = self.lock().collections.outputs.get(name).cloned().unwrap_or_default();
        found.into_iter().map(|o| Output::new(self, Some(o))).collect()
    }

    pub fn operations_in_collection(&self, name: &str) -> Vec<Operation> {
        let found = self.lock().collections.operations.get(name).cloned().unwrap_or_default();
        found.into_iter().map(|id| Operation { scope: self.clone(), id: Some(id) }).collect()
    }
}
