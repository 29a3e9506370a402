//! Pipelines run element by element, with functions written in Rust instead of a graph's library.

use crate::prelude::*;
use crate::testing::{begin, call_in, code, ints, step};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use thalweg_core::step::{FunctionRunner, OnResults, StepContext};
use thalweg_core::sync::lock;

/// Functions by name, and pending calls of them.
#[derive(Default)]
struct Functions {
    held: Mutex<Vec<(Arc<StepContext>, OnResults)>>,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

fn pipeline(
    op: &str,
    step: &Arc<StepContext>,
    inputs: &[Tensor],
    attrs: &[(&'static str, Attr)],
) -> Result<Tensor> {
    Ok(call_in(step, op, inputs, attrs)?.remove(0))
}

impl Functions {
    fn answer(&self, f: &str, args: &[Tensor]) -> Result<Vec<Tensor>> {
        let x = || args.first().ok_or_else(|| internal("no argument"))?.to_scalar::<i64>();
        match f {
            "double" => Ok(vec![Tensor::scalar(x()?.wrapping_mul(2))]),
            "add" => {
                Ok(vec![Tensor::scalar(args.iter().map(|t| t.to_scalar::<i64>()).sum::<Result<i64>>()?)])
            }
            "running" => {
                let (sum, x) = (x()?, args.last().ok_or_else(|| internal("no element"))?.to_scalar::<i64>()?);
                Ok(vec![Tensor::scalar(sum.wrapping_add(x)), Tensor::scalar(sum)])
            }
            "modulo_3" => Ok(vec![Tensor::scalar(x()?.rem_euclid(3))]),
            "two" => Ok(vec![n(2)]),
            "window" => args.get(1).cloned().map(|w| vec![w]).ok_or_else(|| internal("no window")),
            "identity" => Ok(args.to_vec()),
            "is_even" => Ok(vec![Tensor::scalar(x()? % 2 == 0)]),
            "never" => Ok(vec![Tensor::scalar(false)]),
            "fail_at_3" if x()? == 3 => Err(invalid!("three").at_node("inner", "Assert")),
            "end_at_3" if x()? == 3 => Err(out_of_range("over")),
            "fail_at_3" | "end_at_3" => Ok(args.to_vec()),
            "up_to" => Ok(vec![range(0, x()?)]),
            "halves" => Ok(vec![n(x()?.div_euclid(2)), n(x()?.rem_euclid(2))]),
            "pair" => Ok(vec![Tensor::vector(&[x()? * 10, x()? * 10 + 1])?]),
            other => Err(not_found(format_args!("no function {other}"))),
        }
    }
}

impl FunctionRunner for Functions {
    fn call(&self, f: &Func, args: Vec<Tensor>, step: &Arc<StepContext>, done: OnResults) {
        self.most.fetch_max(self.under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        if f.name == "hold" {
            return lock(&self.held).push((step.clone(), done));
        }
        let result = self.answer(&f.name, &args);
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        done(result);
    }
}

fn with_functions() -> (Arc<StepContext>, Arc<Functions>) {
    let functions = Arc::new(Functions::default());
    let mut made = StepContext::new(1, step(2).device.clone());
    made.functions = Some(functions.clone());
    (Arc::new(made), functions)
}

fn n(v: i64) -> Tensor {
    Tensor::scalar(v)
}

fn of_int64() -> Vec<(&'static str, Attr)> {
    vec![
        ("output_types", Attr::types(&[DataType::Int64])),
        ("output_shapes", Attr::List(vec![Attr::Shape(PartialShape::unknown())])),
    ]
}

fn with(more: &[(&'static str, Attr)]) -> Vec<(&'static str, Attr)> {
    [of_int64(), more.to_vec()].concat()
}

fn range(start: i64, stop: i64) -> Tensor {
    pipeline("RangeDataset", &step(1), &[n(start), n(stop), n(1)], &of_int64()).unwrap()
}

fn func(name: &str) -> Attr {
    Attr::Func(Func::named(name))
}

/// A dataset op on a dataset and numbers.
fn on(dataset: &Tensor, op: &str, numbers: &[i64]) -> Tensor {
    let inputs: Vec<Tensor> = std::iter::once(dataset.clone()).chain(numbers.iter().map(|v| n(*v))).collect();
    pipeline(op, &step(1), &inputs, &of_int64()).unwrap()
}

fn mapped(dataset: &Tensor, op: &str, f: &str, more: &[Tensor]) -> Tensor {
    let name = if op.contains("Filter") || op.contains("While") { "predicate" } else { "f" };
    let inputs = [&[dataset.clone()], more].concat();
    let attrs = with(&[(name, func(f)), ("Targuments", Attr::List(vec![]))]);
    pipeline(op, &step(1), &inputs, &attrs).unwrap()
}

/// An iterator at the beginning of a dataset.
fn iterator(step: &Arc<StepContext>, dataset: &Tensor) -> Tensor {
    let attrs = with(&[("shared_name", "it".into()), ("container", "".into())]);
    let handle = call_in(step, "IteratorV2", &[], &attrs).unwrap().remove(0);
    call_in(step, "MakeIterator", &[dataset.clone(), handle.clone()], &[]).unwrap();
    handle
}

fn next(step: &Arc<StepContext>, handle: &Tensor) -> Result<Tensor> {
    Ok(call_in(step, "IteratorGetNext", &[handle.clone()], &of_int64())?.remove(0))
}

/// All elements, flat; a dataset of int64.
fn all(dataset: &Tensor) -> Vec<Vec<i64>> {
    let (step, _) = with_functions();
    let handle = iterator(&step, dataset);
    let mut elements = Vec::new();
    loop {
        match next(&step, &handle) {
            Ok(t) => elements.push(t.as_slice::<i64>().unwrap().to_vec()),
            Err(e) => {
                assert_eq!((e.code(), e.message()), (Code::OutOfRange, "End of sequence"));
                // The end is sticky.
                assert_eq!(next(&step, &handle).unwrap_err().code(), Code::OutOfRange);
                return elements;
            }
        }
    }
}

fn flat(dataset: &Tensor) -> Vec<i64> {
    all(dataset).concat()
}

fn cardinality(dataset: &Tensor) -> i64 {
    call_in(&step(1), "DatasetCardinality", &[dataset.clone()], &[]).unwrap()[0].to_scalar().unwrap()
}

#[test]
fn ranges_repeat_are_cut_and_put_together() {
    let five = range(0, 5);
    assert_eq!(flat(&five), [0, 1, 2, 3, 4]);
    assert_eq!(flat(&on(&five, "RepeatDataset", &[2])), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    assert_eq!(flat(&on(&five, "RepeatDataset", &[0])), [0i64; 0]);
    let forever = on(&five, "RepeatDataset", &[-1]);
    assert_eq!(flat(&on(&forever, "TakeDataset", &[7])), [0, 1, 2, 3, 4, 0, 1]);
    assert_eq!(flat(&on(&five, "TakeDataset", &[-1])).len(), 5);
    assert_eq!(flat(&on(&five, "SkipDataset", &[3])), [3, 4]);
    assert_eq!(flat(&on(&five, "SkipDataset", &[-1])), [0i64; 0]);
    assert_eq!(flat(&on(&five, "SkipDataset", &[9])), [0i64; 0]);
    assert_eq!(flat(&on(&five, "ShardDataset", &[2, 1])), [1, 3]);
    let both = pipeline("ConcatenateDataset", &step(1), &[five.clone(), range(7, 9)], &of_int64()).unwrap();
    assert_eq!(flat(&both), [0, 1, 2, 3, 4, 7, 8]);
    let counts = [
        (&five, 5),
        (&forever, -1),
        (&both, 7),
        (&on(&forever, "TakeDataset", &[7]), 7),
        (&on(&five, "SkipDataset", &[3]), 2),
        (&on(&five, "ShardDataset", &[2, 0]), 3),
        (&mapped(&five, "FilterDataset", "is_even", &[]), -2),
    ];
    for (dataset, count) in counts {
        assert_eq!(cardinality(dataset), count);
    }
}

#[test]
fn a_dataset_with_two_to_the_sixty_paths_to_its_input_is_counted_and_indexed_at_once() {
    let mut dataset = range(0, 5);
    for _ in 0..60 {
        dataset = pipeline("ConcatenateDataset", &step(1), &[dataset.clone(), dataset], &of_int64()).unwrap();
    }
    assert_eq!(cardinality(&dataset), 5 << 60);
    let last = Tensor::scalar((5i64 << 60) - 1);
    assert_eq!(
        pipeline("GetElementAtIndex", &step(1), &[dataset, last], &of_int64())
            .unwrap()
            .to_scalar::<i64>()
            .unwrap(),
        4
    );
}

#[test]
fn repeating_nothing_without_end_is_nothing() {
    assert_eq!(flat(&on(&range(0, 0), "RepeatDataset", &[-1])), [0i64; 0]);
}

#[test]
fn tensors_come_whole_or_in_rows_and_zip() {
    let (step, _) = with_functions();
    let types = Attr::types(&[DataType::Int32, DataType::String]);
    let shapes = Attr::List(vec![Attr::Shape(PartialShape::unknown()); 2]);
    let words = ["a", "b"].map(|s| bytes::Bytes::from_static(s.as_bytes())).to_vec();
    let parts = [ints(&[2, 2], &[1, 2, 3, 4]), Tensor::from_objects(Shape::vector(2), words).unwrap()];
    let attrs = [("Toutput_types", types.clone()), ("output_shapes", shapes.clone())];
    let rows = pipeline("TensorSliceDataset", &step, &parts, &attrs).unwrap();
    let numbers = pipeline(
        "ZipDataset",
        &step,
        &[rows, range(5, 100)],
        &[
            ("output_types", Attr::types(&[DataType::Int32, DataType::String, DataType::Int64])),
            ("output_shapes", Attr::List(vec![Attr::Shape(PartialShape::unknown()); 3])),
            ("N", Attr::Int(2)),
        ],
    )
    .unwrap();
    assert_eq!(cardinality(&numbers), 2);
    let single = call_in(
        &step,
        "DatasetToSingleElement",
        &[on3(&numbers, &step)],
        &[
            ("output_types", Attr::types(&[DataType::Int32, DataType::String, DataType::Int64])),
            ("output_shapes", Attr::List(vec![Attr::Shape(PartialShape::unknown()); 3])),
        ],
    )
    .unwrap();
    assert_eq!(single[0].as_slice::<i32>().unwrap(), [3, 4]);
    assert_eq!(&single[1].strings().unwrap()[0][..], b"b");
    assert_eq!(single[2].to_scalar::<i64>().unwrap(), 6);
    let odd = [ints(&[2], &[1, 2]), ints(&[3], &[1, 2, 3])];
    let attrs = [("Toutput_types", Attr::types(&[DataType::Int32; 2])), ("output_shapes", shapes)];
    assert_eq!(code(call_in(&step, "TensorSliceDataset", &odd, &attrs)), Code::InvalidArgument);
}

/// The second element of a dataset of three components, as a dataset.
fn on3(dataset: &Tensor, step: &Arc<StepContext>) -> Tensor {
    let attrs = [
        ("output_types", Attr::types(&[DataType::Int32, DataType::String, DataType::Int64])),
        ("output_shapes", Attr::List(vec![Attr::Shape(PartialShape::unknown()); 3])),
    ];
    let rest = pipeline("SkipDataset", step, &[dataset.clone(), n(1)], &attrs).unwrap();
    pipeline("TakeDataset", step, &[rest, n(1)], &attrs).unwrap()
}

#[test]
fn batches_are_stacked_and_their_remainder_kept_or_dropped() {
    let batch = |drop: bool| {
        let inputs = [range(0, 5), n(2), Tensor::scalar(drop)];
        pipeline("BatchDatasetV2", &step(1), &inputs, &of_int64()).unwrap()
    };
    assert_eq!(all(&batch(false)), [vec![0, 1], vec![2, 3], vec![4]]);
    assert_eq!(all(&batch(true)), [vec![0, 1], vec![2, 3]]);
    assert_eq!((cardinality(&batch(false)), cardinality(&batch(true))), (3, 2));
    let none = call_in(&step(1), "BatchDataset", &[range(0, 5), n(0)], &of_int64());
    assert_eq!(code(none), Code::InvalidArgument);
    // Batches of batches of different sizes do not stack.
    let (step, _) = with_functions();
    let handle = iterator(&step, &on(&batch(false), "BatchDataset", &[3]));
    let e = next(&step, &handle).unwrap_err();
    assert!(e.message().contains("different shapes in component 0"), "{e}");
}

#[test]
fn sizes_larger_than_any_memory_take_what_is_there() {
    let (numbers, most) = (range(0, 5), i64::MAX);
    assert_eq!(all(&on(&numbers, "BatchDataset", &[most])), [vec![0, 1, 2, 3, 4]]);
    assert_eq!(flat(&on(&numbers, "PrefetchDataset", &[most])), [0, 1, 2, 3, 4]);
    let mut shuffled = flat(&on(&numbers, "ShuffleDataset", &[most, 1, 1]));
    shuffled.sort_unstable();
    assert_eq!(shuffled, [0, 1, 2, 3, 4]);
    let repeated = on(&on(&numbers, "RepeatDataset", &[most]), "TakeDataset", &[7]);
    assert_eq!(flat(&repeated), [0, 1, 2, 3, 4, 0, 1]);
    assert_eq!(flat(&on(&numbers, "TakeDataset", &[most])), [0, 1, 2, 3, 4]);
    assert!(flat(&on(&numbers, "SkipDataset", &[most])).is_empty());
}

#[test]
fn padded_batches_have_the_size_of_the_largest() {
    let ragged = mapped(&range(0, 4), "FlatMapDataset", "up_to", &[]);
    let ragged = on(&ragged, "BatchDataset", &[4]);
    let pad = |to: i64| {
        let attrs = [
            ("Toutput_types", Attr::types(&[DataType::Int64])),
            ("output_shapes", Attr::List(vec![Attr::Shape(PartialShape::unknown())])),
            ("N", Attr::Int(1)),
        ];
        let inputs = [ragged.clone(), n(2), Tensor::vector(&[to]).unwrap(), n(-7), Tensor::scalar(false)];
        pipeline("PaddedBatchDatasetV2", &step(1), &inputs, &attrs).unwrap()
    };
    assert_eq!(all(&pad(-1)), [vec![0, 0, 1, 0, 1, 2, -7, -7]]);
    assert_eq!(all(&pad(5)), [vec![0, 0, 1, 0, -7, 1, 2, -7, -7, -7]]);
    let (step, _) = with_functions();
    let e = next(&step, &iterator(&step, &pad(3))).unwrap_err();
    assert!(e.message().contains("pad to a smaller size"), "{e}");
}

/// The orders are TensorFlow 2.21's for the same nodes.
#[test]
fn shuffles_are_tensorflows_for_the_same_seeds() {
    let shuffle = |size: i64, again: bool| {
        let inputs = [range(0, 10), n(size), n(1), n(2)];
        let attrs = with(&[("reshuffle_each_iteration", Attr::Bool(again))]);
        pipeline("ShuffleDataset", &step(1), &inputs, &attrs).unwrap()
    };
    let once = [0, 2, 1, 3, 5, 8, 6, 4, 7, 9];
    assert_eq!(flat(&shuffle(4, true)), once);
    assert_eq!(flat(&shuffle(1, true)), (0..10).collect::<Vec<i64>>());
    let twice = flat(&on(&shuffle(4, true), "RepeatDataset", &[2]));
    assert_eq!(twice, [once, [3, 0, 2, 1, 4, 5, 6, 7, 9, 8]].concat());
    let fixed = [3, 4, 1, 2, 7, 0, 5, 8, 9, 6];
    assert_eq!(flat(&on(&shuffle(4, false), "RepeatDataset", &[2])), [fixed, fixed].concat());
    let both = |n_elements: i64, size: i64, count: i64| {
        let inputs = [range(0, n_elements), n(size), n(1), n(2), n(count)];
        pipeline("ShuffleAndRepeatDataset", &step(1), &inputs, &of_int64()).unwrap()
    };
    assert_eq!(flat(&both(3, 100, 2)), [1, 2, 0, 1, 0, 2]);
    assert_eq!(cardinality(&both(3, 100, 2)), 6);
    let forever = flat(&on(&both(5, 7, -1), "TakeDataset", &[15]));
    assert_eq!(forever, [2, 0, 1, 3, 4, 1, 3, 4, 0, 2, 2, 0, 3, 4, 1]);
    assert_eq!(flat(&both(0, 7, -1)), [0i64; 0]);
}

#[test]
fn maps_filters_and_nested_datasets() {
    let five = range(0, 5);
    assert_eq!(flat(&mapped(&five, "MapDataset", "double", &[])), [0, 2, 4, 6, 8]);
    assert_eq!(flat(&mapped(&five, "FilterDataset", "is_even", &[])), [0, 2, 4]);
    assert_eq!(flat(&mapped(&five, "TakeWhileDataset", "is_even", &[])), [0]);
    assert_eq!(flat(&mapped(&range(2, 4), "FlatMapDataset", "up_to", &[])), [0, 1, 0, 1, 2]);
    assert_eq!(flat(&mapped(&five, "ParallelMapDatasetV2", "double", &[n(3)])), [0, 2, 4, 6, 8]);
    // TensorFlow's: range(1, 5).interleave(range, cycle_length=2, block_length=2)
    let turns = mapped(&range(1, 5), "InterleaveDataset", "up_to", &[n(2), n(2)]);
    assert_eq!(flat(&turns), [0, 0, 1, 0, 1, 2, 0, 1, 2, 3]);
}

#[test]
fn an_error_of_a_function_names_its_node_and_the_next_element_follows() {
    for (op, more) in [("MapDataset", vec![]), ("ParallelMapDatasetV2", vec![n(4)])] {
        let (step, _) = with_functions();
        let handle = iterator(&step, &mapped(&range(2, 5), op, "fail_at_3", &more));
        assert_eq!(next(&step, &handle).unwrap().to_scalar::<i64>().unwrap(), 2);
        let e = next(&step, &handle).unwrap_err();
        assert_eq!((e.code(), e.node()), (Code::InvalidArgument, Some("inner")), "{op}");
        assert_eq!(next(&step, &handle).unwrap().to_scalar::<i64>().unwrap(), 4);
        assert_eq!(next(&step, &handle).unwrap_err().code(), Code::OutOfRange);
    }
}

#[test]
fn a_function_that_says_out_of_range_ends_the_sequence() {
    let (step, _) = with_functions();
    let handle = iterator(&step, &mapped(&range(2, 9), "MapDataset", "end_at_3", &[]));
    assert_eq!(next(&step, &handle).unwrap().to_scalar::<i64>().unwrap(), 2);
    assert_eq!(next(&step, &handle).unwrap_err().message(), "End of sequence");
}

/// A dataset cached in memory, or under a prefix of files.
fn cached(input: &Tensor, prefix: &str) -> Tensor {
    let inputs = [input.clone(), Tensor::string(prefix)];
    pipeline("CacheDataset", &step(1), &inputs, &of_int64()).unwrap()
}

#[test]
fn a_cache_reads_its_input_once() {
    let input = on(&range(0, 3), "ShuffleDataset", &[3, 0, 0]);
    let cached = cached(&input, "");
    let twice = flat(&on(&cached, "RepeatDataset", &[2]));
    assert_eq!(twice[..3], twice[3..]);
}

#[test]
fn prefetching_keeps_order_errors_and_end() {
    for size in [0, 1, 3, -1] {
        assert_eq!(flat(&on(&range(0, 20), "PrefetchDataset", &[size])), (0..20).collect::<Vec<_>>());
    }
    let (step, _) = with_functions();
    let failing = mapped(&range(2, 5), "MapDataset", "fail_at_3", &[]);
    let handle = iterator(&step, &on(&failing, "PrefetchDataset", &[8]));
    assert_eq!(next(&step, &handle).unwrap().to_scalar::<i64>().unwrap(), 2);
    assert_eq!(next(&step, &handle).unwrap_err().node(), Some("inner"));
    assert_eq!(next(&step, &handle).unwrap().to_scalar::<i64>().unwrap(), 4);
    assert_eq!(next(&step, &handle).unwrap_err().code(), Code::OutOfRange);
}

#[test]
fn an_infinite_filter_ends_with_its_step() {
    let (step, _) = with_functions();
    let forever = on(&range(0, 3), "RepeatDataset", &[-1]);
    for dataset in [&forever, &on(&forever, "PrefetchDataset", &[2])] {
        let handle = iterator(&step, &mapped(dataset, "FilterDataset", "never", &[]));
        let mut asked = StepContext::new(2, step.device.clone());
        asked.functions = step.functions.clone();
        let (asked, (tx, rx)) = (Arc::new(asked), mpsc::channel());
        let cancel = asked.cancel.clone();
        let thread = std::thread::spawn(move || tx.send(next(&asked, &handle).map(|_| ())).unwrap());
        cancel.cancel(cancelled("enough"));
        assert_eq!(rx.recv().unwrap().unwrap_err().message(), "enough");
        thread.join().unwrap();
    }
}

#[test]
fn a_function_that_never_answers_is_cancelled_with_the_step_and_with_the_iterator() {
    let (step, functions) = with_functions();
    let held = mapped(&range(0, 9), "MapDataset", "hold", &[]);
    let handle = iterator(&step, &held);
    let mut asked = StepContext::new(2, step.device.clone());
    asked.functions = step.functions.clone();
    let asked = Arc::new(asked);
    let answer = begin(&asked, "IteratorGetNext", &[handle.clone()], &of_int64());
    let in_line = begin(&asked, "IteratorGetNext", &[handle.clone()], &of_int64());
    asked.cancel.cancel(cancelled("enough"));
    assert_eq!(answer.recv().unwrap().unwrap_err().message(), "enough");
    assert_eq!(in_line.recv().unwrap().unwrap_err().message(), "enough");
    assert!(lock(&functions.held)[0].0.cancel.is_cancelled());
    // The iterator continues after that element.
    let answer = begin(&step, "IteratorGetNext", &[handle], &of_int64());
    step.device.resources.end();
    assert_eq!(answer.recv().unwrap().unwrap_err().code(), Code::Cancelled);
    assert!(lock(&functions.held)[1].0.cancel.is_cancelled());
}

#[test]
fn parallel_calls_are_under_way_together_and_no_more_than_allowed() {
    let (step, functions) = with_functions();
    let held = mapped(&range(0, 9), "ParallelMapDatasetV2", "hold", &[n(3)]);
    let answer = begin(&step, "IteratorGetNext", &[iterator(&step, &held)], &of_int64());
    assert_eq!(functions.most.load(Ordering::SeqCst), 3);
    let (_, done) = lock(&functions.held).remove(0);
    done(Ok(vec![n(42)]));
    assert_eq!(answer.recv().unwrap().unwrap()[0].to_scalar::<i64>().unwrap(), 42);
}

#[test]
fn elements_asked_for_together_are_each_given_once() {
    let (step, functions) = with_functions();
    let handle = iterator(&step, &mapped(&range(0, 2), "MapDataset", "hold", &[]));
    let answers: Vec<_> =
        (0..3).map(|_| begin(&step, "IteratorGetNext", &[handle.clone()], &of_int64())).collect();
    for (i, answer) in answers.iter().enumerate().take(2) {
        let done = loop {
            // The next call may be started by a callback on another thread.
            if let Some((_, done)) = lock(&functions.held).pop() {
                break done;
            }
            std::thread::yield_now();
        };
        done(Ok(vec![n(i as i64)]));
        assert_eq!(answer.recv().unwrap().unwrap()[0].to_scalar::<i64>().unwrap(), i as i64);
    }
    assert_eq!(answers[2].recv().unwrap().unwrap_err().code(), Code::OutOfRange);
}

#[test]
fn datasets_piled_too_high_are_an_error_not_a_stack_overflow() {
    let mut dataset = range(0, 1);
    let deep = loop {
        match call_in(&step(1), "RepeatDataset", &[dataset.clone(), n(1)], &of_int64()) {
            Ok(mut higher) => dataset = higher.remove(0),
            Err(e) => break e,
        }
    };
    assert_eq!(deep.code(), Code::InvalidArgument);
    assert_eq!(flat(&dataset), [0]);
}

#[test]
fn a_long_pipeline_is_not_too_deep() {
    let mut dataset = range(0, 1);
    for _ in 0..60 {
        dataset = on(&dataset, "TakeDataset", &[5]);
        dataset = on(&dataset, "PrefetchDataset", &[1]);
    }
    assert_eq!(flat(&dataset), [0]);
}

#[test]
fn an_iterator_without_a_dataset_and_one_of_other_types_are_told() {
    let (step, _) = with_functions();
    let attrs = with(&[("shared_name", "bare".into()), ("container", "".into())]);
    let handle = call_in(&step, "IteratorV2", &[], &attrs).unwrap().remove(0);
    assert_eq!(next(&step, &handle).unwrap_err().code(), Code::FailedPrecondition);
    let floats = [
        ("Toutput_types", Attr::types(&[DataType::Float])),
        ("output_shapes", Attr::List(vec![Attr::Shape(PartialShape::unknown())])),
    ];
    let other = pipeline("TensorDataset", &step, &[Tensor::scalar(1f32)], &floats).unwrap();
    let made = call_in(&step, "MakeIterator", &[other, handle.clone()], &[]);
    assert_eq!(code(made), Code::InvalidArgument);
    let text = call_in(&step, "IteratorToStringHandle", &[handle.clone()], &[]).unwrap();
    let back = call_in(&step, "IteratorFromStringHandleV2", &text, &of_int64()).unwrap();
    call_in(&step, "MakeIterator", &[range(3, 4), back[0].clone()], &[]).unwrap();
    assert_eq!(next(&step, &handle).unwrap().to_scalar::<i64>().unwrap(), 3);
    let none = call_in(&step, "IteratorGetNextAsOptional", &[handle], &of_int64()).unwrap();
    assert!(!call_in(&step, "OptionalHasValue", &none, &[]).unwrap()[0].to_scalar::<bool>().unwrap());
    assert_eq!(code(call_in(&step, "OptionalGetValue", &none, &of_int64())), Code::InvalidArgument);
}

#[test]
fn a_dataset_is_reduced_to_its_sum() {
    let (step, _) = with_functions();
    let attrs = with(&[
        ("f", func("add")),
        ("Tstate", Attr::types(&[DataType::Int64])),
        ("Targuments", Attr::List(vec![])),
    ]);
    let sum = call_in(&step, "ReduceDataset", &[range(0, 5), n(100)], &attrs).unwrap();
    assert_eq!(sum[0].to_scalar::<i64>().unwrap(), 110);
}

mod checkpoints;
mod choices;
mod files;
