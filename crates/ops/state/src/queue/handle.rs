//! Making queues: the kernels of the ops whose output is a handle to one.

use super::items::Items;
use super::resource::{Queue, Spec};
use crate::named::OwnedResource;
use crate::prelude::*;

/// Makes the items of a new queue; the second argument is a source of fresh seeds.
pub type MakeItems = fn(&Spec, &dyn Fn() -> u64) -> Items;

/// The kernel of an op whose output is a handle to a queue like this.
pub fn queue_kernel(node: &KernelNode, spec: Spec, items: MakeItems) -> Result<Box<dyn Kernel>> {
    check_spec(&spec)?;
    let owner = OwnedResource::<Queue>::new(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let entropy = &c.step.device.entropy;
        let q =
            owner.get(c, |name| Ok(Queue::new(name.to_string(), spec.clone(), items(&spec, &**entropy))))?;
        same_spec(&q, &spec, c.node)?;
        owner.output_handle(c, q);
        Ok(())
    }))
}

fn check_spec(spec: &Spec) -> Result<()> {
    if !spec.shapes.is_empty() && spec.shapes.len() != spec.types.len() {
        return Err(invalid!(
            "Different number of component types. Types: {:?}, Shapes: {:?}",
            spec.types,
            spec.shapes
        ));
    }
    Ok(())
}

/// Shapes of a queue whose elements all have the same shape.
pub fn known_shapes(node: &KernelNode) -> Result<Vec<PartialShape>> {
    let shapes = node.attrs.shapes("shapes")?;
    match shapes.iter().find(|s| !s.is_fully_known()) {
        Some(s) => Err(invalid!("Shape {s} is not fully defined")),
        None => Ok(shapes),
    }
}

fn same_spec(q: &Queue, want: &Spec, node: &KernelNode) -> Result<()> {
    let (have, name) = (&q.spec, &q.name);
    // Seeds of 0 ask for nothing.
    let any_seed = Spec { seeds: have.seeds, ..want.clone() };
    if have == want || want.seeds == (0, 0) && *have == any_seed {
        return Ok(());
    }
    Err(if have.kind != want.kind {
        invalid!(
            "Shared queue '{name}' has type '{}' that does not match type of Node '{}': {}",
            have.kind,
            node.name,
            node.op
        )
    } else if have.capacity != want.capacity {
        invalid!(
            "Shared queue '{name}' has capacity {} but requested capacity was {}",
            have.capacity,
            want.capacity
        )
    } else if have.types != want.types {
        invalid!(
            "Shared queue '{name}' has component types {:?} but requested component types were {:?}",
            have.types,
            want.types
        )
    } else if have.shapes != want.shapes {
        invalid!(
            "Shared queue '{name}' has component shapes {:?} but requested component shapes were {:?}",
            have.shapes,
            want.shapes
        )
    } else if have.min_after_dequeue != want.min_after_dequeue {
        invalid!(
            "Shared queue '{name}' has min_after_dequeue {} but requested min_after_dequeue was {}",
            have.min_after_dequeue,
            want.min_after_dequeue
        )
    } else {
        invalid!(
            "Shared queue '{name}' has random seeds {:?} but requested seeds are {:?}",
            have.seeds,
            want.seeds
        )
    })
}
