//! The invariants of ARCHITECTURE.md that the sources themselves show.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where `unsafe` may be (invariant 7): folders and files.
const UNSAFE: [&str; 16] = [
    "crates/core/src/buffer.rs",
    "crates/core/src/memory/",
    "crates/core/src/tensor/elements.rs",
    "crates/core/src/dtype.rs",
    "crates/ops/kit/src/elementwise.rs",
    "crates/math/src/",
    // Pointers of C, and memory that is C's.
    "crates/capi/src/pointers.rs",
    "crates/capi/src/buffer.rs",
    "crates/capi/src/tensor.rs",
    "crates/capi/src/tstring.rs",
    // Memory shared with numpy.
    "crates/py/src/array.rs",
    "crates/math/examples/gemm_bench.rs",
    // Allocators of tests.
    "crates/runtime/tests/",
    "crates/proto/tests/decoded_size/counting.rs",
    "crates/thalweg/tests/steady_step.rs",
    "crates/io/tests/mutated_index.rs",
];

/// Types of statics that never change.
const IMMUTABLE: [&str; 8] = ["&", "[&", "Op", "Codes", "Kernels<", "Counting", "[Method;", "[Pass;"];

/// Statics that change (invariant 8), by file.
const MUTABLE: [(&str, &[&str]); 25] = [
    // The limit of buffers, and the caches of freed ones: small ones of each thread, large ones shared.
    ("crates/core/src/buffer.rs", &["LIMIT", "SMALL", "SHARED", "RELEASES"]),
    ("crates/core/src/memory/kept.rs", &["KEPT", "BYTES", "NEXT"]),
    // The count of memory, its limits and holders.
    ("crates/core/src/memory/allocator.rs", &["RESERVE", "RESERVE_USED"]),
    (
        "crates/core/src/memory/count.rs",
        &["LIVE", "LIMIT", "CEILING", "PROMISED", "ALLOCATOR_COUNTS", "THREAD"],
    ),
    ("crates/core/src/memory/holder.rs", &["SLOTS", "NEXT", "CURRENT"]),
    ("crates/core/src/memory/trim.rs", &["LAST"]),
    // State of one thread within one call.
    ("crates/core/src/flat.rs", &["PENDING"]),
    ("crates/dist/src/cluster/link.rs", &["IO_THREAD"]),
    ("crates/math/src/gemm/scratch.rs", &["CACHED"]),
    ("crates/runtime/src/executor/yielding.rs", &["MUST_YIELD"]),
    ("crates/runtime/src/executor/inline_resume.rs", &["ALLOWED"]),
    // Set once, and the same from then on.
    ("crates/math/src/isa.rs", &["CURRENT"]),
    ("crates/ops/array/src/indexing/number_hash.rs", &["SECRET"]),
    ("crates/ops/text/src/string/unicode/script.rs", &["RANGES"]),
    ("crates/capi/src/graph.rs", &["REGISTRY"]),
    ("crates/py/src/dtype.rs", &["ALL"]),
    // The device of eager execution; whether a thread builds a graph, and its open tapes.
    ("crates/py/src/eager/mod.rs", &["EAGER", "KNOWN", "IN_GRAPH"]),
    ("crates/py/src/eager/tape.rs", &["OPEN"]),
    ("crates/py/src/eager/tensor.rs", &["ADD", "SUB", "MUL", "TRUEDIV", "POW", "OPERATE"]),
    // Functions of Python that graphs call.
    ("crates/py/src/py_function.rs", &["FUNCTIONS"]),
    ("crates/py/src/home.rs", &["SYS_GETFRAME", "PACKAGE"]),
    ("crates/py/src/op_table.rs", &["REGISTRY"]),
    ("crates/py/src/values.rs", &["NUMPY", "CLASSES"]),
    // The main thread, set once; forks, which end the sessions of the parent.
    ("crates/py/src/interrupts.rs", &["MAIN_THREAD", "FORKS"]),
    // A counter that names temporary folders.
    ("crates/io/src/scratch.rs", &["NEXT"]),
];

const MAX_LINES: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All Rust files of the workspace's crates, by their paths from its root.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let (mut found, mut folders) = (Vec::new(), vec![root.join("crates"), root.join("fuzz/fuzz_targets")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 500, "only {} sources in {}", found.len(), root.display());
    found
}

/// A line without its comment and the contents of its strings, as far as one line shows them.
fn code(line: &str) -> String {
    let line = line.split("//").next().unwrap_or_default();
    line.split('"').step_by(2).collect()
}

#[test]
fn unsafe_is_only_where_it_is_listed() {
    for (path, text) in sources() {
        if UNSAFE.iter().any(|allowed| path.starts_with(allowed)) {
            continue;
        }
        for (i, line) in text.lines().enumerate() {
            // The names of C's functions, each of which must be there once.
            if path.starts_with("crates/capi/src/") && line == "#[unsafe(no_mangle)]" {
                continue;
            }
            let is_word = |w: &str| w == "unsafe";
            let words = code(line);
            let mut words = words.split(|c: char| !c.is_alphanumeric() && c != '_');
            assert!(!words.any(is_word), "{path}:{}: {line}", i + 1);
        }
    }
}

/// The name and type of the static that a line declares.
fn declared_static(line: &str) -> Option<(&str, &str)> {
    let (before, declared) = line.split_once("static ")?;
    let (name, rest) = declared.split_once(':')?;
    let name = name.trim_start_matches("mut ");
    let is_constant_name = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    (is_constant_name && !before.ends_with('\'')).then_some((name, rest.trim_start()))
}

#[test]
fn statics_that_change_are_listed() {
    let listed: HashMap<&str, &[&str]> = MUTABLE.into_iter().collect();
    let mut found = 0;
    // What does not ship may keep its sessions.
    for (path, text) in sources() {
        if !path.contains("/src/") || path.starts_with("crates/fuzzing/") {
            continue;
        }
        for (i, line) in text.lines().enumerate() {
            let Some((name, kind)) = declared_static(line) else { continue };
            if IMMUTABLE.iter().any(|t| kind.starts_with(t)) && !line.contains("static mut") {
                continue;
            }
            found += 1;
            let known = listed.get(path.as_str()).is_some_and(|names| names.contains(&name));
            assert!(known, "{path}:{}: static {name} of type {kind}", i + 1);
        }
    }
    assert!(found > 10, "only {found} statics were found");
}

#[test]
fn no_file_has_more_than_800_lines() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{path} has {lines} lines: look for a seam");
    }
}

/// The crates that a Cargo.toml depends on, but for tests.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut counts = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            counts = line.contains("dependencies") && !line.contains("dev-dependencies");
        } else if counts && line.starts_with("thalweg") {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            found.push(name.strip_prefix("thalweg-").unwrap_or(name).to_string());
        }
    }
    found
}

#[test]
fn crates_depend_on_those_below_them_in_the_map() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let map = text.split("## The map").nth(1).and_then(|t| t.split("\n## ").next()).unwrap();
    let row = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_string());
    let rows: Vec<String> = map.lines().filter_map(row).collect();
    let level = |name: &str| rows.iter().position(|row| row == name);
    let mut checked = 0;
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| ("", entry));
    let groups = fs::read_dir(root().join("crates/ops")).unwrap().map(|entry| ("ops-", entry));
    for (prefix, entry) in crates.chain(groups) {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
        let Ok(manifest) = fs::read_to_string(path.join("Cargo.toml")) else { continue };
        let here = level(&name).unwrap_or_else(|| panic!("{name} is not in the map"));
        for dependency in dependencies(&manifest) {
            let below = level(&dependency).is_some_and(|there| there > here);
            assert!(below, "{name} depends on {dependency}, which is not below it in the map");
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} dependencies were found");
}

/// Invariant 1: passes ask an op's item, not its name.
#[test]
fn behaviour_does_not_depend_on_op_names() {
    let folders = ["crates/core/src/", "crates/graph/src/", "crates/runtime/src/", "crates/dist/src/"];
    for (path, text) in sources() {
        if !folders.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        for (i, line) in text.lines().enumerate() {
            let by_name = ["op.name == \"", "op.name != \"", "match node.op.name", "op.name {"];
            assert!(!by_name.iter().any(|way| line.contains(way)), "{path}:{}: {line}", i + 1);
        }
    }
}
