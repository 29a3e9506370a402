//! The nodes of a work graph that its fetches and targets need, in topological order.

use super::Work;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::NodeId;
use thalweg_core::op::Class;

/// Depth first from the fetches and targets with an explicit stack: graphs may be a million nodes deep. The edge out of a NextIteration is
/// a back edge: it imposes no order, but its source is needed.
pub fn work_order(work: &Work) -> Result<Vec<NodeId>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    // Most passes begin here, so that none begins after the deadline.
    work.until.check()?;
    let mut marks = vec![Mark::New; work.nodes.len()];
    let mut order = Vec::with_capacity(work.nodes.len());
    let mut roots: Vec<NodeId> =
        work.fetches.iter().map(|o| o.node).chain(work.targets.iter().copied()).collect();
    let mut stack: Vec<(NodeId, usize)> = Vec::new();
    let mut next_root = 0;
    while next_root < roots.len() {
        stack.push((roots[next_root], 0));
        next_root += 1;
        while let Some((id, at)) = stack.pop() {
            let node = work.node(id);
            if at == 0 {
                work.check_now_and_then(id)?;
                match marks[id.at()] {
                    Mark::Done => continue,
                    Mark::Open => {
                        return Err(invalid!(
                            "the graph has a cycle through '{}' that no loop closes",
                            node.name
                        ));
                    }
                    Mark::New => marks[id.at()] = Mark::Open,
                }
            }
            // One neighbour at a time, so that a node is open exactly while it is on the path.
            let data = node.inputs.len();
            let before = match at {
                at if at < data => Some(node.inputs[at].node),
                at if at < data + node.control.len() => Some(node.control[at - data]),
                _ => None,
            };
            match before {
                None => {
                    marks[id.at()] = Mark::Done;
                    order.push(id);
                }
                Some(b) => {
                    stack.push((id, at + 1));
                    if work.node(b).op.class == Class::NextIteration {
                        if marks[b.at()] == Mark::New {
                            roots.push(b);
                        }
                    } else if marks[b.at()] != Mark::Done {
                        stack.push((b, 0));
                    }
                }
            }
        }
    }
    Ok(order)
}
