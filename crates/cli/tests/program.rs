//! The command line: arguments, output and exit codes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Arg, Graph, NodeRequest, Output};
use thalweg_io::npy;
use thalweg_proto::{GraphDef, Message, MetaGraphDef, SavedModel, text};

/// A temporary directory, removed on drop.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("thalweg-cli-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Exit code, standard output, standard error.
fn thalweg(args: &[&str]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_thalweg")).args(args).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (out.status.code().unwrap_or(-1), text(out.stdout), text(out.stderr))
}

/// The output of a run that must succeed.
fn good(args: &[&str]) -> String {
    let (code, out, err) = thalweg(args);
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out
}

/// A run that must fail: its exit code and the first line of its error.
fn bad(args: &[&str]) -> (i32, String) {
    let (code, out, err) = thalweg(args);
    assert_eq!(out, "", "{args:?}");
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    (code, err.lines().next().unwrap_or("").to_string())
}

fn add(g: &mut Graph, op: &str, name: &str, args: Vec<Arg>, attrs: &[(&'static str, Attr)]) -> Output {
    let attrs: Attrs = attrs.iter().cloned().collect();
    g.add_node(NodeRequest { op, name, args, attrs, ..Default::default() }).unwrap().output(0)
}

/// y = x + [[1, 2], [3, 4]] in floats, sum = 3 + 5 in ints, greeting passes a string on.
fn graph() -> GraphDef {
    let mut g = Graph::new(Arc::new(thalweg_ops::registry()));
    let constant = |g: &mut Graph, name: &str, t: Tensor| {
        add(g, "Const", name, vec![], &[("dtype", t.dtype().into()), ("value", Attr::Tensor(t))])
    };
    let (a, b) = (constant(&mut g, "a", Tensor::scalar(3i32)), constant(&mut g, "b", Tensor::scalar(5i32)));
    add(&mut g, "AddV2", "sum", vec![a.into(), b.into()], &[]);
    let w = Tensor::from_slice(Shape::new(&[2, 2]).unwrap(), &[1f32, 2., 3., 4.]).unwrap();
    let w = constant(&mut g, "layer/w", w);
    let x = add(&mut g, "Placeholder", "x", vec![], &[("dtype", DataType::Float.into())]);
    add(&mut g, "AddV2", "y", vec![x.into(), w.into()], &[]);
    let s = add(&mut g, "Placeholder", "s", vec![], &[("dtype", DataType::String.into())]);
    add(&mut g, "Identity", "greeting", vec![s.into()], &[]);
    add(&mut g, "NoOp", "nothing", vec![], &[]);
    g.to_def(Default::default()).unwrap()
}

#[test]
fn a_graph_is_known_by_its_content() {
    let dir = Dir::new("forms");
    let meta = MetaGraphDef { graph_def: Some(graph()), ..Default::default() };
    let model = SavedModel { saved_model_schema_version: 1, meta_graphs: vec![meta.clone()] };
    let forms = [
        dir.file("graph", graph().encode_to_vec()),
        dir.file("graph.txt", text::print_graph_def(&graph())),
        dir.file("commented", format!("# made by hand\n{}", text::print_graph_def(&graph()))),
        dir.file("meta", meta.encode_to_vec()),
        dir.file("meta.txt", text::print(&meta)),
        dir.file("saved_model.pb", model.encode_to_vec()),
        dir.file("model.txt", text::print(&model)),
        dir.0.to_str().unwrap().to_string(),
    ];
    for form in &forms {
        assert_eq!(good(&["run", form, "--fetch", "sum"]), "8\n", "{form}");
    }
}

#[test]
fn values_are_fed_and_printed() {
    let dir = Dir::new("values");
    let g = &dir.file("g.pb", graph().encode_to_vec());
    assert_eq!(good(&["run", g, "--feed", "x=10", "--fetch", "y:0"]), "[[11. 12.]\n [13. 14.]]\n");
    let both = ["run", g, "--feed", "x:0=[1, -0.5]", "--fetch", "y", "--fetch", "sum:0"];
    let want = "y =\n[[2.  1.5]\n [4.  3.5]]\nsum:0 = 8\n";
    assert_eq!(good(&both), want);
    for more in [&["--no-optimise"][..], &["--threads", "1"], &["--devices", "3"], &["--timeout", "60"]] {
        assert_eq!(good(&[&both, more].concat()), want);
    }
    for text in ["hello", "\"hello\"", "'hello'"] {
        assert_eq!(good(&["run", g, "--feed", &format!("s={text}"), "--fetch", "greeting"]), "b'hello'\n");
    }
    assert_eq!(good(&["run", g, "--target", "nothing"]), "");
    let (code, out, err) = thalweg(&["run", g, "--fetch", "sum", "--repeat", "5"]);
    assert_eq!((code, out.as_str()), (0, "8\n"));
    assert!(err.starts_with("5 runs: median "), "{err}");
}

#[test]
fn npy_files_go_in_and_out() {
    let dir = Dir::new("npy");
    let g = &dir.file("g.pb", graph().encode_to_vec());
    let x = Tensor::vector(&[10f32, 20.]).unwrap();
    let file = &dir.file("x.npy", npy::write(&x).unwrap());
    let (saved, out) = (&dir.path("y.npy"), &dir.path("out"));
    let feed = &format!("x={file}");
    assert_eq!(good(&["run", g, "--feed", feed, "--save", &format!("y:0={saved}")]), "");
    let y = npy::read_file(Path::new(saved)).unwrap();
    assert_eq!(y.as_slice::<f32>().unwrap(), [11., 22., 13., 24.]);
    good(&["run", g, "--feed", feed, "--fetch", "y", "--fetch", "layer/w:0", "--fetch", "sum", "--out", out]);
    assert!(npy::read_file(&Path::new(out).join("y.npy")).unwrap().same_bits(&y));
    assert!(Path::new(out).join("layer_w.npy").exists() && Path::new(out).join("sum.npy").exists());

    let ints = &dir.file("i.npy", npy::write(&Tensor::vector(&[1i32, 2]).unwrap()).unwrap());
    let (code, line) = bad(&["run", g, "--feed", &format!("x={ints}"), "--fetch", "y"]);
    assert_eq!(
        (code, line.as_str()),
        (1, "error: INVALID_ARGUMENT: 'x:0' is float, cannot feed it a int32; give it values of float")
    );
    let junk = &dir.file("junk.npy", "\u{93}NUMPY nonsense");
    let (code, line) = bad(&["run", g, "--feed", &format!("x={junk}"), "--fetch", "y"]);
    assert!(code == 1 && line.starts_with("error: DATA_LOSS: ") && line.contains("junk.npy"), "{line}");
    let (code, line) = bad(&["run", g, "--feed", "x=missing.npy", "--fetch", "y"]);
    assert!(code == 1 && line.starts_with("error: NOT_FOUND: missing.npy"), "{line}");
    let (code, _) = bad(&["run", g, "--feed", feed, "--save", "y=/nonexistent/dir/y.npy"]);
    assert_eq!(code, 1);
}

#[test]
fn a_trace_names_the_nodes_that_ran() {
    let dir = Dir::new("trace");
    let g = &dir.file("g.pb", graph().encode_to_vec());
    let trace = &dir.path("trace.json");
    good(&["run", g, "--feed", "x=1", "--fetch", "y", "--trace", trace]);
    let text = std::fs::read_to_string(trace).unwrap();
    assert!(text.starts_with("{\"traceEvents\": [") && text.contains("\"args\": {\"name\": \"y\""), "{text}");
}

#[test]
fn files_that_are_no_graphs_are_errors() {
    let dir = Dir::new("damaged");
    let whole = graph().encode_to_vec();
    // A graph truncated after a node is a smaller graph, so it may also lack the node that is fetched.
    for len in [1, 10, whole.len() / 2, whole.len() - 40] {
        let file = &dir.file("cut.pb", &whole[..len]);
        let (code, line) = bad(&["run", file, "--fetch", "greeting"]);
        let told = ["error: DATA_LOSS: ", "error: NOT_FOUND: ", "error: INVALID_ARGUMENT: "];
        assert!(code == 1 && told.iter().any(|t| line.starts_with(t)), "{len}: {line}");
    }
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 56) as u8
    };
    for len in [1, 2, 7, 100, 5000] {
        let file = &dir.file("random", (0..len).map(|_| random()).collect::<Vec<u8>>());
        let (code, line) = bad(&["run", file, "--fetch", "y"]);
        assert!(code == 1 && line.starts_with("error: "), "{len}: {line}");
    }
    for (name, bytes) in
        [("empty", ""), ("words", "these are words"), ("brace", "node {"), ("field", "node { nme: 'x' }")]
    {
        let (code, line) = bad(&["run", &dir.file(name, bytes), "--fetch", "y"]);
        assert!(code == 1 && line.starts_with("error: DATA_LOSS: ") && line.contains(name), "{line}");
    }
    // Whether something is fetched or not.
    let table = &dir.file("table.csv", "a,b\n1,2\n");
    for args in [&["run", table][..], &["run", table, "--fetch", "y"], &["inspect", table]] {
        let (code, line) = bad(args);
        assert!(code == 1 && line.ends_with("; it looks like a CSV file"), "{line}");
    }
    let (code, line) = bad(&["run", "/nonexistent.pb", "--fetch", "y"]);
    assert!(code == 1 && line.starts_with("error: NOT_FOUND: /nonexistent.pb"), "{line}");
    let folder = dir.path("");
    dir.file("model.pb", &whole);
    let (_, line) = bad(&["run", &dir.path("modle.pb"), "--fetch", "y"]);
    assert!(
        line.ends_with(&format!("it is not in {}; did you mean 'model.pb'?", folder.trim_end_matches('/'))),
        "{line}"
    );
    let (_, line) = bad(&["run", &dir.path("models/model.pb"), "--fetch", "y"]);
    assert!(
        line.ends_with(&format!("there is no folder {}; make it, or correct the path", dir.path("models"))),
        "{line}"
    );
    let (_, line) = bad(&["run", &folder, "--fetch", "y"]);
    assert!(line.ends_with("name the graph's file, or the directory of a SavedModel"), "{line}");
    let (_, line) =
        bad(&["run", &dir.path("model.pb"), "--fetch", "y", "--feed", &format!("x={}", dir.path("x.npy"))]);
    assert!(line.contains("x.npy: No such file") && line.ends_with("correct the path"), "{line}");
    let (_, line) = bad(&["server", "--server-def", &dir.path("def.pb")]);
    assert!(line.contains("def.pb: No such file") && line.ends_with("correct the path"), "{line}");
    let unknown = &dir.file("op.pbtxt", "node { name: 'n' op: 'AddV3' }");
    let (code, out, err) = thalweg(&["run", unknown, "--target", "n"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(
        err,
        "error: NOT_FOUND: Op type not registered 'AddV3'. Did you mean 'AddV2'?\n  at node 'n' (AddV3)\n"
    );
}

#[test]
fn wrong_names_and_values_are_told() {
    let dir = Dir::new("wrong");
    let g = &dir.file("g.pb", graph().encode_to_vec());
    for (args, exit, line) in [
        (
            &["--feed", "xx=1", "--fetch", "y"][..],
            1,
            "NOT_FOUND: there is no node 'xx' in the graph; did you mean 'x'?",
        ),
        (
            &["--fetch", "layer/v"],
            1,
            "NOT_FOUND: there is no node 'layer/v' in the graph; did you mean 'layer/w'?",
        ),
        (
            &["--target", "nothin"],
            1,
            "NOT_FOUND: there is no node 'nothin' in the graph; did you mean 'nothing'?",
        ),
        (&["--fetch", "y:7", "--feed", "x=1"], 1, "INVALID_ARGUMENT: 'y:7': node 'y' has 1 outputs"),
        (
            &["--fetch", "y"],
            1,
            "INVALID_ARGUMENT: You must feed a value for placeholder tensor 'x' with dtype float",
        ),
        (
            &["--fetch", "y", "--feed", "x=[1,[2]]"],
            1,
            "INVALID_ARGUMENT: --feed x: a list stands where a number stands beside it",
        ),
        (&["--fetch", "y", "--feed", "x=true"], 1, "INVALID_ARGUMENT: --feed x: true is not a float"),
        (
            &["--fetch", "sum", "--feed", "a=1.5"],
            1,
            "INVALID_ARGUMENT: --feed a: 1.5 is not a whole number, but the tensor is int32",
        ),
        (
            &["--fetch", "y", "--feed", "x=[1,2"],
            2,
            "INVALID_ARGUMENT: --feed x: ',' or ']' expected, but the value ends",
        ),
        (
            &["--fetch", "y", "--feed", "x=os.exit()"],
            2,
            "INVALID_ARGUMENT: --feed x: 'os.exit' is neither a number nor true or false; strings are quoted",
        ),
        (
            &["--fetch", "sum", "--devices", "0"],
            1,
            "INVALID_ARGUMENT: a session has 1 to 256 CPU devices, asked for 0",
        ),
        (
            &["--fetch", "sum", "--feed", "a"],
            2,
            "invalid value 'a' for '--feed <NAME=VALUE|FILE>': a feed is written NAME=VALUE or NAME=FILE",
        ),
        (&["--fetch", "sum", "--timeout", "-1"], 2, "unexpected argument '-1' found"),
        (
            &["--fetch", "sum", "--timeout=-1"],
            2,
            "invalid value '-1' for '--timeout <SECS>': cannot convert float seconds to Duration: value is negative",
        ),
        (&["--fech", "sum"], 2, "unexpected argument '--fech' found"),
        (
            &[],
            2,
            "INVALID_ARGUMENT: nothing to compute; name a tensor with --fetch or --save, or a node with --target",
        ),
    ] {
        let got = bad(&[&["run", g], args].concat());
        assert_eq!(got, (exit, format!("error: {line}")), "{args:?}");
    }
    // With the node, too.
    let (_, _, err) = thalweg(&["run", g, "--fetch", "y", "--feed", "x=[1,2,3]"]);
    assert!(err.starts_with("error: INVALID_ARGUMENT: ") && err.contains("\n  at node 'y' (AddV2)"), "{err}");
}

#[test]
fn what_would_be_taken_no_notice_of_is_refused() {
    let line = "NOT_FOUND: no measurement has 'no such thing' in its name; without --only all are made, each with its name";
    assert_eq!(bad(&["bench", "exec", "--only", "no such thing"]), (2, format!("error: {line}")));
    // Each program has its own options.
    for args in [
        &["train", "iris", "--data", "/nowhere"][..],
        &["train", "linear", "--batch", "5"],
        &["train", "xor", "--early-stop", "5"],
        &["train", "iris", "--model", "cnn"],
    ] {
        let (code, line) = bad(args);
        assert!(code == 2 && line.starts_with("error: unexpected argument '--"), "{line}");
    }
    for (flag, named) in [
        (["--mode", "sync"], "--mode"),
        (["--peer-timeout", "3"], "--peer-timeout"),
        (["--report-every", "1"], "--report-every"),
        (["--tls-ca", "ca.pem"], "a certificate or token"),
        (["--token-file", "tokens"], "a certificate or token"),
    ] {
        let (code, line) = bad(&[&["train", "iris"][..], &flag].concat());
        let expected = format!(
            "INVALID_ARGUMENT: {named} has no effect outside of a cluster, which TF_CONFIG or thalweg local makes"
        );
        assert_eq!((code, line), (2, format!("error: {expected}")));
    }
}

#[test]
fn options_are_under_their_headings() {
    for program in ["iris", "mnist", "ptb", "csv", "records", "images"] {
        let help = good(&["train", program, "--help"]);
        let (own, cluster) = help.split_once("In a cluster, as TF_CONFIG says:").unwrap();
        for option in ["--batch <N>", "--epochs <N>", "--early-stop <N>", "--steps <N>", "--export <DIR>"] {
            assert!(own.contains(option) && !cluster.contains(option), "{program} {option}");
        }
        assert!(cluster.contains("--mode <MODE>"), "{program}");
    }
}

#[test]
fn an_unknown_instruction_set_is_refused() {
    let limited = |value| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        program.arg("ops").env("THALWEG_MAX_ISA", value).output().unwrap()
    };
    let refused = limited("avx1024");
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    let line = "error: INVALID_ARGUMENT: THALWEG_MAX_ISA is \"avx1024\"; it must be avx512, avx2 or baseline, or not be set\n";
    assert_eq!(String::from_utf8(refused.stderr).unwrap(), line);
    for value in ["avx512", "avx2", "baseline", ""] {
        assert_eq!(limited(value).status.code(), Some(0), "{value:?}");
    }
}

#[test]
fn the_op_table_is_complete() {
    let out = good(&["ops"]);
    let registry = thalweg_ops::registry();
    let names: Vec<&str> = out.lines().skip(1).map_while(|l| l.split_whitespace().next()).collect();
    assert_eq!(names, registry.all().iter().map(|op| op.name).collect::<Vec<_>>());
    assert!(out.trim_end().lines().last().unwrap().starts_with(&format!("{} ops: ", names.len())));
    let json = good(&["ops", "--json"]);
    assert_eq!(json.matches("{\"name\": ").count(), names.len());
    for name in names {
        assert!(good(&["ops", name]).starts_with(&format!("{name}(")));
    }
}

#[test]
fn one_op_is_described_and_unknown_ones_are_guessed() {
    let out = good(&["ops", "AddN"]);
    assert!(out.starts_with("AddN(inputs: N * T) -> (sum: T)\n"), "{out}");
    assert!(out.contains("\n  N  int >= 1\n") && out.contains("\ngradient  yes\n"), "{out}");
    let (code, line) = bad(&["ops", "AddM"]);
    assert!(code == 1 && line.starts_with("error: NOT_FOUND: there is no op 'AddM'; did you mean"), "{line}");
    assert!(line.contains("'AddN'"), "{line}");
    assert_eq!(bad(&["ops", "Zzyzzyxqq"]), (1, "error: NOT_FOUND: there is no op 'Zzyzzyxqq'".into()));
}

#[test]
fn benchmarks_run_alone() {
    let out = good(&["bench", "exec", "start", "--quick", "--rounds", "1"]);
    let rows: Vec<&str> = out.lines().collect();
    for row in [
        "Steps ",
        "fetch one constant ",
        "loop of 10,000 iterations ",
        "start to first result ",
        "peak memory ",
    ] {
        assert!(rows.iter().any(|r| r.starts_with(row)), "{row}: {out}");
    }
    let (code, line) = bad(&["bench", "exec", "--python", "/nonexistent/python"]);
    assert!(code == 1 && line.starts_with("error: NOT_FOUND: /nonexistent/python"), "{line}");
    assert_eq!(bad(&["bench", "execc"]).0, 2);
}
