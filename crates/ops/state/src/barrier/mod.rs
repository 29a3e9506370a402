//! `Barrier`, `BarrierInsertMany`, `BarrierTakeMany`, `BarrierClose`, `BarrierReadySize`, `BarrierIncompleteSize`.

mod resource;

use crate::named::{OwnedResource, ResourceKey, resource_input, resource_of};
use crate::prelude::*;
use crate::rows::{stack, unstack};
use crate::waiting::Waiting;
use resource::{Barrier, Ready, State};

pub static OPS: &[&Op] = &[
    &BARRIER,
    &BARRIER_INSERT_MANY,
    &BARRIER_TAKE_MANY,
    &BARRIER_CLOSE,
    &BARRIER_READY_SIZE,
    &BARRIER_INCOMPLETE_SIZE,
];

static BARRIER: Op = Op {
    name: "Barrier",
    doc: "A handle to a barrier, which puts tuples together by key from components that arrive in any order.",
    outputs: &["handle: Ref(string)"],
    attrs: &[
        "component_types: list(type) >= 1",
        "shapes: list(shape) >= 0 = []",
        "capacity: int = -1",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    shape: |_| Ok(vec![PartialShape::vector(2)]),
    kernels: cpu!(make barrier),
    ..Op::STATEFUL
};

fn barrier(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (types, shapes) = (node.attrs.types("component_types")?, node.attrs.shapes("shapes")?);
    if types.len() != shapes.len() {
        return Err(invalid!("All of the component shapes must be specified"));
    }
    let known = |s: &PartialShape| s.to_shape().ok_or_else(|| invalid!("Shape {s} is not fully defined"));
    let shapes = shapes.iter().map(known).collect::<Result<Vec<Shape>>>()?;
    if let Some(empty) = shapes.iter().find(|s| s.elements() == 0) {
        return Err(invalid!("Empty tensors are not supported, but received shape '{empty}'"));
    }
    let owned = OwnedResource::with_key(node, ResourceKey::of(node)?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let found = owned.get(c, |name| {
            let waiting = Arc::new(Waiting::new(State::default()));
            Ok(Barrier { name: name.into(), types: types.clone(), shapes: shapes.clone(), waiting })
        })?;
        if found.types != types || found.shapes != shapes {
            return Err(invalid!(
                "Shared barrier '{}' has component types {:?} and shapes {:?}, asked for {types:?} and {shapes:?}",
                found.name,
                found.types,
                found.shapes
            ));
        }
        owned.output_handle(c, found);
        Ok(())
    }))
}

static BARRIER_INSERT_MANY: Op = Op {
    name: "BarrierInsertMany",
    doc: "Adds component number `component_index` for each key.",
    inputs: &["handle: Ref(string)", "keys: string", "values: T"],
    attrs: &["T: type", "component_index: int"],
    shape: |c| {
        let (keys, values) = (c.rank(1, 1)?, c.rank_at_least(2, 1)?);
        merge_dim(keys.dim(0), values.dim(0))?;
        Ok(vec![])
    },
    kernels: cpu!(insert),
    ..Op::STATEFUL
};

fn insert(c: &mut OpCall<'_>) -> Result<()> {
    let (barrier, keys, values) = (resource_input::<Barrier>(c)?, c.input(1)?, c.input(2)?);
    let at = c.attrs().int("component_index")?;
    let component =
        usize::try_from(at).ok().and_then(|i| Some((i, barrier.types.get(i)?, barrier.shapes.get(i)?)));
    let Some((at, dtype, shape)) = component else {
        return Err(invalid!(
            "The component ID is out of range {at} > num_components (= {})",
            barrier.types.len()
        ));
    };
    if values.dtype() != *dtype {
        return Err(invalid!("Signature mismatch, have: {} expected: {dtype}", values.dtype()));
    }
    if keys.rank() != 1 || values.shape().first() != Some(&keys.elements()) {
        return Err(invalid!(
            "keys must be a vector and values have a row for each, got shapes {} and {}",
            keys.shape(),
            values.shape()
        ));
    }
    if values.shape().get(1..) != Some(shape.dims()) {
        return Err(invalid!(
            "Shape mismatch in tuple component {at}. Expected {shape}, got {}",
            values.shape()
        ));
    }
    barrier.insert(at, keys.strings()?, unstack(values)?)
}

static BARRIER_TAKE_MANY: Op = Op {
    name: "BarrierTakeMany",
    doc: "Takes `num_elements` complete tuples, when there are so many; of a closed barrier, those that there are if `allow_small_batch`.",
    inputs: &["handle: Ref(string)", "num_elements: int32"],
    outputs: &["indices: int64", "keys: string", "values: component_types"],
    attrs: &[
        "component_types: list(type) >= 1",
        "allow_small_batch: bool = false",
        "wait_for_incomplete: bool = false",
        "timeout_ms: int = -1",
    ],
    kernels: cpu!(async take),
    ..Op::STATEFUL
};

struct Take {
    types: Vec<DataType>,
    fewer: bool,
}

fn take(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    if node.attrs.int("timeout_ms")? != -1 {
        return Err(invalid!("Timeout not supported yet."));
    }
    let types = node.attrs.types("component_types")?;
    Ok(Arc::new(Take { types, fewer: node.attrs.bool("allow_small_batch")? }))
}

impl AsyncKernel for Take {
    fn start(&self, call: AsyncCall, done: Done) {
        let found = call.tensor(0).and_then(|h| resource_of::<Barrier>(&h, &call.step)).and_then(|barrier| {
            barrier.check_types(&self.types)?;
            let n = call.tensor(1)?;
            let n = if n.shape().is_scalar() { n.to_scalar::<i32>()? } else { -1 };
            let n = usize::try_from(n)
                .map_err(|_| invalid!("num_elements must be a scalar that is not negative"))?;
            Ok((barrier, n))
        });
        let (barrier, n) = match found {
            Ok(found) => found,
            Err(e) => return done(Err(e)),
        };
        let (of, fewer) = (barrier.clone(), self.fewer);
        let attempt = move |s: &mut State| {
            let taken = s.take(&of.name, n, fewer)?;
            Some(taken.and_then(|taken| batch(&of, taken)))
        };
        barrier.waiting.submit(&call.step.cancel, "Barrier take", Box::new(attempt), done);
    }
}

/// The insertions, keys and components of tuples, each stacked.
fn batch(barrier: &Barrier, taken: Vec<Ready>) -> Result<Outputs> {
    let n = Shape::vector(taken.len());
    let insertions = reserve::collect(taken.iter().map(|t| t.insertion))?;
    let keys = reserve::collect(taken.iter().map(|t| t.key.clone()))?;
    let mut all = outputs([Tensor::vector(&insertions)?, Tensor::from_objects(n, keys)?]);
    for (i, (dtype, shape)) in barrier.types.iter().zip(&barrier.shapes).enumerate() {
        let rows = reserve::collect(taken.iter().filter_map(|t| t.tuple.get(i).cloned()))?;
        all.push(Some(Value::Tensor(stack(*dtype, shape, &rows)?)));
    }
    Ok(all)
}

static BARRIER_CLOSE: Op = Op {
    name: "BarrierClose",
    doc: "Closes the barrier to new keys; with `cancel_pending_enqueues`, drops the incomplete ones.",
    inputs: &["handle: Ref(string)"],
    attrs: &["cancel_pending_enqueues: bool = false"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(close),
    ..Op::STATEFUL
};

fn close(c: &mut OpCall<'_>) -> Result<()> {
    resource_input::<Barrier>(c)?.close(c.attrs().bool("cancel_pending_enqueues")?)
}

static BARRIER_READY_SIZE: Op = Op {
    name: "BarrierReadySize",
    doc: "The number of complete tuples.",
    inputs: &["handle: Ref(string)"],
    outputs: &["size: int32"],
    shape: shape_call::scalar,
    kernels: cpu!(ready_size),
    ..Op::STATEFUL
};

static BARRIER_INCOMPLETE_SIZE: Op = Op {
    name: "BarrierIncompleteSize",
    doc: "The number of incomplete tuples.",
    kernels: cpu!(incomplete_size),
    ..BARRIER_READY_SIZE
};

fn ready_size(c: &mut OpCall<'_>) -> Result<()> {
    size(c, State::ready_len)
}

fn incomplete_size(c: &mut OpCall<'_>) -> Result<()> {
    size(c, State::incomplete_len)
}

fn size(c: &mut OpCall<'_>, of: fn(&State) -> usize) -> Result<()> {
    let n = resource_input::<Barrier>(c)?.waiting.look(of);
    c.set(0, Tensor::scalar(i32::try_from(n).unwrap_or(i32::MAX)));
    Ok(())
}
