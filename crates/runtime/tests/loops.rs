//! Loops run as programs give what the same loops give node by node.

use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::grad::{NodeId, Output};
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Arg, Graph, NodeRequest};
use thalweg_runtime::{RunOptions, Session, SessionOptions};

/// Random numbers that are the same in every run of the tests.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn pick(&mut self, from: &[Output]) -> Output {
        from[self.roll(from.len())]
    }
}

struct Maker {
    g: Graph,
    dice: Dice,
    frames: usize,
}

impl Maker {
    fn add(&mut self, op: &str, args: Vec<Arg>, attrs: &[(&'static str, Attr)]) -> Output {
        let attrs: Attrs = attrs.iter().cloned().collect();
        self.g.add_node(NodeRequest { op, name: op, args, attrs, ..Default::default() }).unwrap().output(0)
    }

    fn add_target(&mut self, op: &str, args: Vec<Arg>, attrs: &[(&'static str, Attr)]) -> NodeId {
        self.add(op, args, attrs).node
    }

    fn constant(&mut self, v: i32) -> Output {
        self.constant_in(&[], v)
    }

    /// A constant that belongs to the loop of the node it waits for.
    fn constant_in(&mut self, pivot: &[NodeId], v: i32) -> Output {
        let value = Attr::Tensor(Tensor::scalar(v));
        let attrs = [("dtype", DataType::Int32.into()), ("value", value)].into_iter().collect();
        let request = NodeRequest { op: "Const", name: "Const", attrs, control: pivot, ..Default::default() };
        self.g.add_node(request).unwrap().output(0)
    }

    fn enter(&mut self, frame: &str, v: Output, is_constant: bool) -> Output {
        let parallel = [1i64, 2, 10][self.dice.roll(3)];
        self.add(
            "Enter",
            vec![v.into()],
            &[
                ("frame_name", frame.into()),
                ("parallel_iterations", parallel.into()),
                ("is_constant", is_constant.into()),
            ],
        )
    }

    /// A few random ops over these values.
    fn compute(&mut self, values: &mut Vec<Output>, ops: usize) {
        for _ in 0..ops {
            let (a, b) = (self.dice.pick(values), self.dice.pick(values));
            let made = match self.dice.roll(6) {
                0 => self.add("AddV2", vec![a.into(), b.into()], &[]),
                1 => self.add("Sub", vec![a.into(), b.into()], &[]),
                2 => self.add("Mul", vec![a.into(), b.into()], &[]),
                3 => self.add("Identity", vec![a.into()], &[]),
                4 => self.add("Maximum", vec![a.into(), b.into()], &[]),
                _ => self.add("Neg", vec![a.into()], &[]),
            };
            values.push(made);
        }
    }

    /// A loop over some of these values that runs as often as a counter says; what it leaves.
    fn while_loop(&mut self, outside: &[Output], pivot: &[NodeId], depth: usize) -> Vec<Output> {
        self.frames += 1;
        let frame = format!("frame_{}", self.frames);
        let (start, times) = (self.constant_in(pivot, 0), self.dice.roll(6) as i32);
        let carried = 1 + self.dice.roll(3);
        let mut first = vec![start];
        first.extend((0..carried).map(|_| self.dice.pick(outside)));
        let merges: Vec<Output> = first
            .iter()
            .map(|v| {
                let e = self.enter(&frame, *v, false);
                self.add("Merge", vec![vec![e, e].into()], &[])
            })
            .collect();
        let mut always = merges.clone();
        for _ in 0..self.dice.roll(3) {
            let v = self.dice.pick(outside);
            always.push(self.enter(&frame, v, true));
        }
        let extra = self.dice.roll(3);
        self.compute(&mut always, extra);
        let limit = self.constant_in(pivot, times);
        let limit = self.enter(&frame, limit, true);
        let less = self.add("Less", vec![merges[0].into(), limit.into()], &[]);
        let condition = self.add("LoopCond", vec![less.into()], &[]);
        let switches: Vec<Output> =
            merges.iter().map(|m| self.add("Switch", vec![(*m).into(), condition.into()], &[])).collect();
        let mut body: Vec<Output> = switches.iter().map(|s| s.node.output(1)).collect();
        let ops = self.dice.roll(5);
        let mut all = body.clone();
        all.extend(always.iter().copied());
        let known = all.len();
        self.compute(&mut all, ops);
        if depth > 0 && self.dice.roll(2) == 0 {
            let pivot = self.add("Identity", vec![body[0].into()], &[]).node;
            all.extend(self.while_loop(&body, &[pivot], depth - 1));
        }
        // Only what hangs on the condition may go on to the next round.
        for made in all.drain(known..) {
            let kept = self.add("Identity", vec![made.into()], &[]);
            let with = self.add("AddV2", vec![kept.into(), body[0].into()], &[]);
            body.push(with);
        }
        let one = self.constant_in(pivot, 1);
        let one = self.enter(&frame, one, true);
        let count = self.add("AddV2", vec![body[0].into(), one.into()], &[]);
        for (i, merge) in merges.iter().enumerate() {
            let next = if i == 0 { count } else { self.dice.pick(&body) };
            let next = self.add("NextIteration", vec![next.into()], &[]);
            self.g.set_input(merge.node, 1, next).unwrap();
        }
        switches.iter().map(|s| self.add("Exit", vec![(*s).into()], &[])).collect()
    }
}

fn session(g: &Graph, optimise: bool) -> Session {
    Session::of(g, SessionOptions { optimise, threads: 2, ..Default::default() }).unwrap()
}

fn numbers(values: &[Tensor]) -> Vec<Vec<i32>> {
    values.iter().map(|t| t.as_slice::<i32>().unwrap().to_vec()).collect()
}

#[test]
fn random_loops_give_the_same_as_programs_and_node_by_node() {
    for seed in 0..400 {
        let mut m = Maker { g: Graph::new(Arc::new(thalweg_ops::registry())), dice: Dice(seed), frames: 0 };
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

/// A loop with a variable: `while i < n: v += i`, the sum read in the end.
#[test]
fn a_loop_with_effects_does_them_in_order_and_once() {
    let mut m = Maker { g: Graph::new(Arc::new(thalweg_ops::registry())), dice: Dice(1), frames: 0 };
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
fn a_traced_loop_tells_of_every_round() {
    let mut m = Maker { g: Graph::new(Arc::new(thalweg_ops::registry())), dice: Dice(4), frames: 0 };
    let values = [m.constant(3)];
    let exits = m.while_loop(&values, &[], 0);
    let name = m.g.tensor_name(exits[0]);
    let options = RunOptions { trace: true, ..Default::default() };
    let (rounds, metadata) = session(&m.g, true).run_with(&[], &[&name], &[], &options).unwrap();
    let tests = metadata.timings.nodes.iter().filter(|n| n.op == "Less").count();
    assert_eq!(tests as i32, rounds[0].to_scalar::<i32>().unwrap() + 1);
}

/// Fetching from inside a loop once kept the search for loops going for ever.
#[test]
fn a_value_inside_a_loop_cannot_be_fetched() {
    let mut m = Maker { g: Graph::new(Arc::new(thalweg_ops::registry())), dice: Dice(4), frames: 0 };
    let values = [m.constant(3)];
    m.while_loop(&values, &[], 0);
    let inside = m.g.nodes().iter().find(|n| n.op.name == "Less").unwrap().name.to_string();
    for optimise in [true, false] {
        let e = session(&m.g, optimise).run(&[], &[&format!("{inside}:0")], &[]).unwrap_err();
        assert!(e.message().contains("is inside a loop"), "{e}");
    }
}
