//! `thalweg local`: clusters on one machine.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn local(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.arg("local").args(args).env_remove("TF_CONFIG");
    command
}

/// The output of a cluster whose chief succeeds.
fn output(args: &[&str]) -> String {
    let done = local(args).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}{err}");
    format!("{out}{err}")
}

/// The number beside `name` in the chief's table of results.
fn result(output: &str, name: &str) -> f64 {
    let found = output.lines().rev().find_map(|l| {
        let line = l.strip_prefix("worker 0")?.trim_start().strip_prefix("│ ")?;
        line.strip_prefix(name)?.split_whitespace().next()?.parse().ok()
    });
    found.unwrap_or_else(|| panic!("no {name} in {output}"))
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("thalweg-cluster-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn workers_that_do_not_wait_for_each_other_find_the_line() {
    // A learning rate that is stable with gradients up to five steps stale: staleness depends on the machine.
    let run = ["--ps", "2", "--workers", "3", "--", "train", "linear", "--steps", "700", "--lr", "0.1"];
    let out = output(&run);
    assert!((result(&out, "W ") - 0.1).abs() < 1e-3, "{out}");
    assert!((result(&out, "b ") - 0.3).abs() < 1e-3, "{out}");
    assert!(out.contains("worker 2 │ done at step"), "{out}");
}

#[test]
fn workers_that_wait_for_each_other_find_the_line() {
    for mode in ["sync", "backup"] {
        let run = ["--ps", "2", "--workers", "3", "--", "train", "linear", "--steps", "150", "--mode", mode];
        let out = output(&[&run[..], &["--report-every", "0.05"]].concat());
        assert!((result(&out, "W ") - 0.1).abs() < 1e-2, "{out}");
        assert!((result(&out, "b ") - 0.3).abs() < 1e-2, "{out}");
        assert!(out.contains("late gradients dropped"), "{out}");
    }
}

#[test]
fn the_chief_goes_on_from_its_checkpoint_and_the_evaluator_sees_the_last() {
    let dir = folder("resume");
    let run = |steps: &str| {
        let cluster = ["--ps", "1", "--workers", "2", "--evaluator", "--", "train", "iris"];
        output(&[&cluster[..], &["--steps", steps, "--logdir", dir.to_str().unwrap()]].concat())
    };
    let first = run("60");
    assert!(first.contains("worker 0  │ session ready at step 0"), "{first}");
    assert!(first.contains("evaluator │ step 6"), "{first}");
    let second = run("120");
    let ready = second.lines().find_map(|l| l.strip_prefix("worker 0  │ session ready at step ")).unwrap();
    assert!(ready.parse::<u64>().unwrap() >= 60, "{second}");
    assert!(dir.join("eval").is_dir() && dir.join("worker-1").is_dir());
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn training_survives_the_death_of_any_task() {
    // Different seeds kill different tasks; all kinds are among them.
    for (mode, seed) in [("async", "1"), ("sync", "3")] {
        let dir = folder(&format!("chaos-{mode}"));
        let cluster =
            ["--ps", "2", "--workers", "2", "--chaos", "5", "--chaos-every", "0.6", "--chaos-seed", seed];
        let run = ["--", "train", "iris", "--mode", mode, "--steps", "600", "--save-every", "50"];
        let more = ["--report-every", "0.1", "--logdir", dir.to_str().unwrap()];
        let out = output(&[&cluster[..], &run, &more].concat());
        assert!(out.contains("chaos: killed"), "{out}");
        assert!(out.contains("session lost, reopening it"), "{out}");
        // Guessing gives a third. Staleness depends on the machine, so nine in ten is not certain.
        assert!(result(&out, "test accuracy") > 0.8, "{out}");
        let _ = std::fs::remove_dir_all(&dir);
    }
}

#[test]
fn sigterm_saves_and_asks_to_be_started_again() {
    let dir = folder("sigterm");
    let cluster = ["--ps", "1", "--workers", "2", "--", "train", "iris", "--steps", "1000000"];
    let more = ["--report-every", "0.1", "--logdir", dir.to_str().unwrap()];
    let mut running = local(&[&cluster[..], &more].concat()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|l| l.starts_with("worker 0 │ step ")));
    let told = Command::new("kill").args(["-TERM", &running.id().to_string()]).status().unwrap();
    assert!(told.success());
    let stopped = lines.find_map(|l| l.strip_prefix("worker 0 │ stopped after step ").map(str::to_string));
    lines.for_each(drop);
    assert_eq!(running.wait().unwrap().code(), Some(143));
    let saved =
        dir.join(format!("model.ckpt-{}.index", stopped.expect("the chief does not say where it stopped")));
    assert!(saved.is_file(), "{} is not there", saved.display());
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn mistakes_name_the_way_out() {
    let fails = |command: &mut Command| {
        let done = command.output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    assert!(fails(&mut local(&["--ps", "0", "--", "train", "linear"])).contains("at least 1"));
    let most = usize::MAX.to_string();
    assert!(fails(&mut local(&["--ps", &most, "--", "train", "linear"])).contains("at most 256"));
    assert!(fails(&mut local(&["--", "ops"])).contains("tasks run `train` and its arguments, or a program"));
    let mut train = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    train.args(["train", "linear"]);
    let no_ps = r#"{"cluster": {"worker": ["127.0.0.1:1"]}, "task": {"type": "worker", "index": 0}}"#;
    assert!(fails(train.env("TF_CONFIG", no_ps)).contains("no job 'ps'"));
    let backup =
        r#"{"cluster": {"ps": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]}, "task": {"type": "worker"}}"#;
    assert!(
        fails(train.env("TF_CONFIG", backup).args(["--mode", "backup"]))
            .contains("--backup-workers 1 leaves none")
    );
}
