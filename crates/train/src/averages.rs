//! Moving averages of weights, which often do better in evaluation than the weights of the last step.

use crate::saver::saved_variables;
use std::collections::{HashMap, HashSet};
use thalweg_client::{DataType, Operation, Output, Result, Scope, Variable};

/// Keeps a shadow of each variable, `w/ExponentialMovingAverage`: each step does `shadow -= (1 - decay) * (shadow - w)`.
pub struct ExponentialMovingAverage {
    decay: f64,
    num_updates: Option<Output>,
    /// Shadow variables by variable name.
    averages: HashMap<String, Variable>,
}

const NAME: &str = "ExponentialMovingAverage";

impl ExponentialMovingAverage {
    /// A decay near 1, such as 0.999, makes long averages.
    pub fn new(decay: f64) -> Self {
        ExponentialMovingAverage { decay, num_updates: None, averages: HashMap::new() }
    }

    /// Averages over fewer steps at the start: the decay is at most `(1 + num_updates) / (10 + num_updates)`. Pass the global step.
    pub fn num_updates(self, num_updates: &Output) -> Self {
        ExponentialMovingAverage { num_updates: Some(num_updates.clone()), ..self }
    }

    /// One operation that updates the averages of these variables, to be run after the training step:
    /// `averages.apply(&g.control_dependencies(&[&train]), &g.trainable_variables())`.
    #[track_caller]
    pub fn apply(&mut self, g: &Scope, variables: &[Variable]) -> Result<Operation> {
        for v in variables {
            self.averages.entry(v.name()).or_insert_with(|| shadow(g, v));
        }
        let scope = g.name_scope(NAME);
        let rest = self.rest(&scope);
        let moves = variables.iter().filter_map(|v| Some(follow(&scope, self.average(v)?, v, &rest)));
        let moves: Vec<Operation> = moves.collect();
        let all = scope.group(&moves);
        g.check()?;
        Ok(all)
    }

    /// The variable that holds the average of `v`.
    pub fn average(&self, v: &Variable) -> Option<&Variable> {
        self.averages.get(&v.name())
    }

    /// The name of the average of `v` in checkpoints.
    pub fn average_name(&self, v: &Variable) -> String {
        self.average(v).map_or_else(|| format!("{}/{NAME}", v.saved_name()), Variable::saved_name)
    }

    /// The variables to restore for evaluation, by checkpoint name: trainable variables get their averages, the others their own values.
    /// The graph needs no averages of its own: `Saver::of(&g, averages.variables_to_restore(&g))`.
    pub fn variables_to_restore(&self, g: &Scope) -> Vec<(String, Variable)> {
        let (averaged, others): (Vec<Variable>, Vec<Variable>) =
            saved_variables(g).into_iter().partition(|v| v.trainable);
        let mut named: Vec<(String, Variable)> =
            averaged.into_iter().map(|v| (self.average_name(&v), v)).collect();
        let taken: HashSet<String> = named.iter().map(|(name, _)| name.clone()).collect();
        let others = others.into_iter().map(|v| (v.saved_name(), v));
        named.extend(others.filter(|(name, _)| !taken.contains(name)));
        named
    }

    /// `1 - decay`, a float.
    fn rest(&self, g: &Scope) -> Output {
        let number = |v: f64| g.number(v, DataType::Float);
        let decay = g.number_named("decay", self.decay, DataType::Float);
        let decay = match &self.num_updates {
            None => decay,
            Some(n) => {
                let n = g.cast(n, DataType::Float);
                g.minimum(decay, g.div(number(1.0) + &n, number(10.0) + &n))
            }
        };
        number(1.0) - decay
    }
}

/// The average starts as the variable's value, or as its initial value if it is not initialised yet. So all can be
/// initialised in one step, and averages can be added to restored weights.
fn shadow(g: &Scope, v: &Variable) -> Variable {
    let root = g.root().only_on(&v.handle.op().device());
    let inside = root.name_scope(&format!("{}/{NAME}/Initializer", v.name()));
    let known = inside.op("VarIsInitializedOp").input(&v.handle).output();
    let start = inside.cond(
        &known,
        &[&v.handle, &v.initial],
        |branch, x| vec![branch.op("ReadVariableOp").input(&x[0]).attr("dtype", v.dtype()).output()],
        |branch, x| vec![branch.identity(&x[1])],
    );
    let start = start.first().cloned().unwrap_or_else(|| v.initial.clone());
    root.state_variable(&format!("{}/{NAME}", v.name()), &start).beside(v)
}

fn follow(g: &Scope, average: &Variable, v: &Variable, rest: &Output) -> Operation {
    let g = &g.only_on(&v.handle.op().device());
    let rest = if rest.dtype() == v.dtype() { rest.clone() } else { g.cast(rest, v.dtype()) };
    let away = average.read(g) - v.read(g);
    g.op("AssignSubVariableOp").input(&average.handle).input(away * rest).build()
}
