//! The trace of one step: node timings.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use thalweg_core::kernel::KernelNode;
use thalweg_core::step::{Trace, TracedOutput};
use thalweg_core::sync::lock;

/// One execution of a node.
#[derive(Clone, Debug)]
pub struct NodeTiming {
    pub device: Arc<str>,
    pub node: Arc<str>,
    pub op: Cow<'static, str>,
    /// Since the start of the step.
    pub start_nanos: u64,
    pub end_nanos: u64,
    pub thread: u64,
    pub outputs: Vec<TracedOutput>,
}

/// Timings of one step, in the order the nodes ended.
#[derive(Clone, Debug, Default)]
pub struct StepTimings {
    /// Wall-clock time of the start, in microseconds since 1970.
    pub start_micros: u64,
    pub nodes: Vec<NodeTiming>,
}

pub struct Tracer {
    began: Instant,
    start_micros: u64,
    nodes: Mutex<Vec<NodeTiming>>,
}

impl Tracer {
    pub fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Tracer { began: Instant::now(), start_micros: now.as_micros() as u64, nodes: Mutex::default() }
    }

    /// Adds the timings of other tasks, whose times are since 1970.
    pub fn add(&self, nodes: Vec<NodeTiming>) {
        let since_start = |nanos: u64| nanos.saturating_sub(self.start_micros.saturating_mul(1000));
        let moved = nodes.into_iter().map(|n| NodeTiming {
            start_nanos: since_start(n.start_nanos),
            end_nanos: since_start(n.end_nanos),
            ..n
        });
        lock(&self.nodes).extend(moved);
    }

    pub fn timings(&self) -> StepTimings {
        StepTimings { start_micros: self.start_micros, nodes: lock(&self.nodes).clone() }
    }
}

impl Trace for Tracer {
    fn has_constant(&self, name: &Arc<str>, device: &Arc<str>) {
        let now = self.began.elapsed().as_nanos() as u64;
        lock(&self.nodes).push(NodeTiming {
            device: device.clone(),
            node: name.clone(),
            op: Cow::Borrowed("Const"),
            start_nanos: now,
            end_nanos: now,
            thread: thread_number(),
            outputs: Vec::new(),
        });
    }

    fn ran(&self, node: &KernelNode, start: Instant, end: Instant, outputs: Vec<TracedOutput>) {
        let nanos = |t: Instant| t.saturating_duration_since(self.began).as_nanos() as u64;
        lock(&self.nodes).push(NodeTiming {
            device: node.device.clone(),
            node: node.name.clone(),
            op: Cow::Borrowed(node.op),
            start_nanos: nanos(start),
            end_nanos: nanos(end),
            thread: thread_number(),
            outputs,
        });
    }
}

impl Default for Tracer {
    fn default() -> Self {
        Tracer::new()
    }
}

/// A small id of the current thread.
fn thread_number() -> u64 {
    use std::hash::{Hash, Hasher};
    let mut h = std::hash::DefaultHasher::new();
    std::thread::current().id().hash(&mut h);
    h.finish() & 0xffff
}
