//! `Scope`: a graph under construction, with the names, device and control dependencies that new nodes get.

use crate::collections::Collections;
use crate::context::Context;
use crate::devices::Devices;
use crate::function::Body;
use crate::output::{Operation, Output};
use crate::variables::{VariableScope, VariableStore};
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Error, Result};
use thalweg_core::node::NodeId;
use thalweg_core::op::Op;
use thalweg_core::registry::Registry;
use thalweg_graph::Graph;

/// Where ops are made. Clones, and scopes made from it, build the same graph.
///
/// ```
/// use thalweg_client::Scope;
///
/// let g = Scope::new();
/// let hidden = g.name_scope("hidden");
/// let x = hidden.constant([1f32, 2.0]);
/// let y = hidden.relu(&x * 2.0 - 3.0);
/// assert_eq!(y.name(), "hidden/Relu:0");
/// assert_eq!(y.shape().to_string(), "[2]");
/// g.check()?;
/// # Ok::<(), thalweg_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Scope {
    pub(crate) shared: Arc<Mutex<Shared>>,
    /// Shared, because every output has a scope.
    pub(crate) defaults: Arc<NodeDefaults>,
}

/// Defaults of new nodes: names, devices, dependencies.
#[derive(Clone, Default)]
pub(crate) struct NodeDefaults {
    /// The prefix of node names: empty, or ends with `/`.
    pub prefix: String,
    pub devices: Devices,
    pub control: Vec<NodeId>,
    /// The nodes to be colocated with.
    pub colocated: Vec<NodeId>,
    /// The control-flow context of nodes.
    pub context: Option<Arc<Context>>,
    pub variables: VariableScope,
    /// The type in which products of `float` are computed.
    pub product_precision: Option<DataType>,
    /// The location of new nodes and errors, instead of the calling line.
    pub location: Option<&'static Location<'static>>,
}

pub(crate) struct Shared {
    pub graph: Graph,
    /// The first error.
    pub error: Option<Error>,
    pub variables: VariableStore,
    /// Loops and branches made so far.
    pub contexts: u64,
    pub collections: Collections,
    /// Seed of all random ops, see [`Scope::set_random_seed`].
    pub seed: Option<i64>,
    /// How many ops drew a seed from it, by loop or branch.
    pub seeded: HashMap<Option<u64>, i64>,
    /// The container of resources, see [`Scope::set_container`].
    pub container: Option<String>,
    /// Names of variables to be shared, see [`Scope::offer_variable`].
    pub offered: HashSet<String>,
    /// For a function body: the graph around it.
    pub body: Option<Body>,
}

impl Shared {
    pub fn new(graph: Graph) -> Shared {
        Shared {
            graph,
            error: None,
            variables: VariableStore::default(),
            contexts: 0,
            collections: Collections::default(),
            seed: None,
            seeded: HashMap::new(),
            container: None,
            offered: HashSet::new(),
            body: None,
        }
    }
}

impl Scope {
    /// A scope over an empty graph with all of Thalweg's ops.
    pub fn new() -> Scope {
        Scope::with_registry(Arc::new(thalweg_ops::registry()))
    }

    /// A scope with Thalweg's ops and custom ones, which replace those of the same name. Sessions on the scope run them.
    pub fn with_ops(own: &[&'static Op]) -> Scope {
        let mut registry = thalweg_ops::registry();
        own.iter().for_each(|op| registry.add(op));
        Scope::with_registry(Arc::new(registry))
    }

    /// A scope over an empty graph with the ops of a registry.
    pub fn with_registry(registry: Arc<Registry>) -> Scope {
        Scope::of(Graph::new(registry))
    }

    /// A scope that adds to an existing graph.
    pub fn of(graph: Graph) -> Scope {
        Scope { shared: Arc::new(Mutex::new(Shared::new(graph))), defaults: Arc::default() }
    }

    /// The graph-level seed: random ops made from now on depend on it alone.
    pub fn set_random_seed(&self, seed: i64) {
        self.lock().seed = Some(seed);
    }

    /// Variables, queues and tables made from now on are in this container: sessions on the same devices share those of equal names in one
    /// container only.
    pub fn set_container(&self, container: &str) {
        self.lock().container = Some(container.to_string());
    }

    /// The same graph without any of this scope's names, devices and dependencies.
    pub fn root(&self) -> Scope {
        let defaults = NodeDefaults { location: self.defaults.location, ..NodeDefaults::default() };
        Scope { shared: self.shared.clone(), defaults: Arc::new(defaults) }
    }

    /// The same graph without any of this scope's names and dependencies, but on its devices.
    pub fn top_level(&self) -> Scope {
        let (devices, location) = (self.defaults.devices.clone(), self.defaults.location);
        let defaults = NodeDefaults { devices, location, ..NodeDefaults::default() };
        Scope { shared: self.shared.clone(), defaults: Arc::new(defaults) }
    }

    /// Nodes and errors of the scope returned get this location: libraries pass the line of the program that called them. A location that is
    /// set already stays.
    pub fn made_at(&self, location: &'static Location<'static>) -> Scope {
        self.with(|p| p.location = p.location.or(Some(location)))
    }

    /// The scope with other defaults for new nodes.
    pub(crate) fn with(&self, change: impl FnOnce(&mut NodeDefaults)) -> Scope {
        let mut defaults = NodeDefaults::clone(&self.defaults);
        change(&mut defaults);
        Scope { shared: self.shared.clone(), defaults: Arc::new(defaults) }
    }

    /// Nodes made on the scope returned are named `name/...`; a name in use gets a number.
    pub fn name_scope(&self, name: &str) -> Scope {
        let full = self.lock().graph.unique_name(&format!("{}{name}", self.defaults.prefix));
        self.with(|p| p.prefix = format!("{full}/"))
    }

    /// The name of this scope, without the trailing slash.
    pub fn scope_name(&self) -> &str {
        self.defaults.prefix.strip_suffix('/').unwrap_or_default()
    }

    /// As `name_scope`, under a full name that was made unique before; at the top if it is empty.
    pub fn name_scope_again(&self, full: &str) -> Scope {
        let full = full.trim_end_matches('/');
        self.with(|p| p.prefix = if full.is_empty() { String::new() } else { format!("{full}/") })
    }

    /// A unique name: this one, or this one with a number.
    pub fn unique_name(&self, name: &str) -> String {
        self.lock().graph.unique_name(&format!("{}{name}", self.defaults.prefix))
    }

    /// Nodes made on the scope returned run after these.
    pub fn control_dependencies<O: Borrow<Operation>>(&self, before: &[O]) -> Scope {
        self.with(|p| p.control.extend(before.iter().filter_map(|op| op.borrow().id)))
    }

    /// Nodes made on the scope returned depend on none of this scope's operations.
    pub fn without_control_dependencies(&self) -> Scope {
        self.with(|p| p.control.clear())
    }

    /// Nodes made on the scope returned are placed on the device of this operation too.
    pub fn colocate_with(&self, other: &Operation) -> Scope {
        self.with(|p| p.colocated.extend(other.id))
    }

    /// Nodes made on the scope returned are colocated with none of this scope's operations.
    pub fn without_colocation(&self) -> Scope {
        self.with(|p| p.colocated.clear())
    }

    /// The same graph outside of any loop and branch, and without dependencies: where variables are made.
    pub fn outside_control_flow(&self) -> Scope {
        self.with(|p| {
            p.control.clear();
            p.context = None;
        })
    }

    /// The first error made on this graph, with the file and line that made it.
    pub fn check(&self) -> Result<()> {
        match &self.lock().error {
            Some(e) => Err(e.clone()),
            None => Ok(()),
        }
    }

    /// As `check`, but forgets the error, so that the graph can be built on: for front ends that report each error where it is made.
    pub fn take_error(&self) -> Option<Error> {
        self.lock().error.take()
    }

    /// A copy of the graph so far.
    pub fn graph(&self) -> Result<Graph> {
        self.check()?;
        Ok(self.lock().graph.clone())
    }

    /// The graph as a GraphDef, which TensorFlow imports, and `thalweg run` reads.
    pub fn to_graph_def(&self) -> Result<thalweg_proto::GraphDef> {
        self.graph()?.to_def(Default::default())
    }

    /// As `to_graph_def`, with the static shapes (`_output_shapes`), for tools that show graphs.
    pub fn to_graph_def_with_shapes(&self) -> Result<thalweg_proto::GraphDef> {
        self.graph()?.to_def(thalweg_graph::ExportOptions { output_shapes: true, ..Default::default() })
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

    /// Records an error of the caller, as the scope's own methods do: [`Scope::check`] and opening a session return it.
    #[track_caller]
    pub fn mistake(&self, e: Error) {
        self.fail(e, Location::caller());
    }

    /// Records an error, if it is the first.
    pub(crate) fn fail(&self, e: Error, location: &'static Location<'static>) {
        let location = self.defaults.location.unwrap_or(location);
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
