//! `cond` and `while_loop`, made of the primitives: Switch, Merge, Enter, Exit, NextIteration.

use crate::context::{Context, Kind};
use crate::output::{Operation, Output};
use crate::outputs::Outputs;
use crate::scope::Scope;
use std::panic::Location;
use thalweg_core::error::Error;
use thalweg_core::invalid;

impl Scope {
    /// The results of `then` if `pred` is true, else those of `otherwise`. Each branch gets a scope whose nodes run only if
    /// the branch is taken; it may use any outer value. The `inputs` are passed to both branches.
    #[track_caller]
    pub fn cond<T: Into<Vec<Output>>, F: Into<Vec<Output>>>(
        &self,
        pred: &Output,
        inputs: &[&Output],
        then: impl FnOnce(&Scope, &[Output]) -> T,
        otherwise: impl FnOnce(&Scope, &[Output]) -> F,
    ) -> Outputs {
        let scope = self.name_scope("cond");
        let pivot = scope.op("Switch").input(pred).input(pred).build();
        let pred = scope.op("Identity").name("pred_id").input(pred).output();
        let Some(pred_id) = pred.id else { return Outputs::new(self, Vec::new()) };
        let branch = |side: u32, name: &str| {
            let start = scope.op("Identity").name(name).input(pivot.output(side)).build();
            let context = Context::inside(&scope, Kind::Branch { pred: pred_id, side }, start.id);
            scope.with(|p| {
                p.context = Some(context);
                p.control.clear();
            })
        };
        let run = |branch: &Scope, build: &mut dyn FnMut(&Scope, &[Output]) -> Vec<Output>| {
            let args: Vec<Output> = inputs.iter().map(|x| branch.identity_of(x)).collect();
            let results = build(branch, &args);
            // A result may be an outer value.
            results.iter().map(|r| branch.identity_of(r)).collect::<Vec<_>>()
        };
        let (mut then, mut otherwise) = (Some(then), Some(otherwise));
        let taken =
            run(&branch(1, "switch_t"), &mut |g, v| then.take().map_or(Vec::new(), |f| f(g, v).into()));
        let not_taken =
            run(&branch(0, "switch_f"), &mut |g, v| otherwise.take().map_or(Vec::new(), |f| f(g, v).into()));
        if taken.len() != not_taken.len() {
            self.fail(different("branches of a cond", not_taken.len(), taken.len()), Location::caller());
        }
        let merge =
            |(f, t): (&Output, &Output)| scope.op("Merge").inputs(&[&scope.own(f), &scope.own(t)]).output();
        Outputs::new(self, not_taken.iter().zip(&taken).map(merge).collect())
    }

    /// The output as a value of this scope's branch.
    fn identity_of(&self, o: &Output) -> Output {
        match self.capture(o) {
            Ok(id) => Output { scope: self.clone(), id: Some(id) },
            Err(e) => {
                self.fail(e, Location::caller());
                Output { scope: self.clone(), id: None }
            }
        }
    }

    /// Runs `body` on the loop variables while `cond` of them is true; returns their final values. At most
    /// `parallel_iterations` iterations run at once. Both closures get a scope whose nodes run once per iteration, and
    /// may use any outer value.
    ///
    /// ```
    /// use thalweg_client::{Scope, Session};
    ///
    /// let g = Scope::new();
    /// let (i, product) = (g.constant(1), g.constant(1));
    /// let last = g.while_loop(
    ///     &[&i, &product],
    ///     10,
    ///     |g, v| g.less_equal(&v[0], g.constant(5)),
    ///     |_, v| vec![&v[0] + 1, &v[1] * &v[0]],
    /// );
    /// assert_eq!(Session::new(&g)?.run(&last[1], &[])?.to_scalar::<i32>()?, 120);
    /// # Ok::<(), thalweg_client::Error>(())
    /// ```
    #[track_caller]
    pub fn while_loop<R: Into<Vec<Output>>>(
        &self,
        initial: &[&Output],
        parallel_iterations: i64,
        cond: impl FnOnce(&Scope, &[Output]) -> Output,
        body: impl FnOnce(&Scope, &[Output]) -> R,
    ) -> Outputs {
        let outside = self.name_scope("while").with(|p| p.control.clear());
        let frame = format!("{}while_context", outside.defaults.prefix);
        let kind = Kind::Loop { frame: frame.clone(), parallel_iterations };
        let context = Context::inside(&outside, kind, None);
        let inside = outside.with(|p| p.context = Some(context.clone()));
        let iteration = |pivot: &Output| {
            let context = context.with_pivot(pivot.op().id);
            outside.with(|p| p.context = Some(context))
        };
        let merge = |x: &&Output| {
            let enter = outside
                .op("Enter")
                .input(*x)
                .attr("frame_name", frame.as_str())
                .attr("parallel_iterations", parallel_iterations)
                .output();
            let enter = inside.own(&enter);
            // The second input is replaced by the back edge below.
            inside.op("Merge").inputs(&[&enter, &enter]).output()
        };
        let merges: Vec<Output> = initial.iter().map(merge).collect();
        let Some(first) = merges.first() else {
            self.fail(invalid!("a loop needs at least one loop variable"), Location::caller());
            return Outputs::new(self, Vec::new());
        };
        let at = iteration(first);
        let pred = cond(&at, &merges.iter().map(|m| at.own(m)).collect::<Vec<_>>());
        let pred = inside.op("LoopCond").input(&pred).output();
        let switches: Vec<Operation> =
            merges.iter().map(|m| inside.op("Switch").input(m).input(&pred).build()).collect();
        let args: Vec<Output> =
            switches.iter().map(|s| inside.op("Identity").input(s.output(1)).output()).collect();
        let Some(pivot) = args.first() else { return Outputs::new(self, Vec::new()) };
        let at = iteration(pivot);
        let results: Vec<Output> = body(&at, &args.iter().map(|a| at.own(a)).collect::<Vec<_>>()).into();
        if results.len() != merges.len() {
            self.fail(different("loop variables", merges.len(), results.len()), Location::caller());
        }
        for (m, r) in merges.iter().zip(&results) {
            let next = inside.op("NextIteration").input(r).output();
            if let (Some(m), Some(next)) = (m.id, next.id) {
                let set = self.lock().graph.set_input(m.node, 1, next);
                if let Err(e) = set {
                    self.fail(e, Location::caller());
                }
            }
        }
        let exit = |s: &Operation| outside.own(&inside.op("Exit").input(s.output(0)).output());
        Outputs::new(self, switches.iter().map(exit).collect())
    }
}

fn different(what: &str, one: usize, other: usize) -> Error {
    invalid!("the {what} must be as many before and after, got {one} and {other}")
}
