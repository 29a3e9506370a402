//! Reference variables: when they are read, also in loops, and shapes of uninitialised ones.

mod common;

use common::{options, registry};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Code;
use thalweg_core::shape::PartialShape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Arg, Graph, NodeId, NodeRequest, Output};
use thalweg_runtime::{RunOptions, Session};

/// A graph with a float variable `v`, its read, and other nodes.
struct Program {
    g: Graph,
    v: Output,
    read: Output,
}

impl Program {
    fn new(shape: &[i64]) -> Program {
        let mut g = Graph::new(registry().clone());
        let shape = PartialShape::new(shape).unwrap();
        let attrs = attrs(&[("dtype", DataType::Float.into()), ("shape", Attr::Shape(shape))]);
        let v = g.add_node(NodeRequest { op: "VariableV2", name: "v", attrs, ..Default::default() }).unwrap();
        let mut p = Program { g, v: v.output(0), read: v.output(0) };
        p.read = p.add("Identity", "read", &[p.v], &[], &[]);
        p
    }

    fn add(
        &mut self,
        op: &str,
        name: &str,
        inputs: &[Output],
        control: &[NodeId],
        given: &[(&'static str, Attr)],
    ) -> Output {
        let args = match op {
            "Merge" => vec![Arg::List(inputs.to_vec())],
            _ => inputs.iter().copied().map(Arg::One).collect(),
        };
        let request = NodeRequest { op, name, args, attrs: attrs(given), control, ..Default::default() };
        self.g.add_node(request).unwrap().output(0)
    }

    fn constant(&mut self, t: Tensor, control: &[NodeId]) -> Output {
        let given = [("dtype", t.dtype().into()), ("value", Attr::Tensor(t))];
        self.add("Const", "", &[], control, &given)
    }

    fn enter(&mut self, op: &str, o: Output) -> Output {
        let given = [
            ("frame_name", "loop".into()),
            ("is_constant", true.into()),
            ("parallel_iterations", 10i64.into()),
        ];
        self.add(op, "", &[o], &[], &given)
    }

    /// `for i in 0..rounds: v = v * 2`, with the read outside of the loop, as TensorFlow's client builds it.
    fn doubled_in_a_loop(&mut self, rounds: i32) {
        let zero = self.constant(Tensor::scalar(0i32), &[]);
        let first = self.add("Enter", "", &[zero], &[], &[("frame_name", "loop".into())]);
        let merge = self.add("Merge", "", &[first, first], &[], &[]);
        let end = self.constant(Tensor::scalar(rounds), &[merge.node]);
        let less = self.add("Less", "", &[merge, end], &[], &[]);
        let go_on = self.add("LoopCond", "", &[less], &[], &[]);
        let switch = self.add("Switch", "", &[merge, go_on], &[], &[]);
        let i = self.add("Identity", "", &[switch.node.output(1)], &[], &[]);
        let (read, v) = (self.enter("Enter", self.read), self.enter("RefEnter", self.v));
        let two = self.constant(Tensor::scalar(2f32), &[i.node]);
        let twice = self.add("Mul", "", &[read, two], &[], &[]);
        let assigned = self.add("Assign", "", &[v, twice], &[], &[]);
        let one = self.constant(Tensor::scalar(1i32), &[i.node]);
        let next = self.add("AddV2", "", &[i, one], &[assigned.node], &[]);
        let back = self.add("NextIteration", "", &[next], &[], &[]);
        self.g.set_input(merge.node, 1, back).unwrap();
        self.add("Exit", "done", &[switch], &[], &[]);
    }

    fn initialised(&mut self, t: Tensor) {
        let value = self.constant(t, &[]);
        self.add("Assign", "init", &[self.v, value], &[], &[]);
    }
}

fn attrs(given: &[(&'static str, Attr)]) -> Attrs {
    given.iter().cloned().collect()
}

/// TensorFlow's loops enter one read's result, which shares the variable's memory: 32, not 4.
#[test]
fn a_variable_read_in_a_loop_was_read_once_before_it() {
    for optimise in [true, false] {
        let mut p = Program::new(&[]);
        p.initialised(Tensor::scalar(2f32));
        p.doubled_in_a_loop(4);
        let s = Session::of(&p.g, options(optimise, 2)).unwrap();
        s.run(&[], &[], &["init"]).unwrap();
        let done = s.run(&[], &["done:0"], &[]).unwrap();
        assert_eq!(done[0].to_scalar::<i32>().unwrap(), 4);
        assert_eq!(s.run(&[], &["read:0"], &[]).unwrap()[0].to_scalar::<f32>().unwrap(), 32.0);
    }
}

/// A shape is known statically, but programs fetch it to test whether variables are initialised.
#[test]
fn shapes_of_uninitialised_variables_were_given() {
    for optimise in [true, false] {
        let mut p = Program::new(&[2]);
        p.initialised(Tensor::vector(&[1f32, 2.0]).unwrap());
        let product = p.add("Mul", "", &[p.read, p.read], &[], &[]);
        let shape = p.add("Shape", "shape", &[product], &[], &[]);
        p.add("Shape", "shape_of_shape", &[shape], &[], &[]);
        for op in ["Rank", "Size", "ZerosLike"] {
            p.add(op, op, &[p.v], &[], &[]);
        }
        let s = Session::of(&p.g, options(optimise, 2)).unwrap();
        let all = ["shape:0", "shape_of_shape:0", "Rank:0", "Size:0", "ZerosLike:0"];
        for asked in all {
            let e = s.run(&[], &[asked], &[]).unwrap_err();
            assert_eq!(e.code(), Code::FailedPrecondition, "{asked}: {e}");
        }
        s.run(&[], &[], &["init"]).unwrap();
        for asked in all {
            s.run(&[], &[asked], &[]).unwrap();
        }
    }
}

/// The read that is kept is the one after the initialiser, not an earlier one.
#[test]
fn a_shape_asked_for_after_the_initializer_of_the_same_step_is_given() {
    let mut p = Program::new(&[2]);
    p.initialised(Tensor::vector(&[1f32, 2.0]).unwrap());
    let init = p.g.get("init").unwrap();
    let late = p.add("Identity", "late", &[p.v], &[init], &[]);
    p.add("Shape", "shape", &[late], &[], &[]);
    let s = Session::of(&p.g, options(true, 2)).unwrap();
    assert_eq!(s.run(&[], &["shape:0"], &[]).unwrap()[0].as_slice::<i32>().unwrap(), [2]);
}

/// Values that loops and branches forward share the variable's memory in TensorFlow: 7, not 2.
#[test]
fn a_value_that_a_branch_gave_on_was_that_of_before_an_update() {
    for (optimise, trace) in [(true, false), (false, false), (true, true)] {
        let mut p = Program::new(&[]);
        p.initialised(Tensor::scalar(2f32));
        let (yes, zero) = (p.constant(Tensor::scalar(true), &[]), p.constant(Tensor::scalar(0f32), &[]));
        let taken = p.add("Switch", "", &[p.read, yes], &[], &[]).node.output(1);
        let other = p.add("Switch", "", &[zero, yes], &[], &[]);
        let (taken, other) =
            (p.add("Identity", "", &[taken], &[], &[]), p.add("Identity", "", &[other], &[], &[]));
        let merge = p.add("Merge", "", &[other, taken], &[], &[]);
        let one = p.constant(Tensor::scalar(1f32), &[]);
        let before = p.add("Mul", "before", &[merge, one], &[], &[]);
        let five = p.constant(Tensor::scalar(5f32), &[]);
        let added = p.add("AssignAdd", "", &[p.v, five], &[before.node], &[]);
        p.add("Mul", "after", &[merge, one], &[added.node], &[]);
        p.add("Identity", "same", &[merge], &[added.node], &[]);
        let s = Session::of(&p.g, options(optimise, 2)).unwrap();
        s.run(&[], &[], &["init"]).unwrap();
        let with = RunOptions { trace, ..Default::default() };
        let (got, _) = s.run_with(&[], &["before:0", "after:0", "same:0"], &[], &with).unwrap();
        let got: Vec<f32> = got.iter().map(|t| t.to_scalar().unwrap()).collect();
        assert_eq!(got, [2.0, 7.0, 7.0], "optimise: {optimise}, trace: {trace}");
    }
}

/// `x = v; for i in 0..3: { v += 1; x = x }`: 5, not 2.
#[test]
fn a_value_that_a_loop_carried_was_that_of_before_an_update() {
    for optimise in [true, false] {
        let mut p = Program::new(&[]);
        p.initialised(Tensor::scalar(2f32));
        let zero = p.constant(Tensor::scalar(0i32), &[]);
        let frame = [("frame_name", Attr::from("loop"))];
        let (i, x) = (p.add("Enter", "", &[zero], &[], &frame), p.add("Enter", "", &[p.read], &[], &frame));
        let (i, x) = (p.add("Merge", "", &[i, i], &[], &[]), p.add("Merge", "", &[x, x], &[], &[]));
        let end = p.constant(Tensor::scalar(3i32), &[i.node]);
        let less = p.add("Less", "", &[i, end], &[], &[]);
        let go_on = p.add("LoopCond", "", &[less], &[], &[]);
        let of_i = p.add("Switch", "", &[i, go_on], &[], &[]);
        let of_x = p.add("Switch", "", &[x, go_on], &[], &[]);
        let (now, same) = (
            p.add("Identity", "", &[of_i.node.output(1)], &[], &[]),
            p.add("Identity", "", &[of_x.node.output(1)], &[], &[]),
        );
        let v = p.enter("RefEnter", p.v);
        let one = p.constant(Tensor::scalar(1f32), &[same.node]);
        let added = p.add("AssignAdd", "", &[v, one], &[], &[]);
        let carried = p.add("Identity", "", &[same], &[added.node], &[]);
        let one = p.constant(Tensor::scalar(1i32), &[now.node]);
        let next = p.add("AddV2", "", &[now, one], &[carried.node], &[]);
        let (back, x_back) =
            (p.add("NextIteration", "", &[next], &[], &[]), p.add("NextIteration", "", &[carried], &[], &[]));
        p.g.set_input(i.node, 1, back).unwrap();
        p.g.set_input(x.node, 1, x_back).unwrap();
        let done = p.add("Exit", "done", &[of_x], &[], &[]);
        let one = p.constant(Tensor::scalar(1f32), &[]);
        p.add("Mul", "product", &[done, one], &[], &[]);
        let s = Session::of(&p.g, options(optimise, 2)).unwrap();
        s.run(&[], &[], &["init"]).unwrap();
        let got = s.run(&[], &["done:0", "product:0"], &[]).unwrap();
        let got: Vec<f32> = got.iter().map(|t| t.to_scalar().unwrap()).collect();
        assert_eq!(got, [5.0, 5.0], "optimise: {optimise}");
    }
}

/// A variable that is a loop's initial value, and updated with its result, is read before the update unless it is read again.
#[test]
fn a_loop_that_begins_with_a_variable_still_becomes_a_program() {
    let mut p = Program::new(&[]);
    p.initialised(Tensor::scalar(2f32));
    let frame = [("frame_name", Attr::from("loop"))];
    let x = p.add("Enter", "", &[p.read], &[], &frame);
    let x = p.add("Merge", "", &[x, x], &[], &[]);
    let end = p.constant(Tensor::scalar(100f32), &[x.node]);
    let less = p.add("Less", "", &[x, end], &[], &[]);
    let go_on = p.add("LoopCond", "", &[less], &[], &[]);
    let switch = p.add("Switch", "", &[x, go_on], &[], &[]);
    let twice = p.add("AddV2", "", &[switch.node.output(1), switch.node.output(1)], &[], &[]);
    let back = p.add("NextIteration", "", &[twice], &[], &[]);
    p.g.set_input(x.node, 1, back).unwrap();
    let done = p.add("Exit", "done", &[switch], &[], &[]);
    p.add("Assign", "update", &[p.v, done], &[], &[]);
    let s = Session::of(&p.g, options(true, 2)).unwrap();
    s.run(&[], &[], &["init"]).unwrap();
    let planned = s.callable_by_name(&[], &["done:0"], &["update"]).unwrap().planned_nodes();
    assert!(planned <= 4, "{planned} nodes");
    let got = s.run(&[], &["done:0"], &["update"]).unwrap();
    assert_eq!(got[0].to_scalar::<f32>().unwrap(), 128.0);
}
