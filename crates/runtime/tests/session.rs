//! Sessions: feeds, fetches, pruning, extension, state, control flow.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::cancel::Cancellation;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Code, cancelled};
use thalweg_core::node::Output;
use thalweg_core::resource::{Resource, ResourceHandle};
use thalweg_core::shape::{PartialShape, Shape};
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Arg, Graph, NodeRequest};
use thalweg_runtime::{RunOptions, Session, SessionOptions};

fn graph() -> Graph {
    Graph::new(Arc::new(thalweg_ops::registry()))
}

fn add(g: &mut Graph, op: &str, name: &str, args: Vec<Arg>, attrs: &[(&'static str, Attr)]) -> Output {
    let attrs: Attrs = attrs.iter().cloned().collect();
    let id = g.add_node(NodeRequest { op, name, args, attrs, ..Default::default() }).unwrap();
    id.output(0)
}

fn constant(g: &mut Graph, name: &str, t: Tensor) -> Output {
    add(g, "Const", name, vec![], &[("dtype", t.dtype().into()), ("value", Attr::Tensor(t))])
}

fn placeholder(g: &mut Graph, name: &str) -> Output {
    add(g, "Placeholder", name, vec![], &[("dtype", DataType::Float.into())])
}

fn both_ways() -> [SessionOptions; 2] {
    [true, false].map(|optimise| SessionOptions { optimise, threads: 2, ..Default::default() })
}

fn f(t: &Tensor) -> f32 {
    t.to_scalar::<f32>().unwrap()
}

#[test]
fn three_plus_five_is_eight_and_a_chain_is_fused() {
    let mut g = graph();
    let (a, b) = (constant(&mut g, "a", Tensor::scalar(3i32)), constant(&mut g, "b", Tensor::scalar(5i32)));
    add(&mut g, "AddV2", "Add", vec![a.into(), b.into()], &[]);
    let mut x = placeholder(&mut g, "x");
    let one = constant(&mut g, "one", Tensor::scalar(1f32));
    for _ in 0..1000 {
        x = add(&mut g, "AddV2", "chain", vec![x.into(), one.into()], &[]);
    }
    let last = g.tensor_name(x);
    for options in both_ways() {
        let optimise = options.optimise;
        let s = Session::of(&g, options).unwrap();
        assert_eq!(s.run(&[], &["Add:0"], &[]).unwrap()[0].to_scalar::<i32>().unwrap(), 8);
        let c = s.callable_by_name(&["x:0"], &[&last], &[]).unwrap();
        assert_eq!(f(&c.run(vec![Tensor::scalar(0.5f32)]).unwrap()[0]), 1000.5);
        assert_eq!(c.planned_nodes(), if optimise { 1 } else { 1000 });
        let v = c.run(vec![Tensor::vector(&vec![1f32; 3000]).unwrap()]).unwrap();
        assert!(v[0].as_slice::<f32>().unwrap().iter().all(|v| *v == 1001.0));
    }
}

#[test]
fn a_fused_chain_of_nothing_is_nothing() {
    let mut g = graph();
    let x = placeholder(&mut g, "x");
    let y = add(&mut g, "AddV2", "y", vec![x.into(), x.into()], &[]);
    let z = add(&mut g, "Neg", "z", vec![y.into()], &[]);
    add(&mut g, "Mul", "w", vec![z.into(), x.into()], &[]);
    for options in both_ways() {
        let s = Session::of(&g, options).unwrap();
        let r = s.run(&[("x:0", Tensor::vector::<f32>(&[]).unwrap())], &["w:0"], &[]).unwrap();
        assert_eq!(r[0].shape().dims(), &[0]);
    }
}

#[test]
fn any_tensor_can_be_fed_and_placeholders_must_be() {
    let mut g = graph();
    let x = placeholder(&mut g, "x");
    let two = constant(&mut g, "two", Tensor::scalar(2f32));
    let y = add(&mut g, "Mul", "y", vec![x.into(), two.into()], &[]);
    add(&mut g, "Neg", "z", vec![y.into()], &[]);
    for options in both_ways() {
        let s = Session::of(&g, options).unwrap();
        assert_eq!(f(&s.run(&[("x:0", Tensor::scalar(3f32))], &["z:0"], &[]).unwrap()[0]), -6.0);
        assert_eq!(f(&s.run(&[("y:0", Tensor::scalar(3f32))], &["z:0"], &[]).unwrap()[0]), -3.0);
        assert_eq!(
            f(&s.run(&[("two:0", Tensor::scalar(5f32)), ("x", Tensor::scalar(3f32))], &["z:0"], &[])
                .unwrap()[0]),
            -15.0
        );
        let e = s.run(&[], &["z:0"], &[]).unwrap_err();
        assert_eq!((e.code(), e.node()), (Code::InvalidArgument, Some("x")));
        let e = s.run(&[("x:0", Tensor::scalar(3i32))], &["z:0"], &[]).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument);
        assert_eq!(s.run(&[], &["nope:0"], &[]).unwrap_err().code(), Code::NotFound);
        s.close();
        assert_eq!(
            s.run(&[("x:0", Tensor::scalar(3f32))], &["z:0"], &[]).unwrap_err().code(),
            Code::Cancelled
        );
    }
}

/// Regression: a late feed got an earlier feed's slot.
#[test]
fn feeds_first_used_late_stay_apart() {
    let mut g = graph();
    let (x, y, z) = (placeholder(&mut g, "x"), placeholder(&mut g, "y"), placeholder(&mut g, "z"));
    let product = add(&mut g, "Mul", "product", vec![x.into(), y.into()], &[]);
    add(&mut g, "AddV2", "sum", vec![product.into(), z.into()], &[]);
    for options in both_ways() {
        let s = Session::of(&g, options).unwrap();
        let feeds = [("x", 2f32), ("y", 3.0), ("z", 5.0)].map(|(n, v)| (n, Tensor::scalar(v)));
        assert_eq!(f(&s.run(&feeds, &["sum:0"], &[]).unwrap()[0]), 11.0);
    }
}

#[test]
fn variables_keep_their_values_between_runs() {
    let mut g = graph();
    let shape = Attr::Shape(thalweg_core::shape::PartialShape::scalar());
    let v = add(
        &mut g,
        "VariableV2",
        "v",
        vec![],
        &[("dtype", DataType::Float.into()), ("shape", shape.clone())],
    );
    let one = constant(&mut g, "one", Tensor::scalar(1f32));
    add(&mut g, "Assign", "init", vec![v.into(), one.into()], &[]);
    add(&mut g, "AssignAdd", "inc", vec![v.into(), one.into()], &[]);
    add(&mut g, "Identity", "read", vec![v.into()], &[]);
    let h = add(&mut g, "VarHandleOp", "h", vec![], &[("dtype", DataType::Float.into()), ("shape", shape)]);
    add(&mut g, "AssignVariableOp", "hinit", vec![h.into(), one.into()], &[]);
    add(&mut g, "AssignAddVariableOp", "hinc", vec![h.into(), one.into()], &[]);
    add(&mut g, "ReadVariableOp", "hread", vec![h.into()], &[("dtype", DataType::Float.into())]);
    for options in both_ways() {
        let s = Session::of(&g, options).unwrap();
        let e = s.run(&[], &["read:0"], &[]).unwrap_err();
        assert_eq!((e.code(), e.node()), (Code::FailedPrecondition, Some("read")));
        assert_eq!(s.run(&[], &["hread:0"], &[]).unwrap_err().code(), Code::FailedPrecondition);
        s.run(&[], &[], &["init", "hinit"]).unwrap();
        for _ in 0..3 {
            s.run(&[], &[], &["inc", "hinc"]).unwrap();
        }
        assert_eq!(f(&s.run(&[], &["inc:0"], &[]).unwrap()[0]), 5.0);
        assert_eq!(f(&s.run(&[], &["read:0"], &[]).unwrap()[0]), 5.0);
        assert_eq!(f(&s.run(&[], &["hread:0"], &[]).unwrap()[0]), 4.0);
        s.reset(&[]);
        assert_eq!(s.run(&[], &["read:0"], &[]).unwrap_err().code(), Code::FailedPrecondition);
    }
}

/// TensorFlow's read shares the variable's memory. Workers of its SyncReplicasOptimizer got the previous step as their token.
#[test]
fn who_waits_for_an_update_sees_it_through_a_read_made_before() {
    let mut g = graph();
    let shape = Attr::Shape(thalweg_core::shape::PartialShape::scalar());
    let v = add(&mut g, "VariableV2", "v", vec![], &[("dtype", DataType::Float.into()), ("shape", shape)]);
    let one = constant(&mut g, "one", Tensor::scalar(1f32));
    add(&mut g, "Assign", "init", vec![v.into(), one.into()], &[]);
    let read = add(&mut g, "Identity", "read", vec![v.into()], &[]);
    // The read runs first: the update needs it.
    let inc = add(&mut g, "AssignAdd", "inc", vec![v.into(), read.into()], &[]);
    let mut after = |op, name, args: Vec<Arg>, before: Output| {
        g.add_node(NodeRequest { op, name, args, control: &[before.node], ..Default::default() })
            .unwrap()
            .output(0)
    };
    after("Neg", "token", vec![read.into()], inc);
    // The update may be an input of another input.
    let zero = after("ZerosLike", "zero", vec![one.into()], inc);
    add(&mut g, "Sub", "indirect", vec![zero.into(), read.into()], &[]);
    // A node that follows no update sees the initial value.
    add(&mut g, "Neg", "early", vec![read.into()], &[]);
    for options in both_ways() {
        let s = Session::of(&g, options).unwrap();
        s.run(&[], &[], &["init"]).unwrap();
        for doubled in [2f32, 4.0, 8.0] {
            let seen = s.run(&[], &["token:0", "indirect:0", "early:0"], &[]).unwrap();
            assert_eq!(seen.iter().map(f).collect::<Vec<_>>(), [-doubled, -doubled, -doubled / 2.0]);
        }
    }
}

/// while i < n: i += 1, x *= 2, of primitives.
fn loop_graph(parallel: i64) -> Graph {
    let mut g = graph();
    let n = placeholder(&mut g, "n");
    let (i0, x0) = (constant(&mut g, "i0", Tensor::scalar(0f32)), placeholder(&mut g, "x0"));
    let enter = |g: &mut Graph, name: &str, v: Output, constant: bool| {
        add(
            g,
            "Enter",
            name,
            vec![v.into()],
            &[
                ("frame_name", "f".into()),
                ("parallel_iterations", parallel.into()),
                ("is_constant", constant.into()),
            ],
        )
    };
    let (ei, ex, en) =
        (enter(&mut g, "ei", i0, false), enter(&mut g, "ex", x0, false), enter(&mut g, "en", n, true));
    let mi = add(&mut g, "Merge", "mi", vec![vec![ei, ei].into()], &[]);
    let mx = add(&mut g, "Merge", "mx", vec![vec![ex, ex].into()], &[]);
    let less = add(&mut g, "Less", "less", vec![mi.into(), en.into()], &[]);
    let cond = add(&mut g, "LoopCond", "cond", vec![less.into()], &[]);
    let si = add(&mut g, "Switch", "si", vec![mi.into(), cond.into()], &[]);
    let sx = add(&mut g, "Switch", "sx", vec![mx.into(), cond.into()], &[]);
    let one = constant(&mut g, "one", Tensor::scalar(1f32));
    let e1 = enter(&mut g, "e1", one, true);
    let ni = add(&mut g, "AddV2", "ni", vec![si.node.output(1).into(), e1.into()], &[]);
    let nx = add(&mut g, "AddV2", "nx", vec![sx.node.output(1).into(), sx.node.output(1).into()], &[]);
    let bi = add(&mut g, "NextIteration", "bi", vec![ni.into()], &[]);
    let bx = add(&mut g, "NextIteration", "bx", vec![nx.into()], &[]);
    g.set_input(mi.node, 1, bi).unwrap();
    g.set_input(mx.node, 1, bx).unwrap();
    add(&mut g, "Exit", "i", vec![si.into()], &[]);
    add(&mut g, "Exit", "x", vec![sx.into()], &[]);
    g
}

#[test]
fn a_loop_of_primitives_runs_any_number_of_times() {
    for parallel in [1, 2, 32] {
        let g = loop_graph(parallel);
        for options in both_ways() {
            let s = Session::of(&g, options).unwrap();
            for (n, x) in [(0f32, 3f32), (1.0, 6.0), (10.0, 3072.0)] {
                let r = s
                    .run(&[("n", Tensor::scalar(n)), ("x0", Tensor::scalar(3f32))], &["x:0", "i:0"], &[])
                    .unwrap();
                assert_eq!((f(&r[0]), f(&r[1])), (x, n));
            }
        }
    }
}

#[test]
fn a_long_loop_ends_when_its_time_is_up() {
    let s = Session::of(&loop_graph(10), SessionOptions::default()).unwrap();
    let options = RunOptions { timeout: Some(std::time::Duration::from_millis(50)), ..Default::default() };
    let feeds = [("n", Tensor::scalar(f32::INFINITY)), ("x0", Tensor::scalar(3f32))];
    assert_eq!(s.run_with(&feeds, &["x:0"], &[], &options).unwrap_err().code(), Code::DeadlineExceeded);
    // The session still works.
    assert_eq!(f(&s.run(&[("n", Tensor::scalar(1f32)), feeds[1].clone()], &["x:0"], &[]).unwrap()[0]), 6.0);
}

#[test]
fn a_cond_runs_one_branch_and_devices_exchange_values() {
    let mut g = graph();
    let p = add(&mut g, "Placeholder", "p", vec![], &[("dtype", DataType::Bool.into())]);
    let x = placeholder(&mut g, "x");
    let s = add(&mut g, "Switch", "s", vec![x.into(), p.into()], &[]);
    let n = add(&mut g, "Neg", "n", vec![s.into()], &[]);
    let d = g
        .add_node(NodeRequest {
            op: "AddV2",
            name: "d",
            args: vec![s.node.output(1).into(), s.node.output(1).into()],
            device: "/device:CPU:1",
            ..Default::default()
        })
        .unwrap()
        .output(0);
    add(&mut g, "Merge", "m", vec![vec![n, d].into()], &[]);
    for options in both_ways() {
        let options = SessionOptions { cpu_devices: 2, ..options };
        let s = Session::of(&g, options).unwrap();
        for (p, want, which) in [(true, 8f32, 1), (false, -4.0, 0)] {
            let r = s
                .run(&[("p", Tensor::scalar(p)), ("x", Tensor::scalar(4f32))], &["m:0", "m:1"], &[])
                .unwrap();
            assert_eq!((f(&r[0]), r[1].to_scalar::<i32>().unwrap()), (want, which));
        }
        let e =
            s.run(&[("p", Tensor::scalar(true)), ("x", Tensor::scalar(4f32))], &["n:0"], &[]).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument);
    }
    assert_eq!(Session::of(&g, SessionOptions::default()).err().unwrap().code(), Code::InvalidArgument);
    let soft = SessionOptions { soft_placement: true, ..Default::default() };
    let s = Session::of(&g, soft).unwrap();
    assert_eq!(
        f(&s.run(&[("p", Tensor::scalar(true)), ("x", Tensor::scalar(4f32))], &["m:0"], &[]).unwrap()[0]),
        8.0
    );
}

/// Regression: the second partition has no Recv; it failed without cancelling the first, which hung.
#[test]
fn a_part_that_fails_before_it_has_sent_ends_the_others() {
    let mut g = graph();
    let x = placeholder(&mut g, "x");
    let checked = add(&mut g, "CheckNumerics", "checked", vec![x.into()], &[("message", "x".into())]);
    let y = add(&mut g, "Neg", "y", vec![checked.into()], &[]);
    g.node_mut(checked.node).device = "/device:CPU:1".into();
    g.node_mut(y.node).device = "/device:CPU:0".into();
    for options in both_ways() {
        let s = Session::of(&g, SessionOptions { cpu_devices: 2, ..options }).unwrap();
        assert_eq!(f(&s.run(&[("x", Tensor::scalar(2f32))], &["y:0"], &[]).unwrap()[0]), -2.0);
        let e = s.run(&[("x", Tensor::scalar(f32::NAN))], &["y:0"], &[]).unwrap_err();
        assert_eq!((e.code(), e.node()), (Code::InvalidArgument, Some("checked")), "{e}");
    }
}

/// Regression: a failed run cancelled its caller's Cancellation, and so every later run with these options.
#[test]
fn a_failed_run_leaves_its_options_good_for_others() {
    let mut g = graph();
    let x = placeholder(&mut g, "x");
    let checked = add(&mut g, "CheckNumerics", "checked", vec![x.into()], &[("message", "x".into())]);
    let types = Attr::types(&[DataType::Float]);
    let q = add(&mut g, "FIFOQueueV2", "q", vec![], &[("component_types", types.clone())]);
    add(
        &mut g,
        "QueueEnqueueV2",
        "put",
        vec![q.into(), vec![checked].into()],
        &[("Tcomponents", types.clone())],
    );
    let taken = add(&mut g, "QueueDequeueV2", "take", vec![q.into()], &[("component_types", types)]);
    let far = add(&mut g, "Neg", "far", vec![checked.into()], &[]);
    g.node_mut(far.node).device = "/device:CPU:1".into();
    for options in both_ways() {
        let s = Session::of(&g, SessionOptions { cpu_devices: 2, ..options }).unwrap();
        let cancel: Arc<Cancellation> = Arc::default();
        let shared = RunOptions { cancel: Some(cancel.clone()), ..Default::default() };
        let put = |x: f32| s.run_with(&[("x", Tensor::scalar(x))], &[], &["put"], &shared);
        let far = |x: f32| s.run_with(&[("x", Tensor::scalar(x))], &["far:0"], &[], &shared);
        assert_eq!(put(f32::NAN).err().map(|e| e.code()), Some(Code::InvalidArgument));
        assert_eq!(far(f32::NAN).err().map(|e| e.code()), Some(Code::InvalidArgument));
        assert!(!cancel.is_cancelled());
        put(2.0).unwrap();
        assert_eq!(f(&far(2.0).unwrap().0[0]), -2.0);
        assert_eq!(f(&s.run_with(&[], &["take:0"], &[], &shared).unwrap().0[0]), 2.0);
        // The caller can still cancel runs, with its own reason: running ones and those started later.
        let (waiting, options) = (s.callable(&[], &[taken], &[]).unwrap(), shared.clone());
        let (tell, told) = std::sync::mpsc::channel();
        waiting.start(vec![], &options, Box::new(move |r| drop(tell.send(r.map(drop)))));
        cancel.cancel(cancelled("that was enough"));
        for e in [told.recv().unwrap().unwrap_err(), waiting.run_with(vec![], &shared).unwrap_err()] {
            assert_eq!((e.code(), e.message()), (Code::Cancelled, "that was enough"));
        }
    }
}

/// The ops that a run of `fetch` with `x` = `value` executed, and its result.
fn traced(g: &Graph, value: Tensor, fetch: &str, optimise: bool) -> (Vec<String>, Tensor) {
    let options = SessionOptions { optimise, threads: 2, ..Default::default() };
    let callable = Session::of(g, options).unwrap().callable_by_name(&["x"], &[fetch], &[]).unwrap();
    let options = RunOptions { trace: true, ..Default::default() };
    let (mut values, told) = callable.run_with(vec![value], &options).unwrap();
    (told.timings.nodes.iter().map(|n| n.op.to_string()).collect(), values.remove(0))
}

/// TensorFlow's gradient functions make such nodes: unused gradients with control edges.
#[test]
fn what_is_only_waited_for_is_not_computed() {
    let mut g = graph();
    let x = placeholder(&mut g, "x");
    let used = add(&mut g, "Neg", "used", vec![x.into()], &[]);
    let unused = add(&mut g, "Exp", "unused", vec![used.into()], &[]);
    let too = add(&mut g, "Sqrt", "unused_too", vec![unused.into()], &[]);
    let control = vec![too.node, used.node];
    let group = g
        .add_node(NodeRequest { op: "NoOp", name: "group", control: &control, ..Default::default() })
        .unwrap();
    let (args, control) = (vec![used.into()], vec![group]);
    g.add_node(NodeRequest { op: "Abs", name: "y", args, control: &control, ..Default::default() }).unwrap();
    let (ran, y) = traced(&g, Tensor::scalar(3f32), "y", true);
    assert_eq!(f(&y), 3.0);
    assert!(!ran.iter().any(|op| op == "Exp" || op == "Sqrt"), "{ran:?}");
    assert!(traced(&g, Tensor::scalar(3f32), "y", false).0.iter().any(|op| op == "Exp"));
}

#[test]
fn a_product_takes_in_its_bias_and_relu_and_names_itself_when_shapes_are_wrong() {
    let mut g = graph();
    let x = placeholder(&mut g, "x");
    let weights: Vec<f32> = (0..12).map(|i| i as f32 - 6.0).collect();
    let w = constant(&mut g, "w", Tensor::from_slice(Shape::new(&[3, 4]).unwrap(), &weights).unwrap());
    let b = constant(&mut g, "b", Tensor::vector(&[0.5f32, -1.0, 2.0, 0.25]).unwrap());
    let product = add(&mut g, "MatMul", "product", vec![x.into(), w.into()], &[]);
    let sum = add(&mut g, "BiasAdd", "sum", vec![product.into(), b.into()], &[]);
    add(&mut g, "Relu", "y", vec![sum.into()], &[]);
    let rows = Tensor::from_slice(Shape::new(&[2, 3]).unwrap(), &[1f32, -2.0, 0.5, 3.0, 1.0, -1.0]).unwrap();
    let (ran, y) = traced(&g, rows.clone(), "y", true);
    let (plain, want) = traced(&g, rows, "y", false);
    assert!(y.same_bits(&want), "{y} {want}");
    assert!(ran.iter().any(|op| op == "_FusedMatMul") && !ran.iter().any(|op| op == "Relu"), "{ran:?}");
    assert!(plain.iter().any(|op| op == "MatMul") && plain.iter().any(|op| op == "BiasAdd"), "{plain:?}");
    for options in both_ways() {
        let session = Session::of(&g, options).unwrap();
        let wrong = Tensor::from_slice(Shape::new(&[1, 2]).unwrap(), &[1f32, 2.0]).unwrap();
        let e = session.run(&[("x", wrong)], &["y"], &[]).unwrap_err();
        assert!(e.to_string().contains("product"), "{e}");
    }
}

/// Counts its live instances.
struct Counted(Arc<AtomicUsize>);

impl Resource for Counted {
    fn kind(&self) -> &'static str {
        "Counted"
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Regression: a stack that held its own handle was never freed.
#[test]
fn what_holds_its_own_handle_goes_with_its_step_or_session() {
    let resource = ("dtype", Attr::Type(DataType::Resource));
    let mut g = graph();
    let fed = add(&mut g, "Placeholder", "fed", vec![], &[resource.clone()]);
    let (zero, one) =
        (constant(&mut g, "zero", Tensor::scalar(0i32)), constant(&mut g, "one", Tensor::scalar(1i32)));
    let many = constant(&mut g, "many", Tensor::scalar(9i32));
    let stack =
        add(&mut g, "StackV2", "stack", vec![many.into()], &[("elem_type", Attr::Type(DataType::Resource))]);
    add(&mut g, "StackPushV2", "push_itself", vec![stack.into(), stack.into()], &[]);
    add(&mut g, "StackPushV2", "push_fed", vec![stack.into(), fed.into()], &[]);
    let array = add(&mut g, "TensorArrayV3", "array", vec![many.into()], &[resource.clone()]);
    let flow = Output { index: 1, ..array };
    add(
        &mut g,
        "TensorArrayWriteV3",
        "write_itself",
        vec![array.into(), zero.into(), array.into(), flow.into()],
        &[],
    );
    add(
        &mut g,
        "TensorArrayWriteV3",
        "write_fed",
        vec![array.into(), one.into(), fed.into(), flow.into()],
        &[],
    );
    let queue = add(
        &mut g,
        "FIFOQueueV2",
        "queue",
        vec![],
        &[("component_types", Attr::types(&[DataType::Resource]))],
    );
    add(&mut g, "QueueEnqueueV2", "enqueue_itself", vec![queue.into(), vec![queue].into()], &[]);
    add(&mut g, "QueueEnqueueV2", "enqueue_fed", vec![queue.into(), vec![fed].into()], &[]);
    let steps = [
        ("push_itself", "push_fed", false),
        ("write_itself", "write_fed", false),
        ("enqueue_itself", "enqueue_fed", true),
    ];
    for (itself, given, stays) in steps {
        let live = Arc::new(AtomicUsize::new(0));
        let s = Session::of(&g, SessionOptions { threads: 1, ..Default::default() }).unwrap();
        for _ in 0..3 {
            live.fetch_add(1, Ordering::SeqCst);
            let handle =
                ResourceHandle { target: Some(Arc::new(Counted(live.clone())).into()), ..Default::default() };
            s.run(&[("fed:0", Tensor::from_object(handle))], &[], &[itself, given]).unwrap();
        }
        assert_eq!(
            live.load(Ordering::SeqCst),
            if stays { 3 } else { 0 },
            "{itself}, while the session is there"
        );
        drop(s);
        assert_eq!(live.load(Ordering::SeqCst), 0, "{itself}, after the session");
    }
}

/// Regression: unknown dimensions were listed one by one, one for each element of `dims`: endless for a declared size of 10^12.
#[test]
fn a_rank_that_no_tensor_has_is_refused_before_it_is_written_down() {
    let mut g = graph();
    let x = placeholder(&mut g, "x");
    let many = Attr::Shape(PartialShape::vector(1 << 40));
    let dims =
        add(&mut g, "Placeholder", "dims", vec![], &[("dtype", DataType::Bool.into()), ("shape", many)]);
    let request = NodeRequest { op: "Reverse", args: vec![x.into(), dims.into()], ..Default::default() };
    let e = g.add_node(request).unwrap_err();
    assert!(e.code() == Code::InvalidArgument && e.message().contains("at most 254 dimensions"), "{e}");
    assert_eq!(PartialShape::unknown_of_rank(1 << 40), PartialShape::unknown());
}

/// Constant folding made them from the shape alone: an optional without its value.
#[test]
fn zeros_of_an_optional_have_its_value_with_and_without_the_optimiser() {
    for options in both_ways() {
        let mut g = graph();
        let x = constant(&mut g, "x", Tensor::vector(&[1f32, 2.0]).unwrap());
        let types = ("Toutput_types", Attr::types(&[DataType::Float]));
        let optional = add(&mut g, "OptionalFromValue", "optional", vec![vec![x].into()], &[types]);
        let zeros = add(&mut g, "ZerosLike", "zeros", vec![optional.into()], &[]);
        let sum = add(&mut g, "AddN", "sum", vec![vec![optional, optional].into()], &[]);
        for (name, of) in [("z", zeros), ("s", sum)] {
            let shape = Attr::Shape(PartialShape::vector(2));
            let declared = [
                ("output_types", Attr::types(&[DataType::Float])),
                ("output_shapes", Attr::List(vec![shape])),
            ];
            add(&mut g, "OptionalGetValue", name, vec![of.into()], &declared);
        }
        let out = Session::of(&g, options).unwrap().run(&[], &["z", "s"], &[]).unwrap();
        assert_eq!(out[0].as_slice::<f32>().unwrap(), [0.0, 0.0]);
        assert_eq!(out[1].as_slice::<f32>().unwrap(), [2.0, 4.0]);
    }
}

/// TensorFlow's `partial_run_setup` accepts it; the part that needs the value fails.
#[test]
fn a_partial_run_may_leave_a_placeholder_out_until_a_part_needs_it() {
    let mut g = graph();
    let x = placeholder(&mut g, "x");
    add(&mut g, "Neg", "y", vec![x.into()], &[]);
    let session = Session::of(&g, SessionOptions::default()).unwrap();
    let run = session.partial_run(&[], &["y"], &[]).unwrap();
    let (answer, answered) = std::sync::mpsc::channel();
    let done = Box::new(move |fetched: thalweg_core::error::Result<_>| drop(answer.send(fetched.map(drop))));
    run.step(vec![], &["y:0".to_string()], false, done).unwrap();
    let e = answered.recv().unwrap().unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    assert!(e.message().contains("You must feed a value for placeholder tensor 'x'"), "{e}");
}

/// A step of constants alone had no trace at all.
#[test]
fn a_trace_lists_the_constants_of_the_step() {
    let mut g = graph();
    constant(&mut g, "five", Tensor::scalar(5f32));
    let session = Session::of(&g, SessionOptions::default()).unwrap();
    let callable = session.callable_by_name(&[], &["five"], &[]).unwrap();
    let options = RunOptions { trace: true, ..Default::default() };
    let timings = callable.run_with(vec![], &options).unwrap().1.timings;
    let found: Vec<_> = timings.nodes.iter().map(|n| (&*n.node, &*n.op)).collect();
    assert_eq!(found, [("five", "Const")]);
    assert!(timings.nodes[0].device.ends_with("/device:CPU:0"));
}
