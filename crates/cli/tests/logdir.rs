//! What `thalweg train --logdir` writes to a directory, and when it rejects one.

use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("thalweg-logdir-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn iris(dir: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(["train", "iris", "--threads", "1", "--logdir"]).arg(dir).args(more);
    command.env_remove("TF_CONFIG");
    command
}

/// Its output and exit code.
fn told(done: &Output) -> (String, Option<i32>) {
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    (format!("{out}{err}"), done.status.code())
}

fn run(dir: &Path, more: &[&str]) -> (String, Option<i32>) {
    told(&iris(dir, more).output().unwrap())
}

/// A run with endless steps, in progress, and the rest of its output.
fn running(dir: &Path) -> (Child, Lines<BufReader<ChildStdout>>) {
    let steps = ["--steps", "1000000000", "--save-every", "1000000000"];
    let mut child = iris(dir, &steps).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|l| l.starts_with("step ")));
    (child, lines)
}

fn data(dir: &Path, step: u64) -> PathBuf {
    dir.join(format!("model.ckpt-{step}.data-00000-of-00001"))
}

#[test]
fn checkpoints_of_an_earlier_run_are_not_trained_over() {
    let dir = folder("used");
    // A run that was killed before its first checkpoint leaves an event file, which does not block a new run.
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("events.out.tfevents.1.here"), "").unwrap();
    assert_eq!(run(&dir, &["--steps", "5"]).1, Some(0));
    let saved = std::fs::read(data(&dir, 5)).unwrap();
    let (text, code) = run(&dir, &["--steps", "5", "--seed", "2"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--resume") && text.contains("another --logdir"), "{text}");
    assert_eq!(std::fs::read(data(&dir, 5)).unwrap(), saved);
    assert_eq!(run(&dir, &["--steps", "6", "--resume"]).1, Some(0));
    // Files that no run has made stay.
    std::fs::write(dir.join("notes.txt"), "mine").unwrap();
    assert_eq!(run(&dir, &["--steps", "3", "--overwrite"]).1, Some(0));
    assert!(data(&dir, 3).is_file() && !data(&dir, 5).exists() && !data(&dir, 6).exists());
    assert_eq!(std::fs::read_dir(dir.join("eval")).unwrap().count(), 1);
    assert_eq!(std::fs::read(dir.join("notes.txt")).unwrap(), b"mine");
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn the_best_checkpoint_is_kept_and_an_early_stop_survives_a_restart() {
    let early = ["--early-stop", "4", "--validate-every", "20", "--steps", "5000", "--lr", "0.1"];
    let (whole, parts) = (folder("early-whole"), folder("early-parts"));
    let (text, code) = run(&whole, &early);
    assert_eq!(code, Some(0), "{text}");
    let stopped = |text: &str| -> u64 {
        let at = text
            .lines()
            .find_map(|l| l.strip_prefix("early stop after step "))
            .unwrap_or_else(|| panic!("{text}"));
        at.split(':').next().unwrap().parse().unwrap()
    };
    let best = |text: &str| text.lines().find(|l| l.starts_with("best validation loss")).unwrap().to_string();
    let step = stopped(&text);
    assert!(best(&text).ends_with(&format!("after step {}, restored", step - 80)), "{text}");
    assert!(data(&whole.join("best"), step - 80).is_file() && data(&whole, step).is_file());
    // In two parts, cut between the best validation and the stop.
    let cut = (step - 40).to_string();
    assert_eq!(run(&parts, &["--validate-every", "20", "--steps", &cut, "--lr", "0.1"]).1, Some(0));
    let (again, code) = run(&parts, &[&early[..], &["--resume"]].concat());
    assert_eq!(code, Some(0), "{again}");
    assert_eq!((stopped(&again), best(&again)), (step, best(&text)));
    let _ = (std::fs::remove_dir_all(&whole), std::fs::remove_dir_all(&parts));
}

#[test]
fn two_trainers_do_not_share_a_folder_and_a_killed_one_holds_nobody_up() {
    let dir = folder("shared");
    let (mut first, _lines) = running(&dir);
    // It has no checkpoint yet.
    for more in [&["--steps", "5"][..], &["--resume"], &["--overwrite"]] {
        let (text, code) = run(&dir, more);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(&format!("process {} is training into", first.id())), "{text}");
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let (text, code) = run(&dir, &["--steps", "5"]);
    assert_eq!(code, Some(0), "{text}");
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn an_interrupted_run_saves_and_tells_by_its_code() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let dir = folder(signal);
        let (mut child, lines) = running(&dir);
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let mut lines = lines.map_while(Result::ok);
        let stopped = lines.find_map(|l| l.strip_prefix("stopped after step ").map(str::to_string));
        let rest: Vec<String> = lines.collect();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let step = stopped.expect("it does not say where it stopped").parse().unwrap();
        assert!(rest.iter().any(|l| *l == format!("           loss over {step} steps")), "{rest:?}");
        assert!(data(&dir, step).is_file());
        let _ = std::fs::remove_dir_all(&dir);
    }
}

#[test]
fn a_damaged_newest_checkpoint_is_told_of_and_kept_aside() {
    let dir = folder("damaged");
    assert_eq!(run(&dir, &["--steps", "10", "--save-every", "5"]).1, Some(0));
    let mut bytes = std::fs::read(data(&dir, 10)).unwrap();
    bytes[0] ^= 1;
    std::fs::write(data(&dir, 10), &bytes).unwrap();
    let (text, code) = run(&dir, &["--steps", "12", "--resume"]);
    assert_eq!(code, Some(0), "{text}");
    let lines: Vec<&str> = text.lines().filter(|l| l.contains("damaged checkpoint")).collect();
    assert!(matches!(lines.as_slice(), [one] if one.contains("model.ckpt-10")), "{text}");
    assert!(text.contains("continuing after step 5"), "{text}");
    assert!(text.contains("  loss of steps 6 to 12\n"), "{text}");
    assert_eq!(std::fs::read(data(&dir.join("damaged"), 10)).unwrap(), bytes);
    let _ = std::fs::remove_dir_all(&dir);
}
