//! Applying an optimizer's rules: slots, hyperparameters, one update per variable, and the group of them all.

use super::{GradientOf, Optimizer, nothing_to_train};
use crate::initializers::Constant;
use thalweg_client::{
    DataType, Gradient, IndexedSlices, OpBuilder, Operation, Output, Result, Scope, Variable, VariableOptions,
};

/// A hyperparameter: a number, or a tensor that the graph computes, such as a schedule.
#[derive(Clone, Debug)]
pub enum Setting {
    Number(f64),
    Tensor(Output),
}

impl From<f64> for Setting {
    fn from(v: f64) -> Setting {
        Setting::Number(v)
    }
}

impl From<f32> for Setting {
    fn from(v: f32) -> Setting {
        // As it is written: 0.1f32 means a tenth.
        Setting::Number(v.to_string().parse().unwrap_or(f64::from(v)))
    }
}

impl From<&Output> for Setting {
    fn from(v: &Output) -> Setting {
        Setting::Tensor(v.clone())
    }
}

/// The update of one variable, as a rule sees it.
pub struct Update<'a> {
    pub scope: &'a Scope,
    pub variable: &'a Variable,
    slots: Vec<Variable>,
    settings: Vec<Output>,
    powers: Vec<Output>,
    /// Adds of several workers at once wait for each other.
    pub use_locking: bool,
}

impl Update<'_> {
    pub fn slot(&self, i: usize) -> &Variable {
        // A rule asks for the slots it has said it has.
        &self.slots[i]
    }

    /// A hyperparameter, of the variable's type.
    pub fn setting(&self, i: usize) -> &Output {
        &self.settings[i]
    }

    pub fn power(&self, i: usize) -> &Output {
        &self.powers[i]
    }

    /// An op that takes the variable's handle first.
    #[track_caller]
    pub fn op<'s>(&'s self, op: &'s str) -> OpBuilder<'s> {
        self.scope.op(op).input(&self.variable.handle)
    }
}

#[track_caller]
pub fn apply(
    optimizer: &(impl Optimizer + ?Sized),
    g: &Scope,
    gradients: &[GradientOf],
    global_step: Option<&Variable>,
) -> Result<Operation> {
    let given: Vec<&GradientOf> =
        gradients.iter().filter(|x| !matches!(x.gradient, Gradient::None)).collect();
    if given.is_empty() {
        return Err(nothing_to_train(optimizer.name()));
    }
    let first = given[0].variable.dtype();
    let powers = make_powers(optimizer, g, first);
    let slots: Vec<Vec<Variable>> = given.iter().map(|x| make_slots(optimizer, g, &x.variable)).collect();
    let scope = g.name_scope(optimizer.name());
    let settings: Vec<Output> =
        optimizer.settings().iter().map(|(name, s)| setting(&scope, name, s)).collect();
    let mut updates = Vec::with_capacity(given.len());
    for (x, slots) in given.iter().zip(slots) {
        updates.push(update_one(optimizer, &scope, x, slots, &settings, &powers));
    }
    let after = scope.control_dependencies(&updates.iter().collect::<Vec<_>>());
    for (power, variable) in optimizer.powers().iter().zip(&powers) {
        let now = variable.read(&after);
        let next = after.mul(&now, &cast(&after, &settings[power.factor], now.dtype()));
        let assign = after.op("AssignVariableOp").input(&variable.handle).input(&next).build();
        updates.push(assign);
    }
    let all = updates.iter().collect::<Vec<_>>();
    let done = match global_step {
        None => scope.control_dependencies(&all).op("NoOp").named_as_scope().build(),
        Some(step) => {
            let before = scope.control_dependencies(&all).op("NoOp").name("update").build();
            let after = scope.control_dependencies(&[&before]);
            let one = after.number(1.0, step.dtype());
            after.op("AssignAddVariableOp").named_as_scope().input(&step.handle).input(&one).build()
        }
    };
    g.check()?;
    Ok(done)
}

fn setting(scope: &Scope, name: &str, value: &Setting) -> Output {
    match value {
        Setting::Number(v) => scope.number_named(name, *v, DataType::Double),
        Setting::Tensor(t) => t.clone(),
    }
}

fn cast(scope: &Scope, x: &Output, to: DataType) -> Output {
    if x.dtype() == to { x.clone() } else { scope.cast(x, to) }
}

fn make_slots(optimizer: &(impl Optimizer + ?Sized), g: &Scope, v: &Variable) -> Vec<Variable> {
    let shape = v.shape();
    let dims: Vec<usize> =
        shape.dims().unwrap_or_default().iter().map(|d| usize::try_from(*d).unwrap_or(0)).collect();
    let named = |i: usize| match i {
        0 => format!("{}/{}", v.name(), optimizer.name()),
        i => format!("{}/{}_{i}", v.name(), optimizer.name()),
    };
    let options = VariableOptions { dtype: v.dtype(), trainable: false };
    let root = g.root();
    optimizer
        .slots()
        .iter()
        .enumerate()
        .map(|(i, slot)| root.get_variable_with(&named(i), &dims, &Constant(slot.initial), options))
        .collect()
}

fn make_powers(optimizer: &(impl Optimizer + ?Sized), g: &Scope, dtype: DataType) -> Vec<Variable> {
    let options = VariableOptions { dtype, trainable: false };
    let root = g.root();
    optimizer
        .powers()
        .iter()
        .map(|p| match root.find_variable(p.name) {
            // A second optimizer of the kind has its own.
            Some(_) => {
                let name = root.unique_name(p.name);
                root.get_variable_with(&name, &[], &Constant(p.initial), options)
            }
            None => root.get_variable_with(p.name, &[], &Constant(p.initial), options),
        })
        .collect()
}

fn update_one(
    optimizer: &(impl Optimizer + ?Sized),
    scope: &Scope,
    x: &GradientOf,
    slots: Vec<Variable>,
    settings: &[Output],
    powers: &[Variable],
) -> Operation {
    let inner = scope.name_scope(&format!("update_{}", x.variable.name()));
    let dtype = x.variable.dtype();
    let update = Update {
        scope: &inner,
        variable: &x.variable,
        slots,
        settings: settings.iter().map(|s| cast(&inner, s, dtype)).collect(),
        powers: powers.iter().map(|p| cast(&inner, &p.read(&inner), dtype)).collect(),
        use_locking: false,
    };
    match &x.gradient {
        Gradient::Dense(d) => optimizer.dense(&update, d),
        Gradient::Slices(s) if optimizer.sums_rows() => optimizer.sparse(&update, &summed(&inner, s)),
        Gradient::Slices(s) => optimizer.sparse(&update, s),
        Gradient::None => inner.op("NoOp").build(),
    }
}

/// The same gradient with every row once: rows that come several times are added up.
fn summed(g: &Scope, s: &IndexedSlices) -> IndexedSlices {
    let unique = g.op("Unique").input(&s.indices).outputs();
    let (Some(indices), Some(places)) = (unique.first(), unique.get(1)) else { return s.clone() };
    let count = g.op("Shape").input(indices).output();
    let count = g.reshape(&count, &[]);
    let values = g.op("UnsortedSegmentSum").input(&s.values).input(places).input(&count).output();
    IndexedSlices { values, indices: indices.clone(), dense_shape: s.dense_shape.clone() }
}
