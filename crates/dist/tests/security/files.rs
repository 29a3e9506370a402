//! File access of graphs on a server, and the addresses it connects to.

use crate::common::*;
use std::path::{Path, PathBuf};
use thalweg_core::access::Directories;
use thalweg_core::error::{Code, Result};
use thalweg_core::tensor::Tensor;
use thalweg_dist::{Credentials, RemoteSession, Security, Server};
use thalweg_io::scratch::Scratch;
use thalweg_proto::{ClusterDef, ConfigProto, JobDef};

/// Every op that opens a file, whose name is fed: node, and whether it writes.
const OPS: [(&str, bool); 10] = [
    ("read", false),
    ("write", true),
    ("match", false),
    ("save", true),
    ("restore", false),
    ("merge", true),
    ("lines", false),
    ("records", false),
    ("fixed", false),
    ("table", false),
];

fn graph() -> String {
    let text = |name: &str, value: &str, shape: &str| {
        format!(
            "node {{ name: '{name}' op: 'Const' attr {{ key: 'dtype' value {{ type: DT_STRING }} }}
             attr {{ key: 'value' value {{ tensor {{ dtype: DT_STRING tensor_shape {{ {shape} }} string_val: '{value}' }} }} }} }}"
        )
    };
    let number = |name: &str, value: i64| {
        format!(
            "node {{ name: '{name}' op: 'Const' attr {{ key: 'dtype' value {{ type: DT_INT64 }} }}
             attr {{ key: 'value' value {{ tensor {{ dtype: DT_INT64 tensor_shape {{}} int64_val: {value} }} }} }} }}"
        )
    };
    let pass = |name: &str, dataset: &str| {
        format!(
            "node {{ name: '{name}_it' op: 'IteratorV2' attr {{ key: 'shared_name' value {{ s: '{name}' }} }}
                attr {{ key: 'container' value {{ s: '' }} }}
                attr {{ key: 'output_types' value {{ list {{ type: DT_STRING }} }} }}
                attr {{ key: 'output_shapes' value {{ list {{ shape {{}} }} }} }} }}
             node {{ name: '{name}_make' op: 'MakeIterator' input: '{dataset}' input: '{name}_it' }}
             node {{ name: '{name}' op: 'IteratorGetNext' input: '{name}_it' input: '^{name}_make'
                attr {{ key: 'output_types' value {{ list {{ type: DT_STRING }} }} }}
                attr {{ key: 'output_shapes' value {{ list {{ shape {{}} }} }} }} }}"
        )
    };
    [
        text("names", "t", "dim { size: 1 }"),
        text("none", "", ""),
        text("slices", "", "dim { size: 1 }"),
        text("contents", "text", ""),
        number("zero", 0),
        number("four", 4),
        "node { name: 'path' op: 'Placeholder' attr { key: 'dtype' value { type: DT_STRING } } attr { key: 'shape' value { shape {} } } }
         node { name: 'zeroth' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
            attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
         node { name: 'paths' op: 'ExpandDims' input: 'path' input: 'zeroth' attr { key: 'T' value { type: DT_STRING } } }
         node { name: 'read' op: 'ReadFile' input: 'path' }
         node { name: 'write' op: 'WriteFile' input: 'path' input: 'contents' }
         node { name: 'match' op: 'MatchingFiles' input: 'path' }
         node { name: 'save' op: 'SaveV2' input: 'path' input: 'names' input: 'slices' input: 'zero' attr { key: 'dtypes' value { list { type: DT_INT64 } } } }
         node { name: 'restore' op: 'RestoreV2' input: 'path' input: 'names' input: 'slices' attr { key: 'dtypes' value { list { type: DT_INT64 } } } }
         node { name: 'merge' op: 'MergeV2Checkpoints' input: 'paths' input: 'path' }
         node { name: 'lines_of' op: 'TextLineDataset' input: 'path' input: 'none' input: 'zero' }
         node { name: 'records_of' op: 'TFRecordDataset' input: 'path' input: 'none' input: 'zero' }
         node { name: 'fixed_of' op: 'FixedLengthRecordDatasetV2' input: 'path' input: 'zero' input: 'four' input: 'zero' input: 'zero' input: 'none' }
         node { name: 't' op: 'HashTableV2' attr { key: 'key_dtype' value { type: DT_STRING } } attr { key: 'value_dtype' value { type: DT_INT64 } } }
         node { name: 'table' op: 'InitializeTableFromTextFileV2' input: 't' input: 'path'
            attr { key: 'key_index' value { i: -2 } } attr { key: 'value_index' value { i: -1 } } }"
            .into(),
        pass("lines", "lines_of"),
        pass("records", "records_of"),
        pass("fixed", "fixed_of"),
    ]
    .concat()
}

/// A server whose graphs may write in `inside` and read in `data`, but not in `outside`.
struct Bench {
    folder: Scratch,
    session: RemoteSession,
    _server: Server,
}

impl Bench {
    fn new() -> Bench {
        let folder = Scratch::new();
        for name in ["inside", "data", "outside"] {
            std::fs::create_dir(folder.path(name)).unwrap();
            std::fs::write(folder.path(name).join("file"), "text").unwrap();
        }
        let files = Directories { read: vec![folder.path("data")], write: vec![folder.path("inside")] };
        let server = server(Security { files: Some(files), ..Default::default() });
        let session = connect(&Credentials::default(), &plain(&server), &graph()).unwrap();
        Bench { folder, session, _server: server }
    }

    fn run(&self, node: &str, path: &Path) -> Result<Vec<Tensor>> {
        run(&self.session, &[("path:0", name(path))], &[], &[node])
    }

    /// Whether an op was denied this path; other errors are allowed.
    fn is_denied(&self, node: &str, path: &Path) -> bool {
        self.run(node, path).err().is_some_and(|e| e.code() == Code::PermissionDenied)
    }

    /// The paths in a folder.
    fn listed(&self, folder: &str) -> Vec<PathBuf> {
        let mut all: Vec<_> =
            std::fs::read_dir(self.folder.path(folder)).unwrap().map(|e| e.unwrap().path()).collect();
        all.sort();
        all
    }
}

#[test]
fn no_op_opens_a_file_that_the_server_does_not_allow() {
    let b = Bench::new();
    let outside = b.listed("outside");
    std::os::unix::fs::symlink(b.folder.path("outside"), b.folder.path("inside/link")).unwrap();
    for (node, writes) in OPS {
        for path in ["outside/file", "inside/../outside/file", "inside/link/file", "inside/link/new"] {
            assert!(b.is_denied(node, &b.folder.path(path)), "{node} {path}");
        }
        assert!(b.is_denied(node, Path::new("/etc/passwd")), "{node}");
        assert_eq!(b.is_denied(node, &b.folder.path("data/file")), writes, "{node}");
        assert!(!b.is_denied(node, &b.folder.path("inside/file")), "{node}");
    }
    assert_eq!(b.listed("outside"), outside);
    assert_eq!(std::fs::read(b.folder.path("outside/file")).unwrap(), b"text");
}

#[test]
fn what_is_allowed_is_read_and_written() {
    let b = Bench::new();
    let inside = |name: &str| b.folder.path("inside").join(name);
    b.run("write", &inside("new/deep")).unwrap();
    assert_eq!(std::fs::read(inside("new/deep")).unwrap(), b"text");
    b.run("save", &inside("model")).unwrap();
    b.run("restore", &inside("model")).unwrap();
    for node in ["read", "lines", "fixed", "table"] {
        b.run(node, &b.folder.path("data/file")).unwrap();
    }
    let e = b.run("read", Path::new("/etc/passwd")).unwrap_err();
    assert!(e.message().contains("/etc/passwd") && e.message().contains("--allow-read"), "{e}");
}

#[test]
fn patterns_find_only_what_may_be_read() {
    let b = Bench::new();
    std::os::unix::fs::symlink(b.folder.path("outside/file"), b.folder.path("inside/link")).unwrap();
    let found = |pattern: &str| {
        let path = b.folder.path(pattern);
        let fetched = run(&b.session, &[("path:0", name(&path))], &["match:0"], &[]);
        fetched.map(|f| f[0].strings().unwrap().len())
    };
    assert_eq!(found("inside/*").unwrap(), 1);
    assert_eq!(found("inside/*/../../outside/*").unwrap(), 0);
    assert_eq!(found("*/file").unwrap_err().code(), Code::PermissionDenied);
}

fn brought(server: &Server, other: &str) -> Option<thalweg_core::error::Error> {
    let tasks = [(0, server.address().to_string()), (1, other.to_string())].into();
    let cluster = ClusterDef { job: vec![JobDef { name: "worker".into(), tasks }] };
    let config = ConfigProto {
        cluster_def: Some(cluster),
        // Waits for no task.
        device_filters: vec!["/job:worker/task:0".into()],
        ..Default::default()
    };
    let graph = crate::common::graph(CONSTANT);
    RemoteSession::connect_as(&Credentials::default(), &plain(server), &graph, config).err()
}

/// Regression: a session's cluster_def made a server connect to any address.
#[test]
fn a_clients_cluster_does_not_lead_where_the_server_does_not_connect_to() {
    let connect = Some(vec!["127.0.0.1:1".to_string()]);
    let limited = server(Security { connect, ..Default::default() });
    let e = brought(&limited, "192.0.2.1:80").unwrap();
    assert!(
        e.code() == Code::PermissionDenied && e.message().contains("--allow-connect 192.0.2.1:80"),
        "{e}"
    );
    assert!(brought(&limited, "127.0.0.1:1").is_none());
    // Addresses are compared as text.
    assert!(brought(&limited, "localhost:1").is_some());
    let any = server(Security { connect: Some(vec!["*".into()]), ..Default::default() });
    assert!(brought(&any, "192.0.2.1:80").is_none());
    assert!(brought(&server(Security::default()), "192.0.2.1:80").is_none());
}
