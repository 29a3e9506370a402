//! Names of nodes, tensors and control inputs, and their uniqueness.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use thalweg_core::error::Result;
use thalweg_core::invalid;

/// Whether this is a node name: `[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*`.
pub fn is_valid(name: &str) -> bool {
    let ok_first = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let ok = |c: char| ok_first(c) || matches!(c, '_' | '\\' | '/' | '>' | '-');
    name.chars().next().is_some_and(ok_first) && name.chars().all(ok)
}

/// As `is_valid`; names made by graph passes may start with `_`.
pub fn is_valid_internal(name: &str) -> bool {
    is_valid(name.strip_prefix('_').unwrap_or(name))
}

/// A parsed input string.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Input<'a> {
    /// `node` or `node:k`.
    Data(&'a str, u32),
    /// `^node`.
    Control(&'a str),
}

/// Parses `node`, `node:k` or `^node`. An index out of range is rejected, never wrapped.
pub fn parse_input(text: &str) -> Result<Input<'_>> {
    if let Some(node) = text.strip_prefix('^') {
        return Ok(Input::Control(node));
    }
    let Some((node, index)) = text.split_once(':') else { return Ok(Input::Data(text, 0)) };
    let index: u32 = Some(index)
        .filter(|i| !i.is_empty() && i.len() <= 9 && i.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|i| i.parse().ok())
        .ok_or_else(|| invalid!("'{text}' is not an input: it is written 'node', 'node:index' or '^node'"))?;
    Ok(Input::Data(node, index))
}

/// The name of a node of an inlined body: `call/node`. Names of nested calls grow with their depth, so a long one is truncated, and
/// a hash of it appended.
pub fn inside(call: &str, suffix: &str, node: &str) -> String {
    if call.len() <= LONGEST {
        return format!("{call}{suffix}/{node}");
    }
    let mut hash = DefaultHasher::new();
    call.hash(&mut hash);
    let start = call.floor_char_boundary(LONGEST / 2);
    format!("{}/-{:016x}{suffix}/{node}", call.get(..start).unwrap_or_default(), hash.finish())
}

/// Maximum length of a call's name before truncation.
const LONGEST: usize = 512;

/// The names in use in a graph, case-insensitive as in TensorFlow.
#[derive(Default, Clone)]
pub struct Names(HashMap<String, u32>);

impl Names {
    /// `base`, or the first of `base_1`, `base_2`, … that is free; marks it used.
    pub fn unique(&mut self, base: &str) -> String {
        let key = base.to_lowercase();
        let Some(count) = self.0.get(&key).copied() else {
            self.0.insert(key, 1);
            return base.to_string();
        };
        let mut count = count;
        loop {
            let name = format!("{base}_{count}");
            count += 1;
            let lower = name.to_lowercase();
            if let std::collections::hash_map::Entry::Vacant(free) = self.0.entry(lower) {
                free.insert(1);
                self.0.insert(key, count);
                return name;
            }
        }
    }

    /// Marks a name as used as it is.
    pub fn mark(&mut self, name: &str) {
        self.0.entry(name.to_lowercase()).or_insert(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_up() {
        let mut n = Names::default();
        let made: Vec<String> = ["Add", "Add", "Add_1", "add", "Mul"].iter().map(|b| n.unique(b)).collect();
        assert_eq!(made, ["Add", "Add_1", "Add_1_1", "add_2", "Mul"]);
    }

    #[test]
    fn names_inside_of_calls_do_not_grow_with_their_depth() {
        assert_eq!(inside("a/b", "/then", "c"), "a/b/then/c");
        let (mut deep, mut other) = ("call".to_string(), "coll".to_string());
        for _ in 0..1000 {
            (deep, other) = (inside(&deep, "", "näher"), inside(&other, "", "näher"));
            assert!(
                deep != other && deep.len() < 2 * LONGEST && is_valid(&inside(&"c".repeat(600), "", "d"))
            );
        }
    }

    #[test]
    fn inputs_are_parsed_or_refused() {
        assert_eq!(parse_input("a/b").unwrap(), Input::Data("a/b", 0));
        assert_eq!(parse_input("a:3").unwrap(), Input::Data("a", 3));
        assert_eq!(parse_input("^a").unwrap(), Input::Control("a"));
        for bad in ["a:-2", "a:b:c", "a:", "a:2147483648", "a:+1", "a: 1"] {
            assert!(parse_input(bad).is_err(), "{bad}");
        }
        assert!(is_valid("a/b_c-d.e") && !is_valid("_a") && !is_valid("") && !is_valid("../a b"));
    }
}
