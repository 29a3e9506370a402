//! Making queues, and finding the queue that a handle stands for: a resource handle (V2 ops), or for the older ops a
//! reference to a string vector of container and name.

use super::items::Items;
use super::resource::{Queue, Spec};
use crate::prelude::*;
use crate::state::named::{Place, Remembered, name_in, named_reference};
use std::sync::Mutex;
use thalweg_core::resource::lock;
use thalweg_core::step::StepContext;

/// Makes the items of a new queue; the second argument is a source of fresh seeds.
pub type MakeItems = fn(&Spec, &dyn Fn() -> u64) -> Items;

/// The kernel of an op whose output is a handle to a queue like this.
pub fn queue_kernel(node: &KernelNode, spec: Spec, items: MakeItems) -> Result<Box<dyn Kernel>> {
    check_spec(&spec)?;
    let place = Place::own(node)?;
    let container = place.container.clone();
    let by_reference = node.outputs.first().is_some_and(|p| p.is_ref);
    let (queue, reference) = (Remembered::new(place), Mutex::new(None));
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let entropy = &c.step.device.entropy;
        let q = queue.get(&c.step.device.resources, |name| {
            Ok(Queue::new(name.to_string(), spec.clone(), items(&spec, &**entropy)))
        })?;
        same_spec(&q, &spec, c.node)?;
        if !by_reference {
            c.set(0, queue.handle(c, q, vec![]));
            return Ok(());
        }
        let store = &c.step.device.resources;
        let container = if container.is_empty() { &**store.default_container() } else { &container };
        let v = lock(&reference).get_or_insert_with(|| named_reference(container, &q.name)).clone();
        c.set(0, Value::Ref(v));
        Ok(())
    }))
}

/// The queue that a handle stands for.
pub fn queue_of(handle: &Tensor, step: &StepContext) -> Result<Arc<Queue>> {
    let store = &step.device.resources;
    if handle.dtype() == DataType::String {
        let (container, name) = name_in(handle)?;
        return store.get::<Queue>(&container, &name);
    }
    match handle.resources()? {
        [one] => store.resolve(one),
        _ => Err(invalid!("needs one queue handle, got a tensor of shape {}", handle.shape())),
    }
}

/// As `queue_of`, for input 0 of a kernel that runs at once.
pub fn queue_input(c: &OpCall<'_>) -> Result<Arc<Queue>> {
    match c.inputs.first() {
        Some(Input::Ref(v)) => queue_of(&v.read()?, c.step),
        _ => queue_of(c.input(0)?, c.step),
    }
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
    if have == want {
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
