//! Gradients of a graph that TensorFlow wrote: `differentiate GRAPH ORDER OUT` prints the derivative of that order of the sum of its node
//! `y` with respect to its node `x`, and writes the graph with it, as node `result`, for TensorFlow to run.

use std::path::Path;
use std::sync::Arc;
use thalweg_client::{Code, Error, Result, Scope, Session};
use thalweg_graph::Graph;
use thalweg_proto::{GraphDef, Message, decode};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let usage = || Error::new(Code::InvalidArgument, "differentiate GRAPH ORDER OUT");
    let [graph, order, out] = args.as_slice() else { return Err(usage()) };
    let order: usize = order.parse().map_err(|_| usage())?;
    let bad = |e| Error::new(Code::InvalidArgument, format!("{graph} is no GraphDef: {e}"));
    let def: GraphDef = decode(std::fs::read(Path::new(graph))?).map_err(bad)?;
    let g = Scope::of(Graph::from_def(Arc::new(thalweg_ops::registry()), &def)?);
    let (x, mut y) = (g.output("x:0")?, g.output("y:0")?);
    for _ in 0..order {
        let found = g.gradients(&[&y], &[&x]).remove(0).dense(&g);
        g.check()?;
        y = found.ok_or_else(|| Error::new(Code::InvalidArgument, "y does not depend on x"))?;
    }
    let result = g.op("Identity").name("result").input(&y).output();
    std::fs::write(out, g.to_graph_def()?.encode_to_vec())?;
    for number in Session::new(&g)?.run(&result, &[])?.as_slice::<f64>()? {
        println!("{number:e}");
    }
    Ok(())
}
