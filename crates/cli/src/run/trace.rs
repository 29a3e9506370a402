//! A step in Chrome's trace viewer: a process for each device, a row for each thread.

use serde::Serialize;
use thalweg_runtime::trace::{NodeTiming, StepTimings};

#[derive(Serialize)]
pub struct Trace<'a> {
    #[serde(rename = "traceEvents")]
    events: Vec<Event<'a>>,
    #[serde(rename = "displayTimeUnit")]
    display_time_unit: &'static str,
}

/// In the form of the [trace event format](https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
#[derive(Serialize)]
#[serde(untagged)]
enum Event<'a> {
    ProcessName {
        name: &'static str,
        #[serde(rename = "ph")]
        phase: &'static str,
        pid: usize,
        args: ProcessArgs<'a>,
    },
    Complete {
        name: &'a str,
        cat: &'static str,
        #[serde(rename = "ph")]
        phase: &'static str,
        pid: usize,
        tid: u64,
        /// Start and duration are in microseconds.
        ts: f64,
        dur: f64,
        args: NodeArgs<'a>,
    },
}

#[derive(Serialize)]
struct ProcessArgs<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct NodeArgs<'a> {
    name: &'a str,
    op: &'a str,
}

impl<'a> Trace<'a> {
    pub fn of(step: &'a StepTimings) -> Trace<'a> {
        let mut devices: Vec<&str> = step.nodes.iter().map(|n| &*n.device).collect();
        devices.sort_unstable();
        devices.dedup();
        let pid = |device: &str| devices.iter().position(|d| *d == device).unwrap_or(0);
        let process = |(pid, name): (usize, &&'a str)| Event::ProcessName {
            name: "process_name",
            phase: "M",
            pid,
            args: ProcessArgs { name },
        };
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let complete = |n: &'a NodeTiming| Event::Complete {
            name: &n.op,
            cat: "Op",
            phase: "X",
            pid: pid(&n.device),
            tid: n.thread,
            ts: micros(n.start_nanos),
            dur: micros(n.end_nanos.saturating_sub(n.start_nanos)),
            args: NodeArgs { name: &n.node, op: &n.op },
        };
        let processes = devices.iter().enumerate().map(process);
        let events = processes.chain(step.nodes.iter().map(complete)).collect();
        Trace { events, display_time_unit: "ns" }
    }
}
