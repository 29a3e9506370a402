//! Applying an optimizer's rules: slots, hyperparameters, one update per variable, and the group of them all.

use super::{GradientOf, Optimizer, Power, Slot, nothing_to_train};
use crate::initializers::Constant;
use std::panic::Location;
use thalweg_client::{
    DataType, Gradient, IndexedSlices, OpBuilder, Operation, Output, Result, Reuse, Scope, Variable,
    VariableOptions,
};

/// A hyperparameter: a number, or a tensor that the graph computes, such as a schedule.
#[derive(Clone, Debug)]
pub enum Setting {
    /// A constant.
    Number(f64),
    /// A scalar that is computed in each step.
    Tensor(Output),
}

impl From<f64> for Setting {
    fn from(v: f64) -> Setting {
        Setting::Number(v)
    }
}

impl From<f32> for Setting {
    fn from(v: f32) -> Setting {
        // By its decimal form: 0.1f32 means 0.1.
        Setting::Number(v.to_string().parse().unwrap_or(f64::from(v)))
    }
}

impl From<&Output> for Setting {
    fn from(v: &Output) -> Setting {
        Setting::Tensor(v.clone())
    }
}

/// The update of one variable: what a rule has to work with.
pub struct Update<'a> {
    /// Where the rule makes its nodes: on the variable's device, in a name scope of its own.
    pub scope: &'a Scope,
    /// The variable.
    pub variable: &'a Variable,
    slots: Vec<Variable>,
    given: &'a [Output],
    settings: Vec<Output>,
    powers: Vec<Output>,
    use_locking: bool,
}

impl Update<'_> {
    /// A slot, by its index in [`Optimizer::slots`].
    pub fn slot(&self, i: usize) -> &Variable {
        // Rules use the indices of their own `slots`.
        &self.slots[i]
    }

    /// A hyperparameter, of the variable's type.
    pub fn setting(&self, i: usize) -> &Output {
        &self.settings[i]
    }

    /// A hyperparameter in the type it was given in, for arithmetic that TensorFlow does before it casts.
    pub fn given(&self, i: usize) -> &Output {
        &self.given[i]
    }

    /// The current value of a [`Power`], of the variable's type.
    pub fn power(&self, i: usize) -> &Output {
        &self.powers[i]
    }

    /// An op that takes the variable's handle first.
    #[track_caller]
    pub fn op<'s>(&'s self, op: &'s str) -> OpBuilder<'s> {
        self.scope.op(op).input(&self.variable.handle)
    }

    /// An update rule of the op table: takes the handles of the variable and of its slots first, in that order.
    #[track_caller]
    pub fn rule<'s>(&'s self, op: &'s str) -> OpBuilder<'s> {
        self.rule_with(op, &self.slots.iter().collect::<Vec<_>>())
    }

    /// A rule that takes the slots in another order.
    #[track_caller]
    pub fn rule_with<'s>(&'s self, op: &'s str, slots: &[&Variable]) -> OpBuilder<'s> {
        let with_slots = slots.iter().fold(self.op(op), |rule, slot| rule.input(&slot.handle));
        with_slots.attr("use_locking", self.use_locking)
    }
}

#[track_caller]
pub fn apply(
    optimizer: &(impl Optimizer + ?Sized),
    g: &Scope,
    gradients: &[GradientOf],
    global_step: Option<&Variable>,
) -> Result<Operation> {
    let caller = Location::caller();
    let g = &g.made_at(caller);
    let given: Vec<&GradientOf> =
        gradients.iter().filter(|x| !matches!(x.gradient, Gradient::None)).collect();
    if given.is_empty() {
        return Err(nothing_to_train(optimizer.name()).at(Some(caller)));
    }
    optimizer.check().map_err(|e| e.context(optimizer.name()).at(Some(caller)))?;
    let powers = make_powers(optimizer, g, &given);
    let slots: Vec<Vec<Variable>> = given.iter().map(|x| make_slots(optimizer, g, &x.variable)).collect();
    let scope = g.name_scope(optimizer.name());
    let settings: Vec<Output> =
        optimizer.settings().iter().map(|(name, s)| setting(&scope, name, s)).collect();
    let mut updates = Vec::with_capacity(given.len());
    for (x, slots) in given.iter().zip(slots) {
        updates.push(update_one(optimizer, &scope, x, slots, &settings, &powers));
    }
    let after = scope.control_dependencies(&updates);
    for (power, variable) in optimizer.powers().iter().zip(&powers) {
        let after = on_device_of(&after, variable);
        let now = variable.read(&after);
        let next = &now * cast(&after, &settings[power.factor], now.dtype());
        let assign = after.op("AssignVariableOp").input(&variable.handle).input(next).build();
        updates.push(assign);
    }
    let done = match global_step {
        None => scope.control_dependencies(&updates).op("NoOp").named_as_scope().build(),
        Some(step) => {
            let before = scope.control_dependencies(&updates).op("NoOp").name("update").build();
            let after = on_device_of(&scope.control_dependencies(&[&before]), step);
            let one = after.number(1.0, step.dtype());
            after.op("AssignAddVariableOp").named_as_scope().input(&step.handle).input(one).build()
        }
    };
    g.check()?;
    Ok(done)
}

/// Numbers are float for variables of any type, as in TensorFlow, so that results agree.
fn setting(scope: &Scope, name: &str, value: &Setting) -> Output {
    match value {
        Setting::Number(v) => scope.number_named(name, *v, DataType::Float),
        Setting::Tensor(t) => t.clone(),
    }
}

pub fn cast(scope: &Scope, x: &Output, to: DataType) -> Output {
    if x.dtype() == to { x.clone() } else { scope.cast(x, to) }
}

fn make_slots(optimizer: &(impl Optimizer + ?Sized), g: &Scope, v: &Variable) -> Vec<Variable> {
    let shape = v.shape();
    let dims: Vec<usize> =
        shape.dims().unwrap_or_default().iter().map(|d| usize::try_from(*d).unwrap_or(0)).collect();
    let options = VariableOptions { dtype: v.dtype(), trainable: false };
    let (root, base) = (on_device_of(&shared_root(g), v), format!("{}/{}", v.name(), optimizer.name()));
    let make = |slot: &Slot| {
        let name = free_name(&root, &base);
        root.get_variable_with(&name, &dims, &Constant(slot.initial), options).beside(v)
    };
    optimizer.slots().iter().map(make).collect()
}

/// The name, numbered if another slot or another optimizer of the kind has it; that of an offered variable is its.
fn free_name(g: &Scope, base: &str) -> String {
    let numbered = (1..).map(|i| format!("{base}_{i}"));
    let mut names = std::iter::once(base.to_string()).chain(numbered);
    names.find(|name| g.find_variable(name).is_none() || g.take_offered(name)).unwrap_or_default()
}

/// The outermost scope; variables whose names it finds taken were offered.
fn shared_root(g: &Scope) -> Scope {
    g.root().variable_scope_again("", Reuse::Auto)
}

/// The scope, on the device of a variable.
fn on_device_of(g: &Scope, v: &Variable) -> Scope {
    g.only_on(&v.handle.op().device())
}

/// Float as well, as in TensorFlow's checkpoints, and on the device of the first variable by name.
fn make_powers(optimizer: &(impl Optimizer + ?Sized), g: &Scope, given: &[&GradientOf]) -> Vec<Variable> {
    let options = VariableOptions { dtype: DataType::Float, trainable: false };
    let first = given.iter().map(|x| &x.variable).min_by_key(|v| v.name());
    let root = first.map_or_else(|| shared_root(g), |v| on_device_of(&shared_root(g), v));
    let make =
        |p: &Power| root.get_variable_with(&free_name(&root, p.name), &[], &Constant(p.initial), options);
    optimizer.powers().iter().map(make).collect()
}

fn update_one(
    optimizer: &(impl Optimizer + ?Sized),
    scope: &Scope,
    x: &GradientOf,
    slots: Vec<Variable>,
    settings: &[Output],
    powers: &[Variable],
) -> Operation {
    let inner = on_device_of(&scope.name_scope(&format!("update_{}", x.variable.name())), &x.variable);
    let dtype = x.variable.dtype();
    let update = Update {
        scope: &inner,
        variable: &x.variable,
        slots,
        given: settings,
        settings: settings.iter().map(|s| cast(&inner, s, dtype)).collect(),
        powers: powers.iter().map(|p| cast(&inner, &p.read(&inner), dtype)).collect(),
        use_locking: optimizer.use_locking(),
    };
    match &x.gradient {
        Gradient::Dense(d) => optimizer.dense(&update, d),
        Gradient::Slices(s) if optimizer.sums_rows() => optimizer.sparse(&update, &summed(&inner, s)),
        Gradient::Slices(s) => optimizer.sparse(&update, s),
        Gradient::None => inner.op("NoOp").build(),
    }
}

/// The same gradient with every row once: duplicate rows are summed.
fn summed(g: &Scope, s: &IndexedSlices) -> IndexedSlices {
    let unique = g.op("Unique").input(&s.indices).outputs();
    let (Some(indices), Some(segments)) = (unique.first(), unique.get(1)) else { return s.clone() };
    let count = g.reshape(g.shape(indices), &[]);
    let values = g.op("UnsortedSegmentSum").input(&s.values).input(segments).input(count).output();
    IndexedSlices { values, indices: indices.clone(), dense_shape: s.dense_shape.clone() }
}
