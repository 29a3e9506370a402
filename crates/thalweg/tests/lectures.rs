//! The lectures' programs: the examples print what they should, and errors have the line that made them.

use std::env::consts::EXE_EXTENSION;
use std::process::Command;
use thalweg::prelude::*;

fn example(name: &str) -> String {
    let mut build = Command::new(env!("CARGO"));
    // With --workspace, as the tests are built: other features of dependencies would rebuild them.
    build.args(["build", "--quiet", "--workspace", "--example", name]);
    // What cargo says of this package rebuilds dependencies whose build scripts read it (ring).
    for (variable, _) in std::env::vars_os() {
        if variable.to_str().is_some_and(|v| v.starts_with("CARGO_PKG_") || v.starts_with("CARGO_MANIFEST_"))
        {
            build.env_remove(variable);
        }
    }
    output(name, &mut build);
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(2).unwrap();
    output(name, &mut Command::new(target.join("examples").join(name).with_extension(EXE_EXTENSION)))
}

fn output(name: &str, command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn the_guide_shows_the_whole_iris_program() {
    let (_, program) = include_str!("../examples/iris.rs").split_once("\n\n").unwrap();
    let page = include_str!("../src/guide/training.md");
    assert!(page.contains(program), "the guide and examples/iris.rs differ");
}

#[test]
fn hello_prints_the_tensor_then_its_value() {
    assert_eq!(example("hello"), "Tensor(\"Add:0\", shape=(), dtype=int32)\n8\n");
}

#[test]
fn the_useless_part_does_not_run() {
    let out = example("useless");
    assert!(
        out.starts_with("15625, having run Const, Const_1, Add, Mul, Pow\n")
            && out.ends_with("Mul_1 ran: false\n"),
        "{out}"
    );
}

#[test]
fn feeds_may_be_numbers_or_vectors() {
    assert_eq!(example("feed"), "7.5\n[3. 7.]\n");
}

#[test]
fn the_relu_net_runs() {
    let out = example("relu_net");
    assert!(out.starts_with("Tensor(\"Relu:0\", shape=(1, 100), dtype=float32)\n"), "{out}");
    assert_eq!(out.matches("of 100 units active").count(), 3);
}

#[test]
fn two_paths_meet() {
    assert_eq!(example("two_paths"), "d = 3.0, e = 3.0, a = 9.0\n");
}

#[test]
fn loops_with_conditions_give_the_same_however_parallel() {
    let out = example("loops");
    for line in ["  1 takes 0", "  6 takes 8", " 27 takes 111", " 97 takes 118"] {
        assert_eq!(out.matches(line).count(), 2, "{out}");
    }
}

#[test]
fn parameter_servers_train_iris() {
    let out = example("parameter_server");
    assert!(out.starts_with("replica 0 of 1: 600 of 600 steps\n") && after(&out, "accuracy ") > 0.9, "{out}");
}

#[test]
fn resnet18_has_its_parameters_and_trains() {
    let out = example("resnet18");
    assert!(out.starts_with("11173962 parameters\n") && after(&out, "loss ").is_finite(), "{out}");
}

/// The number after a word.
fn after(text: &str, word: &str) -> f32 {
    let rest = text.rsplit_once(word).unwrap_or_else(|| panic!("no '{word}' in {text}")).1;
    rest.split_whitespace().next().and_then(|n| n.trim_end_matches(',').parse().ok()).unwrap()
}

#[test]
fn linear_regression_finds_w_and_b() {
    let out = example("linear_regression");
    assert!((after(&out, " W ") - 0.1).abs() < 1e-3 && (after(&out, " b ") - 0.3).abs() < 1e-3, "{out}");
}

#[test]
fn xor_is_learnt() {
    let out = example("xor");
    assert!(after(&out, "loss ") < 0.01, "{out}");
    assert!(after(&out, "1 xor 0 = ") > 0.9 && after(&out, "1 xor 1 = ") < 0.1, "{out}");
}

#[test]
fn drawn_digits_are_read() {
    let out = example("mnist_cnn");
    assert!(after(&out, "accuracy ") >= 0.95, "{out}");
}

#[test]
fn the_language_model_beats_counting_words() {
    let out = example("language_model");
    assert!(after(&out, "perplexity ") < 0.4 * after(&out, "counting words "), "{out}");
}

#[test]
fn words_used_alike_are_near_each_other() {
    let out = example("word_embeddings");
    for (word, like) in [("cat", ["dog", "fox", "hen"]), ("saw", ["axe", "pen", "key"])] {
        let line = out.lines().find(|l| l.starts_with(&format!("nearest to {word}"))).unwrap();
        assert!(like.iter().all(|w| line.contains(w)), "{out}");
    }
}

#[test]
fn an_op_of_the_programs_own_runs_and_has_a_gradient() {
    let out = example("custom_op");
    assert_eq!(
        out,
        "Tensor(\"Cube:0\", shape=(3,), dtype=float64)\n\
         cubes [  1.   8. -27.], slopes [ 3. 12. 27.]\nslopes by differences: the same\n"
    );
}

#[test]
fn iris_are_told_apart() {
    let out = example("iris");
    let accuracy = out.lines().next().and_then(|l| l.strip_prefix("Test set accuracy: ")).unwrap();
    assert!(accuracy.parse::<f32>().unwrap() >= 0.967, "{out}");
    for kind in ["Setosa", "Versicolor", "Virginica"] {
        let line = out.lines().find(|l| l.ends_with(&format!("expected \"{kind}\""))).unwrap();
        assert!(line.starts_with(&format!("Prediction is \"{kind}\" (")) && line.contains(" %)"), "{out}");
    }
}

#[test]
fn a_wrong_shape_names_the_line_that_made_it() {
    let g = Scope::new();
    let (a, b) = (g.constant([[1f32, 2.0, 3.0]]), g.constant([[1f32, 2.0, 3.0, 4.0]]));
    let line = line!() + 1;
    let c = g.matmul(&a, &b);
    let after = &c + 1f32;
    let e = Session::new(&g).err().unwrap();
    assert_eq!((e.code(), e.location().unwrap().line()), (Code::InvalidArgument, line));
    assert!(e.location().unwrap().file().ends_with("lectures.rs"));
    assert_eq!(after.name(), "<error>");
    let other = Scope::new();
    let e = (&other.constant(1) + &other.constant(1f32)).op();
    assert_eq!(e.name(), "<error>");
    assert!(other.check().unwrap_err().message().contains("int32"));
}

#[test]
fn names_scopes_devices_and_dependencies() {
    let g = Scope::new();
    let layer = g.name_scope("layer");
    let x = layer.constant_named("x", 1f32);
    let y = g.name_scope("layer").constant_named("x", 2f32);
    assert_eq!((x.name(), y.name()), ("layer/x:0".to_string(), "layer_1/x:0".to_string()));
    let ps = g.device("/job:ps").device("/task:1");
    let w = ps.constant_named("w", 3f32);
    let def = g.to_graph_def().unwrap();
    assert_eq!(def.node.iter().find(|n| n.name == "w").unwrap().device, "/job:ps/task:1");
    let v = g.variable("v", &g.constant(1f32));
    let twice = g.control_dependencies(&[&v.assign_add(g.constant(4f32))]);
    let after = v.read(&twice);
    let sum = &w + 1f32;
    let session =
        Session::with_options(&g, SessionOptions { soft_placement: true, ..Default::default() }).unwrap();
    let init = g.init();
    session.run(&init, &[]).unwrap();
    assert_eq!(session.run(&after, &[]).unwrap().to_scalar::<f32>().unwrap(), 5.0);
    assert_eq!(session.run(&sum, &[]).unwrap().to_scalar::<f32>().unwrap(), 4.0);
    // Nodes made after the session was opened are added by the next run.
    let later = &sum * 2f32;
    assert_eq!(session.run(&later, &[]).unwrap().to_scalar::<f32>().unwrap(), 8.0);
}

#[test]
fn gradients_of_a_small_net() {
    let g = Scope::new();
    let x = g.placeholder_named("x", DataType::Float, Some(&[-1, 2]));
    let w = g.variable("w", &g.constant([[1f32], [2.0]]));
    let loss = g.reduce_sum(g.square(g.matmul(&x, &w.value)), &[]);
    let grads = g.gradients(&[&loss], &[&w.value]);
    let dw = grads[0].dense(&g).unwrap();
    let init = g.init();
    let session = Session::new(&g).unwrap();
    session.run(&init, &[]).unwrap();
    let dw = session.run(&dw, &[feed(&x, [[1f32, 1.0]])]).unwrap();
    assert_eq!(dw.as_slice::<f32>().unwrap(), &[6.0, 6.0]);
}
