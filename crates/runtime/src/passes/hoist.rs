//! Hoisting: a product in a loop that takes a loop-invariant matrix transposed would transpose it in every iteration. The transpose is
//! made once, before the loop.

use super::shapes::{KnownShapes, Shapes};
use crate::work::{Kind, Work, WorkNode, work_order};
use std::collections::HashMap;
use thalweg_core::attr::Attrs;
use thalweg_core::error::Result;
use thalweg_core::node::NodeId;
use thalweg_core::op::Class;
use thalweg_core::tensor::Tensor;

/// The input of a product that is hoisted: the second, as which loops use their weights.
const WEIGHTS: usize = 1;

pub fn hoist_transposes(work: &mut Work) -> Result<()> {
    if !work.has_control_flow || !work.nodes.iter().any(|node| transposes_weights(node).is_some()) {
        return Ok(());
    }
    let order = work_order(work)?;
    let known = KnownShapes { feeds: Vec::new(), references: true };
    let (mut shapes, unmoved) = (Shapes::new(work, &known), HashMap::new());
    order.iter().for_each(|id| shapes.visit(work, *id, &unmoved));
    let mut transposed: HashMap<NodeId, NodeId> = HashMap::new();
    for id in order {
        let Some(enter) = entering_matrix(work, work.node(id), &shapes) else { continue };
        let other = match transposed.get(&enter) {
            Some(other) => *other,
            None => *transposed.entry(enter).or_insert(enter_transposed(work, enter)?),
        };
        let product = &mut work.nodes[id.at()];
        let Some(attr) = transposes_weights(product) else { continue };
        product.inputs[WEIGHTS] = other.output(0);
        product.attrs.set(attr, false);
    }
    Ok(())
}

/// The attr by which the node takes its weights transposed, if it does.
fn transposes_weights(node: &WorkNode) -> Option<&'static str> {
    let attr = *node.op.transposed_by.get(WEIGHTS).filter(|_| matches!(node.kind, Kind::Op))?;
    node.attrs.bool(attr).is_ok_and(|t| t).then_some(attr)
}

/// The Enter of a product's transposed matrix, if it is loop-invariant. Its rank is known to be 2, so that the transpose cannot fail.
fn entering_matrix(work: &Work, node: &WorkNode, shapes: &Shapes<'_>) -> Option<NodeId> {
    transposes_weights(node)?;
    let id = node.inputs.get(WEIGHTS)?.node;
    let enter = work.node(id);
    let stays = enter.op.class == Class::Enter && enter.attrs.bool("is_constant").is_ok_and(|c| c);
    let outside = *enter.inputs.first()?;
    let is_ref = work.node(outside.node).outputs.get(outside.index as usize)?.is_ref;
    (stays && !is_ref && shapes.shape(outside)?.rank() == 2).then_some(id)
}

/// Adds a transpose of the input of `enter`, and an Enter for it.
fn enter_transposed(work: &mut Work, enter: NodeId) -> Result<NodeId> {
    let outside = work.node(enter).inputs[0];
    let swapped = Tensor::vector(&[1i32, 0])?;
    let mut attrs = Attrs::new();
    attrs.set("T", work.node(outside.node).outputs[outside.index as usize].dtype);
    let transpose = work.add(enter, "turned", "Transpose", &[outside], &[], attrs)?;
    let perm = WorkNode {
        name: format!("{}/perm", work.node(transpose).name).into(),
        kind: Kind::Value(swapped.clone()),
        inputs: Default::default(),
        control: Default::default(),
        outputs: smallvec::smallvec![thalweg_core::signature::Port { dtype: swapped.dtype(), is_ref: false }],
        ..work.node(transpose).clone()
    };
    let perm = work.push(perm);
    work.nodes[transpose.at()].inputs.push(perm.output(0));
    let mut other = work.node(enter).clone();
    other.name = format!("{}/enter", work.node(transpose).name).into();
    other.inputs[0] = transpose.output(0);
    Ok(work.push(other))
}
