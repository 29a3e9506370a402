//! Running it as a service: logs, signals, addresses that are taken, programs of one's own in a cluster, completions.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};
use thalweg_io::scratch::Scratch;

fn thalweg(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(args);
    command
}

fn done(args: &[&str]) -> (Output, String) {
    let out = thalweg(args).output().unwrap();
    let err = String::from_utf8(out.stderr.clone()).unwrap();
    (out, err)
}

/// A server that is ready, its address, and the rest of its output.
fn server(args: &[&str]) -> (Child, String, BufReader<ChildStdout>) {
    let mut child = thalweg(&["server", "--port", "0"]).args(args).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let address = line.split("grpc://").nth(1).unwrap().split(',').next().unwrap().to_string();
    (child, address, out)
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// The text of a file, once it has that in it.
fn text_with(path: &PathBuf, what: &str) -> String {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.contains(what) {
            return text;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no {what} in {text}");
        std::thread::yield_now();
    }
}

#[test]
fn a_hangup_reopens_the_log_and_stops_nothing() {
    let dir = Scratch::new();
    let (log, old) = (dir.root().join("log"), dir.root().join("log.1"));
    let name = log.display().to_string();
    let (mut child, address, mut out) =
        server(&["--log", "info", "--log-format", "json", "--log-file", name.as_str()]);
    let first = text_with(&log, "\"ready\"");
    let line: serde_json::Value = serde_json::from_str(first.lines().last().unwrap()).unwrap();
    assert_eq!(line["address"], address.as_str());
    assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
    std::fs::rename(&log, &old).unwrap();
    signal(&child, "-HUP");
    text_with(&log, "\"log_reopened\"");
    signal(&child, "-TERM");
    assert!(child.wait().unwrap().success());
    out.read_to_string(&mut String::new()).unwrap();
    assert!(text_with(&log, "\"stopped\"").contains("\"stopping\""));
    assert!(!std::fs::read_to_string(&old).unwrap().contains("\"stopping\""));
}

#[test]
fn a_taken_address_is_named() {
    let (mut child, address, _out) = server(&[]);
    let port = address.rsplit_once(':').unwrap().1;
    let (out, err) = done(&["server", "--port", port]);
    assert!(!out.status.success() && err.contains(&format!("cannot listen on {address}: ")), "{err}");
    signal(&child, "-TERM");
    assert!(child.wait().unwrap().success());
}

#[test]
fn levels_that_are_none_are_refused() {
    let (out, err) = done(&["server", "--log", "loud"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(
        err.starts_with("error: INVALID_ARGUMENT: --log: 'loud' is no log level; known are off"),
        "{err}"
    );
}

#[test]
fn a_program_of_ones_own_is_every_task_of_a_cluster() {
    let role = r#"case "$TF_CONFIG" in *'"type":"ps"'*) exec sleep 600;; *) echo "I train, $1";; esac"#;
    let (out, err) =
        done(&["local", "--ps", "1", "--workers", "1", "--", "sh", "-c", role, "sh", "you serve"]);
    assert!(out.status.success(), "{err}");
    assert_eq!(String::from_utf8(out.stdout).unwrap(), "worker 0 │ I train, you serve\n");
    let (out, err) = done(&["local", "--", "./not-there"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(err.contains("there is no program './not-there'"), "{err}");
}

#[test]
fn completions_and_man_pages_know_all_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let text = String::from_utf8(done(&["generate", shell]).0.stdout).unwrap();
        assert!(text.contains("inspect") && text.contains("log-format"), "{shell}");
    }
    let dir = Scratch::new();
    let (out, err) = done(&["generate", "man", "--out", &dir.root().display().to_string()]);
    assert!(out.status.success(), "{err}");
    let page = std::fs::read_to_string(dir.root().join("thalweg-server.1")).unwrap();
    assert!(page.contains("SIGHUP reopens"), "{page}");
}

#[test]
fn suggested_ops_are_related() {
    let (_, err) = done(&["ops", "Matmul"]);
    assert!(err.contains("'MatMul'"), "{err}");
    let (_, err) = done(&["ops", "RFFTx"]);
    assert!(!err.contains("Rank") && err.starts_with("error: NOT_FOUND: there is no op 'RFFTx'"), "{err}");
}
