//! `Stage`, `Unstage`, `StagePeek`, `StageSize`, `StageClear`.

use super::area::{Area, Named, bytes_of};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&STAGE, &UNSTAGE, &STAGE_PEEK, &STAGE_SIZE, &STAGE_CLEAR];

const ATTRS: &[&str] = &[
    "capacity: int >= 0 = 0",
    "memory_limit: int >= 0 = 0",
    "dtypes: list(type) >= 1",
    "container: string = ''",
    "shared_name: string = ''",
];
const ATTRS_OF_ANY: &[&str] = &[
    "capacity: int >= 0 = 0",
    "memory_limit: int >= 0 = 0",
    "dtypes: list(type)",
    "container: string = ''",
    "shared_name: string = ''",
];

static STAGE: Op = Op {
    name: "Stage",
    doc: "Puts a tuple into the staging area, when there is room.",
    inputs: &["values: dtypes"],
    attrs: ATTRS,
    shape: |_| Ok(vec![]),
    kernels: cpu!(async stage),
    ..Op::STATEFUL
};

static UNSTAGE: Op = Op {
    name: "Unstage",
    doc: "Takes the oldest tuple out of the staging area, when there is one.",
    outputs: &["values: dtypes"],
    attrs: ATTRS,
    kernels: cpu!(async unstage),
    ..Op::STATEFUL
};

static STAGE_PEEK: Op = Op {
    name: "StagePeek",
    doc: "The tuple number `index` of the staging area, when there are so many.",
    inputs: &["index: int32"],
    kernels: cpu!(async peek),
    ..UNSTAGE
};

static STAGE_SIZE: Op = Op {
    name: "StageSize",
    doc: "The number of tuples in the staging area.",
    outputs: &["size: int32"],
    attrs: ATTRS_OF_ANY,
    shape: shape_call::scalar,
    kernels: cpu!(make size),
    ..Op::STATEFUL
};

static STAGE_CLEAR: Op = Op {
    name: "StageClear",
    doc: "Empties the staging area.",
    attrs: ATTRS_OF_ANY,
    shape: |_| Ok(vec![]),
    kernels: cpu!(make clear),
    ..Op::STATEFUL
};

struct Put(Named<Area>);

fn stage(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Put(Named::new(node)?)))
}

impl AsyncKernel for Put {
    fn start(&self, call: AsyncCall, done: Done) {
        let found = self.0.get(&call.step).and_then(|area| {
            let tuple = call.tensors(0)?;
            area.limits.check(bytes_of(&tuple))?;
            Ok((area, tuple))
        });
        let (area, tuple) = match found {
            Ok(found) => found,
            Err(e) => return done(Err(e)),
        };
        let (limits, mut tuple) = (area.limits, Some(tuple));
        let attempt = move |s: &mut Area| Some(s.put(&mut tuple, limits)?.map(|()| Outputs::new()));
        area.waiting.submit(&call.step.cancel, "Stage", Box::new(attempt), done);
    }
}

struct Get {
    area: Named<Area>,
    /// Takes the tuple of that number, or copies it.
    peeks: bool,
}

fn unstage(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Get { area: Named::new(node)?, peeks: false }))
}

fn peek(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Get { area: Named::new(node)?, peeks: true }))
}

impl AsyncKernel for Get {
    fn start(&self, call: AsyncCall, done: Done) {
        let found = self.area.get(&call.step).and_then(|area| {
            let at = if self.peeks { Some(index(&call.tensor(0)?)?) } else { None };
            Ok((area, at))
        });
        let (area, at) = match found {
            Ok(found) => found,
            Err(e) => return done(Err(e)),
        };
        let node = call.node.clone();
        let attempt = move |s: &mut Area| {
            let tuple = match at {
                None => s.take()?,
                Some(at) => s.held.get(at)?.clone(),
            };
            Some(as_outputs(&node, tuple))
        };
        area.waiting.submit(&call.step.cancel, "Unstage", Box::new(attempt), done);
    }
}

fn index(t: &Tensor) -> Result<usize> {
    if !t.shape().is_scalar() {
        return Err(invalid!("index must be scalar, got shape {}", t.shape()));
    }
    let index = t.to_scalar::<i32>()?;
    usize::try_from(index).map_err(|_| invalid!("index must not be negative, got {index}"))
}

/// A tuple as the outputs of a node, which must be of its types.
fn as_outputs(node: &KernelNode, tuple: Vec<Tensor>) -> Result<Outputs> {
    if tuple.len() != node.outputs.len() {
        return Err(invalid!("Mismatch stage/unstage: {} vs. {}", tuple.len(), node.outputs.len()));
    }
    check_types(node, &tuple)?;
    Ok(outputs(tuple))
}

/// The last outputs of a node must have the types of these tensors.
pub fn check_types(node: &KernelNode, tuple: &[Tensor]) -> Result<()> {
    let skipped = node.outputs.len().saturating_sub(tuple.len());
    let pairs = node.outputs.iter().skip(skipped).zip(tuple);
    match pairs.enumerate().find(|(_, (port, t))| port.dtype != t.dtype()) {
        Some((i, (port, t))) => {
            Err(invalid!("output {i} of {} is {}, but {} was staged", node.op, port.dtype, t.dtype()))
        }
        None => Ok(()),
    }
}

fn size(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let area = Named::<Area>::new(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let n = area.get(c.step)?.waiting.look(|s| s.held.len());
        c.set(0, Tensor::scalar(i32::try_from(n).unwrap_or(i32::MAX)));
        Ok(())
    }))
}

fn clear(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let area = Named::<Area>::new(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        area.get(c.step)?.waiting.change(Area::clear);
        Ok(())
    }))
}
