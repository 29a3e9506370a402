//! Loops run as programs have the results of the same loops run node by node.

use crate::maker::Maker;
use thalweg_core::attr::Attr;
use thalweg_core::dtype::DataType;
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Graph, NodeRequest};
use thalweg_runtime::{RunOptions, Session, SessionOptions};

fn session(g: &Graph, optimise: bool) -> Session {
    Session::of(g, SessionOptions { optimise, threads: 2, ..Default::default() }).unwrap()
}

fn numbers(values: &[Tensor]) -> Vec<Vec<i32>> {
    values.iter().map(|t| t.as_slice::<i32>().unwrap().to_vec()).collect()
}

#[test]
fn random_loops_give_the_same_as_programs_and_node_by_node() {
    for seed in 0..400 {
        let mut m = Maker::new(seed);
        let fed = m.add("Placeholder", vec![], &[("dtype", DataType::Int32.into())]);
        let mut values = vec![fed, m.constant(3)];
        m.compute(&mut values, 2);
        for _ in 0..1 + m.dice.roll(2) {
            let left = m.while_loop(&values, &[], 2);
            values.extend(left);
        }
        let names: Vec<String> = values.iter().map(|o| m.g.tensor_name(*o)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let fed = m.g.tensor_name(fed);
        let (fast, plain) = (session(&m.g, true), session(&m.g, false));
        for value in [Tensor::scalar(7i32), Tensor::vector(&[1i32, -2, 5]).unwrap()] {
            let run = |s: &Session| numbers(&s.run(&[(&fed, value.clone())], &names[1..], &[]).unwrap());
            assert_eq!(run(&fast), run(&plain), "seed {seed}");
        }
        let options = RunOptions { trace: true, ..Default::default() };
        let traced = fast.run_with(&[(&fed, Tensor::scalar(1i32))], &names[1..], &[], &options).unwrap().1;
        assert!(traced.timings.nodes.iter().all(|n| n.op != "Merge"), "seed {seed}: not a program");
    }
}

/// A loop with a variable: `while i < n: v += i`, the sum read at the end.
#[test]
fn a_loop_with_effects_does_them_in_order_and_once() {
    let mut m = Maker::new(1);
    let shape = thalweg_core::shape::PartialShape::scalar();
    let handle = m.add(
        "VarHandleOp",
        vec![],
        &[("dtype", DataType::Int32.into()), ("shape", Attr::Shape(shape)), ("shared_name", "v".into())],
    );
    let zero = m.constant(0);
    let set = m.add_target("AssignVariableOp", vec![handle.into(), zero.into()], &[]);
    let n = m.add("Placeholder", vec![], &[("dtype", DataType::Int32.into())]);
    let (i, n_in, h) = (m.enter("f", zero, false), m.enter("f", n, true), m.enter("f", handle, true));
    let merge = m.add("Merge", vec![vec![i, i].into()], &[]);
    let less = m.add("Less", vec![merge.into(), n_in.into()], &[]);
    let condition = m.add("LoopCond", vec![less.into()], &[]);
    let switch = m.add("Switch", vec![merge.into(), condition.into()], &[]);
    let inside = switch.node.output(1);
    let update = m.add_target("AssignAddVariableOp", vec![h.into(), inside.into()], &[]);
    let one = m.constant(1);
    let one = m.enter("f", one, true);
    let request = NodeRequest {
        op: "AddV2",
        name: "step",
        args: vec![inside.into(), one.into()],
        control: &[update],
        ..Default::default()
    };
    let stepped = m.g.add_node(request).unwrap().output(0);
    let next = m.add("NextIteration", vec![stepped.into()], &[]);
    m.g.set_input(merge.node, 1, next).unwrap();
    let exit = m.add("Exit", vec![switch.into()], &[]);
    let read = NodeRequest {
        op: "ReadVariableOp",
        name: "read",
        args: vec![handle.into()],
        attrs: [("dtype", Attr::from(DataType::Int32))].into_iter().collect(),
        control: &[exit.node],
        ..Default::default()
    };
    m.g.add_node(read).unwrap();
    let (set, n) = (m.g.node(set).name.to_string(), m.g.tensor_name(n));
    for optimise in [true, false] {
        let s = session(&m.g, optimise);
        s.run(&[], &[], &[&set]).unwrap();
        let r = s.run(&[(&n, Tensor::scalar(20_000i32))], &["read:0"], &[]).unwrap();
        assert_eq!(r[0].to_scalar::<i32>().unwrap(), 199_990_000);
    }
}

#[test]
fn a_traced_loop_records_every_iteration() {
    let mut m = Maker::new(4);
    let values = [m.constant(3)];
    let exits = m.while_loop(&values, &[], 0);
    let name = m.g.tensor_name(exits[0]);
    let options = RunOptions { trace: true, ..Default::default() };
    let (rounds, metadata) = session(&m.g, true).run_with(&[], &[&name], &[], &options).unwrap();
    let tests = metadata.timings.nodes.iter().filter(|n| n.op == "Less").count();
    assert_eq!(tests as i32, rounds[0].to_scalar::<i32>().unwrap() + 1);
}

/// Regression: fetching from inside a loop made loop detection endless.
#[test]
fn a_value_inside_a_loop_cannot_be_fetched() {
    let mut m = Maker::new(4);
    let values = [m.constant(3)];
    m.while_loop(&values, &[], 0);
    let inside = m.g.nodes().iter().find(|n| n.op.name == "Less").unwrap().name.to_string();
    for optimise in [true, false] {
        let e = session(&m.g, optimise).run(&[], &[&format!("{inside}:0")], &[]).unwrap_err();
        assert!(e.message().contains("is inside a loop"), "{e}");
    }
}

/// `while i < n: x = x * transpose(w)`: the transpose is hoisted out of the loop.
#[test]
fn a_loop_invariant_transpose_is_hoisted() {
    let mut m = Maker::new(1);
    let matrix = |rows: usize, cols: usize| {
        let shape = thalweg_core::shape::Shape::new(&[rows, cols]).unwrap();
        Tensor::build(shape, |out: &mut [f32]| {
            out.iter_mut().enumerate().for_each(|(i, v)| *v = (i * 7 % 11) as f32 / 4.0 - 1.0)
        })
        .unwrap()
    };
    let value = |m: &mut Maker, t: Tensor| {
        m.add("Const", vec![], &[("dtype", t.dtype().into()), ("value", Attr::Tensor(t))])
    };
    let n = m.add("Placeholder", vec![], &[("dtype", DataType::Int32.into())]);
    let (zero, w, x) = (m.constant(0), value(&mut m, matrix(3, 3)), value(&mut m, matrix(2, 3)));
    let (i, x, w) = (m.enter("f", zero, false), m.enter("f", x, false), m.enter("f", w, true));
    let n_in = m.enter("f", n, true);
    let (i, x) = (m.add("Merge", vec![vec![i, i].into()], &[]), m.add("Merge", vec![vec![x, x].into()], &[]));
    let less = m.add("Less", vec![i.into(), n_in.into()], &[]);
    let condition = m.add("LoopCond", vec![less.into()], &[]);
    let (i_out, x_out) = (
        m.add("Switch", vec![i.into(), condition.into()], &[]),
        m.add("Switch", vec![x.into(), condition.into()], &[]),
    );
    let one = m.constant(1);
    let one = m.enter("f", one, true);
    let i_next = m.add("AddV2", vec![i_out.node.output(1).into(), one.into()], &[]);
    let product = [x_out.node.output(1).into(), w.into()].to_vec();
    let x_next = m.add("MatMul", product, &[("transpose_b", true.into())]);
    for (merge, next) in [(i, i_next), (x, x_next)] {
        let next = m.add("NextIteration", vec![next.into()], &[]);
        m.g.set_input(merge.node, 1, next).unwrap();
    }
    let exit = m.add("Exit", vec![x_out.into()], &[]);
    let (exit, n) = (m.g.tensor_name(exit), m.g.tensor_name(n));
    let options = RunOptions { trace: true, ..Default::default() };
    let run = |optimise: bool, rounds: i32| {
        let feeds = [(n.as_str(), Tensor::scalar(rounds))];
        let (y, told) = session(&m.g, optimise).run_with(&feeds, &[&exit], &[], &options).unwrap();
        (y, told.timings.nodes.iter().filter(|n| n.op == "Transpose").count())
    };
    for rounds in [0, 1, 4] {
        let ((fast, turned), (plain, never)) = (run(true, rounds), run(false, rounds));
        assert!(fast[0].same_bits(&plain[0]), "{rounds} rounds");
        assert_eq!((turned, never), (1, 0));
    }
}
