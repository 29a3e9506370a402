//! `SerializeIterator`, `DeserializeIterator`: the position of an iterator as a variant, for checkpoints of input pipelines.

use super::checkpoint::Checkpoint;
use super::iterator::Iterator;
use crate::prelude::*;

pub static SERIALIZE_ITERATOR: Op = Op {
    name: "SerializeIterator",
    doc: "The position of an iterator, with what it has buffered.",
    inputs: &["resource_handle: resource"],
    outputs: &["serialized: variant"],
    attrs: &["external_state_policy: int = 0"],
    shape: one_variant,
    kernels: cpu!(async serialize),
    ..Op::STATEFUL
};

pub static DESERIALIZE_ITERATOR: Op = Op {
    name: "DeserializeIterator",
    doc: "Moves an initialised iterator to a position that `SerializeIterator` gave.",
    inputs: &["resource_handle: resource", "serialized: variant"],
    kernels: cpu!(async deserialize),
    ..Op::STATEFUL
};

fn one_variant(_: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    Ok(vec![PartialShape::unknown_of_rank(1)])
}

fn serialize(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Serialize))
}

fn deserialize(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Deserialize))
}

struct Serialize;

impl AsyncKernel for Serialize {
    fn start(&self, call: AsyncCall, done: Done) {
        let iterator = match call.resource::<Iterator>(0) {
            Ok(iterator) => iterator,
            Err(e) => return done(Err(e)),
        };
        let vector = |state: Variant| Ok(outputs([Tensor::from_objects(Shape::vector(1), vec![state])?]));
        iterator.save(&call.step, Box::new(move |state| done(state.and_then(vector))));
    }
}

struct Deserialize;

impl AsyncKernel for Deserialize {
    fn start(&self, call: AsyncCall, done: Done) {
        let given = call.resource::<Iterator>(0).and_then(|iterator| {
            let state = call.tensor(1)?;
            Ok((iterator, Checkpoint::to_restore(&state)?))
        });
        match given {
            Ok((iterator, s)) => {
                iterator.restore(s, &call.step, Box::new(move |r| done(r.map(|()| outputs([])))));
            }
            Err(e) => done(Err(e)),
        }
    }
}
