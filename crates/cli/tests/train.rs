//! `thalweg train`, from the command line to the printed result.

use std::path::PathBuf;
use std::process::Command;

fn train(args: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("train").args(args).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}{err}");
    out.into_owned()
}

/// What stands beside `name` in the table of results.
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
fn the_language_model_beats_counting_words() {
    let out = train(&["ptb", "--steps", "100", "--batch", "10", "--lr", "0.01"]);
    let (model, counting) =
        (number(&result(&out, "test perplexity")), number(&result(&out, "counting words alone")));
    assert!(model < 0.6 * counting, "{model} against {counting}");
}

#[test]
fn a_run_that_goes_on_ends_as_one_that_was_never_stopped() {
    let (whole, parts) = (folder("whole"), folder("parts"));
    let run = |dir: &PathBuf, more: &[&str]| {
        let mut args = vec!["iris", "--threads", "1", "--logdir", dir.to_str().unwrap()];
        args.extend(more);
        train(&args)
    };
    let expected = run(&whole, &["--steps", "120"]);
    run(&parts, &["--steps", "50"]);
    let found = run(&parts, &["--steps", "120", "--resume"]);
    assert!(found.contains("going on after step 50"));
    assert_eq!(result(&found, "last loss"), result(&expected, "last loss"));
    let weights = |dir: &PathBuf| std::fs::read(dir.join("model.ckpt-120.data-00000-of-00001")).unwrap();
    assert!(weights(&whole) == weights(&parts), "the weights differ");
    let _ = (std::fs::remove_dir_all(&whole), std::fs::remove_dir_all(&parts));
}

#[test]
fn mistakes_name_the_way_out() {
    let fails = |args: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("train").args(args).output().unwrap();
        assert!(!done.status.success());
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    assert!(fails(&["mnist", "--data", "nowhere"]).contains("say where with --data"));
    assert!(fails(&["iris", "--batch", "0"]).contains("--batch must be at least 1"));
    let empty = folder("empty");
    let e = fails(&["iris", "--logdir", empty.to_str().unwrap(), "--resume"]);
    assert!(e.contains("start without --resume first"), "{e}");
    assert!(fails(&["linear", "--lr", "1e30"]).contains("try a smaller --lr"));
    let _ = std::fs::remove_dir_all(&empty);
}
