//! `IteratorV2`, `Iterator` and the anonymous iterators: handles to iterators.

use super::anonymous::{DELETE, anonymous};
use super::iterator::Iterator;
use crate::named::ResourceKey;
use crate::prelude::*;
use thalweg_core::resource::ResourceHandle;
use thalweg_core::step::StepContext;

pub static ITERATOR_V2: Op = Op {
    name: "IteratorV2",
    doc: "A handle to an iterator, to be initialised with a dataset of these types and shapes.",
    outputs: &["handle: resource"],
    attrs: &[
        "shared_name: string",
        "container: string",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    shape: shape_call::scalar,
    kernels: cpu!(make prepare),
    ..Op::STATEFUL
};

pub static ITERATOR: Op = Op { name: "Iterator", ..ITERATOR_V2 };

pub static ANONYMOUS_ITERATOR: Op = Op {
    name: "AnonymousIterator",
    doc: "A handle to a new iterator, which is deleted with its last handle.",
    outputs: &["handle: resource"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    shape: shape_call::scalar,
    kernels: cpu!(nameless),
    ..Op::STATEFUL
};

pub static ANONYMOUS_ITERATOR_V2: Op = Op {
    name: "AnonymousIteratorV2",
    outputs: &["handle: resource", "deleter: variant"],
    ..ANONYMOUS_ITERATOR
};

pub static ANONYMOUS_ITERATOR_V3: Op = Op { name: "AnonymousIteratorV3", ..ANONYMOUS_ITERATOR };

pub static DELETE_ITERATOR: Op = Op { name: "DeleteIterator", ..DELETE };

/// A new iterator, from the attrs of a node.
pub fn described(attrs: &Attrs) -> Result<Iterator> {
    let (types, shapes) = (attrs.types("output_types")?, attrs.shapes("output_shapes")?);
    if types.len() != shapes.len() {
        return Err(invalid!(
            "an iterator has one shape for each type, got {} and {}",
            shapes.len(),
            types.len()
        ));
    }
    Ok(Iterator::new(types, shapes))
}

fn nameless(c: &mut OpCall<'_>) -> Result<()> {
    let iterator = described(c.attrs())?;
    anonymous(c, Arc::new(iterator));
    Ok(())
}

/// The iterator is looked up in each step: kernels of its functions may own this kernel, so caching it would be a cycle.
fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let key = ResourceKey::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let iterator = find_or_make(&key, c.node, c.step)?;
        c.set(0, handle(&key, c.step, iterator));
        Ok(())
    }))
}

pub fn find_or_make(key: &ResourceKey, node: &KernelNode, step: &StepContext) -> Result<Arc<Iterator>> {
    let store = &step.device.resources;
    let lasting = store.outlives_session(&key.container);
    let make = || Ok(described(&node.attrs)?.lasting(lasting));
    let found = store.get_or_create(&key.container, &key.name, make)?;
    let want = node.attrs.types("output_types")?;
    if found.types == want {
        return Ok(found);
    }
    Err(invalid!("iterator '{}' has elements of types {:?}, this node says {want:?}", key.name, found.types))
}

pub fn handle(key: &ResourceKey, step: &StepContext, iterator: Arc<Iterator>) -> Tensor {
    let store = &step.device.resources;
    let container = match key.container.as_str() {
        "" => store.default_container().clone(),
        given => given.into(),
    };
    Tensor::from_object(ResourceHandle {
        device: step.device.name.clone(),
        container,
        name: key.name.as_str().into(),
        type_name: "tensorflow::data::IteratorResource".into(),
        target: Some(iterator.into()),
        ..Default::default()
    })
}
