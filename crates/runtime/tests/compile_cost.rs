//! The cost of compiling is linear in the size of the graph, and compiling is cancelled with its step. Cost is allocated bytes, which
//! shows quadratic copies without a clock.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Code, Error, cancelled};
use thalweg_core::tensor::Tensor;
use thalweg_proto::attr_value::{ListValue, Value};
use thalweg_proto::op_def::ArgDef;
use thalweg_proto::{
    AttrValue, FunctionDef, FunctionDefLibrary, GraphDef, NameAttrList, NodeDef, OpDef, TensorProto,
    TensorShapeProto,
};
use thalweg_runtime::{RunOptions, Session, SessionOptions};

/// The system allocator, counting the bytes of each thread.
struct Counting;

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // An exiting thread has no counter.
    let _ = BYTES.try_with(|b| b.set(b.get() + bytes));
}

// SAFETY: every call is forwarded unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const FLOAT: i32 = 1;
const INT32: i32 = 3;
const BOOL: i32 = 10;

fn attr(value: Value) -> AttrValue {
    AttrValue { value: Some(value) }
}

fn t() -> (&'static str, AttrValue) {
    ("T", attr(Value::Type(FLOAT)))
}

fn types(n: usize) -> AttrValue {
    attr(Value::List(Box::new(ListValue { r#type: vec![FLOAT; n], ..Default::default() })))
}

fn func(name: &str) -> AttrValue {
    attr(Value::Func(NameAttrList { name: name.into(), ..Default::default() }))
}

fn node(name: &str, op: &str, inputs: &[&str], attrs: &[(&str, AttrValue)]) -> NodeDef {
    NodeDef {
        name: name.into(),
        op: op.into(),
        input: inputs.iter().map(|i| i.to_string()).collect(),
        attr: attrs.iter().map(|(n, a)| (n.to_string(), a.clone())).collect(),
        ..Default::default()
    }
}

/// A constant zero.
fn zero(name: &str, dtype: i32) -> NodeDef {
    let tensor_shape = Some(TensorShapeProto::default());
    let mut value = TensorProto { dtype, tensor_shape, ..Default::default() };
    match dtype {
        FLOAT => value.float_val.push(0.0),
        _ => value.int_val.push(0),
    }
    node(
        name,
        "Const",
        &[],
        &[("dtype", attr(Value::Type(dtype))), ("value", attr(Value::Tensor(Box::new(value))))],
    )
}

fn placeholder(name: &str) -> NodeDef {
    node(name, "Placeholder", &[], &[("dtype", attr(Value::Type(FLOAT)))])
}

/// With arguments `x0`.. and results `y0`.., which are these tensors.
fn function(name: &str, args: usize, results: &[(i32, String)], nodes: Vec<NodeDef>) -> FunctionDef {
    let arg = |name: String, r#type: i32| ArgDef { name, r#type, ..Default::default() };
    let input_arg = (0..args).map(|i| arg(format!("x{i}"), FLOAT)).collect();
    let output_arg = results.iter().enumerate().map(|(i, r)| arg(format!("y{i}"), r.0)).collect();
    FunctionDef {
        signature: Some(OpDef { name: name.into(), input_arg, output_arg, ..Default::default() }),
        node_def: nodes,
        ret: results.iter().enumerate().map(|(i, r)| (format!("y{i}"), r.1.clone())).collect(),
        ..Default::default()
    }
}

fn names(prefix: &str, n: usize) -> Vec<String> {
    (0..n).map(|i| format!("{prefix}{i}")).collect()
}

fn strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn sum(of: &[String]) -> NodeDef {
    node("sum", "AddN", &strs(of), &[t(), ("N", attr(Value::I(of.len() as i64)))])
}

/// A graph and its fetches.
struct Problem {
    nodes: Vec<NodeDef>,
    functions: Vec<FunctionDef>,
    fetches: Vec<String>,
    devices: usize,
}

impl Problem {
    fn of(mut nodes: Vec<NodeDef>, functions: Vec<FunctionDef>, fetch: &str) -> Problem {
        nodes.push(placeholder("x"));
        Problem { nodes, functions, fetches: vec![fetch.to_string()], devices: 1 }
    }

    fn session(&self) -> Session {
        let library = FunctionDefLibrary { function: self.functions.clone(), ..Default::default() };
        let def = GraphDef { node: self.nodes.clone(), library: Some(library), ..Default::default() };
        let options = SessionOptions { cpu_devices: self.devices, threads: 1, ..Default::default() };
        let session = Session::new(Arc::new(thalweg_ops::registry()), options).unwrap();
        session.extend_with(|g| g.import(&def)).unwrap();
        session
    }

    /// Bytes allocated to compile it and to export its partitions.
    fn cost(&self) -> usize {
        let session = self.session();
        let before = BYTES.get();
        let callable = session.callable_by_name(&["x"], &strs(&self.fetches), &[]).unwrap();
        callable.partition_graphs().unwrap();
        BYTES.get() - before
    }
}

/// Compiling a graph twice as large costs little more than twice as much.
fn is_linear(what: &str, n: usize, problem: impl Fn(usize) -> Problem) {
    problem(n / 2).cost();
    let (small, large) = (problem(n).cost(), problem(2 * n).cost());
    assert!(large * 2 < small * 5, "{what}: {small} bytes for {n}, {large} for {}", 2 * n);
}

/// A node of many constant outputs.
fn partition(n: usize, data: &str) -> Vec<NodeDef> {
    let count = ("num_partitions", attr(Value::I(n as i64)));
    vec![
        zero("c", FLOAT),
        zero("which", INT32),
        node("part", "DynamicPartition", &[data, "which"], &[t(), count]),
    ]
}

#[test]
fn outputs_of_a_folded_node_do_not_each_copy_all_of_them() {
    is_linear("one output", 2048, |n| Problem::of(partition(n, "c"), vec![], "part"));
    let all = |n| Problem { fetches: names("part:", n), ..Problem::of(partition(n, "c"), vec![], "part") };
    is_linear("all outputs", 1024, all);
}

#[test]
fn transfers_between_devices_do_not_each_copy_their_source() {
    is_linear("outputs", 1024, |n| {
        let mut nodes = partition(n, "x");
        nodes.push(NodeDef { device: "/device:CPU:1".into(), ..sum(&names("part:", n)) });
        Problem { devices: 2, ..Problem::of(nodes, vec![], "sum") }
    });
}

/// Functions that each call the next; the last squares its argument.
fn chain(n: usize) -> Vec<FunctionDef> {
    let body = |i: usize| match i + 1 < n {
        true => (node("inner", &format!("f{}", i + 1), &["x0"], &[]), "inner:y0:0"),
        false => (node("inner", "Square", &["x0"], &[t()]), "inner:y:0"),
    };
    let one = |i: usize| {
        let (inner, result) = body(i);
        let last = node("last", "L2Loss", &[result], &[t()]);
        function(&format!("f{i}"), 1, &[(FLOAT, "last:output:0".into())], vec![inner, last])
    };
    (0..n).map(one).collect()
}

#[test]
fn calls_in_calls_do_not_each_copy_the_library_or_the_names_around_them() {
    is_linear("calls in calls", 1000, |n| {
        Problem::of(vec![node("call", "f0", &["x"], &[])], chain(n), "call")
    });
    is_linear("calls beside calls", 1000, |n| {
        let one = |i| {
            let body = vec![node("l", "L2Loss", &["x0"], &[t()])];
            function(&format!("f{i}"), 1, &[(FLOAT, "l:output:0".into())], body)
        };
        let mut nodes: Vec<NodeDef> =
            (0..n).map(|i| node(&format!("call{i}"), &format!("f{i}"), &["x"], &[])).collect();
        nodes.push(sum(&names("call", n)));
        Problem::of(nodes, (0..n).map(one).collect(), "sum")
    });
}

/// A condition that is always false.
fn never(args: usize) -> FunctionDef {
    let body = vec![zero("zero", FLOAT), node("less", "Less", &["zero:output:0", "zero:output:0"], &[t()])];
    function("never", args, &[(BOOL, "less:z:0".into())], body)
}

fn while_loop(name: &str, inputs: &[&str], body: &str) -> NodeDef {
    let attrs = [("T", types(inputs.len())), ("cond", func("never")), ("body", func(body))];
    node(name, "While", inputs, &attrs)
}

#[test]
fn what_a_loop_carries_does_not_each_wait_for_all_its_effects() {
    is_linear("variables and effects", 200, |n| {
        let u = ("U", types(1));
        let told = |i: usize| node(&format!("p{i}"), "Print", &["x0", "x0"], &[t(), u.clone()]);
        let mut body: Vec<NodeDef> = (0..n).map(told).collect();
        body.push(node("next", "Neg", &["x0"], &[t()]));
        // A shift register: values move to the next variable.
        let from = |i: usize| if i == 0 { "next:y:0".to_string() } else { format!("x{}", i - 1) };
        let results: Vec<(i32, String)> = (0..n).map(|i| (FLOAT, from(i))).collect();
        let functions = vec![function("body", n, &results, body), never(n)];
        Problem::of(vec![while_loop("loop", &vec!["x"; n], "body")], functions, "loop")
    });
}

#[test]
fn loops_in_loops_are_not_all_looked_at_for_each() {
    is_linear("loops", 150, |n| {
        let one = |i: usize| {
            let mut body = vec![node("last", "L2Loss", &["x0"], &[t()])];
            if i + 1 < n {
                body.push(while_loop("inner", &["x0"], &format!("f{}", i + 1)));
                body[0].input[0] = "inner:output:0".into();
            }
            function(&format!("f{i}"), 1, &[(FLOAT, "last:output:0".into())], body)
        };
        let functions: Vec<FunctionDef> = (0..n).map(one).chain([never(1)]).collect();
        Problem::of(vec![while_loop("loop", &["x"], "f0")], functions, "loop")
    });
}

/// Reference variables, each updated and then read; `together`: after all updates.
fn updated(n: usize, together: bool) -> Problem {
    let mut nodes = Vec::new();
    for i in 0..n {
        let (v, read) = (format!("v{i}"), format!("read{i}"));
        let kind = [("dtype", attr(Value::Type(FLOAT))), ("shape", attr(Value::Shape(Default::default())))];
        nodes.push(node(&v, "VariableV2", &[], &kind));
        nodes.push(node(&format!("assign{i}"), "Assign", &[&v, "x"], &[t()]));
        nodes.push(node(&read, "Identity", &[&v], &[t()]));
        let after = if together { "^all".to_string() } else { format!("^assign{i}") };
        nodes.push(node(&format!("square{i}"), "Square", &[&read, &after], &[t()]));
    }
    let assigns: Vec<String> = (0..n).map(|i| format!("^assign{i}")).collect();
    nodes.push(node("all", "NoOp", &strs(&assigns), &[]));
    nodes.push(sum(&names("square", n)));
    Problem::of(nodes, vec![], "sum")
}

#[test]
fn reference_variables_are_not_each_looked_for_in_the_whole_graph() {
    is_linear("updates of their own", 8_192, |n| updated(n, false));
    is_linear("updates together", 8_192, |n| updated(n, true));
}

#[test]
fn looking_for_reads_of_many_reference_variables_ends_with_the_step() {
    let session = updated(20_000, true).session();
    let limit = RunOptions { timeout: Some(Duration::from_millis(1)), ..Default::default() };
    let e = session.callable_by_name_with(&["x"], &["sum"], &[], &limit).err().unwrap();
    assert_eq!(e.code(), Code::DeadlineExceeded);
}

/// Functions that each call the next twice: far more than can be inlined.
fn doubling() -> Problem {
    let one = |i: usize| {
        let callee = format!("f{}", i + 1);
        let body = match i < 60 {
            true => [("a", "x0"), ("b", "a:y0:0")].map(|(n, x)| node(n, &callee, &[x], &[])).to_vec(),
            false => vec![node("b", "Square", &["x0"], &[t()])],
        };
        let result = if i < 60 { "b:y0:0" } else { "b:y:0" };
        function(&format!("f{i}"), 1, &[(FLOAT, result.into())], body)
    };
    Problem::of(vec![node("call", "f0", &["x"], &[])], (0..=60).map(one).collect(), "call")
}

fn compile(session: &Session, options: &RunOptions) -> Error {
    session.callable_by_name_with(&["x"], &["call"], &[], options).err().unwrap()
}

#[test]
fn compiling_ends_with_the_step_that_it_is_for() {
    let session = doubling().session();
    let cancel = Arc::new(Cancellation::default());
    cancel.cancel(cancelled("the client has gone"));
    let gone = RunOptions { cancel: Some(cancel), ..Default::default() };
    assert_eq!(compile(&session, &gone).message(), "the client has gone");
    let e = session.partial_run_with(&["x"], &["call"], &[], &gone).err().unwrap();
    assert_eq!(e.message(), "the client has gone");
    // Inlining takes far longer than this to reach its limit.
    let limit = RunOptions { timeout: Some(Duration::from_millis(1)), ..Default::default() };
    assert_eq!(compile(&session, &limit).code(), Code::DeadlineExceeded);
    let e = session.run_with(&[("x", Tensor::scalar(0f32))], &["call"], &[], &limit).err().unwrap();
    assert_eq!(e.code(), Code::DeadlineExceeded);
    session.close();
    assert_eq!(compile(&session, &RunOptions::default()).code(), Code::Cancelled);
}
