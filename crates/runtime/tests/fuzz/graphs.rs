//! Random graphs from the op table, then mutated: every accepted graph runs to an end.

use crate::calls::LIMIT;
use crate::common::{self, Example, assert_none, examples, from_env, options, registry};
use crate::mutate::{any_tensor, break_graph, broken_bytes};
use crate::watch::Watch;
use std::collections::HashSet;
use std::time::Duration;
use thalweg_core::case::CaseGen;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Code, Error, Result};
use thalweg_core::op::Class;
use thalweg_core::tensor::Tensor;
use thalweg_graph::{ExportOptions, Graph, NodeSpec, Output};
use thalweg_proto::{Bytes, GraphDef, Message, decode, text};
use thalweg_runtime::{RunOptions, Session};

/// Loops, branches, functions, variables and queues, which the op table's cases lack.
const SEEDS: &[&str] = &[
    include_str!("seeds/loop.pbtxt"),
    include_str!("seeds/functions.pbtxt"),
    include_str!("seeds/state.pbtxt"),
];

/// Nodes of cases, connected wherever the types allow.
fn random_graph(all: &[Example], r: &mut CaseGen) -> Graph {
    let mut g = Graph::new(registry().clone());
    let mut outputs: Vec<Output> = Vec::new();
    for _ in 0..2 + r.below(8) {
        let example = &all[r.below(all.len())];
        let Ok(node) = example.node() else { continue };
        let inputs: Result<Vec<Output>> = example
            .inputs
            .iter()
            .map(|t| {
                let fits: Vec<Output> =
                    outputs.iter().copied().filter(|o| g.dtype(*o) == t.dtype()).collect();
                match r.below(4) {
                    0 | 1 if !fits.is_empty() => Ok(fits[r.below(fits.len())]),
                    2 => common::placeholder(&mut g, t.dtype(), t.shape().into()),
                    _ => common::constant(&mut g, t.clone()),
                }
            })
            .collect();
        let Ok(inputs) = inputs else { continue };
        // Shapes need not match: shape inference does not reject imported nodes, so the kernel must validate.
        let name = g.unique_name(example.op.name);
        let spec = NodeSpec {
            name: name.clone(),
            op: example.op.name.into(),
            inputs: inputs.iter().map(|o| g.tensor_name(*o)).collect(),
            attrs: node.attrs.clone(),
            ..Default::default()
        };
        if g.add_specs(vec![spec], true).is_ok()
            && let Some(id) = g.find(&name)
        {
            outputs.extend((0..g.node(id).outputs.len() as u32).map(|i| id.output(i)));
        }
    }
    g
}

/// Runs a graph with these options.
fn run(def: &GraphDef, optimise: bool, seed: u64) -> Result<Vec<Tensor>> {
    let s = Session::new(registry().clone(), options(optimise, 1 + (seed % 2) as usize))?;
    s.extend_with(|g| g.import(def))?;
    let mut r = CaseGen::new(seed);
    let (feeds, fetches, targets) = s.with_graph(|g| {
        let mut feeds: Vec<(Output, Tensor)> = Vec::new();
        let mut fetches = Vec::new();
        for id in g.ids() {
            let node = g.node(id);
            if node.op.class == Class::Placeholder {
                feeds.extend(
                    node.outputs.first().map(|p| (id.output(0), feed_for(g, id.output(0), p.dtype, &mut r))),
                );
            }
            fetches.extend((0..node.outputs.len() as u32).map(|i| id.output(i)).filter(|_| r.below(3) == 0));
        }
        let targets: Vec<_> = g.ids().filter(|_| r.below(4) == 0).collect();
        (feeds, fetches, targets)
    });
    let names: Vec<Output> = feeds.iter().map(|f| f.0).collect();
    let values: Vec<Tensor> = feeds.into_iter().map(|f| f.1).collect();
    let limit = RunOptions { timeout: Some(Duration::from_millis(150)), ..Default::default() };
    Ok(s.callable(&names, &fetches, &targets)?.run_with(values, &limit)?.0)
}

/// Mostly of the declared shape.
fn feed_for(g: &Graph, o: Output, dtype: DataType, r: &mut CaseGen) -> Tensor {
    let promised = g.shape(o).to_shape().filter(|s| s.elements() < 1000 && r.below(10) > 0);
    match promised {
        Some(shape) => Tensor::zeros(dtype, shape).unwrap_or_else(|_| any_tensor(dtype, r)),
        None => any_tensor(dtype, r),
    }
}

fn stateless(def: &GraphDef) -> bool {
    let plain = |op: &str| {
        registry().get(op).is_some_and(|op| {
            !op.stateful && op.class == Class::Plain
                || op.class == Class::Constant
                || op.class == Class::Placeholder
        })
    };
    def.node.iter().all(|n| plain(&n.op)) && def.library.as_ref().is_none_or(|l| l.function.is_empty())
}

/// Whether results agree with and without optimising, except timeouts and pruned nodes.
fn agree(def: &GraphDef, on: &Result<Vec<Tensor>>, off: &Result<Vec<Tensor>>) -> bool {
    let late = |r: &Result<Vec<Tensor>>| r.as_ref().is_err_and(|e| e.code() == Code::DeadlineExceeded);
    match (on, off) {
        _ if late(on) || late(off) => true,
        (Ok(a), Ok(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_bits(b) || !a.dtype().is_plain())
        }
        (Err(_), Err(_)) => true,
        (Ok(_), Err(e)) => may_be_left_out(def, e),
        _ => false,
    }
}

/// The results that differ, and the first few of their bytes.
fn differing(on: &Result<Vec<Tensor>>, off: &Result<Vec<Tensor>>) -> String {
    let (Ok(on), Ok(off)) = (on, off) else { return String::new() };
    let mut all = String::new();
    for (i, (a, b)) in on.iter().zip(off).enumerate().filter(|(_, (a, b))| !a.same_bits(b)) {
        let (a, b) = (a.bytes().unwrap_or_default(), b.bytes().unwrap_or_default());
        let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(0) & !7;
        let from = |bytes: &[u8]| bytes.get(at..).map(|b| b[..b.len().min(16)].to_vec());
        all += &format!("; result {i} from byte {at}: {:?} and {:?}", from(a), from(b));
    }
    all
}

/// Whether only control edges, or only the shape, of the failed node or of its users are needed: the optimiser removes unused nodes, as
/// TensorFlow's does, and their errors with them.
fn may_be_left_out(def: &GraphDef, e: &Error) -> bool {
    let asks_for_shape = |op: &str| registry().find(op).is_ok_and(|op| op.fills || op.shape_value.is_some());
    let (mut next, mut seen) = (vec![e.node().unwrap_or_default()], HashSet::new());
    while let Some(name) = next.pop() {
        for node in &def.node {
            let takes = node.input.iter().any(|input| input.split(':').next() == Some(name));
            let waits = node.input.iter().any(|input| input.strip_prefix('^') == Some(name));
            if waits || (takes && asks_for_shape(&node.op)) {
                return true;
            }
            if takes && seen.insert(&node.name) {
                next.push(&node.name);
            }
        }
    }
    false
}

#[test]
fn graphs_at_random() {
    thalweg_core::buffer::set_limit(LIMIT);
    let watch = Watch::new();
    let all: Vec<Example> = examples().into_iter().filter(|e| e.op.class == Class::Plain).collect();
    let seeds: Vec<GraphDef> = SEEDS.iter().map(|s| text::parse_graph_def(s).unwrap()).collect();
    for seed in &seeds {
        Graph::from_def(registry().clone(), seed).unwrap();
    }
    let first = from_env("THALWEG_FUZZ_SEED", 1) as u64;
    let count = from_env("THALWEG_FUZZ_CASES", 3000) as u64;
    let (mut failures, mut accepted, mut ran) = (Vec::new(), 0, 0);
    for number in first..first + count {
        let mut r = CaseGen::new(number);
        let mut def = match r.below(4) {
            0 => seeds[r.below(seeds.len())].clone(),
            _ => random_graph(&all, &mut r)
                .to_def(ExportOptions { strip_defaults: r.below(2) == 0, ..Default::default() })
                .unwrap(),
        };
        for _ in 0..r.below(4) {
            break_graph(&mut def, &mut r);
        }
        if r.below(5) == 0 {
            let bytes = broken_bytes(&def, &mut r);
            match watch.run(|| format!("bytes of graph {number}"), || decode::<GraphDef>(Bytes::from(bytes)))
            {
                Ok(Ok(broken)) => def = broken,
                Ok(Err(_)) => continue,
                Err(panic) => {
                    failures.push(panic);
                    continue;
                }
            }
        }
        let results = [true, false].map(|optimise| {
            watch.run(|| format!("graph {number}, optimise {optimise}"), || run(&def, optimise, number))
        });
        let importable =
            watch.run(|| format!("graph {number}"), || Graph::from_def(registry().clone(), &def).is_ok());
        accepted += usize::from(importable == Ok(true));
        match results {
            [Ok(on), Ok(off)] => {
                ran += usize::from(on.is_ok());
                if stateless(&def) && !agree(&def, &on, &off) {
                    let text = text::print_graph_def(&def);
                    let which = differing(&on, &off);
                    failures.push(format!("graph {number}: optimised {on:?}, not {off:?}{which}\n{text}"));
                }
                for e in [on, off].into_iter().filter_map(Result::err).filter(|e| e.code() == Code::Internal)
                {
                    failures.push(format!("graph {number}: {e}"));
                }
            }
            other => failures.extend(other.into_iter().filter_map(|r| r.err())),
        }
    }
    println!("{count} graphs, {accepted} accepted, {ran} ran to a result");
    assert!(count < 1000 || ran > count as usize / 20, "too few of the graphs are any good");
    // A single graph is printed whole.
    let length = if count == 1 { usize::MAX } else { 1500 };
    let short = failures.into_iter().map(|f: String| f.chars().take(length).collect()).collect();
    assert_none("graphs were not answered", short);
}

/// Encoding and decoding a graph changes nothing.
#[test]
fn graphs_read_back_as_they_were() {
    let all: Vec<Example> = examples().into_iter().filter(|e| e.op.class == Class::Plain).collect();
    for number in 0..200 {
        let def = random_graph(&all, &mut CaseGen::new(number)).to_def(ExportOptions::default()).unwrap();
        let again = decode::<GraphDef>(def.encode_to_vec()).unwrap();
        assert_eq!(def, again);
        let g = Graph::from_def(registry().clone(), &again).unwrap();
        assert_eq!(def, g.to_def(ExportOptions::default()).unwrap(), "graph {number}");
    }
}
