//! Process start: time to the first result, peak memory, binary size.

use super::timing::{median, shown};
use super::{Effort, graphs, peer};
use crate::output::{self, Align};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use thalweg_core::error::{Error, Result, internal};
use thalweg_proto::encode;

/// The figures of one contender.
struct Figures {
    seconds: Vec<f64>,
    peak_kilobytes: f64,
    bytes: f64,
}

pub fn measure(pythons: &[PathBuf], effort: &Effort) -> Result<String> {
    let graph = std::env::temp_dir().join(format!("thalweg-bench-{}.pb", std::process::id()));
    std::fs::write(&graph, encode(&graphs::fan(2)?.to_def(Default::default())?))?;
    let result = measure_with(&graph, pythons, effort);
    let _ = std::fs::remove_file(&graph);
    result
}

fn measure_with(graph: &Path, pythons: &[PathBuf], effort: &Effort) -> Result<String> {
    let own = crate::own_program()?;
    let mut us =
        Figures { seconds: Vec::new(), peak_kilobytes: 0.0, bytes: std::fs::metadata(&own)?.len() as f64 };
    let mut peers: Vec<Option<Figures>> = pythons.iter().map(|_| None).collect();
    for round in 0..effort.rounds {
        for _ in 0..5 {
            let mut run = Command::new(&own);
            run.arg("run").arg(graph).args(["--feed", "x=1", "--fetch", "sum", "--report-memory"]);
            let (seconds, out) = timed(&mut run)?;
            us.seconds.push(seconds);
            us.peak_kilobytes = figure(&out, 1)?;
        }
        // Starting Python with its libraries takes seconds: three times will do.
        for (python, found) in pythons.iter().zip(&mut peers).filter(|_| round < 3) {
            let mut run = Command::new(python);
            run.args(["-c", peer::SCRIPT, "once"]).arg(graph);
            let Ok((seconds, out)) = timed(&mut run) else { continue };
            let found = found.get_or_insert(Figures { seconds: Vec::new(), peak_kilobytes: 0.0, bytes: 0.0 });
            found.seconds.push(seconds);
            (found.peak_kilobytes, found.bytes) = (figure(&out, 1)?, figure(&out, 2)?);
        }
    }
    Ok(table(us, peers.into_iter().flatten().next()))
}

fn table(mut us: Figures, peer: Option<Figures>) -> String {
    let megabytes = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
    let mut rows = vec![vec!["A new process".to_string(), "thalweg".into()]];
    let (ours, size) = (median(&mut us.seconds), us.bytes);
    rows.push(vec!["start to first result".into(), shown(ours)]);
    rows.push(vec!["peak memory".into(), megabytes(us.peak_kilobytes * 1024.0)]);
    rows.push(vec!["size on disk".into(), megabytes(size)]);
    if let Some(mut p) = peer {
        let theirs = median(&mut p.seconds);
        let cells = [
            ("TensorFlow".to_string(), "TensorFlow / thalweg".to_string()),
            (shown(theirs), format!("{:.0}x", theirs / ours)),
            (megabytes(p.peak_kilobytes * 1024.0), format!("{:.0}x", p.peak_kilobytes / us.peak_kilobytes)),
            (megabytes(p.bytes), format!("{:.0}x", p.bytes / size)),
        ];
        for (row, (value, ratio)) in rows.iter_mut().zip(cells) {
            row.extend([value, ratio]);
        }
    }
    output::table(&rows, &[Align::Left, Align::Right, Align::Right, Align::Right], 60) + "\n"
}

/// Runs a command; returns seconds and its output.
fn timed(command: &mut Command) -> Result<(f64, String)> {
    let start = Instant::now();
    let out = command.output().map_err(|e| Error::from(e).context(command.get_program().display()))?;
    let seconds = start.elapsed().as_secs_f64();
    if !out.status.success() {
        return Err(internal(format_args!("failed: {}", String::from_utf8_lossy(&out.stderr).trim())));
    }
    Ok((seconds, String::from_utf8_lossy(&out.stdout).into_owned()))
}

/// Parses the word at this index of the output.
fn figure(out: &str, at: usize) -> Result<f64> {
    let word = out.split_whitespace().nth(at).and_then(|w| w.parse().ok());
    word.ok_or_else(|| internal(format_args!("no figure {at} in '{}'", out.trim())))
}
