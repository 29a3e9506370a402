//! `Batches`: calls collected into a batch until it is full or its time is over. No thread waits: the pool closes the batch in time.

use crate::prelude::*;
use crate::rows::{join, row};
use std::any::Any;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use thalweg_core::resource::Resource;
use thalweg_core::step::StepContext;
use thalweg_core::sync::lock;

/// The limits of a batch, from the attrs of its ops.
#[derive(Clone)]
pub struct Limits {
    pub rows: usize,
    pub timeout: Duration,
    /// Batches that may run at once.
    batches: usize,
    /// Sizes that batches are padded to, in increasing order.
    sizes: Vec<usize>,
}

impl Limits {
    pub fn of(node: &KernelNode) -> Result<Limits> {
        let size = |attr: &str| -> Result<usize> {
            let n = node.attrs.int(attr)?;
            usize::try_from(n).map_err(|_| invalid!("{attr} must not be negative, got {n}"))
        };
        let rows = size("max_batch_size")?;
        let sizes = node.attrs.ints("allowed_batch_sizes")?;
        let sizes: Vec<usize> = sizes.iter().map(|s| usize::try_from(*s).unwrap_or(0)).collect();
        if sizes.iter().zip(sizes.iter().skip(1)).any(|(a, b)| a >= b) {
            return Err(invalid!("allowed_batch_sizes entries must be monotonically increasing"));
        }
        if sizes.last().is_some_and(|last| *last != rows) {
            return Err(invalid!("final entry in allowed_batch_sizes must equal max_batch_size"));
        }
        let timeout = Duration::from_micros(size("batch_timeout_micros")? as u64);
        Ok(Limits { rows, timeout, batches: size("max_enqueued_batches")?, sizes })
    }

    /// The size that a batch of so many rows is padded to.
    fn padded(&self, rows: usize) -> usize {
        self.sizes.iter().copied().find(|s| *s >= rows).unwrap_or(rows)
    }
}

/// One call: its rows, and where its results go.
pub struct Task {
    pub id: i64,
    pub inputs: Vec<Tensor>,
    pub rows: usize,
    pub call: AsyncCall,
    done: Mutex<Option<Done>>,
}

impl Task {
    /// Completes the call, unless its step was cancelled.
    pub fn finish(&self, result: Result<Outputs>) {
        let done = lock(&self.done).take();
        if let Some(done) = done {
            done(result);
        }
    }
}

/// What runs a full batch. It completes all tasks, and calls the last argument when it is over.
pub type RunBatch = fn(Vec<Arc<Task>>, usize, Box<dyn FnOnce() + Send>);

pub struct Batches {
    limits: Limits,
    run: RunBatch,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Vec<Arc<Task>>,
    rows: usize,
    /// Changes when a batch is closed.
    batch: u64,
    running: usize,
    calls: i64,
}

impl Batches {
    pub fn new(limits: Limits, run: RunBatch) -> Batches {
        Batches { limits, run, state: Mutex::default() }
    }

    /// Adds a call with these inputs, all of as many rows, to the open batch.
    pub fn submit(self: &Arc<Self>, inputs: Vec<Tensor>, call: AsyncCall, done: Done) {
        let rows = match self.rows_of(&inputs) {
            Ok(rows) => rows,
            Err(e) => return done(Err(e)),
        };
        let step = call.step.clone();
        let (task, closed, opened) = {
            let mut state = lock(&self.state);
            if state.running >= self.limits.batches.max(1) {
                drop(state);
                let text = format_args!(
                    "The batch scheduling queue to which this task was submitted is full; currently {} batches",
                    self.limits.batches
                );
                return done(Err(Error::new(Code::Unavailable, text)));
            }
            let mut closed = Vec::new();
            if state.rows.saturating_add(rows) > self.limits.rows {
                closed.extend(state.close());
            }
            if let Err(e) = reserve::room(&mut state.open, 1) {
                drop(state);
                self.start(closed);
                return done(Err(e));
            }
            // Unlike those of other batches that the same Unbatch may see.
            let id = ((step.device.entropy)() as i64).wrapping_add(state.calls) & i64::MAX;
            state.calls = state.calls.wrapping_add(1);
            let task = Arc::new(Task { id, inputs, rows, call, done: Mutex::new(Some(done)) });
            let opened = state.open.is_empty().then_some(state.batch);
            state.open.push(task.clone());
            state.rows += rows;
            if state.rows >= self.limits.rows || self.limits.timeout.is_zero() {
                closed.extend(state.close());
            }
            (task, closed, opened)
        };
        let held = Arc::downgrade(&task);
        step.cancel.on_cancel(move |_| {
            if let Some(task) = held.upgrade() {
                task.finish(Err(cancelled("a call that waits for its batch was cancelled")));
            }
        });
        let at_once = !closed.is_empty() && lock(&self.state).open.is_empty();
        self.start(closed);
        if let (Some(batch), false) = (opened, at_once) {
            let this = Arc::downgrade(self);
            let close = move || {
                if let Some(this) = this.upgrade() {
                    this.close(batch);
                }
            };
            step.device.pool.spawn_at(Instant::now() + self.limits.timeout, Box::new(close));
        }
    }

    fn rows_of(&self, inputs: &[Tensor]) -> Result<usize> {
        let mut sizes = inputs.iter().map(|t| t.shape().first().copied());
        let Some(Some(rows)) = sizes.next() else {
            return Err(invalid!("Batching input tensors must have at least one dimension"));
        };
        for size in sizes {
            match size {
                None => return Err(invalid!("Batching input tensors must have at least one dimension")),
                Some(size) if size != rows => {
                    return Err(invalid!(
                        "Batching input tensors supplied in a given op invocation must have equal 0th-dimension size"
                    ));
                }
                Some(_) => {}
            }
        }
        if rows > self.limits.rows {
            return Err(invalid!(
                "Task size {rows} is larger than maximum input batch size {}",
                self.limits.rows
            ));
        }
        Ok(rows)
    }

    /// Closes a batch whose time is over, if it is still open.
    fn close(self: &Arc<Self>, batch: u64) {
        let closed = {
            let mut state = lock(&self.state);
            if state.batch == batch { state.close() } else { None }
        };
        self.start(closed.into_iter().collect());
    }

    fn start(self: &Arc<Self>, batches: Vec<Vec<Arc<Task>>>) {
        for tasks in batches {
            lock(&self.state).running += 1;
            let this = self.clone();
            let over = Box::new(move || lock(&this.state).running -= 1);
            let rows = tasks.iter().map(|t| t.rows).fold(0, usize::saturating_add);
            (self.run)(tasks, self.limits.padded(rows), over);
        }
    }
}

impl State {
    fn close(&mut self) -> Option<Vec<Arc<Task>>> {
        if self.open.is_empty() {
            return None;
        }
        self.batch += 1;
        self.rows = 0;
        Some(std::mem::take(&mut self.open))
    }
}

/// Input `i` of all tasks, concatenated and padded with copies of the first row.
pub fn concat_inputs(tasks: &[Arc<Task>], i: usize, padded: usize) -> Result<Tensor> {
    let mut pieces: Vec<Tensor> = reserve::with_capacity(padded.max(tasks.len()))?;
    let rows = tasks.iter().map(|t| t.rows).fold(0, usize::saturating_add);
    for task in tasks {
        reserve::push(
            &mut pieces,
            task.inputs.get(i).cloned().ok_or_else(|| internal("a batch without an input"))?,
        )?;
    }
    let first = pieces.iter().find(|p| p.elements() > 0).cloned();
    let Some(each) = pieces.first().map(|p| p.shape().dims().get(1..).unwrap_or(&[]).to_vec()) else {
        return Err(internal("an empty batch"));
    };
    if let Some(odd) = pieces.iter().find(|p| p.shape().get(1..) != Some(&each[..])) {
        return Err(invalid!(
            "Dimensions of inputs should match: a batch has rows of shape {each:?} and of {}",
            odd.shape()
        ));
    }
    let mut total = rows;
    if let (Some(first), true) = (first, padded > rows) {
        let pad = row(&first, 0)?;
        for _ in rows..padded {
            reserve::push(&mut pieces, pad.clone())?;
        }
        total = padded;
    }
    let dtype = pieces.first().map_or(DataType::Float, Tensor::dtype);
    join(dtype, Shape::new(&[&[total], &each[..]].concat())?, &pieces)
}

/// The step in which a batch runs: of the device of its first task, but cancelled with none of them.
pub fn step_of(tasks: &[Arc<Task>]) -> Result<Arc<StepContext>> {
    let first = tasks.first().ok_or_else(|| internal("an empty batch"))?;
    let of = &first.call.step;
    let mut step = StepContext::new(of.step_id, of.device.clone());
    step.functions = of.functions.clone();
    Ok(Arc::new(step))
}

impl Resource for Batches {
    fn kind(&self) -> &'static str {
        "BatchResource"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn discard(&self) {
        let open = lock(&self.state).close();
        for task in open.into_iter().flatten() {
            task.finish(Err(cancelled("a batch was deleted")));
        }
    }
}
