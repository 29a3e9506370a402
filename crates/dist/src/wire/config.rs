//! ConfigProto and RunOptions as session options.

use std::collections::BTreeMap;
use std::time::Duration;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_proto::attr_value::Value;
use thalweg_proto::optimizer_options::Level;
use thalweg_proto::rewriter_config::Toggle;
use thalweg_proto::run_options::TraceLevel;
use thalweg_proto::{
    AttrValue, ConfigProto, GraphDef, GraphOptions, OptimizerOptions, RunOptions as RunOptionsProto,
};
use thalweg_runtime::{RunOptions, SessionOptions};

/// The options of a session, from those of the task and its ConfigProto.
pub fn session_options(base: &SessionOptions, config: &ConfigProto) -> Result<SessionOptions> {
    if !config.session_inter_op_thread_pool.is_empty() {
        return Err(invalid!("Distributed session does not support session thread pool options."));
    }
    let mut options = base.clone();
    if let Some(n) = config.device_count.get("CPU").and_then(|n| usize::try_from(*n).ok()) {
        // The stock client always sends the number of its own CPU devices: it can raise ours, not lower it.
        options.cpu_devices = options.cpu_devices.max(n);
    }
    options.soft_placement |= config.allow_soft_placement;
    options.log_device_placement |= config.log_device_placement;
    options.operation_timeout = millis(config.operation_timeout_in_ms).or(options.operation_timeout);
    options.optimise &= config.graph_options.as_ref().is_none_or(optimises);
    Ok(options)
}

/// Whether a session has containers of its own. A session that brings its cluster always has, unless its client asks to share: task names
/// of another client's cluster mean nothing in it.
pub fn isolates_state(config: &ConfigProto) -> bool {
    let brings_cluster = config.cluster_def.as_ref().is_some_and(|c| !c.job.is_empty());
    let shares =
        config.experimental.as_ref().is_some_and(|e| e.share_session_state_in_clusterspec_propagation);
    config.isolate_session_state || brings_cluster && !shares
}

/// The options that a client set and that have no effect here, to be logged.
pub fn ignored(config: &ConfigProto) -> Vec<&'static str> {
    let graph = config.graph_options.as_ref();
    let optimizer = graph.and_then(|g| g.optimizer_options.as_ref());
    let compiles = |o: &OptimizerOptions| o.cpu_global_jit || o.global_jit_level > 0;
    let all = [
        ("graph_options.enable_bfloat16_sendrecv", graph.is_some_and(|g| g.enable_bfloat16_sendrecv)),
        ("graph_options.optimizer_options.global_jit_level", optimizer.is_some_and(compiles)),
        ("graph_options.place_pruned_graph", graph.is_some_and(|g| g.place_pruned_graph)),
        ("graph_options.timeline_step", graph.is_some_and(|g| g.timeline_step != 0)),
        // Threads are the server's: its --threads says how many.
        ("inter_op_parallelism_threads", config.inter_op_parallelism_threads != 0),
        ("intra_op_parallelism_threads", config.intra_op_parallelism_threads != 0),
        ("use_per_session_threads", config.use_per_session_threads),
    ];
    all.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
}

/// Attrs of nodes and functions that ask for XLA: of `jit_compile` and of `jit_scope`.
const XLA_ATTRS: [&str; 2] = ["_XlaMustCompile", "_XlaCompile"];

/// Whether something in a graph is to be compiled by XLA. It is run as the rest.
pub fn asks_for_xla(graph: &GraphDef) -> bool {
    let asks = |attrs: &BTreeMap<String, AttrValue>| {
        let set =
            |name: &&str| matches!(attrs.get(*name).and_then(|a| a.value.as_ref()), Some(Value::B(true)));
        XLA_ATTRS.iter().any(set)
    };
    let functions = graph.library.iter().flat_map(|library| &library.function);
    let mut inside = functions.clone().flat_map(|f| &f.node_def).chain(&graph.node);
    functions.map(|f| &f.attr).any(asks) || inside.any(|node| asks(&node.attr))
}

pub fn optimises(graph: &GraphOptions) -> bool {
    let level_off = graph.optimizer_options.as_ref().is_some_and(|o| o.opt_level == Level::L0 as i32);
    let rewrites_off = graph
        .rewrite_options
        .as_ref()
        .is_some_and(|r| r.disable_meta_optimizer || r.constant_folding == Toggle::Off as i32);
    !level_off && !rewrites_off
}

/// The options of a run.
pub fn run_options(options: Option<&RunOptionsProto>) -> RunOptions {
    let Some(options) = options else { return RunOptions::default() };
    RunOptions {
        timeout: millis(options.timeout_in_ms),
        trace: options.trace_level != TraceLevel::NoTrace as i32,
        ..Default::default()
    }
}

fn millis(n: i64) -> Option<Duration> {
    u64::try_from(n).ok().filter(|n| *n > 0).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::{FunctionDef, FunctionDefLibrary, NodeDef, RewriterConfig, ThreadPoolOptionProto};

    fn options(config: ConfigProto) -> Result<SessionOptions> {
        session_options(&SessionOptions::default(), &config)
    }

    #[test]
    fn what_clients_choose_is_taken_over() {
        let config = ConfigProto {
            device_count: [("CPU".to_string(), 3), ("GPU".to_string(), 0)].into(),
            allow_soft_placement: true,
            log_device_placement: true,
            operation_timeout_in_ms: 1500,
            ..Default::default()
        };
        let o = options(config).unwrap();
        assert_eq!((o.cpu_devices, o.soft_placement, o.log_device_placement), (3, true, true));
        assert_eq!(o.operation_timeout, Some(Duration::from_millis(1500)));
        assert!(o.optimise);
    }

    #[test]
    fn optimising_can_be_switched_off_in_three_ways() {
        let level = OptimizerOptions { opt_level: -1, ..Default::default() };
        let meta = RewriterConfig { disable_meta_optimizer: true, ..Default::default() };
        let folding = RewriterConfig { constant_folding: 2, ..Default::default() };
        for graph_options in [
            GraphOptions { optimizer_options: Some(level), ..Default::default() },
            GraphOptions { rewrite_options: Some(meta), ..Default::default() },
            GraphOptions { rewrite_options: Some(folding), ..Default::default() },
        ] {
            let config = ConfigProto { graph_options: Some(graph_options), ..Default::default() };
            assert!(!options(config).unwrap().optimise);
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let pools = vec![ThreadPoolOptionProto::default()];
        let config = ConfigProto { session_inter_op_thread_pool: pools, ..Default::default() };
        assert!(options(config).err().unwrap().message().contains("thread pool options"));
    }

    #[test]
    fn what_has_no_effect_is_named() {
        let jit = OptimizerOptions { global_jit_level: 1, ..Default::default() };
        let graph_options = GraphOptions {
            enable_bfloat16_sendrecv: true,
            place_pruned_graph: true,
            optimizer_options: Some(jit),
            ..Default::default()
        };
        let config = ConfigProto {
            graph_options: Some(graph_options),
            intra_op_parallelism_threads: 2,
            ..Default::default()
        };
        assert_eq!(ignored(&config).len(), 4);
        assert!(ignored(&ConfigProto::default()).is_empty());
    }

    #[test]
    fn what_is_to_be_compiled_by_xla_is_noticed() {
        let set = |on| BTreeMap::from([("_XlaMustCompile".into(), AttrValue { value: Some(Value::B(on)) })]);
        let node = |attr| NodeDef { attr, ..Default::default() };
        let function = |attr, node_def| FunctionDef { attr, node_def, ..Default::default() };
        let library = |f| Some(FunctionDefLibrary { function: vec![f], ..Default::default() });
        let none = BTreeMap::new();
        for (library, nodes, asks) in [
            (None, vec![node(none.clone())], false),
            (None, vec![node(set(false)), node(none.clone())], false),
            (None, vec![node(none.clone()), node(set(true))], true),
            (library(function(set(true), vec![])), vec![], true),
            (library(function(none.clone(), vec![node(set(true))])), vec![], true),
            (library(function(none.clone(), vec![node(none)])), vec![], false),
        ] {
            assert_eq!(asks_for_xla(&GraphDef { library, node: nodes, ..Default::default() }), asks);
        }
    }

    #[test]
    fn what_is_not_chosen_stays() {
        let config = ConfigProto { graph_options: Some(GraphOptions::default()), ..Default::default() };
        let base = SessionOptions { cpu_devices: 4, operation_timeout: millis(7), ..Default::default() };
        for config in [config, ConfigProto::default()] {
            let o = session_options(&base, &config).unwrap();
            assert_eq!((o.cpu_devices, o.optimise, o.operation_timeout), (4, true, millis(7)));
            assert!(!o.soft_placement && !o.log_device_placement);
        }
        let level = OptimizerOptions { opt_level: 1, ..Default::default() };
        let folding = RewriterConfig { constant_folding: 1, ..Default::default() };
        assert!(optimises(&GraphOptions {
            optimizer_options: Some(level),
            rewrite_options: Some(folding),
            ..Default::default()
        }));
    }

    #[test]
    fn a_run_has_the_time_and_the_trace_that_it_asks_for() {
        for (timeout_in_ms, trace_level, timeout, trace) in
            [(0, 0, None, false), (-1, 1, None, true), (1, 3, Some(Duration::from_millis(1)), true)]
        {
            let asked = RunOptionsProto { timeout_in_ms, trace_level, ..Default::default() };
            let options = run_options(Some(&asked));
            assert_eq!((options.timeout, options.trace), (timeout, trace));
        }
        assert!(run_options(None).timeout.is_none());
    }
}
