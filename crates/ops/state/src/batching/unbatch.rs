//! `Unbatch`, `UnbatchGrad`: the rows of each step out of a batch, and their gradients into one.

use crate::named::{CachedResource, ResourceKey};
use crate::prelude::*;
use crate::rows::join;
use crate::waiting::Waiting;
use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thalweg_core::resource::Resource;

pub static UNBATCH: Op = Op {
    name: "Unbatch",
    doc: "The rows of this step in a batch, which one of its steps brings; the others wait for them.",
    inputs: &["batched_tensor: T", "batch_index: int64", "id: int64"],
    outputs: &["unbatched_tensor: T"],
    attrs: &["timeout_micros: int", "container: string = ''", "shared_name: string = ''", "T: type"],
    shape: first_open,
    grad: Rule(|g| {
        let (batched, index, id, dy) = (g.x[0], g.x[1], g.x[2], g.dy()?);
        let args = [batched.into(), index.into(), dy.into(), id.into()];
        Ok(vec![g.op("UnbatchGrad", args, &[])?.into(), Grad::None, Grad::None])
    }),
    kernels: cpu!(async unbatch),
    // Steps meet here: two nodes must not be merged.
    stateful: true,
    ..Op::PURE
};

pub static UNBATCH_GRAD: Op = Op {
    name: "UnbatchGrad",
    doc: "The gradient of Unbatch: those of all steps of a batch, for the one that has the batch.",
    inputs: &["original_input: T", "batch_index: int64", "grad: T", "id: int64"],
    outputs: &["batched_grad: T"],
    attrs: &["container: string = ''", "shared_name: string = ''", "T: type"],
    grad: Missing,
    kernels: cpu!(async unbatch_grad),
    ..UNBATCH
};

/// The shape of input 0, of any number of rows.
fn first_open(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let shape = c.input(0);
    let dims = shape.dims().map(|d| std::iter::once(-1).chain(d.iter().skip(1).copied()).collect());
    Ok(vec![dims.unwrap_or_else(PartialShape::unknown)])
}

/// Tensors of steps, by id.
#[derive(Default)]
struct ById(HashMap<i64, Tensor>);

struct Meeting(Arc<Waiting<ById>>);

impl Resource for Meeting {
    fn kind(&self) -> &'static str {
        "UnbatchResource"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn discard(&self) {
        self.0.fail_all("a batch");
    }
}

fn meeting(cached: &CachedResource<Meeting>, call: &AsyncCall) -> Result<Arc<Meeting>> {
    cached.get(&call.step.device.resources, |_| Ok(Meeting(Arc::new(Waiting::new(ById::default())))))
}

/// The id and rows of each step in a batch.
fn rows_of(index: &Tensor) -> Result<Vec<(i64, usize, usize)>> {
    let [_, 3] = index.shape().dims() else {
        return Err(invalid!("batch_index must be a matrix of three columns, got shape {}", index.shape()));
    };
    let row = |r: &[i64]| match (usize::try_from(r[1]), usize::try_from(r[2])) {
        (Ok(start), Ok(end)) if start <= end => Ok((r[0], start, end)),
        _ => Err(invalid!("batch_index has rows from {} to {}", r[1], r[2])),
    };
    reserve::try_collect(index.as_slice::<i64>()?.chunks_exact(3).map(row))
}

fn id_of(t: &Tensor) -> Result<i64> {
    match t.shape().is_scalar() {
        true => t.to_scalar::<i64>(),
        false => Err(invalid!("id must be scalar, got shape {}", t.shape())),
    }
}

struct Unbatch {
    cached: CachedResource<Meeting>,
    timeout: Duration,
}

fn unbatch(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    let micros = u64::try_from(node.attrs.int("timeout_micros")?).unwrap_or(0);
    let timeout = Duration::from_micros(micros);
    Ok(Arc::new(Unbatch { cached: CachedResource::new(ResourceKey::of(node)?), timeout }))
}

impl AsyncKernel for Unbatch {
    fn start(&self, call: AsyncCall, done: Done) {
        let found =
            meeting(&self.cached, &call).and_then(|m| Ok((m, id_of(&call.tensor(2)?)?, parts(&call)?)));
        let (meeting, id, parts) = match found {
            Ok(found) => found,
            Err(e) => return done(Err(e)),
        };
        let unclaimed = match reserve::collect(parts.iter().map(|(id, _)| *id)) {
            Ok(unclaimed) => unclaimed,
            Err(e) => return done(Err(e)),
        };
        let end = Instant::now().checked_add(self.timeout);
        let expired = Arc::new(AtomicBool::new(false));
        if let Some(end) = end {
            let (waiting, expired) = (Arc::downgrade(&meeting.0), expired.clone());
            let close = move || {
                expired.store(true, Ordering::Release);
                if let Some(waiting) = waiting.upgrade() {
                    waiting.change(|s| unclaimed.iter().for_each(|id| drop(s.0.remove(id))));
                }
            };
            call.step.device.pool.spawn_at(end, Box::new(close));
        }
        let kept = meeting.0.change(|s| {
            reserve::room(&mut s.0, parts.len())?;
            s.0.extend(parts);
            Ok(())
        });
        if let Err(e) = kept {
            return done(Err(e));
        }
        let attempt = move |s: &mut ById| match s.0.remove(&id) {
            Some(part) => Some(Ok(outputs([part]))),
            None if expired.load(Ordering::Acquire) => {
                Some(Err(deadline_exceeded("Batched data did not arrive within timeout window.")))
            }
            None => None,
        };
        meeting.0.submit(&call.step.cancel, "Unbatch", Box::new(attempt), done);
    }
}

/// The rows of each step, where this one has the batch.
fn parts(call: &AsyncCall) -> Result<Vec<(i64, Tensor)>> {
    let (batched, index) = (call.tensor(0)?, rows_of(&call.tensor(1)?)?);
    let len = batched.shape().first().copied();
    let len = len.ok_or_else(|| invalid!("batched_tensor must have at least one dimension"))?;
    reserve::try_collect(index.into_iter().map(|(id, start, end)| match end <= len {
        true => Ok((id, batched.rows(start, end - start)?)),
        false => Err(invalid!("batch_index goes to row {end} of a batch of {len}")),
    }))
}

struct UnbatchGrad(CachedResource<Meeting>);

fn unbatch_grad(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(UnbatchGrad(CachedResource::new(ResourceKey::of(node)?))))
}

impl AsyncKernel for UnbatchGrad {
    fn start(&self, call: AsyncCall, done: Done) {
        let found = meeting(&self.0, &call).and_then(|m| {
            let (original, grad) = (call.tensor(0)?, call.tensor(2)?);
            if original.rank() == 0 || grad.shape().get(1..) != original.shape().get(1..) {
                return Err(invalid!("grad has shape {}, original_input {}", grad.shape(), original.shape()));
            }
            Ok((m, original, rows_of(&call.tensor(1)?)?, grad, id_of(&call.tensor(3)?)?))
        });
        let (meeting, original, index, grad, id) = match found {
            Ok(found) => found,
            Err(e) => return done(Err(e)),
        };
        // Rows without elements have no gradient to wait for. (TensorFlow gives no rows then; these are as many as those of the input.)
        if original.shape().dims().iter().skip(1).any(|n| *n == 0) {
            return done(Tensor::zeros(original.dtype(), original.shape().clone()).map(|t| outputs([t])));
        }
        if index.is_empty() && original.elements() > 0 {
            return done(Err(invalid!("batch_index is empty while the tensor isn't.")));
        }
        let empty = grad.rows(0, 0);
        let kept = meeting.0.change(|s| {
            reserve::room(&mut s.0, 1)?;
            s.0.insert(id, grad);
            Ok(())
        });
        if let Err(e) = kept {
            return done(Err(e));
        }
        // A step without the batch only brings its gradient.
        if index.is_empty() {
            return done(empty.map(|t| outputs([t])));
        }
        let attempt = move |s: &mut ById| {
            if !index.iter().all(|(id, ..)| s.0.contains_key(id)) {
                return None;
            }
            let pieces = reserve::collect(index.iter().filter_map(|(id, ..)| s.0.remove(id)));
            Some(pieces.and_then(|pieces| batched(pieces, &original)).map(|t| outputs([t])))
        };
        meeting.0.submit(&call.step.cancel, "UnbatchGrad", Box::new(attempt), done);
    }
}

/// The gradients concatenated; zeros for the rows that pad the batch.
fn batched(mut pieces: Vec<Tensor>, original: &Tensor) -> Result<Tensor> {
    let rows = |t: &Tensor| t.shape().first().copied().unwrap_or(0);
    let held = pieces.iter().map(rows).fold(0, usize::saturating_add);
    let each = original.shape().get(1..).unwrap_or(&[]);
    let padding = rows(original).saturating_sub(held);
    let shape = |n: usize| Shape::new(&[&[n], each].concat());
    reserve::push(&mut pieces, Tensor::zeros(original.dtype(), shape(padding)?)?)?;
    join(original.dtype(), shape(held + padding)?, &pieces)
}
