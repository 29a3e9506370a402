//! Fuzz targets: everything that parses the bytes of a peer or a file. None of it may panic, hang or allocate much memory.
//!
//! `make fuzz-quick` runs each target for a minute with libFuzzer (`fuzz/` at the root, which is no member of the workspace: it needs a C++
//! compiler); `tests/corpus.rs` runs the corpus, and mutations of it, with `cargo test`.

mod files;
mod graphs;
mod ops;
mod wire;

/// A fuzz target.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
}

pub const TARGETS: &[Target] = &[
    Target { name: "http2", run: wire::http2 },
    Target { name: "hpack", run: wire::hpack },
    Target { name: "run_step", run: wire::run_step },
    Target { name: "create_session", run: wire::create_session },
    Target { name: "register_graph", run: wire::register_graph },
    Target { name: "server_def", run: wire::server_def },
    Target { name: "tf_config", run: wire::tf_config },
    Target { name: "graph_def", run: graphs::graph_def },
    Target { name: "graph_text", run: graphs::graph_text },
    Target { name: "saved_model", run: graphs::saved_model },
    Target { name: "checkpoint_index", run: files::checkpoint_index },
    Target { name: "checkpoint_data", run: files::checkpoint_data },
    Target { name: "tfrecord", run: files::tfrecord },
    Target { name: "event", run: files::event },
    Target { name: "npy", run: files::npy },
    Target { name: "idx", run: files::idx },
    Target { name: "example", run: ops::example },
    Target { name: "csv", run: ops::csv },
    Target { name: "csv_record", run: ops::csv_record },
    Target { name: "json_example", run: ops::json_example },
    Target { name: "parse_example", run: ops::parse_example },
    Target { name: "parse_tensor", run: ops::parse_tensor },
    Target { name: "decode_proto", run: ops::decode_proto },
    Target { name: "proto_descriptors", run: ops::proto_descriptors },
    Target { name: "png", run: ops::png },
    Target { name: "jpeg", run: files::jpeg },
    Target { name: "gif", run: files::gif },
    Target { name: "bmp", run: files::bmp },
    Target { name: "wav", run: files::wav },
];

pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}
