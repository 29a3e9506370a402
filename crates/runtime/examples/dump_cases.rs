//! Writes every case of every op, as a GraphDef, with the results that a session gives: real TensorFlow checks them
//! (`tests/interop/test_cases.py`). The file is a sequence of records, each a length (u32, little-endian) and a GraphDef: first
//! the case (its op is the node `case`), then our results as constants.

use std::io::Write;
use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::case::{Case, CaseGen};
use thalweg_core::op::{Class, Op};
use thalweg_core::registry::Registry;
use thalweg_core::tensor::Tensor;
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
    let attrs: Attrs =
        [("dtype", Attr::Type(t.dtype())), ("value", Attr::Tensor(t.clone()))].into_iter().collect();
    Ok(graph.add_node(NodeRequest { op: "Const", attrs, ..Default::default() })?.output(0))
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
