//! `Scope`: a graph under construction, with the names, device and control dependencies that new nodes get.

use crate::collections::Collections;
use crate::output::{Operation, Output};
use crate::variables::{VariableScope, VariableStore};
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_core::error::{Error, Result};
use thalweg_core::grad::NodeId;
use thalweg_core::registry::Registry;
use thalweg_graph::Graph;

/// Where ops are made. Clones, and scopes made from it, build the same graph.
#[derive(Clone)]
pub struct Scope {
    pub(crate) shared: Arc<Mutex<Shared>>,
    /// Put before the names of new nodes: empty, or ends with `/`.
    pub(crate) prefix: String,
    pub(crate) device: String,
    pub(crate) control: Vec<NodeId>,
    pub(crate) variables: VariableScope,
}

pub(crate) struct Shared {
    pub graph: Graph,
    /// The first mistake.
    pub error: Option<Error>,
    pub variables: VariableStore,
    pub collections: Collections,
    /// Seed of all random ops, see [`Scope::set_random_seed`].
    pub seed: Option<i64>,
}

impl Scope {
    /// A scope over an empty graph with all of Thalweg's ops.
    pub fn new() -> Scope {
        Scope::with_registry(Arc::new(thalweg_ops::registry()))
    }

    /// A scope with ops of your own: `let mut r = thalweg_ops::registry(); r.add(&MY_OP);`.
    pub fn with_registry(registry: Arc<Registry>) -> Scope {
        Scope::of(Graph::new(registry))
    }

    /// A scope that goes on building a graph.
    pub fn of(graph: Graph) -> Scope {
        let shared = Shared {
            graph,
            error: None,
            variables: VariableStore::default(),
            collections: Collections::default(),
            seed: None,
        };
        Scope {
            shared: Arc::new(Mutex::new(shared)),
            prefix: String::new(),
            device: String::new(),
            control: Vec::new(),
            variables: VariableScope::default(),
        }
    }

    /// Random ops made from now on draw numbers that depend on this seed, and on nothing else.
    pub fn set_random_seed(&self, seed: i64) {
        self.lock().seed = Some(seed);
    }

    /// The same graph without any of this scope's names, devices and dependencies.
    pub fn root(&self) -> Scope {
        Scope {
            shared: self.shared.clone(),
            prefix: String::new(),
            device: String::new(),
            control: Vec::new(),
            variables: VariableScope::default(),
        }
    }

    /// Nodes made on the scope returned are named `name/...`; a name in use gets a number.
    pub fn name_scope(&self, name: &str) -> Scope {
        let full = self.lock().graph.unique_name(&format!("{}{name}", self.prefix));
        Scope { prefix: format!("{full}/"), ..self.clone() }
    }

    /// A name that is not taken: this one, or this one with a number.
    pub fn unique_name(&self, name: &str) -> String {
        self.lock().graph.unique_name(&format!("{}{name}", self.prefix))
    }

    /// Nodes made on the scope returned are placed on this device; what is not said is taken from the outer scope.
    pub fn device(&self, device: &str) -> Scope {
        use thalweg_runtime::device::DeviceSpec;
        let merged = match (DeviceSpec::parse(&self.device), DeviceSpec::parse(device)) {
            (Ok(outer), Ok(inner)) => DeviceSpec {
                job: inner.job.or(outer.job),
                replica: inner.replica.or(outer.replica),
                task: inner.task.or(outer.task),
                kind: inner.kind.or(outer.kind),
                index: inner.index.or(outer.index),
            }
            .to_string(),
            // A name that cannot be parsed is told of when the graph is placed.
            _ => device.to_string(),
        };
        Scope { device: merged, ..self.clone() }
    }

    /// Nodes made on the scope returned run after these.
    pub fn control_dependencies(&self, before: &[&Operation]) -> Scope {
        let mut control = self.control.clone();
        control.extend(before.iter().filter_map(|op| op.id));
        Scope { control, ..self.clone() }
    }

    /// The first mistake made on this graph, with the file and line that made it.
    pub fn check(&self) -> Result<()> {
        match &self.lock().error {
            Some(e) => Err(e.clone()),
            None => Ok(()),
        }
    }

    /// A copy of the graph so far.
    pub fn graph(&self) -> Result<Graph> {
        self.check()?;
        Ok(self.lock().graph.clone())
    }

    pub fn to_graph_def(&self) -> Result<thalweg_proto::GraphDef> {
        self.graph()?.to_def(Default::default())
    }

    /// The output of that name: `layer/w:0`.
    pub fn output(&self, tensor: &str) -> Result<Output> {
        let found = self.lock().graph.output(tensor)?;
        Ok(Output::new(self, Some(found)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_same_graph(&self, other: &Scope) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Remembers a mistake, if it is the first.
    pub(crate) fn fail(&self, e: Error, location: &'static Location<'static>) {
        let mut shared = self.lock();
        if shared.error.is_none() {
            shared.error = Some(e.at(Some(location)));
        }
    }
}

impl Default for Scope {
    fn default() -> Self {
        Scope::new()
    }
}
