//! Hints for a path without a file: the missing component, and the names beside it.

use std::path::{Path, PathBuf};
use thalweg_core::registry::did_you_mean;

/// The most directory entries that are read, and that are listed.
const MAX_ENTRIES: usize = 1000;
const MAX_LISTED: usize = 4;

/// How to correct a path that does not exist or is a folder; `None` for a file.
pub fn hint(path: &Path) -> Option<String> {
    if path.as_os_str().is_empty() {
        return Some("the path is empty; name a file".to_string());
    }
    if path.exists() {
        return path.is_dir().then(|| "it is a folder; name a file in it".to_string());
    }
    if path.is_symlink() {
        return Some("it is a link to something that is not there".to_string());
    }
    // With the working directory, which is often the mistake in a relative path.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    let there = above.iter().position(|folder| folder.exists()).unwrap_or(above.len());
    Some(match (above.get(there), there.checked_sub(1).and_then(|i| above.get(i))) {
        (Some(file), _) if !file.is_dir() => {
            format!("{} is a file, not a folder; correct the path", file.display())
        }
        (_, Some(none)) => format!("there is no folder {}; make it, or correct the path", none.display()),
        _ => beside(&path),
    })
}

/// The folder exists: similar names in it, or some of its entries.
fn beside(path: &Path) -> String {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return "correct the path".to_string();
    };
    let mut names: Vec<String> = names_in(folder);
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    let near = did_you_mean(names.iter().map(String::as_str), &name.to_string_lossy());
    let folder = folder.display();
    if !near.is_empty() {
        return format!("it is not in {folder}{near}");
    }
    match names.len() {
        0 => format!("the folder {folder} is empty; correct the path"),
        n => {
            let (some, more) =
                (names[..n.min(MAX_LISTED)].join(", "), if n > MAX_LISTED { ", .." } else { "" });
            format!("the folder {folder} has {some}{more}; correct the path")
        }
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let name = |path: PathBuf| path.file_name().map(|n| n.to_string_lossy().into_owned());
    entries.take(MAX_ENTRIES).filter_map(|e| name(e.ok()?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn hint(path: &Path) -> String {
        super::hint(path).unwrap_or_default()
    }

    #[test]
    fn the_part_that_is_missing_is_named_and_what_is_there_instead() {
        let dir = Scratch::new();
        let root = dir.root().display();
        std::fs::write(dir.path(".hidden"), "").unwrap();
        assert_eq!(hint(&dir.path("x")), format!("the folder {root} is empty; correct the path"));
        let none = dir.path("none");
        let said = format!("there is no folder {}; make it, or correct the path", none.display());
        assert_eq!(hint(&none.join("deep/x.csv")), said);
        for name in ["train.csv", "test.csv", "c", "b", "a"] {
            std::fs::write(dir.path(name), "").unwrap();
        }
        assert_eq!(hint(&dir.path("trian.csv")), format!("it is not in {root}; did you mean 'train.csv'?"));
        let said = format!("the folder {root} has a, b, c, test.csv, ..; correct the path");
        assert_eq!(hint(&dir.path("something else")), said);
        let said = format!("{} is a file, not a folder; correct the path", dir.path("a").display());
        assert_eq!(hint(&dir.path("a/b/c")), said);
        assert_eq!(hint(dir.root()), "it is a folder; name a file in it");
        assert_eq!(hint(&dir.path("a")), "");
        let here = std::env::current_dir().unwrap();
        assert!(hint(Path::new("no-such-file-here")).contains(&*here.to_string_lossy()));
        assert_eq!(hint(Path::new("")), "the path is empty; name a file");
    }
}
