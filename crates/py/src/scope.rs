//! `Scope`: where nodes are made, with the names, device, dependencies, loop or branch, and variable scope that they get. `tf.Graph` keeps a
//! stack of them for each thread: `with` statements push.

use crate::args::{self, Given};
use crate::attrs;
use crate::columns;
use crate::control_flow;
use crate::dtype;
use crate::eager;
use crate::errors::{OrRaise, plain, raise, wrong_type};
use crate::functions;
use crate::graph;
use crate::home::{Home, nodes};
use crate::initializers::Initializer;
use crate::op_table::registry;
use crate::operation::{Operation, results};
use crate::server::ReplicaDevices;
use crate::tensor::Tensor;
use crate::variables::{self, Variable};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use pyo3::types::{PyBytes, PyDict};
use std::collections::HashSet;
use std::sync::Arc;
use thalweg_client as client;
use thalweg_client::Reuse;

/// Where nodes are made.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct Scope {
    pub scope: client::Scope,
    pub home: Home,
}

impl Scope {
    pub fn of(py: Python<'_>, scope: client::Scope, home: &Home) -> PyResult<Py<Scope>> {
        Py::new(py, Scope { scope, home: home.share(py) })
    }

    fn with(&self, py: Python<'_>, scope: client::Scope) -> Scope {
        Scope { scope, home: self.home.share(py) }
    }

    /// Runs what may make nodes: notes the line that they come from, and raises the error that the graph recorded.
    pub fn build<T>(&self, py: Python<'_>, build: impl FnOnce(&client::Scope) -> PyResult<T>) -> PyResult<T> {
        let first = nodes(&self.scope);
        let built = build(&self.scope);
        self.home.note(py, first, nodes(&self.scope));
        match (built, self.scope.take_error()) {
            (Err(e), _) => Err(e),
            (Ok(_), Some(e)) => Err(raise(py, &self.home, &self.scope, e)),
            (Ok(built), None) => Ok(built),
        }
    }

    /// Local variables, and global ones.
    fn split_variables(&self) -> (Vec<client::Variable>, Vec<client::Variable>) {
        let local: HashSet<_> =
            self.scope.collection(client::keys::LOCAL_VARIABLES).iter().map(client::Output::id).collect();
        self.scope.global_variables().into_iter().partition(|v| local.contains(&v.handle.id()))
    }

    /// As `build`, for what returns errors of the engine.
    pub fn try_build<T>(
        &self,
        py: Python<'_>,
        build: impl FnOnce(&client::Scope) -> client::Result<T>,
    ) -> PyResult<T> {
        self.build(py, |g| build(g).map_err(|e| raise(py, &self.home, g, g.take_error().unwrap_or(e))))
    }

    /// As `build`, for what returns one output.
    pub fn tensor(
        &self,
        py: Python<'_>,
        build: impl FnOnce(&client::Scope) -> PyResult<client::Output>,
    ) -> PyResult<Py<Tensor>> {
        let output = self.build(py, build)?;
        Tensor::new(py, output, &self.home)
    }

    /// The name scope of a node: named, or named after its op. A name that ends with a slash is that of an open scope.
    pub fn inner(&self, name: Option<&str>, default: &str) -> client::Scope {
        match name.unwrap_or(default) {
            name if name.ends_with('/') => self.scope.name_scope_again(name),
            "" => self.scope.name_scope(default),
            name => self.scope.name_scope(name),
        }
    }
}

fn reuse_of(reuse: Option<&Bound<'_, PyAny>>, otherwise: Reuse) -> PyResult<Reuse> {
    match reuse {
        None => Ok(otherwise),
        Some(given) if given.is_none() => Ok(otherwise),
        Some(given) => match given.extract::<bool>() {
            Ok(true) => Ok(Reuse::Yes),
            // As in TensorFlow: reuse, once set, holds inside.
            Ok(false) => Ok(otherwise),
            Err(_) => Ok(Reuse::Auto),
        },
    }
}

#[pymethods]
impl Scope {
    /// The outermost scope of a new graph.
    #[new]
    fn new(graph: Py<PyAny>) -> Scope {
        let scope = client::Scope::with_registry(registry());
        Scope { scope, home: Home::new(graph) }
    }

    /// Makes a node of an op by its name, and returns its outputs as the functions of ops do.
    #[pyo3(signature = (op, inputs, attrs=None, name=None))]
    fn op(
        &self,
        py: Python<'_>,
        op: &str,
        inputs: Vec<Bound<'_, PyAny>>,
        attrs: Option<&Bound<'_, PyDict>>,
        name: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let registry = registry();
        let found = registry.find(op).or_raise(py)?;
        let signature = registry.signature(found).or_raise(py)?;
        let given = attrs::of_signature(op, signature, attrs)?;
        let made = self.build(py, |_| {
            let inner = self.inner(name, found.name);
            let args = args::of_signature(&inner, signature, &inputs, &given)?;
            let mut node = inner.op(found.name).named_as_scope();
            for arg in &args {
                node = match arg {
                    Given::One(output) => node.input(output),
                    Given::List(list) => node.inputs(list),
                };
            }
            Ok(given
                .iter()
                .fold(node, |node, (key, value)| node.attr(key.to_string(), value.clone()))
                .build())
        })?;
        results(py, made, &self.home)
    }

    /// A tensor, the value of a variable, or a constant of the value.
    #[pyo3(signature = (value, dtype=None, name=None))]
    fn convert(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        name: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        if value.is_instance_of::<Tensor>() && dtype.is_none_or(|d| d.is_none()) {
            return Ok(value.clone().unbind());
        }
        let dtype = dtype.filter(|d| !d.is_none()).map(dtype::from_python).transpose()?;
        let made = self.build(py, |g| args::output_of(g, value, dtype, name.unwrap_or("Const")))?;
        if let Some(want) = dtype.filter(|want| *want != made.dtype()) {
            let text = format!(
                "Tensor conversion requested dtype {} for Tensor with dtype {}: {made}",
                want.python_name(),
                made.dtype().python_name()
            );
            return Err(PyValueError::new_err(text));
        }
        Ok(Tensor::new(py, made, &self.home)?.into_any())
    }

    /// A constant of this value, type and shape; a value of one element fills the shape.
    #[pyo3(signature = (value, dtype=None, shape=None, name=None))]
    fn constant(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        shape: Option<&Bound<'_, PyAny>>,
        name: Option<&str>,
    ) -> PyResult<Py<Tensor>> {
        let dtype = dtype.filter(|d| !d.is_none()).map(dtype::from_python).transpose()?;
        let tensor = graph::shaped(value, dtype, shape)?;
        let name = name.unwrap_or("Const");
        self.tensor(py, |g| {
            Ok(g.op("Const").name(name).attr("dtype", tensor.dtype()).attr("value", tensor).output())
        })
    }

    fn name_scope(&self, py: Python<'_>, name: &str) -> Scope {
        let inner = match name {
            "" => self.scope.name_scope_again(""),
            name if name.ends_with('/') => self.scope.name_scope_again(name),
            name => self.scope.name_scope(name),
        };
        self.with(py, inner)
    }

    /// A name scope and a variable scope; `None` for a scope of the default name that no other has.
    #[pyo3(signature = (name, default_name=None, reuse=None))]
    fn variable_scope(
        &self,
        py: Python<'_>,
        name: Option<&str>,
        default_name: Option<&str>,
        reuse: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Scope> {
        let outer = self.scope.variable_scope_name().1;
        let reuse = reuse_of(reuse, outer)?;
        let inner = match (name, default_name) {
            (Some(name), _) => self.scope.variable_scope_with(name, reuse),
            (None, Some(default)) => self.scope.default_variable_scope(default),
            (None, None) => return Err(wrong_type("If default_name is None then name_or_scope is required")),
        };
        Ok(self.with(py, inner))
    }

    /// The variable scope of this full name, in a new name scope after its last part.
    #[pyo3(signature = (full, reuse=None, name_scope=true))]
    fn variable_scope_again(
        &self,
        py: Python<'_>,
        full: &str,
        reuse: Option<&Bound<'_, PyAny>>,
        name_scope: bool,
    ) -> PyResult<Scope> {
        let reuse = reuse_of(reuse, Reuse::No)?;
        let last = full.rsplit('/').next().unwrap_or_default();
        let named =
            if name_scope && !last.is_empty() { self.scope.name_scope(last) } else { self.scope.clone() };
        Ok(self.with(py, named.variable_scope_again(full, reuse)))
    }

    /// The full name of the variable scope, and whether it reuses: False, True, or None for both.
    fn variable_scope_name(&self) -> (String, Option<bool>) {
        let (name, reuse) = self.scope.variable_scope_name();
        let reuse = match reuse {
            Reuse::No => Some(false),
            Reuse::Yes => Some(true),
            Reuse::Auto => None,
        };
        (name.to_string(), reuse)
    }

    #[pyo3(signature = (device))]
    fn device(&self, py: Python<'_>, device: Option<&str>) -> Scope {
        let inner = match device {
            Some(device) => self.scope.device(device),
            None => self.scope.only_on(""),
        };
        self.with(py, inner)
    }

    /// A function of a node's op type, name of the device so far: returns the device.
    fn device_function(&self, py: Python<'_>, choose: Py<PyAny>) -> Scope {
        if let Ok(replica) = choose.bind(py).cast::<ReplicaDevices>() {
            let choose = replica.get().0.clone();
            return self.with(py, self.scope.device_function(move |node| choose(node)));
        }
        let inner = self.scope.device_function(move |node| {
            Python::attach(|py| {
                let chosen =
                    choose.call1(py, (node.op, node.device)).and_then(|d| d.extract::<Option<String>>(py));
                chosen.ok().flatten().unwrap_or_default()
            })
        });
        self.with(py, inner)
    }

    fn control_dependencies(&self, py: Python<'_>, before: Vec<Bound<'_, PyAny>>) -> PyResult<Scope> {
        let before: Vec<client::Operation> =
            before.iter().map(args::operation_of).collect::<PyResult<_>>()?;
        if let Some(other) = before.iter().find(|op| !op.scope().shares_graph_with(&self.scope)) {
            return Err(PyValueError::new_err(format!("'{}' is of another graph", other.name())));
        }
        Ok(self.with(py, self.scope.control_dependencies(&before)))
    }

    fn without_control_dependencies(&self, py: Python<'_>) -> Scope {
        self.with(py, self.scope.without_control_dependencies())
    }

    fn outside_control_flow(&self, py: Python<'_>) -> Scope {
        self.with(py, self.scope.outside_control_flow())
    }

    fn colocate_with(&self, py: Python<'_>, other: Option<&Bound<'_, PyAny>>) -> PyResult<Scope> {
        let inner = match other.filter(|o| !o.is_none()) {
            Some(other) => self.scope.colocate_with(&args::operation_of(other)?),
            None => self.scope.without_colocation(),
        };
        Ok(self.with(py, inner))
    }

    /// The name of this scope, without the trailing slash.
    #[getter]
    fn name(&self) -> &str {
        self.scope.scope_name()
    }

    fn unique_name(&self, name: &str) -> String {
        self.scope.unique_name(name)
    }

    /// The next that would make a variable of this full name for itself takes the one that there is.
    fn offer(&self, name: &str) {
        self.scope.offer_variable(name);
    }

    /// The container of resources made from now on.
    fn set_container(&self, container: &str) {
        self.scope.set_container(container);
    }

    /// A variable of eager execution as one of the graph, under this full name.
    fn adopt(
        &self,
        py: Python<'_>,
        name: &str,
        handle: &Bound<'_, PyAny>,
        trainable: bool,
    ) -> PyResult<Py<Variable>> {
        let handle = eager::value(handle)?.tensor;
        let made = self.build(py, |g| Ok(g.adopt_variable(name, &handle, trainable)))?;
        Variable::new(py, made, &self.home)
    }

    #[pyo3(signature = (seed))]
    fn set_random_seed(&self, seed: i64) {
        self.scope.set_random_seed(seed);
    }

    /// The two seeds of a random op with this one of its own.
    #[pyo3(signature = (own=None))]
    fn seeds(&self, own: Option<i64>) -> (i64, i64) {
        self.scope.seeds_for(own)
    }

    /// A new variable with this initial value: `name` is a full name that no other node has.
    #[pyo3(signature = (initial, name, trainable=true, local=false))]
    fn variable(
        &self,
        py: Python<'_>,
        initial: &Bound<'_, PyAny>,
        name: &str,
        trainable: bool,
        local: bool,
    ) -> PyResult<Py<Variable>> {
        variables::new(self, py, initial, name, trainable, local)
    }

    #[pyo3(signature = (name, shape=None, dtype=None, initializer=None, trainable=true))]
    fn get_variable(
        &self,
        py: Python<'_>,
        name: &str,
        shape: Option<&Bound<'_, PyAny>>,
        dtype: Option<&Bound<'_, PyAny>>,
        initializer: Option<&Bound<'_, PyAny>>,
        trainable: bool,
    ) -> PyResult<Py<Variable>> {
        variables::get(self, py, name, shape, dtype, initializer, trainable)
    }

    fn global_variables(&self, py: Python<'_>) -> PyResult<Vec<Py<Variable>>> {
        let (_, global) = self.split_variables();
        global.into_iter().map(|v| Variable::new(py, v, &self.home)).collect()
    }

    /// The variables that checkpoints do not hold.
    fn local_variables(&self, py: Python<'_>) -> PyResult<Vec<Py<Variable>>> {
        let (local, _) = self.split_variables();
        local.into_iter().map(|v| Variable::new(py, v, &self.home)).collect()
    }

    fn trainable_variables(&self, py: Python<'_>) -> PyResult<Vec<Py<Variable>>> {
        self.scope.trainable_variables().into_iter().map(|v| Variable::new(py, v, &self.home)).collect()
    }

    /// The tensors and operations that the engine itself put in a collection.
    fn collection(&self, py: Python<'_>, name: &str) -> PyResult<Vec<Py<PyAny>>> {
        let mut all = Vec::new();
        for output in self.scope.collection(name) {
            all.push(Tensor::new(py, output, &self.home)?.into_any());
        }
        for op in self.scope.operations_in_collection(name) {
            all.push(Operation::new(py, op, &self.home)?.into_any());
        }
        Ok(all)
    }

    fn add_to_collection(&self, name: &str, value: &Bound<'_, PyAny>) -> bool {
        if let Ok(t) = value.cast::<Tensor>() {
            self.scope.add_to_collection(name, &t.get().output);
        } else if let Ok(op) = value.cast::<Operation>() {
            self.scope.add_operation_to_collection(name, &op.get().op);
        } else {
            return false;
        }
        true
    }

    fn operation(&self, py: Python<'_>, name: &str) -> PyResult<Py<Operation>> {
        match self.scope.read(|g| g.get(name)) {
            Ok(id) => Operation::new(py, self.scope.operation_of(id), &self.home),
            Err(e) => Err(PyKeyError::new_err(e.message().to_string())),
        }
    }

    fn output(&self, py: Python<'_>, name: &str) -> PyResult<Py<Tensor>> {
        match self.scope.output(name) {
            Ok(output) => Tensor::new(py, output, &self.home),
            Err(e) => Err(PyKeyError::new_err(e.message().to_string())),
        }
    }

    fn operations(&self, py: Python<'_>) -> PyResult<Vec<Py<Operation>>> {
        let ids: Vec<_> = self.scope.read(|g| g.ids().collect());
        ids.into_iter().map(|id| Operation::new(py, self.scope.operation_of(id), &self.home)).collect()
    }

    /// The graph as a serialised GraphDef.
    #[pyo3(signature = (add_shapes=false))]
    fn graph_def<'py>(&self, py: Python<'py>, add_shapes: bool) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &graph::to_bytes(&self.scope, add_shapes).or_raise(py)?))
    }

    /// The graph in the text format of protocol buffers.
    fn graph_text(&self, py: Python<'_>) -> PyResult<String> {
        graph::to_text(&self.scope).or_raise(py)
    }

    /// Loops and branches: the functions are called with scopes, in which they make nodes.
    #[pyo3(signature = (cond, body, initial, parallel_iterations=10))]
    fn while_loop(
        &self,
        py: Python<'_>,
        cond: &Bound<'_, PyAny>,
        body: &Bound<'_, PyAny>,
        initial: Vec<Bound<'_, PyAny>>,
        parallel_iterations: i64,
    ) -> PyResult<Vec<Py<Tensor>>> {
        control_flow::while_loop(self, py, cond, body, &initial, parallel_iterations)
    }

    fn cond(
        &self,
        py: Python<'_>,
        pred: &Bound<'_, PyAny>,
        then: &Bound<'_, PyAny>,
        otherwise: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Py<Tensor>>> {
        control_flow::cond(self, py, pred, then, otherwise)
    }

    /// Traces a function of Python into one of the graph's library: its name, what it captured, and types and sizes of its results.
    fn function(
        &self,
        name: &str,
        arguments: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        function: &Bound<'_, PyAny>,
    ) -> PyResult<functions::Traced> {
        functions::trace(self, name, arguments, function)
    }

    /// Layers and cells made inside start their weights by this initializer.
    fn with_initializer(&self, py: Python<'_>, initializer: Py<Initializer>) -> Scope {
        self.with(py, self.scope.with_initializer(Arc::new(columns::Kept(initializer))))
    }

    /// One operation that depends on all of these.
    #[pyo3(signature = (before, name=None))]
    fn group(
        &self,
        py: Python<'_>,
        before: Vec<Bound<'_, PyAny>>,
        name: Option<&str>,
    ) -> PyResult<Py<Operation>> {
        let before: Vec<client::Operation> =
            before.iter().map(args::operation_of).collect::<PyResult<_>>()?;
        let name = name.unwrap_or("group_deps");
        let made = self.build(py, |g| Ok(g.control_dependencies(&before).op("NoOp").name(name).build()))?;
        Operation::new(py, made, &self.home)
    }

    /// Whether two scopes build the same graph.
    fn shares_graph_with(&self, other: &Bound<'_, Scope>) -> bool {
        self.scope.shares_graph_with(&other.get().scope)
    }

    #[getter]
    fn version(&self) -> usize {
        nodes(&self.scope)
    }

    /// Raises the error of the engine that is no exception yet.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.scope.take_error().map_or(Ok(()), |e| Err(plain(py, e)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.home.graph)
    }
}
