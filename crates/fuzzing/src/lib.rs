//! What a fuzzer may throw bytes at: everything that reads what a peer or a file says. None of it may panic, hang or take much memory.
//!
//! `make fuzz-quick` gives each target a minute of libFuzzer (`fuzz/` at the root, which is no member of the workspace: it needs a C++
//! compiler); `tests/corpus.rs` runs what was found before, and small changes of it, with `cargo test`.

mod files;
mod graphs;
mod ops;
mod wire;

/// A parser, and what runs it.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($module:ident :: $name:ident),* $(,)?) => {
        &[$(Target { name: stringify!($name), run: $module::$name }),*]
    };
}

pub const TARGETS: &[Target] = targets![
    wire::http2,
    wire::hpack,
    wire::run_step,
    wire::create_session,
    wire::register_graph,
    wire::server_def,
    wire::tf_config,
    graphs::graph_def,
    graphs::graph_text,
    graphs::saved_model,
    files::checkpoint_index,
    files::checkpoint_data,
    files::tfrecord,
    files::event,
    files::npy,
    files::idx,
    ops::example,
    ops::csv,
    ops::png,
];

pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}
