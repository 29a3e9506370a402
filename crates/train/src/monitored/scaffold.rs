//! `Scaffold`: the nodes that a monitored session needs beside the model.

use crate::saver::Saver;
use crate::{get_or_create_global_step, tables_initializer};
use thalweg_client::{Operation, Result, Scope, Variable, keys};

/// What initialises, saves and restores a graph.
pub struct Scaffold {
    /// Initialises the variables that checkpoints hold.
    pub init: Operation,
    /// Sets what no checkpoint holds: counts of metrics, tables, iterators.
    pub local_init: Operation,
    pub saver: Saver,
    pub global_step: Variable,
}

impl Scaffold {
    /// The graph must be complete. Variables in the collection `LOCAL_VARIABLES` are not saved.
    #[track_caller]
    pub fn new(g: &Scope, keep_checkpoints: usize) -> Result<Scaffold> {
        let global_step = get_or_create_global_step(g);
        let local: Vec<String> = g.collection(keys::LOCAL_VARIABLES).iter().map(|o| o.op().name()).collect();
        let (own, saved): (Vec<Variable>, Vec<Variable>) =
            g.global_variables().into_iter().partition(|v| local.contains(&v.name()));
        let root = g.root();
        let all = |variables: &[Variable], more: &[&Operation]| {
            let inits = variables.iter().map(|v| &v.init).chain(more.iter().copied());
            root.control_dependencies(&inits.collect::<Vec<_>>())
        };
        let init = all(&saved, &[]).op("NoOp").name("init").build();
        let tables = tables_initializer(&root);
        let local_init = all(&own, &[&tables]).op("NoOp").name("local_init").build();
        let saver = Saver::of(g, saved.into_iter().map(|v| (v.name(), v)).collect());
        g.check()?;
        Ok(Scaffold { init, local_init, saver: saver.max_to_keep(keep_checkpoints), global_step })
    }
}
