//! Common subexpression elimination: of equivalent nodes, one stays.

use super::fold::redirect;
use crate::work::{Kind, Work, WorkNode, work_order};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::error::Result;
use thalweg_core::node::NodeId;
use thalweg_core::op::Class;
use thalweg_core::tensor::Tensor;

pub fn merge_common(work: &mut Work) -> Result<()> {
    let mut seen: HashMap<u64, Vec<NodeId>> = HashMap::new();
    let mut replaced_by: HashMap<NodeId, NodeId> = HashMap::new();
    for id in work_order(work)? {
        work.check_now_and_then(id)?;
        // Inputs come first in the order, so they have been merged already.
        let swap = |n: NodeId| replaced_by.get(&n).copied().unwrap_or(n);
        let node = &mut work.nodes[id.at()];
        node.inputs.iter_mut().for_each(|o| o.node = swap(o.node));
        node.control.iter_mut().for_each(|c| *c = swap(*c));
        if !mergeable(&work.nodes[id.at()]) {
            continue;
        }
        let same = seen.entry(fingerprint(&work.nodes[id.at()])).or_default();
        match same.iter().find(|other| equal(work.node(**other), work.node(id))) {
            Some(other) => drop(replaced_by.insert(id, *other)),
            None => same.push(id),
        }
    }
    if !replaced_by.is_empty() {
        let swap = |n: NodeId| replaced_by.get(&n).copied().unwrap_or(n);
        redirect(work, |mut o| {
            o.node = swap(o.node);
            o
        });
        work.targets.iter_mut().for_each(|t| *t = swap(*t));
        work.nodes.iter_mut().for_each(|n| n.control.iter_mut().for_each(|c| *c = swap(*c)));
    }
    Ok(())
}

fn mergeable(node: &WorkNode) -> bool {
    let plain = matches!(node.op.class, Class::Plain | Class::Constant) && !node.op.stateful;
    let known = match &node.kind {
        Kind::Op => true,
        // Comparing large values costs more than a copy saves.
        Kind::Value(t) => t.byte_len() <= 1024 && t.dtype().is_plain(),
        _ => false,
    };
    plain && known && node.outputs.iter().all(|p| !p.is_ref)
}

fn equal(a: &WorkNode, b: &WorkNode) -> bool {
    let kind = match (&a.kind, &b.kind) {
        (Kind::Value(x), Kind::Value(y)) => {
            return x.same_bits(y) && a.control == b.control && a.device == b.device;
        }
        (Kind::Op, Kind::Op) => true,
        _ => false,
    };
    kind && a.op.name == b.op.name
        && a.inputs == b.inputs
        && a.control == b.control
        && a.device == b.device
        && own_attrs(&a.attrs).eq(own_attrs(&b.attrs))
}

/// Attrs that decide the result; those with an underscore are annotations.
fn own_attrs(attrs: &Attrs) -> impl Iterator<Item = (&str, &Attr)> {
    attrs.iter().filter(|(n, _)| !n.starts_with('_'))
}

fn fingerprint(node: &WorkNode) -> u64 {
    let mut h = DefaultHasher::new();
    match &node.kind {
        Kind::Value(t) => hash_tensor(t, &mut h),
        _ => {
            node.op.name.hash(&mut h);
            node.inputs.hash(&mut h);
            for (name, attr) in own_attrs(&node.attrs) {
                name.hash(&mut h);
                hash_attr(attr, &mut h);
            }
        }
    }
    node.control.hash(&mut h);
    h.finish()
}

fn hash_tensor(t: &Tensor, h: &mut DefaultHasher) {
    (t.dtype(), t.shape()).hash(h);
    if let Ok(bytes) = t.bytes() {
        bytes.get(..bytes.len().min(1024)).hash(h);
    }
}

/// Equal attrs have equal hashes; rare differences are left to the comparison. Lists hold no lists.
fn hash_attr(a: &Attr, h: &mut DefaultHasher) {
    match a {
        Attr::Str(s) => s.hash(h),
        Attr::Int(i) => i.hash(h),
        Attr::Float(f) => f.to_bits().hash(h),
        Attr::Bool(b) => b.hash(h),
        Attr::Type(t) => t.hash(h),
        Attr::Shape(s) => s.hash(h),
        Attr::Tensor(t) => hash_tensor(t, h),
        Attr::Func(f) => f.name.hash(h),
        Attr::Placeholder(p) => p.hash(h),
        Attr::List(items) => items.iter().for_each(|item| match item {
            Attr::List(inner) => inner.len().hash(h),
            item => hash_attr(item, h),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All attrs with the same hash are compared with each other.
    #[test]
    fn attrs_that_are_lists_are_told_apart_by_what_they_hold() {
        let number = |attr: Attr| {
            let mut h = DefaultHasher::new();
            hash_attr(&attr, &mut h);
            h.finish()
        };
        assert_ne!(number(Attr::ints(&[1, 2])), number(Attr::ints(&[2, 1])));
        assert_eq!(number(Attr::ints(&[1, 2])), number(Attr::ints(&[1, 2])));
    }
}
