//! A step in the trace event format, which the profile plugin of TensorBoard, chrome://tracing and ui.perfetto.dev read.

use std::fmt::Write;
use std::path::Path;
use thalweg_client::Result;
use thalweg_io::{durable, gzip};
use thalweg_proto::{NodeExecStats, RunMetadata};

/// Writes the trace of a step, which [`Session::trace`](thalweg_client::Session::trace) returns, to where the profile plugin looks for it:
/// `plugins/profile/NAME/host.trace.json.gz` in the directory of a run.
pub fn write_profile(directory: impl AsRef<Path>, name: &str, metadata: &RunMetadata) -> Result<()> {
    let folder = directory.as_ref().join("plugins").join("profile").join(name);
    durable::create_directory(&folder)?;
    durable::write(&folder.join("host.trace.json.gz"), &gzip::compress(trace_json(metadata).as_bytes())?)
}

/// The step as JSON: a process for each device, a row for each thread, an event for each node. Times are in microseconds since its start.
pub fn trace_json(metadata: &RunMetadata) -> String {
    let mut events = Vec::new();
    let stats = metadata.step_stats.as_ref().map_or(&[][..], |s| &s.dev_stats);
    let starts = stats.iter().flat_map(|d| &d.node_stats).map(start_nanos);
    let first = starts.min().unwrap_or(0);
    for (pid, device) in stats.iter().enumerate() {
        let pid = pid + 1;
        let name = quoted(&device.device);
        events.push(format!(r#"{{"ph":"M","pid":{pid},"name":"process_name","args":{{"name":{name}}}}}"#));
        for (tid, name) in &device.thread_names {
            let name = quoted(name);
            events.push(format!(
                r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_name","args":{{"name":{name}}}}}"#
            ));
        }
        events.extend(device.node_stats.iter().map(|n| node(pid, n, first)));
    }
    format!(r#"{{"displayTimeUnit":"ns","traceEvents":[{}]}}"#, events.join(",\n"))
}

fn node(pid: usize, n: &NodeExecStats, first: i64) -> String {
    // `w/read = Identity(w)`.
    let op = n.timeline_label.split_once(" = ").and_then(|l| l.1.split_once('(')).map_or("", |l| l.0);
    let (start, took) = (start_nanos(n).saturating_sub(first) as f64 / 1e3, n.all_end_rel_nanos as f64 / 1e3);
    let bytes: i64 = n.memory.iter().map(|m| m.total_bytes).sum();
    let (op, name, label) = (quoted(op), quoted(&n.node_name), quoted(&n.timeline_label));
    let args = format!(r#"{{"name":{name},"label":{label},"allocated_bytes":{bytes}}}"#);
    let tid = n.thread_id;
    format!(
        r#"{{"ph":"X","pid":{pid},"tid":{tid},"name":{op},"cat":"Op","ts":{start:.3},"dur":{took:.3},"args":{args}}}"#
    )
}

fn start_nanos(n: &NodeExecStats) -> i64 {
    match n.all_start_nanos {
        0 => n.all_start_micros.saturating_mul(1000),
        nanos => nanos,
    }
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if u32::from(c) < 0x20 => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(quoted("a\"b\\c\nd"), "\"a\\\"b\\\\c\\u000ad\"");
    }
}
