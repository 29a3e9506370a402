//! Glob patterns: `*` for any characters but `/`, `?` for one, `[a-z]` for one of a set, `\` escapes a character.

use std::path::{Path, PathBuf};
use thalweg_core::error::{Result, resource_exhausted};

/// The limit on matches: each `*/..` in a pattern multiplies them.
const MAX_PATHS: usize = 1 << 20;

/// The existing paths that match, sorted. Any component may have wildcards.
pub fn matching(pattern: &str) -> Result<Vec<PathBuf>> {
    matching_up_to(pattern, MAX_PATHS)
}

fn matching_up_to(pattern: &str, most: usize) -> Result<Vec<PathBuf>> {
    let (mut found, rest) = match pattern.strip_prefix('/') {
        Some(rest) => (vec![PathBuf::from("/")], rest),
        None => (vec![PathBuf::new()], pattern),
    };
    for part in rest.split('/').filter(|p| !p.is_empty()) {
        let next = found.iter().flat_map(|base| step(base, part));
        found = next.take(most + 1).collect();
        if found.len() > most {
            return Err(resource_exhausted(format_args!("more than {most} paths match '{pattern}'")));
        }
    }
    found.retain(|p| !p.as_os_str().is_empty());
    found.sort();
    Ok(found)
}

/// The matches of one component in a directory. Unreadable directories have none.
fn step(base: &Path, part: &str) -> Vec<PathBuf> {
    if !part.contains(['*', '?', '[', '\\']) {
        let path = base.join(part);
        return if path.exists() { vec![path] } else { Vec::new() };
    }
    let directory = if base.as_os_str().is_empty() { Path::new(".") } else { base };
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
    names.filter(|n| matches(part, n)).map(|n| base.join(n)).collect()
}

/// Whether a name matches a pattern without `/`.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to backtrack to: the last star, matching one more character.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(_) => {
                if let Some(next) = one(&pattern, p, name[n]) {
                    (p, n) = (next, n + 1);
                    continue;
                }
            }
            None => {}
        }
        let Some((after, taken)) = star else { return false };
        star = Some((after, taken + 1));
        (p, n) = (after, taken + 1);
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// The position in the pattern after matching this character at `p`; `None` if it does not match.
fn one(pattern: &[char], p: usize, c: char) -> Option<usize> {
    match pattern[p] {
        '?' => Some(p + 1),
        '[' => match set(pattern, p + 1, c) {
            Some((held, next)) => held.then_some(next),
            // An unclosed bracket is a literal.
            None => (c == '[').then_some(p + 1),
        },
        '\\' if p + 1 < pattern.len() => (pattern[p + 1] == c).then_some(p + 2),
        plain => (plain == c).then_some(p + 1),
    }
}

/// Whether the set that starts at `p` has the character, and the position after the set.
fn set(pattern: &[char], mut p: usize, c: char) -> Option<(bool, usize)> {
    let not = matches!(pattern.get(p), Some('!' | '^'));
    p += not as usize;
    let (first, mut held) = (p, false);
    loop {
        match *pattern.get(p)? {
            ']' if p > first => return Some((held != not, p + 1)),
            low => match (pattern.get(p + 1), pattern.get(p + 2)) {
                (Some('-'), Some(high)) if *high != ']' => {
                    held |= (low..=*high).contains(&c);
                    p += 3;
                }
                _ => {
                    held |= low == c;
                    p += 1;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn patterns() {
        for (pattern, name, want) in [
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("*", "", true),
            ("?", "", false),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[!a-c]x", "!x", true),
            ("[^a]", "b", true),
            ("[^a]", "a", false),
            ("[a-]", "-", true),
            ("[ab]c", "bc", true),
            ("\\", "\\", true),
            ("[]]", "]", true),
            ("[x", "[x", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("*a*b*", "xxaxxbxx", true),
            ("h\u{e9}?", "h\u{e9}\u{e9}", true),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
        // Exponential for a matcher with full backtracking.
        assert!(!matches(&"*a".repeat(40), &"a".repeat(39)));
    }

    /// A pattern of fifty characters used to exhaust memory.
    #[test]
    fn a_pattern_with_too_many_matches_is_refused() {
        let dir = Scratch::new();
        (0..16).for_each(|i| std::fs::create_dir(dir.path(&format!("d{i}"))).unwrap());
        let pattern = |times: usize| format!("{}{}", dir.root().display(), "/*/..".repeat(times));
        assert_eq!(matching_up_to(&pattern(2), 1000).unwrap().len(), 256);
        let e = matching_up_to(&pattern(12), 1000).unwrap_err();
        assert_eq!(e.code(), thalweg_core::error::Code::ResourceExhausted);
    }

    #[test]
    fn files_are_found_in_any_directory_that_matches() {
        let dir = Scratch::new();
        for name in ["a1/x.txt", "a2/x.txt", "a2/y.bin", "b/x.txt"] {
            let path = dir.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let find = |p: &str| matching(dir.path(p).to_str().unwrap()).unwrap();
        assert_eq!(find("a*/*.txt"), [dir.path("a1/x.txt"), dir.path("a2/x.txt")]);
        assert_eq!(find("b/x.txt"), [dir.path("b/x.txt")]);
        assert_eq!(find("none/*"), Vec::<PathBuf>::new());
    }
}
