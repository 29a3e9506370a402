//! Writes every case of every op, as a GraphDef, with the results that a session gives: real TensorFlow checks them
//! (`tests/interop/test_cases.py`). The file is a sequence of records, each a length (u32, little-endian) and a GraphDef: first
//! the case (its op is the node `case`), then our results as constants, then gradients as constants, none for ops that have none: the
//! weights `seed_N` of each output N that has one, and what comes of them for each input `gradient_N`, or `no_gradient_N`.

use std::io::Write;
use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::case::{Case, CaseGen};
use thalweg_core::dtype::DataType;
use thalweg_core::op::{Class, Gradient, Op};
use thalweg_core::registry::Registry;
use thalweg_core::tensor::Tensor;
use thalweg_graph::gradients;
use thalweg_graph::{Arg, Graph, NodeRequest, Output};
use thalweg_proto::{GraphDef, Message};
use thalweg_runtime::{Session, SessionOptions};

type Problem = Box<dyn std::error::Error>;

fn main() -> Result<(), Problem> {
    let path = std::env::args().nth(1).ok_or("usage: dump_cases FILE")?;
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    let registry = Arc::new(thalweg_ops::registry());
    for op in registry.all() {
        // Ops with state and control flow are compared by whole programs instead.
        if op.stateful || op.class != Class::Plain {
            continue;
        }
        for case in (op.cases)(&mut CaseGen::new(7)) {
            let graph = case_graph(&registry, op, &case).map_err(|e| format!("{}: {e}", op.name))?;
            let results = run(&graph).map_err(|e| format!("{}: {e}", op.name))?;
            if results.iter().all(|t| t.dtype().is_plain() || t.strings().is_ok()) {
                record(&mut out, &graph.to_def(Default::default())?)?;
                record(&mut out, &constants(&registry, &results)?.to_def(Default::default())?)?;
                let found = gradients_of(&registry, op, &graph, &case, &results);
                let found = found.map_err(|e| format!("gradient of {}: {e}", op.name))?;
                record(&mut out, &found.to_def(Default::default())?)?;
            }
        }
    }
    Ok(())
}

fn record(out: &mut impl Write, def: &GraphDef) -> Result<(), Problem> {
    let bytes = def.encode_to_vec();
    out.write_all(&(bytes.len() as u32).to_le_bytes())?;
    out.write_all(&bytes)?;
    Ok(())
}

fn constant(graph: &mut Graph, t: &Tensor) -> Result<Output, Problem> {
    named(graph, "Const", t)
}

fn named(graph: &mut Graph, name: &str, t: &Tensor) -> Result<Output, Problem> {
    let attrs: Attrs =
        [("dtype", Attr::Type(t.dtype())), ("value", Attr::Tensor(t.clone()))].into_iter().collect();
    Ok(graph.add_node(NodeRequest { op: "Const", name, attrs, ..Default::default() })?.output(0))
}

fn constants(registry: &Arc<Registry>, values: &[Tensor]) -> Result<Graph, Problem> {
    let mut graph = Graph::new(registry.clone());
    for v in values {
        constant(&mut graph, v)?;
    }
    Ok(graph)
}

fn case_graph(registry: &Arc<Registry>, op: &'static Op, case: &Case) -> Result<Graph, Problem> {
    let mut graph = Graph::new(registry.clone());
    let inputs: Vec<Output> =
        case.inputs.iter().map(|t| constant(&mut graph, t)).collect::<Result<_, _>>()?;
    let attrs: Attrs = case.attrs.iter().cloned().collect();
    let node = thalweg_core::direct::node_for(registry, op, &case.inputs, attrs.clone())?;
    let signature = registry.signature(op)?;
    let args = signature.inputs.iter().zip(&node.args).map(|(spec, range)| {
        let list = spec.number.is_some() || matches!(spec.ty, thalweg_core::signature::ArgType::List(_));
        if list { Arg::List(inputs[range.clone()].to_vec()) } else { Arg::One(inputs[range.start]) }
    });
    let args = args.collect();
    graph.add_node(NodeRequest { op: op.name, name: "case", args, attrs, ..Default::default() })?;
    Ok(graph)
}

fn run(graph: &Graph) -> Result<Vec<Tensor>, Problem> {
    let session = Session::of(graph, SessionOptions { threads: 2, ..Default::default() })?;
    let outputs = graph.node(graph.get("case")?).outputs.len();
    let names: Vec<String> = (0..outputs).map(|i| format!("case:{i}")).collect();
    Ok(session.run(&[], &names.iter().map(String::as_str).collect::<Vec<_>>(), &[])?)
}

/// Ops whose rule is an error by design.
const REFUSES: &[&str] = &["PreventGradient"];

/// The gradients of the weighted sum of the outputs with respect to each input.
fn gradients_of(
    registry: &Arc<Registry>,
    op: &'static Op,
    case: &Graph,
    given: &Case,
    results: &[Tensor],
) -> Result<Graph, Problem> {
    let mut found = Graph::new(registry.clone());
    if !matches!(op.grad, Gradient::Rule(_)) || REFUSES.contains(&op.name) {
        return Ok(found);
    }
    let mut graph = case.clone();
    let node = graph.get("case")?;
    let mut random = CaseGen::new(5);
    let (mut ys, mut seeds) = (Vec::new(), Vec::new());
    for (i, y) in results.iter().enumerate().filter(|(_, y)| flows(y.dtype())) {
        let weights = weights(&mut random, y)?;
        seeds.push(constant(&mut graph, &weights)?);
        named(&mut found, &format!("seed_{i}"), &weights)?;
        ys.push(node.output(i as u32));
    }
    let differentiable = |(i, t): (usize, &Tensor)| flows(t.dtype()).then_some(i);
    let inputs: Vec<usize> = given.inputs.iter().enumerate().filter_map(differentiable).collect();
    let xs: Vec<Output> = inputs.iter().map(|i| graph.node(node).inputs[*i]).collect();
    if ys.is_empty() || xs.is_empty() {
        return Ok(Graph::new(registry.clone()));
    }
    let options = gradients::Options { grad_ys: &seeds, ..Default::default() };
    let grads = gradients::gradients(&mut graph, &ys, &xs, &options)?;
    let mut wanted = Vec::new();
    for (i, g) in inputs.iter().zip(grads) {
        let dense = gradients::to_dense(&mut graph, g)?;
        wanted.push((*i, dense.map(|o| graph.tensor_name(o))));
    }
    let session = Session::of(&graph, SessionOptions { threads: 2, ..Default::default() })?;
    for (i, name) in wanted {
        match name {
            Some(name) => {
                let value = session.run(&[], &[&name], &[])?.remove(0);
                named(&mut found, &format!("gradient_{i}"), &value)?;
            }
            None => {
                named(&mut found, &format!("no_gradient_{i}"), &Tensor::scalar(0f32))?;
            }
        }
    }
    Ok(found)
}

/// Types that carry gradients and that the comparison can weigh.
fn flows(t: DataType) -> bool {
    matches!(t, DataType::Float | DataType::Double | DataType::Complex64 | DataType::Complex128)
}

/// Numbers like `y`, none of them large.
fn weights(random: &mut CaseGen, y: &Tensor) -> Result<Tensor, Problem> {
    let mut number = || random.unit() * 2.0 - 1.0;
    let bytes: Vec<u8> = match y.dtype() {
        DataType::Float | DataType::Complex64 => {
            let count = y.elements() * (y.dtype().size() / 4);
            (0..count).flat_map(|_| (number() as f32).to_ne_bytes()).collect()
        }
        _ => (0..y.elements() * (y.dtype().size() / 8)).flat_map(|_| number().to_ne_bytes()).collect(),
    };
    Ok(Tensor::from_bytes(y.dtype(), y.shape().clone(), &bytes)?)
}
