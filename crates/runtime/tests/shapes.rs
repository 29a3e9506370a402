//! Shape-specialised plans: the same results, fewer nodes.

use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::node::Output;
use thalweg_core::shape::{PartialShape, Shape};
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Arg, Graph, NodeRequest};
use thalweg_runtime::{RunOptions, Session, SessionOptions};

fn graph() -> Graph {
    Graph::new(Arc::new(thalweg_ops::registry()))
}

fn add(g: &mut Graph, op: &str, name: &str, args: &[Output], attrs: &[(&'static str, Attr)]) -> Output {
    let attrs: Attrs = attrs.iter().cloned().collect();
    let args = args.iter().map(|o| Arg::from(*o)).collect();
    g.add_node(NodeRequest { op, name, args, attrs, ..Default::default() }).unwrap().output(0)
}

fn constant(g: &mut Graph, name: &str, t: Tensor) -> Output {
    add(g, "Const", name, &[], &[("dtype", t.dtype().into()), ("value", Attr::Tensor(t))])
}

fn placeholder(g: &mut Graph, shape: &[i64]) -> Output {
    let shape = PartialShape::new(shape).unwrap();
    add(g, "Placeholder", "x", &[], &[("dtype", DataType::Float.into()), ("shape", Attr::Shape(shape))])
}

fn session(g: &Graph, optimise: bool) -> Session {
    Session::of(g, SessionOptions { optimise, threads: 2, ..Default::default() }).unwrap()
}

/// Numbers of this shape.
fn numbers(dims: &[usize]) -> Tensor {
    Tensor::build(Shape::new(dims).unwrap(), |out: &mut [f32]| {
        out.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32 - 2.5);
    })
    .unwrap()
}

/// The nodes executed with this value, and the results.
fn traced(s: &Session, x: Tensor, fetches: &[&str]) -> (Vec<String>, Vec<Tensor>) {
    let options = RunOptions { trace: true, ..Default::default() };
    let (values, told) = s.run_with(&[("x:0", x)], fetches, &[], &options).unwrap();
    (told.timings.nodes.iter().map(|t| t.node.to_string()).collect(), values)
}

/// The gradients of `x + row` as TensorFlow builds them: reduced over the broadcast axes, in the inputs' shapes.
fn gradients_of_a_sum(shape: &[i64]) -> Graph {
    let mut g = graph();
    let x = placeholder(&mut g, shape);
    let row = constant(&mut g, "row", numbers(&[1, 3]));
    let sum = add(&mut g, "AddV2", "sum", &[x, row], &[]);
    let ones = add(&mut g, "OnesLike", "ones", &[sum], &[]);
    let shape_of_x = add(&mut g, "Shape", "shape_x", &[x], &[]);
    let shape_of_row = add(&mut g, "Shape", "shape_row", &[row], &[]);
    let axes = add(&mut g, "BroadcastGradientArgs", "axes", &[shape_of_x, shape_of_row], &[]);
    let scaled = add(&mut g, "Mul", "scaled", &[ones, sum], &[]);
    for (name, axes, shape) in [("dx", axes, shape_of_x), ("drow", axes.node.output(1), shape_of_row)] {
        let total = add(&mut g, "Sum", &format!("{name}_sum"), &[scaled, axes], &[]);
        add(&mut g, "Reshape", name, &[total, shape], &[]);
    }
    g
}

#[test]
fn shapes_that_placeholders_declare_are_not_computed() {
    let g = gradients_of_a_sum(&[4, 3]);
    let (plain, optimised) = (session(&g, false), session(&g, true));
    let (all, want) = traced(&plain, numbers(&[4, 3]), &["dx:0", "drow:0"]);
    let (few, got) = traced(&optimised, numbers(&[4, 3]), &["dx:0", "drow:0"]);
    assert!(got.iter().zip(&want).all(|(a, b)| a.same_bits(b)));
    assert!(all.iter().any(|n| n == "shape_x") && all.iter().any(|n| n == "dx"));
    for gone in ["ones", "shape_x", "shape_row", "axes", "dx_sum", "dx"] {
        assert!(!few.iter().any(|n| n == gone), "{gone} is still in {few:?}");
    }
}

#[test]
fn a_batch_that_stays_the_same_gets_a_plan_and_others_still_run() {
    let g = gradients_of_a_sum(&[-1, 3]);
    let (plain, optimised) = (session(&g, false), session(&g, true));
    let fetches = ["dx:0", "drow:0"];
    let mut ran = Vec::new();
    for rows in [2, 2, 2, 2, 2, 2, 7, 7, 2, 0, 1, 1, 1, 1, 1, 1, 1, 3, 2, 1, 5, 5, 5, 5, 5, 5, 5] {
        let (_, want) = traced(&plain, numbers(&[rows, 3]), &fetches);
        let (nodes, got) = traced(&optimised, numbers(&[rows, 3]), &fetches);
        assert!(got.iter().zip(&want).all(|(a, b)| a.shape() == b.shape() && a.same_bits(b)), "{rows} rows");
        ran.push(nodes.iter().any(|n| n == "shape_x"));
    }
    assert_eq!(ran[..6], [true, true, true, true, false, false]);
    assert!(ran[6] && !ran[25], "{ran:?}");
}

#[test]
fn a_variable_assigned_without_validating_its_shape_has_the_shape_of_its_value() {
    let mut g = graph();
    let x = placeholder(&mut g, &[3]);
    let declared = Attr::Shape(PartialShape::new(&[2]).unwrap());
    let v = add(&mut g, "VariableV2", "v", &[], &[("dtype", DataType::Float.into()), ("shape", declared)]);
    add(&mut g, "Assign", "assign", &[v, x], &[("validate_shape", false.into())]);
    add(&mut g, "Shape", "shape", &[v], &[]);
    let s = session(&g, true);
    s.run(&[("x:0", numbers(&[3]))], &[], &["assign"]).unwrap();
    assert_eq!(s.run(&[], &["shape:0"], &[]).unwrap()[0].as_slice::<i32>().unwrap(), [3]);
}

#[test]
fn the_shape_of_what_is_not_computed_is_not_known() {
    let mut g = graph();
    let x = placeholder(&mut g, &[4]);
    let p = add(&mut g, "Placeholder", "p", &[], &[("dtype", DataType::Bool.into())]);
    let switch = add(&mut g, "Switch", "switch", &[x, p], &[]);
    let shape = add(&mut g, "Shape", "shape", &[switch], &[]);
    let other = constant(&mut g, "other", Tensor::vector(&[7i32, 7]).unwrap());
    let gate = add(&mut g, "Switch", "gate", &[other, p], &[]);
    let args = vec![vec![shape, gate.node.output(1)].into()];
    g.add_node(NodeRequest { op: "Merge", name: "merge", args, ..Default::default() }).unwrap();
    for optimise in [true, false] {
        let s = session(&g, optimise);
        for (taken, want) in [(false, &[4][..]), (true, &[7, 7][..])] {
            let feeds = [("x:0", numbers(&[4])), ("p:0", Tensor::scalar(taken))];
            let got = s.run(&feeds, &["merge:0"], &[]).unwrap();
            assert_eq!(got[0].as_slice::<i32>().unwrap(), want);
        }
    }
}

/// A batch counter adds the batch size, which is constant; but at the end of the queue nothing may be added.
#[test]
fn what_counts_batches_does_not_count_the_end() {
    let mut g = graph();
    let types = || Attr::List(vec![Attr::Type(DataType::Float)]);
    let shapes = || Attr::List(vec![Attr::Shape(PartialShape::new(&[2]).unwrap())]);
    let queue =
        add(&mut g, "FIFOQueueV2", "queue", &[], &[("component_types", types()), ("shapes", shapes())]);
    let batch = {
        let attrs: Attrs = [("component_types", types())].into_iter().collect();
        let args = vec![queue.into()];
        let request = NodeRequest { op: "QueueDequeueV2", name: "batch", args, attrs, ..Default::default() };
        g.add_node(request).unwrap().output(0)
    };
    let close =
        NodeRequest { op: "QueueCloseV2", name: "close", args: vec![queue.into()], ..Default::default() };
    g.add_node(close).unwrap();
    let scalar = Attr::Shape(PartialShape::scalar());
    let handle =
        add(&mut g, "VarHandleOp", "count", &[], &[("dtype", DataType::Int32.into()), ("shape", scalar)]);
    let zero = constant(&mut g, "zero", Tensor::scalar(0i32));
    let size = add(&mut g, "Size", "size", &[batch], &[]);
    for (op, name, value) in [("AssignVariableOp", "init", zero), ("AssignAddVariableOp", "add", size)] {
        let args = vec![handle.into(), value.into()];
        g.add_node(NodeRequest { op, name, args, ..Default::default() }).unwrap();
    }
    add(&mut g, "ReadVariableOp", "read", &[handle], &[("dtype", DataType::Int32.into())]);
    for optimise in [true, false] {
        let s = session(&g, optimise);
        s.run(&[], &[], &["init"]).unwrap();
        s.run(&[], &[], &["close"]).unwrap();
        assert!(s.run(&[], &[], &["add"]).is_err());
        assert_eq!(s.run(&[], &["read:0"], &[]).unwrap()[0].to_scalar::<i32>().unwrap(), 0);
    }
}

/// The sum of a scalar is a scalar for any axes, but axis 0 is invalid.
#[test]
fn a_sum_over_an_axis_that_is_only_known_in_the_run_is_not_left_out() {
    let mut g = graph();
    let x = placeholder(&mut g, &[]);
    let one = PartialShape::new(&[1]).unwrap();
    let fed = [("dtype", DataType::Int32.into()), ("shape", Attr::Shape(one))];
    let axes = add(&mut g, "Placeholder", "axes", &[], &fed);
    add(&mut g, "Sum", "sum", &[x, axes], &[]);
    for optimise in [false, true] {
        let feeds =
            [("x:0", Tensor::scalar(2f32)), ("axes:0", Tensor::from_slice(Shape::vector(1), &[0]).unwrap())];
        let e = session(&g, optimise).run(&feeds, &["sum:0"], &[]).err().unwrap();
        assert!(e.to_string().contains("Invalid reduction dimension"), "optimise {optimise}: {e}");
    }
}

#[test]
fn a_sum_that_names_an_axis_twice_is_not_left_out() {
    let mut g = graph();
    let x = placeholder(&mut g, &[1]);
    let axes = constant(&mut g, "axes", Tensor::from_slice(Shape::vector(2), &[0, -1]).unwrap());
    add(&mut g, "Sum", "sum", &[x, axes], &[("keep_dims", true.into())]);
    for optimise in [false, true] {
        let e = session(&g, optimise).run(&[("x:0", numbers(&[1]))], &["sum:0"], &[]).err().unwrap();
        assert!(e.to_string().contains("duplicate dimension"), "optimise {optimise}: {e}");
    }
}
