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
        let best = self.ops.keys().map(|k| (distance(k, name), *k)).min()?;
        (best.0 <= 3 && best.0 < name.len()).then_some(best.1)
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
    let best = names.take(10_000).map(|n| (distance(n, name), n)).min();
    match best {
        Some((d, near)) if d <= 2.max(name.len() / 4) => format!("; did you mean '{near}'?"),
        _ => String::new(),
    }
}

/// Levenshtein distance, for suggestions.
pub fn distance(a: &str, b: &str) -> usize {
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
