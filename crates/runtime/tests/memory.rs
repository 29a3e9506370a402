//! The memory limit of steps, what they free, and that a step past its deadline allocates no more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::cpu;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Code, Error, Result, cancelled};
use thalweg_core::kernel::OpCall;
use thalweg_core::memory::{self, Counting, Limits};
use thalweg_core::op::Op;
use thalweg_core::shape::{PartialShape, Shape};
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Arg, Graph, NodeRequest, Output};
use thalweg_runtime::{RunOptions, Session, SessionOptions};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: usize = 1 << 20;

/// Limits are global: one test at a time. Live bytes are not part of the limit.
fn alone_within(limit: usize) -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    memory::start(Some(64 << 30));
    let limit = memory::live() + limit;
    memory::set_limits(Limits { limit, ceiling: limit + 100 * MIB });
    guard
}

static CANCELS: Op = Op {
    name: "CancelsItsStep",
    outputs: &["y: float"],
    stateful: true,
    shape: |_| Ok(vec![PartialShape::unknown()]),
    kernels: cpu!(cancel_step),
    ..Op::PURE
};

fn cancel_step(c: &mut OpCall<'_>) -> Result<()> {
    c.step.cancel.cancel(cancelled("enough"));
    c.set(0, Tensor::scalar(1f32));
    Ok(())
}

static OUTLIVES: Op = Op { name: "OutlivesItsStep", kernels: cpu!(outlive_step), ..clone_of(&CANCELS) };

/// A large result, after the step's deadline.
fn outlive_step(c: &mut OpCall<'_>) -> Result<()> {
    while c.step.deadline.is_some_and(|d| Instant::now() < d) {
        std::hint::spin_loop();
    }
    c.set(0, Tensor::zeros(DataType::Float, Shape::vector(1 << 20))?);
    Ok(())
}

static COUNTS: Op =
    Op { name: "CountsItsRuns", inputs: &["x: float"], kernels: cpu!(count), ..clone_of(&CANCELS) };

static RUNS: AtomicUsize = AtomicUsize::new(0);

fn count(c: &mut OpCall<'_>) -> Result<()> {
    RUNS.fetch_add(1, Ordering::SeqCst);
    let x = c.take(0)?;
    c.set(0, x);
    Ok(())
}

const fn clone_of(op: &Op) -> Op {
    Op { name: op.name, outputs: op.outputs, stateful: op.stateful, shape: op.shape, ..Op::PURE }
}

fn graph() -> Graph {
    let mut registry = thalweg_ops::registry();
    [&CANCELS, &OUTLIVES, &COUNTS].into_iter().for_each(|op| registry.add(op));
    Graph::new(Arc::new(registry))
}

fn add(g: &mut Graph, op: &str, name: &str, args: Vec<Arg>, attrs: &[(&'static str, Attr)]) -> Output {
    let attrs: Attrs = attrs.iter().cloned().collect();
    g.add_node(NodeRequest { op, name, args, attrs, ..Default::default() }).unwrap().output(0)
}

fn constant(g: &mut Graph, t: Tensor) -> Output {
    add(g, "Const", "constant", vec![], &[("dtype", t.dtype().into()), ("value", Attr::Tensor(t))])
}

/// `mib` MiB that no pass can fold.
fn block(g: &mut Graph, name: &str, mib: i32) -> Output {
    let dims = constant(g, Tensor::vector(&[mib, 1 << 18]).unwrap());
    add(g, "RandomUniform", name, vec![dims.into()], &[("dtype", DataType::Float.into())])
}

fn session(g: &Graph) -> Session {
    Session::of(g, SessionOptions { threads: 2, ..Default::default() }).unwrap()
}

fn refusal<T>(result: Result<T>) -> Error {
    let e = result.err().expect("there is no memory for it");
    assert_eq!(e.code(), Code::ResourceExhausted, "{e}");
    e
}

/// The bytes that a session holds.
fn held(session: &Session) -> usize {
    session.devices()[0].context.memory.held()
}

/// Adds a node that may block: another kind of plan.
fn with_a_wait(g: &mut Graph) -> Vec<String> {
    let types: Attr = Attr::types(&[DataType::Float]);
    let queue = add(g, "FIFOQueueV2", "queue", vec![], &[("component_types", types)]);
    add(g, "QueueSizeV2", "size", vec![queue.into()], &[]);
    vec!["size".to_string()]
}

#[test]
fn after_its_deadline_or_cancellation_a_step_begins_no_further_kernel() {
    let _alone = alone_within(1000 * MIB);
    for (op, waits) in [
        ("CancelsItsStep", false),
        ("CancelsItsStep", true),
        ("OutlivesItsStep", false),
        ("OutlivesItsStep", true),
    ] {
        let mut g = graph();
        let mut x = add(&mut g, op, "first", vec![], &[]);
        // Fewer than used to run between two checks.
        for _ in 0..20 {
            x = add(&mut g, "CountsItsRuns", "next", vec![x.into()], &[]);
        }
        let mut targets = if waits { with_a_wait(&mut g) } else { Vec::new() };
        targets.push(g.node(x.node).name.to_string());
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let s = session(&g);
        let callable = s.callable_by_name(&[], &[], &targets).unwrap();
        RUNS.store(0, Ordering::SeqCst);
        let options = RunOptions { timeout: Some(Duration::from_millis(20)), ..Default::default() };
        let e = callable.run_with(vec![], &options).expect_err("it was ended");
        let code = if op == "CancelsItsStep" { Code::Cancelled } else { Code::DeadlineExceeded };
        assert_eq!((e.code(), RUNS.load(Ordering::SeqCst)), (code, 0), "{op}, {waits}: {e}");
    }
}

#[test]
fn a_session_that_holds_much_is_refused_and_leaves_room_for_another() {
    let _alone = alone_within(180 * MIB);
    let mut g = graph();
    let types: Attr = Attr::types(&[DataType::Float]);
    let queue = add(
        &mut g,
        "FIFOQueueV2",
        "queue",
        vec![],
        &[("component_types", types), ("capacity", Attr::Int(-1))],
    );
    let made = block(&mut g, "made", 4);
    add(&mut g, "QueueEnqueueV2", "put", vec![queue.into(), Arg::List(vec![made])], &[]);
    let (hog, other) = (session(&g), session(&g));
    let e = (0..100).find_map(|_| hog.run(&[], &[], &["put"]).err()).expect("400 MiB do not fit");
    assert_eq!((e.code(), e.node()), (Code::ResourceExhausted, Some("made")), "{e}");
    assert!(e.message().contains("the session holds"), "{e}");
    assert!(held(&hog) > 120 * MIB, "{}", held(&hog));
    // The other session may have 16/17 of the rest, here 20 MiB.
    other.run(&[], &[], &["put"]).unwrap();
    drop(hog);
    for _ in 0..30 {
        other.run(&[], &[], &["put"]).unwrap();
    }
}

#[test]
fn a_step_gives_back_what_it_held_however_it_ends() {
    let _alone = alone_within(100 * MIB);
    let mut g = graph();
    let blocks: Vec<Output> = (0..4).map(|i| block(&mut g, &format!("block_{i}"), 30)).collect();
    add(&mut g, "AddN", "sum", vec![Arg::List(blocks.clone())], &[]);
    add(&mut g, "AddN", "half", vec![Arg::List(blocks[..2].to_vec())], &[]);
    let s = session(&g);
    for _ in 0..3 {
        let e = refusal(s.run(&[], &["sum:0"], &[]));
        assert!(e.node().is_some_and(|n| n.starts_with("block_")), "{e}");
        let result = s.run(&[], &["half:0"], &[]).unwrap();
        assert!(held(&s) >= 30 * MIB && held(&s) < 40 * MIB, "{}", held(&s));
        drop(result);
        assert!(held(&s) < MIB, "plans and graph: {}", held(&s));
    }
}

#[test]
fn strings_and_what_is_fed_are_on_the_sessions_count_as_long_as_they_live() {
    let _alone = alone_within(100 * MIB);
    let mut g = graph();
    let dtype = ("dtype", DataType::String.into());
    let text = add(&mut g, "Placeholder", "text", vec![], &[dtype]);
    let mut x = text;
    for i in 0..10 {
        x = add(&mut g, "StringJoin", &format!("join_{i}"), vec![Arg::List(vec![x, x])], &[]);
    }
    let s = session(&g);
    let feed = |bytes: usize| [("text:0", Tensor::string(vec![b'x'; bytes]))];
    let joined = s.run(&feed(10_000), &["join_9:0"], &[]).unwrap();
    assert!(held(&s) >= 10 * 1000 * 1000 && held(&s) < 12 * MIB, "{}", held(&s));
    drop(joined);
    assert!(held(&s) < MIB);
    let e = refusal(s.run(&feed(1 << 20), &["join_9:0"], &[]));
    assert!(e.node().is_some_and(|n| n.starts_with("join_")), "{e}");
    assert!(held(&s) < MIB);
    let mut g = graph();
    add(&mut g, "Placeholder", "x", vec![], &[("dtype", DataType::Float.into())]);
    let s = session(&g);
    let fed = Tensor::zeros(DataType::Float, Shape::vector(1 << 20)).unwrap();
    let same = s.run(&[("x:0", fed)], &["x:0"], &[]).unwrap();
    assert!(held(&s) >= 4 * MIB, "{}", held(&s));
    drop(same);
    assert!(held(&s) < MIB);
}

#[test]
fn a_graph_counts_for_its_session_and_one_too_large_to_compile_is_refused() {
    let _alone = alone_within(600 * MIB);
    let mut g = graph();
    let mut x = add(&mut g, "Placeholder", "x", vec![], &[("dtype", DataType::Float.into())]);
    for _ in 0..100_000 {
        x = add(&mut g, "Neg", "n", vec![x.into()], &[]);
    }
    let last = g.tensor_name(x);
    let s = session(&g);
    let of_graph = held(&s);
    assert!(of_graph > 10 * MIB, "{of_graph}");
    let feed = [("x:0", Tensor::scalar(1f32))];
    assert_eq!(s.run(&feed, &[&last], &[]).unwrap()[0].to_scalar::<f32>().unwrap(), 1.0);
    eprintln!("100,000 nodes: graph {of_graph}, with plan {}", held(&s));
    let live = memory::live();
    memory::set_limits(Limits { limit: live + 150 * MIB, ceiling: live + 200 * MIB });
    let e = refusal(s.run(&feed, &[&last], &["n_1"]));
    assert!(e.message().contains("compiling 100001 nodes"), "{e}");
    drop((s, g));
    assert!(memory::live() < live - of_graph, "{} of {live}", memory::live());
}
