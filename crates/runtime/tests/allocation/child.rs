//! The test binary as child processes: an abort ends a child, and the parent reports the piece and continues after it.

use std::io::Write;
use std::process::{Command, Stdio};

/// A child's first piece; only children have it.
const FROM: &str = "THALWEG_ALLOCATION_FROM";

/// Prefix of its lines.
const MARK: &str = "allocation-test ";

/// The first piece, if this process is a child.
pub fn from() -> Option<usize> {
    std::env::var(FROM).ok()?.parse().ok()
}

/// A child reports what it starts.
pub fn at(piece: usize, what: &str) {
    say(&format!("{piece} at {what}"));
}

/// A child reports a failure.
pub fn failed(piece: usize, what: &str) {
    say(&format!("{piece} failed {what}"));
}

fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{MARK}{line}\n").as_bytes());
}

/// Runs the test of this name in children until all pieces are done; returns the failures. `address_space` is their
/// limit, in KiB.
pub fn run(test: &str, pieces: usize, address_space: Option<usize>) -> Vec<String> {
    let (mut failures, mut from) = (Vec::new(), 0);
    while from < pieces {
        let (ended, lines) = child(test, from, address_space);
        let wrong = lines.iter().filter(|(_, what)| what.starts_with("failed "));
        failures.extend(wrong.map(|(_, what)| what.clone()));
        if ended {
            break;
        }
        let (piece, what) = lines.last().cloned().unwrap_or((from, "its start".into()));
        failures.push(format!("the process ended {what}"));
        from = piece.max(from) + 1;
    }
    failures
}

/// Whether a child succeeded, and its lines: piece and text.
fn child(test: &str, from: usize, address_space: Option<usize>) -> (bool, Vec<(usize, String)>) {
    let exe = std::env::current_exe().unwrap();
    let mut command = match address_space {
        None => Command::new(&exe),
        Some(kib) => {
            let mut limited = Command::new("sh");
            limited.arg("-c").arg(format!("ulimit -v {kib} && exec \"$0\" \"$@\"")).arg(&exe);
            limited
        }
    };
    command.args(["--exact", test, "--nocapture", "--test-threads", "1"]).env(FROM, from.to_string());
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let line = |l: &str| {
        let (piece, what) = l.strip_prefix(MARK)?.split_once(' ')?;
        Some((piece.parse().ok()?, what.to_string()))
    };
    let lines: Vec<_> = text.lines().filter_map(line).collect();
    if !output.status.success() && lines.is_empty() {
        return (false, vec![(from, format!("at its start: {text}"))]);
    }
    (output.status.success(), lines)
}
