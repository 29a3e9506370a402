//! Modules import in one direction: only from those before them in this list.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// From the lowest layer to the highest. Other modules belong to the longest of these that contains them.
const ORDER: [&str; 34] = [
    "log",
    "wire::status",
    "wire::graph_def",
    "wire",
    "threads::quota",
    "threads::priority",
    "threads::client_threads",
    "threads",
    "auth",
    "net::http2",
    "net::tls",
    "net::credentials",
    "net::grpc",
    "net::client_connection",
    "net::server::phase",
    "net::server::limits",
    "net::server::slots",
    "net::server::pacing",
    "net::server::turns",
    "net::server::recent_streams",
    "net::server::unread_responses",
    "net::server::peer",
    "net::server::calls",
    "net::server::connection",
    "net::server::listener",
    "net",
    "cluster",
    "remote",
    "worker",
    "master",
    "service::security",
    "service",
    "fuzzing",
    "lib",
];

/// One layer: a peer has a service, whose calls come from peers.
const TOGETHER: [(&str, &str); 1] = [("net::server::service", "net::server::peer")];

fn layer(module: &str) -> usize {
    let module = TOGETHER.iter().find(|t| module.starts_with(t.0)).map_or(module, |t| t.1);
    let inside =
        |name: &str| module == name || module.strip_prefix(name).is_some_and(|rest| rest.starts_with("::"));
    let found = ORDER.iter().enumerate().filter(|(_, name)| inside(name)).max_by_key(|(_, name)| name.len());
    found.unwrap_or_else(|| panic!("{module} is in no layer")).0
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// `net::server::calls`, of `src/net/server/calls.rs`.
fn module_of(file: &Path, src: &Path) -> String {
    let path = file.strip_prefix(src).unwrap().with_extension("");
    let parts: Vec<_> = path.iter().map(|p| p.to_str().unwrap()).filter(|p| *p != "mod").collect();
    parts.join("::")
}

/// The modules that a file imports by `crate::` and `super::`, without its tests.
fn named(text: &str, module: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut all = BTreeSet::new();
    for line in code.lines().filter(|l| !l.trim_start().starts_with("//")) {
        for (at, _) in line.match_indices("crate::") {
            all.extend(expanded(&line[at + "crate::".len()..], ""));
        }
        if let Some(rest) = line.trim_start().strip_prefix("use super::") {
            all.extend(expanded(rest, module.rsplit_once("::").map_or("", |m| m.0)));
        }
    }
    all
}

/// Expands a path with braces.
fn expanded(text: &str, base: &str) -> Vec<String> {
    let path: String = text.chars().take_while(|c| c.is_alphanumeric() || "_:".contains(*c)).collect();
    let path = path.trim_end_matches("::");
    let join =
        |end: &str| [base, path, end].into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("::");
    match text[path.len()..].trim_start_matches("::").strip_prefix('{') {
        Some(list) => {
            list.split(['}', ';']).next().unwrap_or_default().split(',').map(|n| join(n.trim())).collect()
        }
        None => vec![join("")],
    }
}

#[test]
fn modules_import_from_lower_layers_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(files.len() > 70);
    let mut wrong = Vec::new();
    for file in files {
        let module = module_of(&file, &src);
        let is_for_tests = ["tests", "testing"].iter().any(|end| module.rsplit("::").next() == Some(end));
        // The crate's root re-exports from all layers.
        if is_for_tests || module == "lib" {
            continue;
        }
        for other in named(&std::fs::read_to_string(&file).unwrap(), &module) {
            let folder = other.split("::").next().unwrap_or_default();
            if ORDER.iter().any(|o| o.split("::").next() == Some(folder)) && layer(&other) > layer(&module) {
                wrong.push(format!("{module} imports {other}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
