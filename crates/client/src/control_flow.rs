//! `cond` and `while_loop`, made of the primitives: Switch, Merge, Enter, Exit, NextIteration.

use crate::output::{Operation, Output};
use crate::scope::Scope;

impl Scope {
    /// The results of `then` if `pred` is true, else those of `otherwise`. Each branch gets a scope whose nodes run only if
    /// the branch is taken, and the `inputs` as seen from inside it; what a branch uses of the outer graph must come through those.
    #[track_caller]
    pub fn cond(
        &self,
        pred: &Output,
        inputs: &[&Output],
        then: impl FnOnce(&Scope, &[Output]) -> Vec<Output>,
        otherwise: impl FnOnce(&Scope, &[Output]) -> Vec<Output>,
    ) -> Vec<Output> {
        let scope = self.name_scope("cond");
        let pivot = scope.op("Switch").input(pred).input(pred).build();
        let switches: Vec<Operation> =
            inputs.iter().map(|x| scope.op("Switch").input(x).input(pred).build()).collect();
        let side = |index: u32, name: &str| {
            let start = scope.op("Identity").name(name).input(&pivot.output(index)).build();
            let args: Vec<Output> = switches.iter().map(|s| s.output(index)).collect();
            (scope.control_dependencies(&[&start]), args)
        };
        let (branch, args) = side(1, "switch_t");
        let taken = then(&branch, &args);
        let (branch, args) = side(0, "switch_f");
        let not_taken = otherwise(&branch, &args);
        let merge = |(f, t): (&Output, &Output)| scope.op("Merge").inputs(&[f, t]).output();
        not_taken.iter().zip(&taken).map(merge).collect()
    }

    /// Runs `body` on the loop variables, then on its own results, while `cond` of them is true; gives the last ones. At most
    /// `parallel_iterations` rounds are under way at once. Both closures get a scope whose nodes run once in every round.
    /// Outer values are brought in with [`Scope::enter`].
    #[track_caller]
    pub fn while_loop(
        &self,
        initial: &[&Output],
        parallel_iterations: i64,
        cond: impl FnOnce(&Loop, &[Output]) -> Output,
        body: impl FnOnce(&Loop, &[Output]) -> Vec<Output>,
    ) -> Vec<Output> {
        // What this scope waits for is outside of the loop: nodes inside wait for nodes of their round.
        let scope = self.name_scope("while").with(|p| p.control.clear());
        let frame = format!("{}frame", scope.place.prefix);
        let outer = Loop { scope: scope.clone(), frame, parallel_iterations };
        let merges: Vec<Output> = initial
            .iter()
            .map(|x| {
                let entered = outer.enter_as(x, false);
                // The second input is replaced by the back edge below.
                scope.op("Merge").inputs(&[&entered, &entered]).output()
            })
            .collect();
        let Some(first) = merges.first() else { return Vec::new() };
        let round = Loop { scope: scope.control_dependencies(&[&first.op()]), ..outer.clone() };
        let pred = cond(&round, &merges);
        let pred = scope.op("LoopCond").input(&pred).output();
        let switches: Vec<Operation> =
            merges.iter().map(|m| scope.op("Switch").input(m).input(&pred).build()).collect();
        let args: Vec<Output> =
            switches.iter().map(|s| scope.op("Identity").input(&s.output(1)).output()).collect();
        let Some(pivot) = args.first() else { return Vec::new() };
        let round = Loop { scope: scope.control_dependencies(&[&pivot.op()]), ..outer };
        let results = body(&round, &args);
        for (m, r) in merges.iter().zip(&results) {
            let next = scope.op("NextIteration").input(r).output();
            if let (Some(m), Some(next)) = (m.id, next.id) {
                let set = self.lock().graph.set_input(m.node, 1, next);
                if let Err(e) = set {
                    self.fail(e, std::panic::Location::caller());
                }
            }
        }
        switches.iter().map(|s| scope.op("Exit").input(&s.output(0)).output()).collect()
    }
}

/// The inside of a loop: a scope for its nodes, and the way in for outer values.
#[derive(Clone)]
pub struct Loop {
    pub scope: Scope,
    frame: String,
    parallel_iterations: i64,
}

impl Loop {
    /// An outer value as every round of the loop sees it.
    #[track_caller]
    pub fn enter(&self, x: &Output) -> Output {
        self.enter_as(x, true)
    }

    #[track_caller]
    fn enter_as(&self, x: &Output, constant: bool) -> Output {
        let outside = self.scope.with(|p| p.control.clear());
        outside
            .op("Enter")
            .input(x)
            .attr("frame_name", self.frame.as_str())
            .attr("is_constant", constant)
            .attr("parallel_iterations", self.parallel_iterations)
            .output()
    }

    /// A constant inside the loop.
    #[track_caller]
    pub fn constant(&self, value: impl crate::IntoTensor) -> Output {
        self.scope.constant(value)
    }
}
