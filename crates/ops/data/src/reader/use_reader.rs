//! The ops that use readers, in both forms.

use super::resource::{Reader, Request};
use super::source::Record;
use crate::named::{resource_input, resource_of};
use crate::prelude::*;
use thalweg_ops_state::queue::Queue;

pub static OPS: &[&Op] = &[
    &READER_READ_V2,
    &READER_READ,
    &READER_READ_UP_TO_V2,
    &READER_READ_UP_TO,
    &READER_NUM_RECORDS_PRODUCED_V2,
    &READER_NUM_RECORDS_PRODUCED,
    &READER_NUM_WORK_UNITS_COMPLETED_V2,
    &READER_NUM_WORK_UNITS_COMPLETED,
    &READER_RESET_V2,
    &READER_RESET,
    &READER_SERIALIZE_STATE_V2,
    &READER_SERIALIZE_STATE,
    &READER_RESTORE_STATE_V2,
    &READER_RESTORE_STATE,
];

static READER_READ_V2: Op = Op {
    name: "ReaderReadV2",
    doc: "The next record of a reader, which takes file names from the queue as it needs them.",
    inputs: &["reader_handle: resource", "queue_handle: resource"],
    outputs: &["key: string", "value: string"],
    shape: shape_call::scalar,
    kernels: cpu!(async one),
    expensive: true,
    ..Op::STATEFUL
};

static READER_READ: Op = Op {
    name: "ReaderRead",
    inputs: &["reader_handle: Ref(string)", "queue_handle: Ref(string)"],
    ..READER_READ_V2
};

static READER_READ_UP_TO_V2: Op = Op {
    name: "ReaderReadUpToV2",
    doc: "Up to `num_records` records of a reader, all of one file.",
    inputs: &["reader_handle: resource", "queue_handle: resource", "num_records: int64"],
    outputs: &["keys: string", "values: string"],
    shape: |c| {
        c.scalar(2)?;
        c.all(PartialShape::vector(-1))
    },
    kernels: cpu!(async many),
    ..READER_READ_V2
};

static READER_READ_UP_TO: Op = Op {
    name: "ReaderReadUpTo",
    inputs: &["reader_handle: Ref(string)", "queue_handle: Ref(string)", "num_records: int64"],
    ..READER_READ_UP_TO_V2
};

struct Read {
    is_batch: bool,
}

fn one(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Read { is_batch: false }))
}

fn many(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Read { is_batch: true }))
}

impl AsyncKernel for Read {
    fn start(&self, call: AsyncCall, done: Done) {
        let (reader, queue, most) = match self.request(&call) {
            Ok(ready) => ready,
            Err(e) => return done(Err(e)),
        };
        let is_batch = self.is_batch;
        let done = Box::new(move |records: Result<Vec<Record>>| {
            done(records.and_then(|records| tensors(records, is_batch)).map(outputs))
        });
        reader.read(Request { most, queue, step: call.step.clone(), done });
    }
}

impl Read {
    fn request(&self, call: &AsyncCall) -> Result<(Arc<Reader>, Arc<Queue>, usize)> {
        let reader = resource_of(&call.tensor(0)?, &call.step)?;
        let queue: Arc<Queue> = resource_of(&call.tensor(1)?, &call.step)?;
        if queue.spec.types != [DataType::String] {
            return Err(invalid!(
                "a reader needs a queue of single strings (file names), but '{}' holds {:?}",
                queue.name,
                queue.spec.types
            ));
        }
        if !self.is_batch {
            return Ok((reader, queue, 1));
        }
        let most = call.tensor(2)?;
        match (most.rank(), most.to_i64s()?.as_slice()) {
            (0, [n]) if *n >= 0 => Ok((reader, queue, *n as usize)),
            (0, [n]) => Err(invalid!("num_records must not be negative, got {n}")),
            _ => Err(invalid!("num_records must be a scalar, got shape {}", most.shape())),
        }
    }
}

fn tensors(records: Vec<Record>, is_batch: bool) -> Result<[Tensor; 2]> {
    let shape = if is_batch { Shape::vector(records.len()) } else { Shape::scalar() };
    let keys = reserve::collect(records.iter().map(|r| r.0.clone()))?;
    let values = reserve::collect(records.into_iter().map(|r| r.1))?;
    Ok([Tensor::from_objects(shape.clone(), keys)?, Tensor::from_objects(shape, values)?])
}

static READER_NUM_RECORDS_PRODUCED_V2: Op = Op {
    name: "ReaderNumRecordsProducedV2",
    doc: "How many records a reader has produced.",
    inputs: &["reader_handle: resource"],
    outputs: &["records_produced: int64"],
    shape: shape_call::scalar,
    kernels: cpu!(produced),
    ..Op::STATEFUL
};

static READER_NUM_RECORDS_PRODUCED: Op = Op {
    name: "ReaderNumRecordsProduced",
    inputs: &["reader_handle: Ref(string)"],
    ..READER_NUM_RECORDS_PRODUCED_V2
};

fn produced(c: &mut OpCall<'_>) -> Result<()> {
    let n = resource_input::<Reader>(c)?.produced();
    c.set(0, Tensor::scalar(n));
    Ok(())
}

static READER_NUM_WORK_UNITS_COMPLETED_V2: Op = Op {
    name: "ReaderNumWorkUnitsCompletedV2",
    doc: "How many files a reader has finished.",
    outputs: &["units_completed: int64"],
    kernels: cpu!(finished),
    ..READER_NUM_RECORDS_PRODUCED_V2
};

static READER_NUM_WORK_UNITS_COMPLETED: Op = Op {
    name: "ReaderNumWorkUnitsCompleted",
    inputs: &["reader_handle: Ref(string)"],
    ..READER_NUM_WORK_UNITS_COMPLETED_V2
};

fn finished(c: &mut OpCall<'_>) -> Result<()> {
    let n = resource_input::<Reader>(c)?.finished();
    c.set(0, Tensor::scalar(n));
    Ok(())
}

static READER_RESET_V2: Op = Op {
    name: "ReaderResetV2",
    doc: "Makes a reader as it was at first.",
    outputs: &[],
    kernels: cpu!(reset),
    ..READER_NUM_RECORDS_PRODUCED_V2
};

static READER_RESET: Op =
    Op { name: "ReaderReset", inputs: &["reader_handle: Ref(string)"], ..READER_RESET_V2 };

fn reset(c: &mut OpCall<'_>) -> Result<()> {
    resource_input::<Reader>(c)?.reset();
    Ok(())
}

static READER_SERIALIZE_STATE_V2: Op = Op {
    name: "ReaderSerializeStateV2",
    doc: "The state of a reader, to restore it from.",
    outputs: &["state: string"],
    kernels: cpu!(serialize),
    ..READER_NUM_RECORDS_PRODUCED_V2
};

static READER_SERIALIZE_STATE: Op =
    Op { name: "ReaderSerializeState", inputs: &["reader_handle: Ref(string)"], ..READER_SERIALIZE_STATE_V2 };

fn serialize(c: &mut OpCall<'_>) -> Result<()> {
    let state = resource_input::<Reader>(c)?.serialized()?;
    c.set(0, Tensor::string(state));
    Ok(())
}

static READER_RESTORE_STATE_V2: Op = Op {
    name: "ReaderRestoreStateV2",
    doc: "Restores the state of a reader.",
    inputs: &["reader_handle: resource", "state: string"],
    outputs: &[],
    shape: |c| {
        c.scalar(1)?;
        Ok(vec![])
    },
    kernels: cpu!(restore),
    ..READER_NUM_RECORDS_PRODUCED_V2
};

static READER_RESTORE_STATE: Op = Op {
    name: "ReaderRestoreState",
    inputs: &["reader_handle: Ref(string)", "state: string"],
    ..READER_RESTORE_STATE_V2
};

fn restore(c: &mut OpCall<'_>) -> Result<()> {
    match c.input(1)?.strings()? {
        [state] if c.shape(1)?.is_scalar() => resource_input::<Reader>(c)?.restore(state, c.step),
        _ => Err(invalid!("Reader state must be scalar, but had shape: {}", c.shape(1)?)),
    }
}
