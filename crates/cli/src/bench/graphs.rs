//! The benchmarked graphs.

use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Arg, Graph, NodeId, NodeRequest, Output};

pub fn empty() -> Graph {
    Graph::new(Arc::new(thalweg_ops::registry()))
}

fn add(
    g: &mut Graph,
    op: &str,
    name: &str,
    args: Vec<Arg>,
    attrs: &[(&'static str, Attr)],
) -> Result<Output> {
    let attrs: Attrs = attrs.iter().cloned().collect();
    Ok(g.add_node(NodeRequest { op, name, args, attrs, ..Default::default() })?.output(0))
}

fn constant(g: &mut Graph, name: &str, t: Tensor) -> Result<Output> {
    add(g, "Const", name, vec![], &[("dtype", t.dtype().into()), ("value", Attr::Tensor(t))])
}

fn placeholder(g: &mut Graph) -> Result<Output> {
    let shape = Attr::Shape(thalweg_core::shape::PartialShape::scalar());
    add(g, "Placeholder", "x", vec![], &[("dtype", DataType::Float.into()), ("shape", shape)])
}

/// `c = 1`
pub fn one_constant() -> Result<Graph> {
    let mut g = empty();
    constant(&mut g, "c", Tensor::scalar(1f32))?;
    Ok(g)
}

/// `y = x + 1 + 1 + …`, a chain of this many nodes.
pub fn chain(nodes: usize) -> Result<Graph> {
    let mut g = empty();
    let mut y = placeholder(&mut g)?;
    let one = constant(&mut g, "one", Tensor::scalar(1f32))?;
    for _ in 1..nodes {
        y = add(&mut g, "AddV2", "add", vec![y.into(), one.into()], &[])?;
    }
    add(&mut g, "AddV2", "y", vec![y.into(), one.into()], &[])?;
    Ok(g)
}

/// This many `x + 1` in parallel; `all` waits for them, `sum` adds them up.
pub fn fan(width: usize) -> Result<Graph> {
    let mut g = empty();
    let x = placeholder(&mut g)?;
    let one = constant(&mut g, "one", Tensor::scalar(1f32))?;
    let branch = |g: &mut Graph| add(g, "AddV2", "branch", vec![x.into(), one.into()], &[]);
    let branches: Vec<Output> = (0..width).map(|_| branch(&mut g)).collect::<Result<_>>()?;
    let control: Vec<NodeId> = branches.iter().map(|b| b.node).collect();
    g.add_node(NodeRequest { op: "NoOp", name: "all", control: &control, ..Default::default() })?;
    add(&mut g, "AddN", "sum", vec![branches.into()], &[])?;
    Ok(g)
}

/// `while i < n: i += 1`, of the control-flow primitives.
pub fn counting_loop(n: i32) -> Result<Graph> {
    let mut g = empty();
    let enter = |g: &mut Graph, name: &str, v: Output, is_constant: bool| {
        let attrs = [
            ("frame_name", "loop".into()),
            ("parallel_iterations", 10.into()),
            ("is_constant", is_constant.into()),
        ];
        add(g, "Enter", name, vec![v.into()], &attrs)
    };
    let scalar = |g: &mut Graph, name: &str, v: i32| constant(g, name, Tensor::scalar(v));
    let (zero, one, limit) = (scalar(&mut g, "zero", 0)?, scalar(&mut g, "one", 1)?, scalar(&mut g, "n", n)?);
    let start = enter(&mut g, "enter_i", zero, false)?;
    let (one, limit) = (enter(&mut g, "enter_one", one, true)?, enter(&mut g, "enter_n", limit, true)?);
    let merge = add(&mut g, "Merge", "merge", vec![vec![start, start].into()], &[])?;
    let less = add(&mut g, "Less", "less", vec![merge.into(), limit.into()], &[])?;
    let cond = add(&mut g, "LoopCond", "cond", vec![less.into()], &[])?;
    let switch = add(&mut g, "Switch", "switch", vec![merge.into(), cond.into()], &[])?;
    let next = add(&mut g, "AddV2", "next", vec![switch.node.output(1).into(), one.into()], &[])?;
    let back = add(&mut g, "NextIteration", "back", vec![next.into()], &[])?;
    g.set_input(merge.node, 1, back)?;
    add(&mut g, "Exit", "i", vec![switch.into()], &[])?;
    Ok(g)
}

/// `c = a b` for constant matrices, m by k and k by n.
pub fn product(m: usize, k: usize, n: usize) -> Result<Graph> {
    let mut g = empty();
    let matrix = |rows: usize, columns: usize| {
        Tensor::build(Shape::new(&[rows, columns])?, |out: &mut [f32]| {
            out.iter_mut().enumerate().for_each(|(i, v)| *v = ((i * 7919) % 1009) as f32 / 1009.0 - 0.5);
        })
    };
    let (a, b) = (constant(&mut g, "a", matrix(m, k)?)?, constant(&mut g, "b", matrix(k, n)?)?);
    add(&mut g, "MatMul", "c", vec![a.into(), b.into()], &[])?;
    Ok(g)
}
