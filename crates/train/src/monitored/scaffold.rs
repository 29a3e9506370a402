//! `Scaffold`: the nodes that a monitored session needs beside the model.

use crate::saver::{Keep, Saver, saved_variables};
use crate::{get_or_create_global_step, tables_initializer};
use thalweg_client::{Operation, Output, Result, Scope, Session, Variable};

/// What initialises, saves and restores a graph.
pub struct Scaffold {
    /// Initialises the variables that checkpoints hold.
    pub init: Operation,
    /// Initialises what no checkpoint holds: counts of metrics, tables, iterators.
    pub local_init: Operation,
    /// Of the variables that checkpoints hold.
    pub saver: Saver,
    /// Created if the graph has none.
    pub global_step: Variable,
    /// Which of the variables that checkpoints hold are initialised.
    initialized: Output,
    names: Vec<String>,
}

impl Scaffold {
    /// The graph must be complete. Variables in the collection `LOCAL_VARIABLES` are not saved.
    #[track_caller]
    pub fn new(g: &Scope, keep: Keep) -> Result<Scaffold> {
        let global_step = get_or_create_global_step(g);
        let saved = saved_variables(g);
        let names: Vec<String> = saved.iter().map(Variable::name).collect();
        let own: Vec<Variable> =
            g.global_variables().into_iter().filter(|v| !names.contains(&v.name())).collect();
        let root = g.root();
        let all = |variables: &[Variable], more: &[&Operation]| {
            let inits = variables.iter().map(|v| &v.init).chain(more.iter().copied());
            root.control_dependencies(&inits.collect::<Vec<_>>())
        };
        let init = all(&saved, &[]).op("NoOp").name("init").build();
        let tables = tables_initializer(&root);
        let local_init = all(&own, &[&tables]).op("NoOp").name("local_init").build();
        let initialized = initialized(&root, &saved);
        let saver = Saver::of(g, saved.into_iter().map(|v| (v.saved_name(), v)).collect());
        g.check()?;
        let saver = saver.keep(keep);
        Ok(Scaffold { init, local_init, saver, global_step, initialized, names })
    }

    /// Names of the variables that have no value yet.
    pub fn uninitialized(&self, session: &Session) -> Result<Vec<String>> {
        let found = session.run(&self.initialized, &[])?;
        let missing = self.names.iter().zip(found.as_slice::<bool>()?).filter(|(_, there)| !**there);
        Ok(missing.map(|(name, _)| name.clone()).collect())
    }
}

#[track_caller]
fn initialized(root: &Scope, variables: &[Variable]) -> Output {
    let scope = root.name_scope("report_uninitialized_variables");
    let is = |v: &Variable| scope.op("VarIsInitializedOp").input(&v.handle).output();
    let all: Vec<Output> = variables.iter().map(is).collect();
    scope.op("Pack").inputs(&all).output()
}
