//! The measurements: names, graphs and how they are run.

use super::{Effort, graphs, timing};
use crate::output::{self, Align};
use std::collections::BTreeMap;
use std::time::Instant;
use thalweg_core::error::Result;
use thalweg_core::tensor::Tensor;
use thalweg_graph::Graph;
use thalweg_runtime::trace::NodeTiming;
use thalweg_runtime::{Callable, RunOptions, Session, SessionOptions};

/// Warm-up steps before one is traced.
const WARM_STEPS: usize = 5;

pub struct Item {
    /// The name in the table.
    pub name: String,
    /// The name in the peers' script.
    pub id: String,
    /// Threads of ours and theirs; 0: one per core.
    pub threads: usize,
    pub work: Work,
}

pub enum Work {
    /// A compiled signature, run repeatedly.
    Steps(Box<Steps>),
    /// A chain of so many nodes, built and run once.
    Build(usize),
    /// A training step, run repeatedly.
    Train(Box<Train>),
}

pub struct Train {
    pub graph: Graph,
    /// Node that initialises the variables.
    pub init: String,
    /// Target of one step.
    pub target: String,
    /// Tensors fed in each step.
    pub feeds: Vec<(String, Tensor)>,
}

pub struct Steps {
    pub graph: Graph,
    /// Whether the placeholder `x` is fed.
    pub fed: bool,
    pub fetch: Option<&'static str>,
    pub target: Option<&'static str>,
    pub optimise: bool,
    pub threads: usize,
}

/// Runs for about so many seconds; returns the seconds per run.
pub type Measure = Box<dyn FnMut(f64) -> Result<f64>>;

impl Work {
    pub fn prepare(&self) -> Result<Measure> {
        match self {
            Work::Steps(steps) => steps.prepare(),
            Work::Train(train) => train.prepare(),
            Work::Build(nodes) => {
                let nodes = *nodes;
                Ok(Box::new(move |_| build_and_run(nodes)))
            }
        }
    }
}

impl Steps {
    fn prepare(&self) -> Result<Measure> {
        let options = SessionOptions { optimise: self.optimise, threads: self.threads, ..Default::default() };
        let session = Session::of(&self.graph, options)?;
        let (feeds, values): (&[&str], _) =
            if self.fed { (&["x"], vec![Tensor::scalar(1f32)]) } else { (&[], vec![]) };
        let callable = session.callable_by_name(feeds, self.fetch.as_slice(), self.target.as_slice())?;
        Ok(Box::new(move |seconds| timing::per_run(|| callable.run(values.clone()).map(drop), seconds)))
    }
}

impl Train {
    fn step(&self) -> Result<(Callable, Vec<Tensor>)> {
        let session = Session::of(&self.graph, SessionOptions::default())?;
        session.run(&[], &[], &[&self.init])?;
        let names: Vec<&str> = self.feeds.iter().map(|f| f.0.as_str()).collect();
        let values: Vec<Tensor> = self.feeds.iter().map(|f| f.1.clone()).collect();
        Ok((session.callable_by_name(&names, &[], &[&self.target])?, values))
    }

    fn prepare(&self) -> Result<Measure> {
        let (callable, values) = self.step()?;
        Ok(Box::new(move |seconds| timing::per_run(|| callable.run(values.clone()).map(drop), seconds)))
    }

    /// The time of a step per op, and the slowest nodes.
    pub fn ops(&self) -> Result<String> {
        let (callable, values) = self.step()?;
        for _ in 0..WARM_STEPS {
            callable.run(values.clone())?;
        }
        let options = RunOptions { trace: true, ..Default::default() };
        let timings = callable.run_with(values, &options)?.1.timings.nodes;
        let table = |first: &str, of: &dyn Fn(&NodeTiming) -> String| {
            let mut times: BTreeMap<String, (usize, u64)> = BTreeMap::new();
            for node in &timings {
                let entry = times.entry(of(node)).or_default();
                *entry = (entry.0 + 1, entry.1 + (node.end_nanos - node.start_nanos));
            }
            let mut times: Vec<_> = times.into_iter().collect();
            times.sort_by_key(|(_, (_, nanos))| std::cmp::Reverse(*nanos));
            let mut rows = vec![[first, "runs", "time"].map(String::from).to_vec()];
            for (name, (runs, nanos)) in times.into_iter().take(20) {
                rows.push(vec![name, runs.to_string(), timing::shown(nanos as f64 / 1e9)]);
            }
            output::table(&rows, &[Align::Left, Align::Right, Align::Right], 80)
        };
        let (ops, nodes) = (table("op", &|n| n.op.to_string()), table("node", &|n| n.node.to_string()));
        Ok(format!("{ops}\n{nodes}"))
    }
}

fn build_and_run(nodes: usize) -> Result<f64> {
    let start = Instant::now();
    let graph = graphs::chain(nodes)?;
    let session = Session::of(&graph, SessionOptions::default())?;
    session.run(&[("x", Tensor::scalar(1f32))], &["y"], &[])?;
    Ok(start.elapsed().as_secs_f64())
}

/// The overhead of running a graph beside the arithmetic.
pub fn exec() -> Result<Vec<Item>> {
    let item = |name: &str, id: &str, graph: Graph, fed, fetch, target, optimise| Item {
        name: name.into(),
        id: id.into(),
        threads: 0,
        work: Work::Steps(Box::new(Steps { graph, fed, fetch, target, optimise, threads: 0 })),
    };
    let (chain, fan) = (graphs::chain(1000)?, graphs::fan(1000)?);
    Ok(vec![
        item("fetch one constant", "constant", graphs::one_constant()?, false, Some("c"), None, true),
        item("1,000 adds in a chain, optimiser off", "chain", chain.clone(), true, Some("y"), None, false),
        item("1,000 adds in a chain, optimiser on", "chain-optimised", chain, true, Some("y"), None, true),
        item(
            "1,000 adds side by side, NoOp, optimiser off",
            "fan",
            fan.clone(),
            true,
            None,
            Some("all"),
            false,
        ),
        item("1,000 adds side by side, AddN, optimiser off", "fan-sum", fan, true, Some("sum"), None, false),
        item(
            "loop of 10,000 iterations",
            "loop",
            graphs::counting_loop(10_000)?,
            false,
            Some("i"),
            None,
            true,
        ),
    ])
}

/// Matrix products, with one thread and with two.
pub fn matmul(effort: &Effort) -> Result<Vec<Item>> {
    let squares: &[usize] = if effort.quick { &[64, 256, 512] } else { &[64, 128, 256, 512, 1024, 2048] };
    let mut sizes: Vec<_> = squares.iter().map(|n| (*n, *n, *n)).collect();
    sizes.extend([(128, 784, 512), (20, 400, 800)]);
    let mut items = Vec::new();
    for threads in [1, 2] {
        for (m, k, n) in &sizes {
            let plural = if threads == 1 { "thread" } else { "threads" };
            // Without optimisation: constant folding would remove the product.
            let steps = Steps {
                graph: graphs::product(*m, *k, *n)?,
                fed: false,
                fetch: Some("c"),
                target: None,
                optimise: false,
                threads,
            };
            items.push(Item {
                name: format!("{m}x{k} by {k}x{n}, {threads} {plural}"),
                id: format!("matmul-{m}-{k}-{n}"),
                threads,
                work: Work::Steps(Box::new(steps)),
            });
        }
    }
    Ok(items)
}

pub fn build(effort: &Effort) -> Vec<Item> {
    let sizes: &[usize] = if effort.quick { &[25_000] } else { &[25_000, 50_000, 100_000] };
    let item = |n: &usize| Item {
        name: format!("chain of {} thousand nodes", n / 1000),
        id: format!("build-{n}"),
        threads: 0,
        work: Work::Build(*n),
    };
    sizes.iter().map(item).collect()
}
