//! Epilogue fusion: the bias or sum and ReLU after a matrix product or convolution become part of its op, which applies them
//! before storing results.

use super::fuse::count_uses;
use crate::work::{Kind, Work, WorkNode, work_order};
use smallvec::SmallVec;
use std::collections::HashMap;
use thalweg_core::attr::Attr;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};

/// Fuses into each product the sum that is its only user, and the ReLU that is the only user of the sum.
pub fn fuse_epilogues(work: &mut Work) -> Result<()> {
    let order = work_order(work)?;
    let uses = count_uses(work, &order);
    for id in order {
        if let Some(fused) = fused(work, id, &uses)? {
            work.nodes[id.at()] = fused;
        }
    }
    Ok(())
}

/// The node that computes `id` and the product before it, if there is such a product.
fn fused(work: &Work, id: NodeId, uses: &HashMap<NodeId, u32>) -> Result<Option<WorkNode>> {
    let node = work.node(id);
    let Some(at) = product_input(work, node, uses) else { return Ok(None) };
    let product = work.node(node.inputs[at].node);
    // A product with a sum is the fused op already.
    let fused_as = work.registry.find(product.op.fused_as.unwrap_or(product.op.name))?;
    let mut names = product.attrs.list("fused_ops").unwrap_or_default().to_vec();
    names.push(Attr::str(node.op.name));
    let mut inputs: SmallVec<[Output; 2]> = product.inputs.clone();
    // A product has two inputs; the others are those of its epilogue.
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

/// The attr in which a fused node keeps the name of its product, for error messages.
const FIRST_NAME: &str = thalweg_core::attr::FUSED_PRODUCT_NAME;

/// Which input of the node is a product that the node can be fused into.
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
    let epilogue = node.op.epilogue.filter(|_| node.inputs.len() <= MAX_INPUTS)?;
    let takes = |p: &WorkNode| match epilogue.after_another {
        true => p.attrs.get(FIRST_NAME).is_some(),
        false => p.op.fused_as.is_some(),
    };
    let fits = |p: &WorkNode| takes(p) && channels_agree(node, p);
    epilogue.product.iter().copied().find(|at| product(*at).is_some_and(fits))
}

/// Besides the product, an epilogue has one operand at most.
const MAX_INPUTS: usize = 2;

/// Fused ops have the channels of an epilogue last, where it has channels.
fn channels_agree(node: &WorkNode, product: &WorkNode) -> bool {
    let last = |n: &WorkNode| n.attrs.get("data_format").is_none_or(|format| *format == Attr::str("NHWC"));
    node.attrs.get("data_format").is_none() || (last(node) && last(product))
}
