//! State between ops: queues, accumulators, tables, arrays, stacks and datasets, filled and emptied with each
//! large allocation failing in turn.

use crate::child;
use crate::common::{assert_none, registry, step};
use crate::failing::{READERS, fail_nth, failures, fill_caches};
use std::sync::{Arc, mpsc};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::direct;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Code, Result};
use thalweg_core::kernel::{AsyncCall, Outputs, Value};
use thalweg_core::reserve;
use thalweg_core::runnable::Runnable;
use thalweg_core::shape::{PartialShape, Shape};
use thalweg_core::step::StepContext;
use thalweg_core::tensor::Tensor;
use thalweg_io::record::{Compression, RecordWriter};
use thalweg_io::scratch::Scratch;

/// Allocations that can fail: larger than one response's, which cannot.
const LARGE: usize = 16 << 10;

const MANY: usize = 5000;

/// Runs in a step of its own; returns a checksum.
type Scenario = Box<dyn Fn(&Step) -> Result<i64>>;

struct Step(Arc<StepContext>);

type Named = [(&'static str, Attr)];

#[test]
fn nothing_that_waits_ends_the_process_when_an_allocation_fails() {
    let folder = Scratch::new();
    let all = scenarios(&folder);
    let Some(from) = child::from() else {
        let test = "waiting::nothing_that_waits_ends_the_process_when_an_allocation_fails";
        return assert_none("scenarios did not survive", child::run(test, all.len(), None));
    };
    fill_caches();
    let mut attempts = 0;
    for (piece, (name, threshold, run)) in all.iter().enumerate().skip(from) {
        child::at(piece, name);
        let without = run(&Step(step(1))).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut n = 1;
        loop {
            child::at(piece, &format!("{name}, allocation {n}"));
            let step = Step(step(1));
            let (result, did_fail) = fail_nth(n, *threshold, || run(&step));
            attempts += 1;
            match result {
                Ok(found) if found == without => {}
                Err(e) if did_fail && e.code() == Code::ResourceExhausted => {}
                other => child::failed(piece, &format!("{name}, allocation {n}: {other:?} for {without}")),
            }
            if !did_fail {
                break;
            }
            n += 1 + n / 16;
        }
    }
    println!("scenarios: {} of them, {attempts} attempts, {} failures", all.len(), failures());
}

impl Step {
    fn call(&self, op: &str, inputs: &[Tensor], attrs: &Named) -> Result<Vec<Tensor>> {
        direct::call(registry(), &self.0, op, inputs.to_vec(), attrs.iter().cloned().collect())
    }

    fn one(&self, op: &str, inputs: &[Tensor], attrs: &Named) -> Result<Tensor> {
        Ok(self.call(op, inputs, attrs)?.remove(0))
    }

    /// Starts an async op.
    fn begin(&self, op: &str, inputs: &[Tensor], attrs: &Named) -> mpsc::Receiver<Result<Outputs>> {
        let op = registry().find(op).unwrap();
        let attrs: Attrs = attrs.iter().cloned().collect();
        let node = Arc::new(direct::node_for(registry(), op, inputs, attrs).unwrap());
        let Ok(Runnable::Async(kernel)) = Runnable::make(op, &node, "CPU") else { panic!("{}", op.name) };
        let inputs = inputs.iter().cloned().map(Value::Tensor).collect();
        let call = AsyncCall { inputs, node, step: self.0.clone(), frame_iter: (0, 0), is_dead: false };
        let (tx, rx) = mpsc::channel();
        kernel.start(call, Box::new(move |r| drop(tx.send(r))));
        rx
    }
}

fn scenarios(folder: &Scratch) -> Vec<(String, usize, Scenario)> {
    let mut all: Vec<(String, usize, Scenario)> = Vec::new();
    let mut add = |name: &str, run: Scenario| all.push((name.to_string(), LARGE, run));
    for kind in ["FIFOQueueV2", "RandomShuffleQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2"] {
        add(&format!("{kind}, filled and emptied"), Box::new(move |s| filled_and_emptied(s, kind)));
        add(&format!("{kind}, consumers wait"), Box::new(move |s| consumers_wait(s, kind)));
        add(&format!("{kind}, producers wait"), Box::new(move |s| producers_wait(s, kind)));
    }
    add("ConditionalAccumulator", Box::new(accumulated));
    add("a table that is filled once", Box::new(|s| table(s, "HashTableV2", "LookupTableImportV2")));
    add("a table that is filled", Box::new(|s| table(s, "MutableHashTableV2", "LookupTableInsertV2")));
    add("TensorArray", Box::new(array));
    add("Stack", Box::new(stack));
    for (op, numbers) in [
        ("BatchDataset", &[MANY as i64][..]),
        ("ShuffleDataset", &[MANY as i64, 1, 2]),
        ("ShuffleAndRepeatDataset", &[MANY as i64, 1, 2, 2]),
        ("PrefetchDataset", &[MANY as i64]),
        ("RepeatDataset", &[2]),
        ("TakeDataset", &[MANY as i64 / 2]),
        ("SkipDataset", &[MANY as i64 / 2]),
    ] {
        add(op, Box::new(move |s| drawn(s, &on_slices(s, op, numbers)?, DataType::Int64, 1)));
    }
    add("CacheDataset", Box::new(|s| drawn(s, &cached(s)?, DataType::Int64, 2)));
    add("PaddedBatchDataset", Box::new(|s| drawn(s, &padded(s)?, DataType::Int64, 1)));
    all.extend(files(folder).into_iter().map(|(name, run)| (name.to_string(), READERS, run)));
    all
}

fn integers(n: usize) -> Result<Tensor> {
    Tensor::vector(&reserve::collect(0..n as i64)?)
}

/// The sum of all numbers; for strings, of lengths.
fn sum(t: &Tensor) -> i64 {
    match t.dtype() {
        DataType::String => t.strings().unwrap().iter().map(|s| s.len() as i64).sum(),
        _ => t.as_slice::<i64>().unwrap().iter().sum(),
    }
}

struct Queue<'a> {
    step: &'a Step,
    handle: Tensor,
    types: Attr,
    is_priority: bool,
}

fn queue<'a>(step: &'a Step, kind: &str, capacity: i64) -> Result<Queue<'a>> {
    let is_priority = kind.starts_with("Priority");
    let scalar = Attr::Shape(PartialShape::from(&Shape::scalar()));
    let attrs = [
        ("component_types", Attr::types(&[DataType::Int64])),
        ("shapes", Attr::List(vec![scalar])),
        ("capacity", Attr::Int(capacity)),
        ("shared_name", "queue".into()),
    ];
    let handle = step.one(kind, &[], &attrs)?;
    let types = if is_priority { vec![DataType::Int64; 2] } else { vec![DataType::Int64] };
    Ok(Queue { step, handle, types: Attr::types(&types), is_priority })
}

impl Queue<'_> {
    fn components(&self, values: Tensor) -> Vec<Tensor> {
        let copies = if self.is_priority { 2 } else { 1 };
        [vec![self.handle.clone()], vec![values; copies]].concat()
    }

    fn enqueue_many(&self, n: usize) -> Result<()> {
        self.step.call("QueueEnqueueManyV2", &self.components(integers(n)?), &[]).map(drop)
    }

    fn dequeue_many(&self, op: &str, n: i32) -> Result<i64> {
        let inputs = [self.handle.clone(), Tensor::scalar(n)];
        let out = self.step.call(op, &inputs, &[("component_types", self.types.clone())])?;
        Ok(out.iter().map(sum).sum())
    }

    fn close(&self) -> Result<()> {
        self.step.call("QueueCloseV2", std::slice::from_ref(&self.handle), &[]).map(drop)
    }
}

fn filled_and_emptied(s: &Step, kind: &str) -> Result<i64> {
    let q = queue(s, kind, -1)?;
    q.enqueue_many(MANY)?;
    q.enqueue_many(MANY)?;
    let first = q.dequeue_many("QueueDequeueManyV2", MANY as i32)?;
    q.close()?;
    Ok(first + q.dequeue_many("QueueDequeueUpToV2", 2 * MANY as i32)?)
}

/// A long queue of consumers. The rest are cancelled with it.
fn consumers_wait(s: &Step, kind: &str) -> Result<i64> {
    let q = queue(s, kind, -1)?;
    let types = [("component_types", q.types.clone())];
    let line: Vec<_> =
        (0..600).map(|_| s.begin("QueueDequeueV2", std::slice::from_ref(&q.handle), &types)).collect();
    none_refused(&line)?;
    q.enqueue_many(600)?;
    let mut all = 0;
    for answer in line {
        let outputs = answer.try_recv().expect("all are served")?;
        all += outputs.into_iter().flatten().map(|v| sum(&v.into_tensor().unwrap())).sum::<i64>();
    }
    Ok(all)
}

fn producers_wait(s: &Step, kind: &str) -> Result<i64> {
    let q = queue(s, kind, 2)?;
    let one = |i: i64| s.begin("QueueEnqueueV2", &q.components(Tensor::scalar(i)), &[]);
    let line: Vec<_> = (0..600).map(one).collect();
    let (inputs, types) =
        ([q.handle.clone(), Tensor::scalar(600i32)], [("component_types", q.types.clone())]);
    let taken = s.begin("QueueDequeueManyV2", &inputs, &types);
    let all_of =
        |outputs: Outputs| outputs.into_iter().flatten().map(|v| sum(&v.into_tensor().unwrap())).sum();
    match taken.try_recv() {
        Ok(answer) => answer.map(all_of),
        // It waits for elements not enqueued.
        Err(_) => none_refused(&line).map(|()| -1),
    }
}

fn none_refused(line: &[mpsc::Receiver<Result<Outputs>>]) -> Result<()> {
    line.iter().filter_map(|w| w.try_recv().ok()).find_map(Result::err).map_or(Ok(()), Err)
}

fn accumulated(s: &Step) -> Result<i64> {
    let shape = Attr::Shape(PartialShape::from(&Shape::vector(MANY)));
    let attrs = [("dtype", DataType::Float.into()), ("shape", shape), ("shared_name", "sum".into())];
    let handle = s.one("ResourceConditionalAccumulator", &[], &attrs)?;
    let gradient = Tensor::full(Shape::vector(MANY), 2f32)?;
    for _ in 0..3 {
        let inputs = [handle.clone(), Tensor::scalar(0i64), gradient.clone()];
        s.call("ResourceAccumulatorApplyGradient", &inputs, &[])?;
    }
    let dtype = [("dtype", DataType::Float.into())];
    let mean = s.one("ResourceAccumulatorTakeGradient", &[handle, Tensor::scalar(3i32)], &dtype)?;
    Ok(mean.as_slice::<f32>()?.iter().sum::<f32>() as i64)
}

fn table(s: &Step, kind: &str, fill: &str) -> Result<i64> {
    let int64: Attr = DataType::Int64.into();
    let attrs =
        [("key_dtype", int64.clone()), ("value_dtype", int64.clone()), ("shared_name", "table".into())];
    let handle = s.one(kind, &[], &attrs)?;
    let keys = integers(MANY)?;
    s.call(fill, &[handle.clone(), keys.clone(), keys.clone()], &[])?;
    let found = s.one("LookupTableFindV2", &[handle.clone(), keys, Tensor::scalar(-1i64)], &[])?;
    let exported =
        s.call("LookupTableExportV2", &[handle], &[("Tkeys", int64.clone()), ("Tvalues", int64)])?;
    Ok(sum(&found) + exported.iter().map(sum).sum::<i64>())
}

fn array(s: &Step) -> Result<i64> {
    let int64 = [("dtype", DataType::Int64.into())];
    let made = s.call("TensorArrayV3", &[Tensor::scalar(MANY as i32)], &int64)?;
    let (handle, flow) = (made[0].clone(), made[1].clone());
    let indices = Tensor::vector(&reserve::collect(0..MANY as i32)?)?;
    let filled = [handle.clone(), indices.clone(), integers(MANY)?, flow];
    let flow = s.one("TensorArrayScatterV3", &filled, &[])?;
    Ok(sum(&s.one("TensorArrayGatherV3", &[handle, indices, flow], &int64)?))
}

fn stack(s: &Step) -> Result<i64> {
    let handle = s.one("StackV2", &[Tensor::scalar(-1i32)], &[("elem_type", DataType::Int64.into())])?;
    for i in 0..MANY as i64 {
        s.call("StackPushV2", &[handle.clone(), Tensor::scalar(i)], &[])?;
    }
    let elem = [("elem_type", DataType::Int64.into())];
    (0..MANY).map(|_| Ok(sum(&s.one("StackPopV2", std::slice::from_ref(&handle), &elem)?))).sum()
}

fn of(dtype: DataType) -> Vec<(&'static str, Attr)> {
    let unknown = Attr::Shape(PartialShape::unknown());
    vec![("output_types", Attr::types(&[dtype])), ("output_shapes", Attr::List(vec![unknown]))]
}

fn slices(s: &Step) -> Result<Tensor> {
    let shapes = Attr::List(vec![Attr::Shape(PartialShape::unknown())]);
    s.one("TensorSliceDataset", &[integers(MANY)?], &[("output_shapes", shapes)])
}

fn on_slices(s: &Step, op: &str, numbers: &[i64]) -> Result<Tensor> {
    let numbers = numbers.iter().map(|n| Tensor::scalar(*n));
    let inputs: Vec<Tensor> = [slices(s)?].into_iter().chain(numbers).collect();
    s.one(op, &inputs, &of(DataType::Int64))
}

fn cached(s: &Step) -> Result<Tensor> {
    s.one("CacheDataset", &[slices(s)?, Tensor::string("")], &of(DataType::Int64))
}

fn padded(s: &Step) -> Result<Tensor> {
    let shapes = Attr::List(vec![Attr::Shape(PartialShape::unknown())]);
    let attrs =
        [("Toutput_types", Attr::types(&[DataType::Int64])), ("output_shapes", shapes), ("N", 1.into())];
    let sizes = Tensor::zeros(DataType::Int64, Shape::vector(0))?;
    let inputs = [slices(s)?, Tensor::scalar(MANY as i64), sizes, Tensor::scalar(0i64)];
    s.one("PaddedBatchDataset", &inputs, &attrs)
}

/// Iterates over a dataset repeatedly.
fn drawn(s: &Step, dataset: &Tensor, dtype: DataType, passes: usize) -> Result<i64> {
    let numbers = [("shared_name", "iterator".into()), ("container", "".into())];
    let handle = s.one("IteratorV2", &[], &[&of(dtype)[..], &numbers].concat())?;
    let mut all = 0;
    for _ in 0..passes {
        s.call("MakeIterator", &[dataset.clone(), handle.clone()], &[])?;
        loop {
            match s.one("IteratorGetNext", std::slice::from_ref(&handle), &of(dtype)) {
                Ok(element) => all += sum(&element),
                Err(e) if e.code() == Code::OutOfRange => break,
                Err(e) => return Err(e),
            }
        }
    }
    Ok(all)
}

fn files(folder: &Scratch) -> Vec<(&'static str, Scenario)> {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path(name);
        std::fs::write(&path, bytes).unwrap();
        Tensor::string(path.to_str().unwrap())
    };
    let line = [vec![b'a'; 200_000], vec![b'\n']].concat();
    let lines = write("lines", &line.repeat(3));
    let row = [vec![b'"'], vec![b'b'; 200_000], b"\",7\n".to_vec()].concat();
    let rows = write("rows", &row.repeat(3));
    let fixed = write("fixed", &vec![1; 600_000]);
    let mut writer = RecordWriter::new(Vec::new(), Compression::None);
    (0..3).for_each(|i| writer.write(&vec![i; 200_000]).unwrap());
    let records = write("records", &writer.finish().unwrap());
    let (none, size) = (Tensor::string(""), Tensor::scalar(0i64));
    let read = |op: &'static str, inputs: Vec<Tensor>| -> Scenario {
        Box::new(move |s| drawn(s, &s.one(op, &inputs, &[])?, DataType::String, 1))
    };
    let bytes = |n: i64| Tensor::scalar(n);
    vec![
        ("TextLineDataset", read("TextLineDataset", vec![lines, none.clone(), size.clone()])),
        ("TFRecordDataset", read("TFRecordDataset", vec![records, none, size.clone()])),
        (
            "FixedLengthRecordDataset",
            read("FixedLengthRecordDataset", vec![fixed, bytes(0), bytes(200_000), bytes(0), size]),
        ),
        ("CSVDataset", Box::new(move |s| drawn(s, &csv(s, &rows)?, DataType::String, 1))),
    ]
}

fn csv(s: &Step, file: &Tensor) -> Result<Tensor> {
    let text = Tensor::string;
    let inputs = [
        file.clone(),
        text(""),
        Tensor::scalar(0i64),
        Tensor::scalar(false),
        text(","),
        Tensor::scalar(true),
        text(""),
        Tensor::vector(&[0i64])?,
        text("").reshape(Shape::vector(1))?,
    ];
    let attrs = [("output_types", Attr::types(&[DataType::String])), of(DataType::String)[1].clone()];
    s.one("CSVDataset", &inputs, &attrs)
}
