//! Malformed graphs that crashed or hung other systems: each is rejected with the right code and name, and its session
//! keeps working. The letters and numbers are the rows of the crash corpus.

#[path = "../common/mod.rs"]
mod common;

mod depth;
mod unneeded;

use common::{options, registry};
use std::time::Duration;
use thalweg_core::error::{Code, Error};
use thalweg_core::tensor::Tensor;
use thalweg_graph::convert::attrs_from_proto;
use thalweg_proto::{Bytes, GraphDef, Message, NodeDef, decode, text};
use thalweg_runtime::{RunOptions, Session};

/// The allocation limit of graphs of a few bytes.
const LIMIT: usize = 1 << 30;

fn parse(graph: &str) -> GraphDef {
    text::parse_graph_def(graph).unwrap_or_else(|e| panic!("{e} in {graph}"))
}

/// A session that can compute 3 + 5.
fn session(optimise: bool) -> Session {
    thalweg_core::buffer::set_limit(LIMIT);
    let s = Session::new(registry().clone(), options(optimise, 2)).unwrap();
    let good = format!(
        "{} {} node {{ name: 'good' op: 'AddV2' input: 'g3' input: 'g5' {} }}",
        constant("g3", "DT_INT32", "dtype: DT_INT32 int_val: 3"),
        constant("g5", "DT_INT32", "dtype: DT_INT32 int_val: 5"),
        dtype("T", "DT_INT32"),
    );
    s.extend_with(|g| g.import(&parse(&good))).unwrap();
    s
}

fn still_good(s: &Session) {
    assert_eq!(s.run(&[], &["good:0"], &[]).unwrap()[0].to_scalar::<i32>().unwrap(), 8);
}

/// Imports a graph into a working session and, if accepted, runs its node `bad`; this must fail, and nothing else.
fn error_of(def: &GraphDef) -> Error {
    let [on, _off] = [true, false].map(|optimise| {
        let s = session(optimise);
        let before = s.with_graph(|g| g.len());
        let error = match s.extend_with(|g| g.import(def)) {
            Err(e) => {
                assert_eq!(s.with_graph(|g| g.len()), before, "a refused graph left nodes behind");
                e
            }
            Ok(()) => s.run(&[], &[], &["bad"]).expect_err("accepted and run"),
        };
        still_good(&s);
        error
    });
    on
}

/// The graph is rejected with this code and an error with all `words`.
fn refused(graph: &str, code: Code, words: &[&str]) {
    refused_def(&parse(graph), code, words);
}

fn refused_def(def: &GraphDef, code: Code, words: &[&str]) {
    let e = error_of(def);
    assert_eq!(e.code(), code, "{e}");
    for word in words {
        assert!(e.to_string().contains(word), "'{word}' is not in: {e}");
    }
}

fn invalid(graph: &str, words: &[&str]) {
    refused(graph, Code::InvalidArgument, words);
}

fn dtype(name: &str, t: &str) -> String {
    format!("attr {{ key: '{name}' value {{ type: {t} }} }}")
}

fn constant(name: &str, t: &str, tensor: &str) -> String {
    let value = format!("attr {{ key: 'value' value {{ tensor {{ {tensor} }} }} }}");
    format!("node {{ name: '{name}' op: 'Const' {} {value} }}", dtype("dtype", t))
}

fn shape(dims: &[i64]) -> String {
    let dims: Vec<String> = dims.iter().map(|d| format!("dim {{ size: {d} }}")).collect();
    format!("tensor_shape {{ {} }}", dims.join(" "))
}

/// `bad`, a float constant with this shape and values.
fn float_constant(dims: &[i64], values: &str) -> String {
    constant("bad", "DT_FLOAT", &format!("dtype: DT_FLOAT {} {values}", shape(dims)))
}

/// A float scalar constant and a node `bad`.
fn with_a(node: &str) -> String {
    format!("{} node {{ name: 'bad' {node} }}", constant("a", "DT_FLOAT", "dtype: DT_FLOAT float_val: 1"))
}

fn identity_of(input: &str) -> String {
    with_a(&format!("op: 'Identity' input: '{input}' {}", dtype("T", "DT_FLOAT")))
}

fn function(name: &str, nodes: &str, result: &str) -> String {
    format!(
        "function {{ signature {{ name: '{name}' input_arg {{ name: 'x' type: DT_FLOAT }}
           output_arg {{ name: 'y' type: DT_FLOAT }} }} {nodes} {result} }}"
    )
}

fn calls(name: &str, callee: &str) -> String {
    function(
        name,
        &format!("node_def {{ name: 'c' op: '{callee}' input: 'x' }}"),
        "ret { key: 'y' value: 'c:y:0' }",
    )
}

fn library(functions: &[String], callee: &str) -> String {
    format!("library {{ {} }} {}", functions.join(" "), with_a(&format!("op: '{callee}' input: 'a'")))
}

#[test]
fn f01_constant_whose_size_overflows() {
    invalid(&float_constant(&[1 << 40, 1 << 40], "float_val: 1"), &["bad"]);
}

#[test]
fn f02_constant_of_negative_or_unknown_shape() {
    for dim in [-5, -1, i64::MIN] {
        invalid(&float_constant(&[dim], "float_val: 1"), &["bad"]);
    }
    invalid(
        &constant("bad", "DT_FLOAT", "dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 1"),
        &["bad", "unknown rank"],
    );
}

#[test]
fn f03_content_of_another_length_than_the_shape() {
    for bytes in [3, 4, 9, 12] {
        let content = "\\001".repeat(bytes);
        invalid(&float_constant(&[2], &format!("tensor_content: '{content}'")), &["bad", "tensor_content"]);
    }
    let strings = |content: &str| format!("dtype: DT_STRING {} tensor_content: '{content}'", shape(&[2]));
    for content in
        ["\\005\\001ab", "\\001", "\\001\\001abc", "\\377\\377\\377\\377\\377\\377\\377\\377\\377\\377\\377"]
    {
        invalid(&constant("bad", "DT_STRING", &strings(content)), &["bad"]);
    }
}

/// TensorFlow drops excess values; here they are an error, except for empty tensors, which its client writes with one.
#[test]
fn f04_more_values_than_elements() {
    invalid(&float_constant(&[2], "float_val: [1, 2, 3]"), &["bad", "3 values"]);
    invalid(&float_constant(&[1], "float_val: [1, 2]"), &["bad", "2 values"]);
    let complex = |n| constant("bad", "DT_COMPLEX64", &format!("dtype: DT_COMPLEX64 scomplex_val: {n}"));
    invalid(&complex("[1, 2, 3]"), &["bad", "pairs"]);
}

#[test]
fn f05_one_value_that_stands_for_gigabytes() {
    let exhausted = |graph: &str| refused(graph, Code::ResourceExhausted, &["bad", "limit"]);
    exhausted(&float_constant(&[1 << 31], "float_val: 1"));
    exhausted(&float_constant(&[1 << 31], ""));
    exhausted(&constant(
        "bad",
        "DT_STRING",
        &format!("dtype: DT_STRING {} string_val: 'x'", shape(&[1 << 33])),
    ));
}

#[test]
fn f06_constant_of_no_such_type_or_another_than_declared() {
    for t in ["DT_INVALID", "DT_FLOAT_REF", "99", "-1", "2147483647"] {
        invalid(&constant("bad", "DT_FLOAT", &format!("dtype: {t} float_val: 1")), &["bad"]);
    }
    for t in ["DT_INVALID", "99", "-1", "2147483647", "-2147483648"] {
        invalid(&constant("bad", t, "dtype: DT_FLOAT float_val: 1"), &["bad"]);
    }
    invalid(&constant("bad", "DT_INT32", "dtype: DT_FLOAT float_val: 1"), &["bad"]);
}

#[test]
fn f07_constant_of_300_dimensions() {
    invalid(&float_constant(&[1; 300], "float_val: 1"), &["bad"]);
    let placeholder = format!(
        "node {{ name: 'bad' op: 'Placeholder' {} attr {{ key: 'shape' value {{ shape {{ {} }} }} }} }}",
        dtype("dtype", "DT_FLOAT"),
        "dim { size: 1 }".repeat(300)
    );
    invalid(&placeholder, &["bad"]);
}

#[test]
fn f08_missing_attr_and_attr_listed_twice() {
    invalid("node { name: 'bad' op: 'Placeholder' }", &["bad", "dtype"]);
    invalid(&with_a("op: 'Identity' input: 'a'"), &["bad", "'T'"]);
    invalid("node { name: 'bad' op: 'NoOp' attr { key: 'x' value { } } }", &["bad", "'x'"]);
    let twice = "library { function { signature { name: 'f' attr { name: 'T' type: 'type' } attr { name: 'T' type: 'type' } } } }";
    invalid(&format!("{twice} node {{ name: 'bad' op: 'f' }}"), &["'f'", "'T'"]);
}

#[test]
fn f09_inputs_that_are_not_there() {
    for input in ["nothing", "a:7", "a:-2", "a:b:c", "a:", "a:1e3", "", ":", "^a:0", "a:4294967295", "^"] {
        invalid(&identity_of(input), &["bad"]);
    }
    invalid(&with_a("op: 'NoOp' input: '^nothing'"), &["bad", "nothing"]);
}

#[test]
fn f10_output_number_past_32_bits() {
    for n in ["2147483647", "2147483648", "4294967296", "18446744073709551616"] {
        invalid(&identity_of(&format!("a:{n}")), &["bad", n]);
    }
}

#[test]
fn f11_cycles_that_no_loop_closes() {
    let t = dtype("T", "DT_FLOAT");
    invalid(&format!("node {{ name: 'bad' op: 'Identity' input: 'bad' {t} }}"), &["cycle", "bad"]);
    let ring = |n: usize| -> String {
        (0..n)
            .map(|i| format!("node {{ name: 'n{i}' op: 'Identity' input: 'n{}' {t} }}", (i + 1) % n))
            .collect()
    };
    invalid(&ring(3), &["cycle", "n0", "n1", "n2"]);
    invalid(&ring(20_000), &["cycle", "n1"]);
    invalid("node { name: 'bad' op: 'NoOp' input: '^bad' }", &["cycle", "bad"]);
    let control = "node { name: 'a' op: 'NoOp' input: '^bad' } node { name: 'bad' op: 'NoOp' input: '^a' }";
    invalid(control, &["cycle", "bad"]);
    let merge =
        format!("node {{ name: 'bad' op: 'Merge' input: 'bad' {t} attr {{ key: 'N' value {{ i: 1 }} }} }}");
    invalid(&merge, &["cycle", "bad"]);
}

#[test]
fn f12_names_taken_or_not_names_and_unknown_ops() {
    invalid(&format!("{0} {0}", "node { name: 'bad' op: 'NoOp' }"), &["bad"]);
    invalid("node { name: 'good' op: 'NoOp' }", &["good"]);
    for name in ["../a b", "", "a b", "^a", "a:0", "é", "/", "\\000"] {
        invalid(&format!("node {{ name: '{name}' op: 'NoOp' }}"), &["not a valid node name"]);
    }
    refused("node { name: 'bad' op: 'Identiti' }", Code::NotFound, &["bad", "Identiti", "'Identity'"]);
    refused("node { name: 'bad' op: '' }", Code::NotFound, &["bad"]);
    refused("node { name: 'bad' }", Code::NotFound, &["bad"]);
}

#[test]
fn f13_edges_of_another_type_or_number() {
    let t = dtype("T", "DT_INT32");
    invalid(&with_a(&format!("op: 'Identity' input: 'a' {t}")), &["bad", "int32", "float"]);
    invalid(&with_a(&format!("op: 'AddV2' input: 'a' {}", dtype("T", "DT_FLOAT"))), &["bad", "inputs"]);
    invalid(
        &with_a(&format!("op: 'Neg' input: 'a' input: 'a' {}", dtype("T", "DT_FLOAT"))),
        &["bad", "inputs"],
    );
    for n in ["0", "-1", "2", "2147483648", "9223372036854775807"] {
        let add = format!(
            "op: 'AddN' input: 'a' {} attr {{ key: 'N' value {{ i: {n} }} }}",
            dtype("T", "DT_FLOAT")
        );
        invalid(&with_a(&add), &["bad"]);
    }
    invalid(
        &with_a("op: 'Assign' input: 'a' input: 'a' attr { key: 'T' value { type: DT_FLOAT } }"),
        &["bad", "reference"],
    );
}

#[test]
fn f14_loops_that_are_not() {
    let t = dtype("T", "DT_FLOAT");
    let enter = |name: &str, input: &str, frame: &str| {
        format!(
            "node {{ name: '{name}' op: 'Enter' input: '{input}' {t} attr {{ key: 'frame_name' value {{ s: '{frame}' }} }} }}"
        )
    };
    invalid(&with_a(&format!("op: 'Exit' input: 'a' {t}")), &["bad", "loop"]);
    // TensorFlow runs a lone NextIteration.
    invalid(&with_a(&format!("op: 'NextIteration' input: 'a' {t}")), &["bad", "loop"]);
    // Constants would have no frame.
    let v = format!(
        "node {{ name: 'v' op: 'VariableV2' {} attr {{ key: 'shape' value {{ shape {{ }} }} }} }}",
        dtype("dtype", "DT_FLOAT")
    );
    let mixed = |x: &str, y: &str| {
        with_a(&format!("op: 'AddV2' input: '{x}' input: '{y}' {t}"))
            + &v
            + &enter("e1", "v", "f1")
            + &enter("e2", "v", "f2")
    };
    invalid(&mixed("e1", "e2"), &["bad", "different loops"]);
    invalid(&mixed("e1", "v"), &["bad", "different loops"]);
    // A value inside a loop cannot be fetched.
    let s = session(true);
    s.extend_with(|g| {
        g.import(&parse(&(with_a(&format!("op: 'Neg' input: 'e1' {t}")) + &enter("e1", "a", "f1"))))
    })
    .unwrap();
    assert_eq!(s.run(&[], &["bad:0"], &[]).unwrap_err().code(), Code::InvalidArgument);
    still_good(&s);
    let back = "op: 'Neg' input: 'n' attr { key: 'T' value { type: DT_FLOAT } }";
    let no_merge = with_a(back) + &format!("node {{ name: 'n' op: 'NextIteration' input: 'bad' {t} }}");
    invalid(&no_merge, &[]);
}

#[test]
fn f16_functions_without_results_or_of_one_name() {
    let neg = "node_def { name: 'c' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }";
    invalid(&library(&[function("f", neg, "")], "f"), &["'f'", "'y'"]);
    let ret = "ret { key: 'y' value: 'c:y:0' }";
    let identity = neg.replace("Neg", "Identity");
    let identity_ret = "ret { key: 'y' value: 'c:output:0' }";
    invalid(&library(&[function("f", neg, ret), function("f", &identity, identity_ret)], "f"), &["'f'"]);
    for bound in ["nothing", "c:nothing:0", "c:y:7", "c:y:-1", "c:y:99999999999", "", ":", "x:1"] {
        invalid(
            &library(&[function("f", neg, &format!("ret {{ key: 'y' value: '{bound}' }}"))], "f"),
            &["bad"],
        );
    }
    invalid(&library(&[function("f", &neg.replace("'x'", "'z'"), ret)], "f"), &["'f'", "'z'"]);
    invalid("library { function { } } node { name: 'bad' op: 'NoOp' }", &["signature"]);
    invalid("library { function { signature { } } } node { name: 'bad' op: 'NoOp' }", &["name"]);
    let untyped = "library { function { signature { name: 'f' input_arg { name: 'x' } } } } node { name: 'bad' op: 'NoOp' }";
    invalid(untyped, &["'f'", "'x'"]);
    // Calls with wrong arguments, and of an unknown function.
    let f = function("f", neg, ret);
    invalid(&format!("library {{ {f} }} node {{ name: 'bad' op: 'f' }}"), &["bad"]);
    let call = "op: 'PartitionedCall' input: 'a' attr { key: 'Tin' value { list { type: DT_FLOAT } } }
        attr { key: 'Tout' value { list { type: TOUT } } } attr { key: 'f' value { func { name: 'NAME' } } }";
    let call = |name: &str, out: &str| with_a(&call.replace("NAME", name).replace("TOUT", out));
    refused(&call("g", "DT_FLOAT"), Code::NotFound, &["bad", "'g'"]);
    invalid(&format!("library {{ {f} }} {}", call("f", "DT_INT32")), &["bad"]);
    invalid(&format!("library {{ {f} }} {}", call("f", "[DT_FLOAT, DT_FLOAT]")), &["bad"]);
}

#[test]
fn f18_devices_and_colocation_that_make_no_sense() {
    for device in
        ["/job:!!!/task:-5/cpu:99999999999999", "/device:CPU:7", "/device:XPU:0", "nonsense", "/job:other"]
    {
        invalid(&format!("node {{ name: 'bad' op: 'NoOp' device: '{device}' }}"), &["bad"]);
    }
    for class in ["loc:@nothing", "loc:@", "loc:@bad:0"] {
        let node = format!(
            "node {{ name: 'bad' op: 'NoOp' attr {{ key: '_class' value {{ list {{ s: '{class}' }} }} }} }}"
        );
        invalid(&node, &["bad"]);
    }
}

#[test]
fn f19_output_shapes_in_the_file_are_not_believed() {
    let with_shape = |dim: i64| {
        with_a(&format!(
            "op: 'Identity' input: 'a' {} attr {{ key: '_output_shapes' value {{ list {{ shape {{ dim {{ size: {dim} }} }} }} }} }}",
            dtype("T", "DT_FLOAT")
        ))
    };
    invalid(&with_shape(-7), &["bad", "_output_shapes"]);
    let s = session(true);
    s.extend_with(|g| g.import(&parse(&with_shape(1 << 50)))).unwrap();
    let r = s.run(&[], &["bad:0"], &[]).unwrap();
    assert!(r[0].shape().is_scalar());
}

#[test]
fn f21_what_the_optimiser_must_not_trip_over() {
    let t = dtype("T", "DT_FLOAT");
    invalid(&identity_of("unknown"), &["bad"]);
    invalid(&with_a(&format!("op: 'Mul' input: 'a' {t}")), &["bad"]);
    let dims = |values: &str, n: i64| {
        constant("dims", "DT_INT32", &format!("dtype: DT_INT32 {} int_val: {values}", shape(&[n])))
    };
    for (values, n) in [
        ("[2147483647, 2147483647, 2147483647]", 3),
        ("[-1, -1]", 2),
        ("[-2]", 1),
        ("[-1, 0]", 2),
        ("[7]", 1),
    ] {
        let reshape = with_a(&format!("op: 'Reshape' input: 'a' input: 'dims' {t}")) + &dims(values, n);
        invalid(&reshape, &["bad"]);
    }
    // Constant folding ignores errors; runs report them.
    let zero = constant("zero", "DT_INT32", "dtype: DT_INT32 int_val: 0");
    let div = format!(
        "{zero} node {{ name: 'bad' op: 'FloorDiv' input: 'g3' input: 'zero' {} }}",
        dtype("T", "DT_INT32")
    );
    invalid(&div, &["bad", "zero"]);
    // Constant folding makes no large tensors.
    let fill = format!(
        "{} node {{ name: 'bad' op: 'Fill' input: 'dims' input: 'a' {t} }} {}",
        constant("a", "DT_FLOAT", "dtype: DT_FLOAT float_val: 1"),
        dims("[30000, 30000]", 2)
    );
    refused(&fill, Code::ResourceExhausted, &["bad", "limit"]);
}

#[test]
fn f22_argument_and_result_numbers_from_the_file() {
    let t = dtype("T", "DT_FLOAT");
    for index in ["0", "-1", "7", "2147483648", "9223372036854775807"] {
        let index = format!("attr {{ key: 'index' value {{ i: {index} }} }}");
        let e = error_of(&parse(&format!("node {{ name: 'bad' op: '_Arg' {t} {index} }}")));
        assert!(matches!(e.code(), Code::InvalidArgument | Code::FailedPrecondition | Code::Internal), "{e}");
        // In a body, indices come from the signature, not from such nodes.
        let arg = format!("node_def {{ name: 'c' op: '_Arg' {t} {index} }}");
        let e =
            error_of(&parse(&library(&[function("f", &arg, "ret { key: 'y' value: 'c:output:0' }")], "f")));
        assert_ne!(e.code(), Code::Unknown, "{e}");
        let s = session(true);
        let retval = with_a(&format!("op: '_Retval' input: 'a' {t} {index}"));
        let _ = s.extend_with(|g| g.import(&parse(&retval))).and_then(|()| s.run(&[], &[], &["bad"]));
        still_good(&s);
    }
}

#[test]
fn f23_placeholders_not_fed_or_fed_something_else() {
    let placeholder = format!(
        "node {{ name: 'p' op: 'Placeholder' {} attr {{ key: 'shape' value {{ shape {{ dim {{ size: -1 }} dim {{ size: 2 }} }} }} }} }}",
        dtype("dtype", "DT_FLOAT")
    );
    let graph =
        format!("{placeholder} node {{ name: 'bad' op: 'Neg' input: 'p' {} }}", dtype("T", "DT_FLOAT"));
    invalid(&graph, &["p", "feed"]);
    for optimise in [true, false] {
        let s = session(optimise);
        s.extend_with(|g| g.import(&parse(&graph))).unwrap();
        let zeros = |dims: &[usize]| {
            Tensor::zeros(
                thalweg_core::dtype::DataType::Float,
                thalweg_core::shape::Shape::new(dims).unwrap(),
            )
            .unwrap()
        };
        for wrong in [
            Tensor::scalar(1f32),
            zeros(&[2]),
            zeros(&[1, 3]),
            zeros(&[1, 2, 1]),
            Tensor::scalar(1i32),
            Tensor::string("x"),
        ] {
            let e = s.run(&[("p:0", wrong)], &["bad:0"], &[]).unwrap_err();
            assert_eq!(e.code(), Code::InvalidArgument, "{e}");
            assert!(e.message().contains("p:0"), "{e}");
        }
        assert_eq!(s.run(&[("p:0", zeros(&[0, 2]))], &["bad:0"], &[]).unwrap()[0].elements(), 0);
        for (feed, code) in
            [("q:0", Code::NotFound), ("p:1", Code::InvalidArgument), ("^p", Code::InvalidArgument)]
        {
            assert_eq!(s.run(&[(feed, zeros(&[1, 2]))], &["bad:0"], &[]).unwrap_err().code(), code);
        }
        let twice = [("p:0", zeros(&[1, 2])), ("p", zeros(&[1, 2]))];
        assert_eq!(s.run(&twice, &["bad:0"], &[]).unwrap_err().code(), Code::InvalidArgument);
        still_good(&s);
    }
}

/// An endless loop ends at the timeout, also one without loop variables, which runs by calls.
#[test]
fn endless_loops_end_with_their_time() {
    let truth = "node_def { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_BOOL } }
        attr { key: 'value' value { tensor { dtype: DT_BOOL bool_val: true } } } }";
    let cond = |args: &str| {
        format!(
            "function {{ signature {{ name: 'cond' {args} output_arg {{ name: 'y' type: DT_BOOL }} }} {truth}
               ret {{ key: 'y' value: 'c:output:0' }} }}"
        )
    };
    let body = |args: &str, results: &str, ret: &str| {
        format!("function {{ signature {{ name: 'body' {args} {results} }} {ret} }}")
    };
    let (arg, result) = ("input_arg { name: 'x' type: DT_FLOAT }", "output_arg { name: 'z' type: DT_FLOAT }");
    let functions = "attr { key: 'cond' value { func { name: 'cond' } } } attr { key: 'body' value { func { name: 'body' } } }";
    let list = |types: &str| format!("attr {{ key: 'T' value {{ list {{ {types} }} }} }}");
    let carries_one = format!(
        "library {{ {} {} }} {}",
        cond(arg),
        body(arg, result, "ret { key: 'z' value: 'x' }"),
        with_a(&format!("op: 'While' input: 'a' {} {functions}", list("type: DT_FLOAT")))
    );
    let carries_none = format!(
        "library {{ {} {} }} {}",
        cond(""),
        body("", "", ""),
        with_a(&format!("op: 'While' {} {functions}", list("")))
    );
    for graph in [carries_one, carries_none] {
        for optimise in [true, false] {
            let s = session(optimise);
            s.extend_with(|g| g.import(&parse(&graph))).unwrap();
            let options = RunOptions { timeout: Some(Duration::from_millis(50)), ..Default::default() };
            let e = s.run_with(&[], &[], &["bad"], &options).unwrap_err();
            assert_eq!(e.code(), Code::DeadlineExceeded, "{e}");
            still_good(&s);
        }
    }
}

/// A small graph's bytes, truncated or with any bit flipped, are rejected or harmless.
#[test]
fn graph_bytes_cut_or_flipped_anywhere() {
    let good = parse(&identity_of("a")).encode_to_vec();
    let try_bytes = |bytes: Vec<u8>| {
        let s = session(true);
        if let Ok(def) = decode::<GraphDef>(Bytes::from(bytes)) {
            let _ = s.extend_with(|g| g.import(&def)).and_then(|()| s.run(&[], &["bad:0"], &[]));
        }
        still_good(&s);
    };
    for end in 0..good.len() {
        try_bytes(good[..end].to_vec());
    }
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        try_bytes(bytes);
    }
}
