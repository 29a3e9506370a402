//! The modules of this crate import in one direction only: each may import those before it in `ORDER`. The list is
//! the one in `lib.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const ORDER: [&str; 17] = [
    "sync",
    "until",
    "trace",
    "device",
    "placer",
    "last_duration",
    "step_error",
    "eager",
    "work",
    "passes",
    "partition",
    "plan",
    "executor",
    "compile",
    "functions",
    "task_plans",
    "session",
];

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn position(module: &str) -> Option<usize> {
    ORDER.iter().position(|m| *m == module)
}

#[test]
fn modules_import_only_those_before_them() {
    let mut wrong = Vec::new();
    for file in sources(&src()) {
        let path = file.strip_prefix(src()).unwrap();
        let module = module_of(path);
        if module == "lib" {
            continue;
        }
        let at = position(&module).unwrap_or_else(|| panic!("module '{module}' has no place in ORDER"));
        let text = fs::read_to_string(&file).unwrap();
        for import in imports(&text, is_module_root(path)) {
            match position(&import) {
                Some(other) if other <= at => {}
                Some(_) => {
                    wrong.push(format!("{}: {module} imports {import}, which is after it", path.display()))
                }
                None => {
                    wrong.push(format!("{}: imports crate::{import}, which is no module", path.display()))
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lib_documents_the_modules_in_their_order() {
    let lib = fs::read_to_string(src().join("lib.rs")).unwrap();
    let first_column =
        |line: &str| line.strip_prefix("//! | `").and_then(|l| l.split(" | ").next().map(str::to_string));
    let table: String = lib.lines().filter_map(first_column).map(|names| format!("`{names} ")).collect();
    let listed: Vec<&str> = table.split('`').skip(1).step_by(2).collect();
    assert_eq!(listed, ORDER);
}

#[test]
fn imports_are_found_in_all_their_forms() {
    let text = "use crate::plan::Plan;\n// crate::sync\nuse crate::{device::{A, B}, work};\nlet x = crate::trace::now();\nuse super::until::Until;";
    let found = imports(text, true);
    assert_eq!(
        found.iter().map(String::as_str).collect::<Vec<_>>(),
        ["device", "plan", "trace", "until", "work"]
    );
    assert!(!imports(text, false).contains("until"));
    assert_eq!(imports("use super::super::plan::Plan;", false).first().unwrap(), "plan");
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// The top-level module of a file.
fn module_of(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_string()
}

/// Whether `super` is the crate in this file.
fn is_module_root(path: &Path) -> bool {
    path.components().count() == 1 || (path.components().count() == 2 && path.ends_with("mod.rs"))
}

/// The top-level modules that a source imports.
fn imports(text: &str, is_module_root: bool) -> BTreeSet<String> {
    let code: String =
        text.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        // Not the end of a longer name, as in `$crate::` or `my_crate::`.
        if !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            found.extend(names(&code[at + "crate::".len()..]));
        }
    }
    for (at, climb) in code.match_indices("super::") {
        let rest = &code[at + climb.len()..];
        // Files are at most two levels deep; a longer path matches once for each `super`.
        let climbs_twice = code[..at].ends_with("super::");
        if is_module_root || climbs_twice {
            found.extend(names(rest).into_iter().filter(|n| position(n).is_some()));
        }
    }
    found
}

/// The first name of a path, or those of a group in braces.
fn names(rest: &str) -> Vec<String> {
    let identifier = |s: &str| s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = rest.strip_prefix('{') else { return vec![identifier(rest)] };
    let (mut depth, mut item, mut items) = (0, String::new(), Vec::new());
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => items.push(std::mem::take(&mut item)),
            _ => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                item.push(c);
            }
        }
    }
    items.push(item);
    items.iter().map(|i| identifier(i.trim())).filter(|i| !i.is_empty()).collect()
}
