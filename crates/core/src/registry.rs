//! `Registry`: the ops of a process, by name.

use crate::attr::Attrs;
use crate::error::{Result, not_found};
use crate::op::{KernelRow, Op};
use crate::signature::Signature;
use std::collections::HashMap;
use std::sync::OnceLock;

#[derive(Default)]
pub struct Registry {
    ops: HashMap<&'static str, Entry>,
}

struct Entry {
    op: &'static Op,
    signature: OnceLock<Result<Signature>>,
}

impl Registry {
    pub fn new(families: &[&'static [&'static Op]]) -> Self {
        let mut registry = Registry::default();
        for op in families.iter().copied().flatten() {
            registry.add(op);
        }
        registry
    }

    /// Adds an op, or replaces the one of that name.
    pub fn add(&mut self, op: &'static Op) {
        self.ops.insert(op.name, Entry { op, signature: OnceLock::new() });
    }

    pub fn get(&self, name: &str) -> Option<&'static Op> {
        self.ops.get(name).map(|e| e.op)
    }

    /// The op, or an error with similar names.
    pub fn find(&self, name: &str) -> Result<&'static Op> {
        self.get(name).ok_or_else(|| {
            let near = self.nearest(name).map(|n| format!(" Did you mean '{n}'?")).unwrap_or_default();
            not_found(format_args!("Op type not registered '{name}'.{near}"))
        })
    }

    /// The parsed signature of an op of this registry.
    pub fn signature(&self, op: &'static Op) -> Result<&Signature> {
        let entry = self
            .ops
            .get(op.name)
            .ok_or_else(|| not_found(format_args!("op {} is not registered", op.name)))?;
        entry.signature.get_or_init(|| Signature::parse(entry.op)).as_ref().map_err(Clone::clone)
    }

    /// All ops by name.
    pub fn all(&self) -> Vec<&'static Op> {
        let mut ops: Vec<_> = self.ops.values().map(|e| e.op).collect();
        ops.sort_by_key(|op| op.name);
        ops
    }

    fn nearest(&self, name: &str) -> Option<&'static str> {
        self.ops.keys().filter_map(|k| Some((similarity(k, name)?, *k))).min().map(|best| best.1)
    }
}

/// The kernel of an op for these attrs on a device type.
pub fn find_kernel(op: &'static Op, attrs: &Attrs, device: &str) -> Option<&'static KernelRow> {
    let fits = |row: &&KernelRow| {
        row.device == device
            && row.types.iter().all(|(attr, t)| attrs.dtype(attr).is_ok_and(|have| have == *t))
    };
    op.kernels.iter().filter(fits).max_by_key(|row| row.priority)
}

/// `; did you mean 'x'?`, if one of these names is similar. Very long lists are not searched.
pub fn did_you_mean<'a>(names: impl Iterator<Item = &'a str>, name: &str) -> String {
    let best = names.take(10_000).filter_map(|n| Some((similarity(n, name)?, n))).min();
    best.map_or_else(String::new, |(_, near)| format!("; did you mean '{near}'?"))
}

/// How many edits a name is from the one asked for, capitals and small letters alike; `None` if so many that they are unrelated: more than
/// one in a short name, than a quarter of the letters in a long one, or as many as there are letters.
pub fn similarity(name: &str, wanted: &str) -> Option<usize> {
    let edits = distance(&name.to_lowercase(), &wanted.to_lowercase());
    let letters = wanted.chars().count();
    // Where every letter is another, nothing is alike.
    let alike = edits < letters.max(name.chars().count()) || edits == 0;
    (alike && edits <= (letters / 4).max(1)).then_some(edits)
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(100).enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = before + usize::from(ca != *cb);
            before = row[j + 1];
            row[j + 1] = substitute.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_related() {
        let names = ["Rank", "MatMul", "layer/weights", "train.csv"];
        let hint = |name| did_you_mean(names.into_iter(), name);
        assert_eq!(hint("RFFT"), "");
        assert_eq!(hint("Real"), "");
        assert_eq!(did_you_mean(["1", "xy"].into_iter(), "x"), "; did you mean 'xy'?");
        assert_eq!(did_you_mean(["1", "y"].into_iter(), "x"), "");
        assert_eq!(hint("Matmul"), "; did you mean 'MatMul'?");
        assert_eq!(hint("layer/weight"), "; did you mean 'layer/weights'?");
        assert_eq!(hint("trian.csv"), "; did you mean 'train.csv'?");
    }
}
