//! Variables: state that outlives a step, created once and shared by name.

use crate::collections::keys;
use crate::output::{Operation, Output};
use crate::partitioned::Slice;
use crate::scope::Scope;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;
use thalweg_core::node::{self, NodeId};
use thalweg_core::shape::PartialShape;

/// A variable of the graph: a handle, its value, and the op that initialises it.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The resource handle, an input of ops that update the variable.
    pub handle: Output,
    /// Reads the current value.
    pub value: Output,
    /// Assigns the initial value.
    pub init: Operation,
    /// The initial value.
    pub initial: Output,
    /// Whether optimizers train it.
    pub trainable: bool,
    /// For a part of a partitioned variable: its slice. Checkpoints hold it as a slice of the whole.
    pub slice: Option<Arc<Slice>>,
}

/// Computes the initial value of a variable.
pub trait Initializer {
    /// The nodes that compute the initial value.
    fn build(&self, scope: &Scope, dtype: DataType, dims: &[usize]) -> Output;

    /// The nodes that compute the initial value of one part of a partitioned variable.
    fn build_part(&self, scope: &Scope, dtype: DataType, part: &Slice) -> Output {
        self.build(scope, dtype, &part.dims)
    }

    /// Its name, in the names of those nodes.
    fn name(&self) -> &'static str;
}

/// Whether `get_variable` may, or must, share an existing variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reuse {
    /// A variable of that name is an error.
    #[default]
    No,
    /// The variable must exist.
    Yes,
    /// Shared if it exists, created if not.
    Auto,
}

/// Options of a variable beyond its name, shape and initializer.
#[derive(Clone, Copy, Debug)]
pub struct VariableOptions {
    /// The element type.
    pub dtype: DataType,
    /// Whether optimizers train it.
    pub trainable: bool,
}

impl Default for VariableOptions {
    fn default() -> Self {
        VariableOptions { dtype: DataType::Float, trainable: true }
    }
}

/// The prefix and reuse of variable names.
#[derive(Clone, Default)]
pub(crate) struct VariableScope {
    /// Empty, or ends with `/`.
    prefix: String,
    reuse: Reuse,
    /// Of variables that give none.
    initializer: Option<Arc<dyn Initializer + Send + Sync>>,
}

impl VariableScope {
    fn enter(&mut self, prefix: String, reuse: Reuse) {
        (self.prefix, self.reuse) = (prefix, reuse);
    }
}

#[derive(Default)]
pub(crate) struct VariableStore {
    all: Vec<Record>,
    by_name: HashMap<String, usize>,
}

/// A variable without its scope, for storage in the scope itself.
#[derive(Clone)]
struct Record {
    handle: node::Output,
    value: node::Output,
    init: NodeId,
    initial: node::Output,
    trainable: bool,
    slice: Option<Arc<Slice>>,
}

impl Variable {
    /// From nodes that exist.
    pub(crate) fn known(
        handle: Output,
        value: Output,
        init: Operation,
        initial: Output,
        trainable: bool,
    ) -> Variable {
        Variable { handle, value, init, initial, trainable, slice: None }
    }

    /// The name of its handle, which checkpoints use unless it is a slice.
    pub fn name(&self) -> String {
        self.handle.op().name()
    }

    /// The name of its tensor in checkpoints.
    pub fn saved_name(&self) -> String {
        self.slice.as_ref().map_or_else(|| self.name(), |s| s.full_name.clone())
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DataType {
        self.value.dtype()
    }

    /// Its static shape.
    pub fn shape(&self) -> PartialShape {
        self.value.shape()
    }

    /// Sets the variable. The node is in the scope of `value`.
    #[track_caller]
    pub fn assign(&self, value: impl Borrow<Output>) -> Operation {
        let value = value.borrow();
        value.scope.op("AssignVariableOp").input(&self.handle).input(value).build()
    }

    /// Adds to the variable. The node is in the scope of `value`.
    #[track_caller]
    pub fn assign_add(&self, value: impl Borrow<Output>) -> Operation {
        let value = value.borrow();
        value.scope.op("AssignAddVariableOp").input(&self.handle).input(value).build()
    }

    /// Subtracts from the variable. The node is in the scope of `value`.
    #[track_caller]
    pub fn assign_sub(&self, value: impl Borrow<Output>) -> Operation {
        let value = value.borrow();
        value.scope.op("AssignSubVariableOp").input(&self.handle).input(value).build()
    }

    /// Reads the value on a given scope, for instance after control dependencies.
    #[track_caller]
    pub fn read(&self, scope: &Scope) -> Output {
        scope.op("ReadVariableOp").input(&self.handle).attr("dtype", self.value.dtype()).output()
    }

    /// Rows of the variable. The gradient is sparse: only these rows.
    #[track_caller]
    pub fn gather(&self, scope: &Scope, rows: impl Borrow<Output>) -> Output {
        scope.op("ResourceGather").input(&self.handle).input(rows).attr("dtype", self.value.dtype()).output()
    }
}

impl Scope {
    /// A variable that `init` sets to `initial`.
    #[track_caller]
    pub fn variable(&self, name: &str, initial: &Output) -> Variable {
        let device = self.variable_device(initial.dtype(), initial.shape());
        self.make_variable(&format!("{}{name}", self.defaults.prefix), initial, true, &device)
    }

    /// A variable that is not trainable.
    #[track_caller]
    pub fn state_variable(&self, name: &str, initial: &Output) -> Variable {
        let device = self.variable_device(initial.dtype(), initial.shape());
        self.make_variable(&format!("{}{name}", self.defaults.prefix), initial, false, &device)
    }

    /// A variable that is not in the graph's global variables, and neither initialised nor saved with them: state of one process.
    #[track_caller]
    pub fn local_variable(&self, name: &str, initial: &Output) -> Variable {
        let device = self.variable_device(initial.dtype(), initial.shape());
        let made = self.variable_nodes(&format!("{}{name}", self.defaults.prefix), initial, false, &device);
        self.add_to_collection(keys::LOCAL_VARIABLES, &made.handle);
        made
    }

    /// A scope that prefixes names of `get_variable` and of ops.
    pub fn variable_scope(&self, name: &str) -> Scope {
        self.variable_scope_with(name, self.defaults.variables.reuse)
    }

    /// As [`Scope::variable_scope`], with reuse.
    pub fn variable_scope_with(&self, name: &str, reuse: Reuse) -> Scope {
        let prefix = format!("{}{name}/", self.defaults.variables.prefix);
        self.name_scope(name).with(|p| p.variables.enter(prefix, reuse))
    }

    /// The variable scope of this full name, with its own reuse, whatever scope this one is in; name scopes stay.
    pub fn variable_scope_again(&self, full: &str, reuse: Reuse) -> Scope {
        let prefix = if full.is_empty() { String::new() } else { format!("{full}/") };
        self.with(|p| p.variables.enter(prefix, reuse))
    }

    /// The full name of the variable scope, and its reuse.
    pub fn variable_scope_name(&self) -> (&str, Reuse) {
        let variables = &self.defaults.variables;
        (variables.prefix.strip_suffix('/').unwrap_or_default(), variables.reuse)
    }

    /// Variables of layers and cells made inside start by this initializer, where none is given for them.
    pub fn with_initializer(&self, initializer: Arc<dyn Initializer + Send + Sync>) -> Scope {
        self.with(|p| p.variables.initializer = Some(initializer))
    }

    /// The initializer of this variable scope, or else this one.
    pub fn initializer_or<'a>(&'a self, usual: &'a dyn Initializer) -> &'a dyn Initializer {
        match &self.defaults.variables.initializer {
            Some(own) => &**own,
            None => usual,
        }
    }

    /// A variable scope with a unique name: `dense`, `dense_1`, ..
    pub fn default_variable_scope(&self, default: &str) -> Scope {
        let scope = self.name_scope(default);
        let unique = scope.defaults.prefix.strip_prefix(&self.defaults.prefix).unwrap_or(default);
        let base = format!("{}{}", self.defaults.variables.prefix, unique.trim_end_matches('/'));
        let reuse = self.defaults.variables.reuse;
        let prefix = if reuse == Reuse::No { self.free_variable_prefix(&base) } else { format!("{base}/") };
        scope.with(|p| p.variables.enter(prefix, reuse))
    }

    /// A scope for ops named `name/...` that shares the variables of another scope of this graph; `None` if it is of another graph.
    pub fn sharing_variables_of(&self, other: &Scope, name: &str) -> Option<Scope> {
        let variables = VariableScope { reuse: Reuse::Auto, ..other.defaults.variables.clone() };
        self.is_same_graph(other).then(|| self.name_scope(name).with(|p| p.variables = variables))
    }

    /// A prefix that no variable has: name scopes alone do not make it unique.
    fn free_variable_prefix(&self, base: &str) -> String {
        let shared = self.lock();
        let free = |prefix: &String| !shared.variables.by_name.keys().any(|name| name.starts_with(prefix));
        let numbered = (1..).map(|i| format!("{base}_{i}/"));
        std::iter::once(format!("{base}/")).chain(numbered).find(free).unwrap_or_default()
    }

    /// The full name of a variable in this scope.
    pub(crate) fn variable_name(&self, name: &str) -> String {
        format!("{}{name}", self.defaults.variables.prefix)
    }

    /// The variable of that name in this variable scope: created or shared, as the scope's reuse says.
    #[track_caller]
    pub fn get_variable(&self, name: &str, dims: &[usize], initializer: &dyn Initializer) -> Variable {
        self.get_variable_with(name, dims, initializer, VariableOptions::default())
    }

    /// As [`Scope::get_variable`], with a type and whether optimizers train it.
    #[track_caller]
    pub fn get_variable_with(
        &self,
        name: &str,
        dims: &[usize],
        initializer: &dyn Initializer,
        options: VariableOptions,
    ) -> Variable {
        self.get_or_make(name, dims, options, |at| initializer.build(at, options.dtype, dims))
    }

    /// The variable of that name, as the scope's reuse says; `initial` builds the initial value of a new one.
    #[track_caller]
    pub(crate) fn get_or_make(
        &self,
        name: &str,
        dims: &[usize],
        options: VariableOptions,
        initial: impl FnOnce(&Scope) -> Output,
    ) -> Variable {
        let full = self.variable_name(name);
        let found = self.lock().variables.by_name.get(&full).copied();
        match (found, self.defaults.variables.reuse) {
            (Some(at), Reuse::Yes | Reuse::Auto) => {
                let found = self.variable_at(at);
                if let Err(e) = fits(&found, dims, options.dtype) {
                    self.fail(e, Location::caller());
                }
                found
            }
            (Some(_), Reuse::No) => {
                let e = "exists already; make the variable scope with Reuse::Yes or Reuse::Auto to share it";
                self.fail(invalid!("variable '{full}' {e}"), Location::caller());
                self.no_variable()
            }
            (None, Reuse::Yes) => {
                let e = "does not exist, and this variable scope only reuses; make it with Reuse::No or Reuse::Auto first";
                self.fail(invalid!("variable '{full}' {e}"), Location::caller());
                self.no_variable()
            }
            (None, _) => {
                // The initializer is outside of any loop, branch and dependency of the caller, and on the variable's device.
                let dims_i64: Vec<i64> = dims.iter().map(|d| i64::try_from(*d).unwrap_or(-1)).collect();
                let device =
                    self.variable_device(options.dtype, PartialShape::new(&dims_i64).unwrap_or_default());
                let caller = Location::caller();
                let at = self.only_on(&device).with(|p| {
                    p.location = p.location.or(Some(caller));
                    p.prefix = format!("{full}/Initializer/");
                    p.control.clear();
                    p.context = None;
                });
                self.make_variable(&full, &initial(&at), options.trainable, &device)
            }
        }
    }

    /// The device of a variable of this type and shape.
    fn variable_device(&self, dtype: DataType, shape: PartialShape) -> String {
        let mut attrs = Attrs::new();
        attrs.set("dtype", dtype);
        attrs.set("shape", shape);
        self.defaults.devices.of("VarHandleOp", &attrs).into_owned()
    }

    #[track_caller]
    fn make_variable(&self, name: &str, initial: &Output, trainable: bool, device: &str) -> Variable {
        let v = self.variable_nodes(name, initial, trainable, device);
        self.store_variable(&v);
        v
    }

    /// Makes it one of the graph's variables, unless one has its name: its nodes were made elsewhere, as by an import.
    pub fn store_variable(&self, v: &Variable) {
        if let (Some(handle), Some(value), Some(init), Some(initial)) =
            (v.handle.id, v.value.id, v.init.id, v.initial.id)
        {
            let full = v.name();
            let store = &mut self.lock().variables;
            if store.by_name.contains_key(&full) {
                return;
            }
            store.by_name.insert(full, store.all.len());
            let (trainable, slice) = (v.trainable, v.slice.clone());
            store.all.push(Record { handle, value, init, initial, trainable, slice });
        }
    }

    #[track_caller]
    fn variable_nodes(&self, name: &str, initial: &Output, trainable: bool, device: &str) -> Variable {
        let outer = self.only_on(device).with(|p| {
            p.prefix.clear();
            p.control.clear();
            p.context = None;
        });
        let handle = outer
            .op("VarHandleOp")
            .name(name)
            .attr("dtype", initial.dtype())
            .attr("shape", initial.shape())
            .output();
        let full = handle.op().name();
        if let Some(id) = handle.id {
            self.lock().graph.set_attr(id.node, "shared_name", Attr::str(&full));
        }
        let inner = outer.with(|p| p.prefix = format!("{full}/"));
        inner.op("VarIsInitializedOp").name("IsInitialized/VarIsInitializedOp").input(&handle).build();
        let init = inner.op("AssignVariableOp").name("Assign").input(&handle).input(initial).build();
        let value = inner
            .op("ReadVariableOp")
            .name("Read/ReadVariableOp")
            .input(&handle)
            .attr("dtype", initial.dtype())
            .output();
        // Operators on the value are placed on the scope's device, not on the variable's.
        let here = |o: Output| {
            let scope = o.scope.with(|p| p.devices = self.defaults.devices.clone());
            Output { scope, ..o }
        };
        let (handle, value) = (here(handle), here(value));
        Variable { handle, value, init, initial: initial.clone(), trainable, slice: None }
    }

    fn no_variable(&self) -> Variable {
        let none = Output::new(self, None);
        Variable {
            handle: none.clone(),
            value: none.clone(),
            init: none.op(),
            initial: none,
            trainable: false,
            slice: None,
        }
    }

    fn variable_at(&self, at: usize) -> Variable {
        let record = self.lock().variables.all.get(at).cloned();
        let Some(r) = record else { return self.no_variable() };
        Variable {
            handle: Output::new(self, Some(r.handle)),
            value: Output::new(self, Some(r.value)),
            init: Operation { scope: self.clone(), id: Some(r.init) },
            initial: Output::new(self, Some(r.initial)),
            trainable: r.trainable,
            slice: r.slice,
        }
    }

    /// Records which slice of a partitioned variable this one is.
    pub(crate) fn set_slice(&self, v: Variable, slice: Slice) -> Variable {
        let slice = Some(Arc::new(slice));
        let mut shared = self.lock();
        let at = shared.variables.all.iter().position(|r| Some(r.handle) == v.handle.id);
        if let Some(record) = at.and_then(|at| shared.variables.all.get_mut(at)) {
            record.slice = slice.clone();
        }
        Variable { slice, ..v }
    }

    /// All variables, in the order they were made.
    pub fn global_variables(&self) -> Vec<Variable> {
        let count = self.lock().variables.all.len();
        (0..count).map(|at| self.variable_at(at)).collect()
    }

    /// The variables that optimizers train, in the order they were made.
    pub fn trainable_variables(&self) -> Vec<Variable> {
        self.global_variables().into_iter().filter(|v| v.trainable).collect()
    }

    /// The variable of that full name (`layer/kernel`).
    pub fn find_variable(&self, name: &str) -> Option<Variable> {
        let at = self.lock().variables.by_name.get(name).copied()?;
        Some(self.variable_at(at))
    }

    /// One op that initialises all variables made so far.
    #[track_caller]
    pub fn init(&self) -> Operation {
        let before = self.lock().variables.all.iter().map(|v| v.init).collect();
        self.with(|p| p.control = before).op("NoOp").name("init").build()
    }
}

fn fits(v: &Variable, dims: &[usize], dtype: DataType) -> Result<()> {
    let wanted: Vec<i64> = dims.iter().map(|d| *d as i64).collect();
    let wanted = PartialShape::new(&wanted)?;
    let differs = |what: &str, have: String, want: String| -> Error {
        invalid!("variable '{}' has {what} {have}, asked for {want}", v.name())
    };
    if v.dtype() != dtype {
        return Err(differs("type", v.dtype().to_string(), dtype.to_string()));
    }
    if v.shape().merge(&wanted).is_err() {
        return Err(differs("shape", v.shape().to_string(), wanted.to_string()));
    }
    Ok(())
}
