//! `thalweg train`, from the command line to the printed result.

mod digits;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn train(args: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("train").args(args).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}{err}");
    out.into_owned()
}

/// The value of `name` in the table of results.
fn result(output: &str, name: &str) -> String {
    let line =
        output.lines().rev().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {output}"));
    line[name.len()..].trim().to_string()
}

fn number(text: &str) -> f64 {
    text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("no number: {text}"))
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("thalweg-train-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn linear_regression_finds_the_line() {
    let out = train(&["linear"]);
    assert!((number(&result(&out, "W ")) - 0.1).abs() < 1e-3);
    assert!((number(&result(&out, "b ")) - 0.3).abs() < 1e-3);
}

#[test]
fn the_exclusive_or_is_learned() {
    let out = train(&["xor"]);
    assert!(number(&result(&out, "last loss")) < 0.01);
    assert!(number(&result(&out, "0 xor 1")) > 0.9 && number(&result(&out, "1 xor 1")) < 0.1);
}

#[test]
fn iris_is_told_apart_and_printed_as_in_the_lecture() {
    let out = train(&["iris"]);
    assert!(number(&result(&out, "test accuracy")) >= 0.966);
    for kind in ["Setosa", "Versicolor", "Virginica"] {
        assert!(result(&out, &format!("expected {kind}")).starts_with(kind));
    }
}

#[test]
fn products_in_bfloat16_learn_and_the_model_is_float() {
    let folder = folder("precision");
    let (logdir, exported) = (folder.join("log"), folder.join("exported"));
    let paths = [&logdir, &exported].map(|p| p.to_str().unwrap().to_string());
    let common = ["iris", "--precision", "bfloat16", "--logdir", &paths[0], "--export", &paths[1]];
    let out = train(&common);
    assert!(out.contains("seed 1, products in bfloat16"), "{out}");
    assert!(number(&result(&out, "test accuracy")) >= 0.93);
    let last = number(&result(&out, "last loss"));
    // A checkpoint of one precision goes on in the other: weights are float in both.
    let float = train(&["iris", "--logdir", &paths[0], "--resume", "--steps", "1001"]);
    assert!((number(&result(&float, "last loss")) - last).abs() < 0.5, "{float}");
    let shown = Command::new(env!("CARGO_BIN_EXE_thalweg")).args(["inspect", &paths[1]]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("float") && !shown.contains("bfloat16"), "{shown}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_precision_without_products_is_refused() {
    let done = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["train", "linear", "--precision", "bfloat16"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("has no matrix products"));
}

/// With MNIST's own files, `make lectures` is the long version.
#[test]
fn both_models_read_digits() {
    let data = digits::folder("read");
    for (model, batch) in [("mlp", "32"), ("cnn", "8")] {
        let out =
            train(&["mnist", "--model", model, "--steps", "40", "--batch", batch, "--data", data.text()]);
        assert!(number(&result(&out, "test accuracy")) >= 95.0, "{out}");
    }
}

#[test]
fn the_language_model_beats_counting_words() {
    let out = train(&["ptb", "--steps", "100", "--batch", "10", "--lr", "0.01"]);
    let (model, counting) =
        (number(&result(&out, "test perplexity")), number(&result(&out, "counting words alone")));
    assert!(model < 0.6 * counting, "{model} against {counting}");
}

/// The bytes of a checkpoint's tensors.
fn weights(folder: &Path, step: u64) -> Vec<u8> {
    std::fs::read(folder.join(format!("model.ckpt-{step}.data-00000-of-00001"))).unwrap()
}

#[test]
fn a_run_that_goes_on_ends_as_one_that_was_never_stopped() {
    let data = digits::folder("goes-on");
    let programs: [&[&str]; 3] = [
        &["iris"],
        &["mnist", "--data", data.text(), "--batch", "8"],
        &["mnist", "--data", data.text(), "--batch", "2", "--model", "cnn"],
    ];
    for program in programs {
        let (whole, parts) = (folder("whole"), folder("parts"));
        let run = |dir: &Path, more: &[&str]| {
            let known = ["--threads", "1", "--save-every", "100", "--logdir", dir.to_str().unwrap()];
            train(&[program, &known, more].concat())
        };
        let expected = run(&whole, &["--steps", "12"]);
        run(&parts, &["--steps", "5"]);
        let found = run(&parts, &["--steps", "12", "--resume"]);
        assert!(found.contains("continuing after step 5"));
        assert_eq!(result(&found, "last loss"), result(&expected, "last loss"));
        assert!(weights(&whole, 12) == weights(&parts, 12), "the weights of {program:?} differ");
        let _ = (std::fs::remove_dir_all(&whole), std::fs::remove_dir_all(&parts));
    }
}

/// `make kills` is the long version, at random moments.
#[test]
fn a_run_that_is_killed_goes_on_from_a_whole_checkpoint() {
    let data = digits::folder("killed");
    let (whole, parts) = (folder("unkilled"), folder("killed"));
    let args = |dir: &Path| {
        let known =
            ["train", "mnist", "--data", data.text(), "--steps", "60", "--batch", "4", "--threads", "1"];
        let mut args: Vec<String> = known.iter().map(|a| a.to_string()).collect();
        args.extend(["--save-every".into(), "1".into(), "--logdir".into(), dir.to_str().unwrap().into()]);
        args
    };
    let thalweg = || Command::new(env!("CARGO_BIN_EXE_thalweg"));
    let mut more: &[&str] = &[];
    for kill in 0..4 {
        let mut running = thalweg().args(args(&parts)).args(more).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(running.stdout.take().unwrap()).lines().map_while(Result::ok);
        let steps = lines.filter(|l| l.starts_with("step "));
        assert_eq!(steps.take(2).count(), 2, "it ended before kill {kill}");
        running.kill().unwrap();
        running.wait().unwrap();
        more = &["--resume"];
    }
    let out = |dir: &Path, more: &[&str]| {
        let all: Vec<String> =
            args(dir).into_iter().skip(1).chain(more.iter().map(|m| m.to_string())).collect();
        train(&all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (found, expected) = (out(&parts, more), out(&whole, &[]));
    assert!(found.contains("continuing after step "), "{found}");
    assert_eq!(result(&found, "test accuracy"), result(&expected, "test accuracy"));
    assert!(weights(&whole, 60) == weights(&parts, 60), "the weights differ");
    let _ = (std::fs::remove_dir_all(&whole), std::fs::remove_dir_all(&parts));
}

#[test]
fn json_is_one_object_a_line_and_quiet_has_only_results() {
    let out = train(&["iris", "--epochs", "3", "--json", "--profile"]);
    let lines: Vec<serde_json::Value> = out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|l| l["event"] == kind).collect::<Vec<_>>();
    // Four batches of 32 go through 120 flowers.
    assert_eq!((&of("start")[0]["steps"], &of("start")[0]["parameters"]), (&12.into(), &193.into()));
    assert!(
        of("progress").last().is_some_and(|l| l["step"] == 12 && l["epoch"] == 3 && l["loss"].is_number())
    );
    let steps: Vec<_> = of("validation").iter().map(|l| l["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [4, 8, 12]);
    assert!(of("result")[0]["results"]["test accuracy"].is_string());
    assert!(of("profile")[0]["ops"][0]["micros"].as_f64().unwrap() > 0.0);
    let out = train(&["iris", "--epochs", "3", "--quiet"]);
    assert!(out.starts_with("test accuracy") && !out.contains("\nstep "), "{out}");
}

#[test]
fn schedules_change_the_rate() {
    let last = |more: &[&str]| result(&train(&[&["linear", "--steps", "50"], more].concat()), "last loss");
    let all = [
        last(&[]),
        last(&["--schedule", "cosine"]),
        last(&["--schedule", "exponential"]),
        last(&["--warmup", "40"]),
    ];
    let mut unlike = all.to_vec();
    unlike.dedup();
    assert_eq!(unlike.len(), all.len(), "{all:?}");
    // A schedule that has not begun to fall is none.
    assert_eq!(last(&["--schedule", "linear", "--decay-steps", "100000000000"]), all[0]);
    let shown = train(&["linear", "--steps", "10", "--schedule", "linear"]);
    assert!(shown.contains("0.5, falling to 0.005 over 10 steps"), "{shown}");
}

#[test]
fn a_curve_that_cannot_be_written_is_told_before_training() {
    let done = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["train", "iris", "--svg", "nowhere/curve.svg"])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0), "{err}");
    assert!(err.contains("--svg cannot be written: nowhere/curve.svg"), "{err}");
    let (dir, svg) = (folder("svg"), folder("svg").join("curve.svg"));
    std::fs::create_dir_all(&dir).unwrap();
    let out = train(&["iris", "--steps", "100", "--svg", svg.to_str().unwrap()]);
    assert!(out.contains("loss over 100 steps"), "{out}");
    assert!(std::fs::read_to_string(&svg).unwrap().contains(">100 steps<"));
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn mistakes_name_the_way_out() {
    let fails = |args: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("train").args(args).output().unwrap();
        assert!(!done.status.success());
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    assert!(fails(&["mnist", "--data", "nowhere"]).contains("say where with --data"));
    let e = fails(&["ptb", "--data", "nowhere/text"]);
    assert!(e.contains("nowhere/text: No such file") && e.contains("there is no folder"), "{e}");
    assert!(e.contains("without it, the built-in story is read"), "{e}");
    assert!(fails(&["ptb", "--data", "src"]).contains("it is a folder; name a file in it"));
    assert!(fails(&["iris", "--logdir", "src/main.rs/x"]).contains("main.rs is a file, not a folder"));
    assert!(fails(&["iris", "--resume"]).contains("--logdir <DIR>"));
    // It used 23 GB, and crashed.
    let e = fails(&["iris", "--batch", "1000000000"]);
    assert!(e.contains("more than the 120 examples"), "{e}");
    assert!(fails(&["iris", "--batch", "0"]).contains("--batch must be at least 1"));
    assert!(fails(&["iris", "--early-stop", "0"]).contains("--early-stop must be at least 1"));
    assert!(fails(&["iris", "--epochs", "2", "--steps", "3"]).contains("cannot be used with"));
    let empty = folder("empty");
    let e = fails(&["iris", "--logdir", empty.to_str().unwrap(), "--resume"]);
    assert!(e.contains("start without --resume first"), "{e}");
    assert!(fails(&["linear", "--lr", "1e30"]).contains("try a smaller --lr"));
    let _ = std::fs::remove_dir_all(&empty);
}
