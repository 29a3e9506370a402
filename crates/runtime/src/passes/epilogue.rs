//! What follows a product, done on the product's way to memory: a bias or a sum added, negative numbers cut off.

use super::fuse::count_uses;
use crate::plan::work_order;
use crate::work::{Kind, Work, WorkNode};
use smallvec::SmallVec;
use std::collections::HashMap;
use thalweg_core::attr::Attr;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Role;

/// Lets a product take in the sum that is its only user, and the cut that is the only user of that.
pub fn take_in_epilogues(work: &mut Work) -> Result<()> {
    let order = work_order(work)?;
    let uses = count_uses(work, &order);
    for id in order {
        if let Some(fused) = fused(work, id, &uses)? {
            work.nodes[id.at()] = fused;
        }
    }
    Ok(())
}

/// The node that does what `id` and the product before it do, if there is one.
fn fused(work: &Work, id: NodeId, uses: &HashMap<NodeId, u32>) -> Result<Option<WorkNode>> {
    let node = work.node(id);
    let Some(at) = product_input(work, node, uses) else { return Ok(None) };
    let product = work.node(node.inputs[at].node);
    // What has taken in a sum already is the fused op, and goes by its own name.
    let fused_as = work.registry.find(product.op.fused_as.unwrap_or(product.op.name))?;
    let mut names = product.attrs.list("fused_ops").unwrap_or_default().to_vec();
    names.push(Attr::str(node.op.name));
    let mut inputs: SmallVec<[Output; 2]> = product.inputs.clone();
    // A product is of two; the rest belongs to what follows it.
    let product_inputs = 2;
    inputs.extend(node.inputs.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, o)| *o));
    let signature = work.registry.signature(fused_as)?;
    let mut attrs = product.attrs.clone();
    let known = |name: &str| name.starts_with('_') || signature.attrs.iter().any(|a| a.name == name);
    let unknown: Vec<String> = attrs.iter().map(|(n, _)| n.to_string()).filter(|n| !known(n)).collect();
    unknown.iter().for_each(|name| drop(attrs.remove(name)));
    attrs.set("fused_ops", Attr::List(names));
    let args = inputs.len() - product_inputs;
    attrs.set("num_args", Attr::Int(args as i64));
    if signature.attrs.iter().any(|a| a.name == "TArgs") {
        attrs.set("TArgs", Attr::List(vec![Attr::Type(DataType::Float); args]));
    }
    if attrs.get(FIRST_NAME).is_none() {
        attrs.set(FIRST_NAME, Attr::str(&product.name));
    }
    signature.complete(&mut attrs)?;
    let mut control = product.control.clone();
    control.extend(node.control.iter().copied());
    Ok(Some(WorkNode { op: fused_as, attrs, inputs, control, ..node.clone() }))
}

/// Under this attr a fused node keeps the name of its product, for its errors.
const FIRST_NAME: &str = thalweg_core::attr::FUSED_PRODUCT_NAME;

/// Which input of the node is a product that the node can be taken into.
fn product_input(work: &Work, node: &WorkNode, uses: &HashMap<NodeId, u32>) -> Option<usize> {
    if !matches!(node.kind, Kind::Op) || node.outputs.first()?.dtype != DataType::Float {
        return None;
    }
    let product = |at: usize| {
        let o = node.inputs.get(at)?;
        let product = work.node(o.node);
        let alone = uses.get(&o.node) == Some(&1) && product.device == node.device;
        (alone && matches!(product.kind, Kind::Op)).then_some(product)
    };
    let bare = |at: usize| product(at).is_some_and(|p| p.op.fused_as.is_some());
    let with_sum = |at: usize| product(at).is_some_and(|p| p.attrs.get(FIRST_NAME).is_some());
    match node.op.role {
        Role::BiasAdd => {
            let last = |n: &WorkNode| n.attrs.str("data_format").is_ok_and(|format| format == "NHWC");
            let same = |p: &WorkNode| p.attrs.get("data_format").is_none() || last(p);
            (last(node) && bare(0) && product(0).is_some_and(same)).then_some(0)
        }
        // The last of two: what is added up step by step comes first.
        Role::Add if node.inputs.len() == 2 => [1, 0].into_iter().find(|at| bare(*at)),
        Role::Relu => with_sum(0).then_some(0),
        _ => None,
    }
}
