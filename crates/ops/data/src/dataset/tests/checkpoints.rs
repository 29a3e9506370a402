//! Positions of iterators, saved in the middle and restored in another iterator.

use super::{choices, func, iterator, mapped, n, next, of_int64, on, pipeline, range, with, with_functions};
use crate::prelude::*;
use crate::testing::{call_in, code, step};
use thalweg_core::step::StepContext;
use thalweg_core::tensor::EncodedVariant;
use thalweg_io::wire::{tensor_from_proto, tensor_to_proto};

/// The state after it was in a message.
fn save(step: &Arc<StepContext>, handle: &Tensor) -> Tensor {
    let state = call_in(step, "SerializeIterator", &[handle.clone()], &[]).unwrap().remove(0);
    tensor_from_proto(&tensor_to_proto(&state).unwrap()).unwrap()
}

fn restore(step: &Arc<StepContext>, handle: &Tensor, state: &Tensor) -> Result<()> {
    call_in(step, "DeserializeIterator", &[handle.clone(), state.clone()], &[]).map(|_| ())
}

/// The rest of the elements, at most 30, flat; an error as its code.
fn rest(step: &Arc<StepContext>, handle: &Tensor) -> Vec<std::result::Result<Vec<i64>, Code>> {
    let mut all = Vec::new();
    for _ in 0..30 {
        match next(step, handle) {
            Ok(t) => all.push(Ok(t.as_slice::<i64>().unwrap().to_vec())),
            Err(e) if e.code() == Code::OutOfRange => break,
            Err(e) => all.push(Err(e.code())),
        }
    }
    all
}

fn pipelines() -> Vec<(&'static str, fn() -> Tensor)> {
    fn words() -> Tensor {
        let attrs = [
            ("Toutput_types", Attr::types(&[DataType::Int64])),
            ("output_shapes", Attr::List(vec![Attr::Shape(PartialShape::unknown())])),
        ];
        let rows = Tensor::vector(&[5i64, 6, 7, 8]).unwrap();
        pipeline("TensorSliceDataset", &step(1), &[rows], &attrs).unwrap()
    }
    fn zipped() -> Tensor {
        let attrs = with(&[("N", Attr::Int(1))]);
        pipeline("ZipDataset", &step(1), &[range(3, 9)], &attrs).unwrap()
    }
    fn cached() -> Tensor {
        let input = on(&range(0, 5), "ShuffleDataset", &[5, 1, 2]);
        let cache = pipeline("CacheDataset", &step(1), &[input, Tensor::string("")], &of_int64()).unwrap();
        on(&cache, "RepeatDataset", &[2])
    }
    vec![
        ("range", || range(0, 7)),
        ("slices", words),
        ("zip", zipped),
        ("repeat", || on(&range(0, 3), "RepeatDataset", &[3])),
        ("repeat forever", || on(&range(0, 3), "RepeatDataset", &[-1])),
        ("take and skip", || on(&on(&range(0, 12), "TakeDataset", &[9]), "SkipDataset", &[4])),
        ("shard", || on(&range(0, 20), "ShardDataset", &[3, 1])),
        ("concatenate", || {
            pipeline("ConcatenateDataset", &step(1), &[range(0, 3), range(7, 9)], &of_int64()).unwrap()
        }),
        ("batch", || on(&range(0, 11), "BatchDataset", &[2])),
        ("map", || mapped(&range(0, 7), "MapDataset", "double", &[])),
        ("parallel map", || mapped(&range(0, 9), "ParallelMapDatasetV2", "double", &[n(3)])),
        ("parallel map fails", || mapped(&range(0, 9), "ParallelMapDatasetV2", "fail_at_3", &[n(3)])),
        ("filter", || mapped(&range(0, 9), "FilterDataset", "is_even", &[])),
        ("flat map", || mapped(&range(1, 5), "FlatMapDataset", "up_to", &[])),
        ("interleave", || mapped(&range(1, 6), "InterleaveDataset", "up_to", &[n(3), n(2)])),
        ("shuffle", || on(&range(0, 20), "ShuffleDataset", &[6, 3, 4])),
        ("shuffle repeat", || on(&on(&range(0, 6), "ShuffleDataset", &[4, 3, 4]), "RepeatDataset", &[3])),
        ("shuffle and repeat", || on(&range(0, 6), "ShuffleAndRepeatDataset", &[8, 3, 4, 3])),
        ("cache", cached),
        ("prefetch", || on(&range(0, 9), "PrefetchDataset", &[2])),
        ("prefetch fails", || {
            on(&mapped(&range(0, 6), "MapDataset", "fail_at_3", &[]), "PrefetchDataset", &[2])
        }),
        ("rebatch", || {
            let sizes = Tensor::vector(&[1i64, 0, 3]).unwrap();
            let inputs = [on(&range(0, 11), "BatchDataset", &[4]), sizes, Tensor::scalar(false)];
            pipeline("RebatchDatasetV2", &step(1), &inputs, &of_int64()).unwrap()
        }),
        ("rebatch by replicas", || on(&on(&range(0, 11), "BatchDataset", &[4]), "RebatchDataset", &[3])),
        ("unbatch", || on(&on(&range(0, 7), "BatchDataset", &[3]), "UnbatchDataset", &[])),
        ("unique", || on(&on(&range(0, 3), "RepeatDataset", &[2]), "UniqueDataset", &[])),
        ("random", || {
            let random = pipeline("RandomDataset", &step(1), &[n(3), n(4)], &of_int64()).unwrap();
            on(&random, "TakeDataset", &[7])
        }),
        ("scan", || {
            let types = ("Tstate", Attr::types(&[DataType::Int64]));
            let attrs = with(&[("f", func("running")), types, ("Targuments", Attr::List(vec![]))]);
            pipeline("ScanDataset", &step(1), &[range(0, 6), n(10)], &attrs).unwrap()
        }),
        ("directed", || {
            let turns = on(&range(0, 2), "RepeatDataset", &[4]);
            let attrs = with(&[("N", Attr::Int(2))]);
            let inputs = [turns, range(0, 3), range(10, 14)];
            pipeline("DirectedInterleaveDataset", &step(1), &inputs, &attrs).unwrap()
        }),
        ("ignore errors", || {
            on(&mapped(&range(0, 6), "MapDataset", "fail_at_3", &[]), "IgnoreErrorsDataset", &[])
        }),
        ("windows", || {
            let types = [
                "Tkey_func_other_arguments",
                "Treduce_func_other_arguments",
                "Twindow_size_func_other_arguments",
            ];
            let mut attrs = with(&types.map(|name| (name, Attr::List(vec![]))));
            attrs.extend([("key_func", func("modulo_3")), ("reduce_func", func("window"))]);
            attrs.push(("window_size_func", func("two")));
            pipeline("GroupByWindowDataset", &step(1), &[range(0, 11)], &attrs).unwrap()
        }),
        ("window", || {
            let inputs = [range(0, 9), n(3), n(2), n(1), Tensor::scalar(false)];
            let attrs = [
                ("output_types", Attr::types(&[DataType::Variant])),
                ("output_shapes", Attr::List(vec![Attr::Shape(PartialShape::scalar())])),
            ];
            let windows = pipeline("WindowDataset", &step(1), &inputs, &attrs).unwrap();
            let ahead = pipeline("PrefetchDataset", &step(1), &[windows, n(2)], &attrs).unwrap();
            mapped(&ahead, "FlatMapDataset", "identity", &[])
        }),
        ("sliding", || {
            let inputs = [range(0, 9), n(3), n(2), n(1)];
            pipeline("SlidingWindowDataset", &step(1), &inputs, &with(&[("drop_remainder", false.into())]))
                .unwrap()
        }),
        ("rows by index", || choices::rows_by_index(4)),
        ("weighted", || choices::weighted(&[6, 4, 4], &[3.0, 1.0, 2.0]).unwrap()),
        ("sleep", || on(&range(0, 4), "SleepDataset", &[1])),
        ("auto shard", || on(&range(0, 10), "AutoShardDataset", &[3, 1])),
        ("fastest branch", || choices::fastest_branch(&range(0, 5), "identity")),
        ("global shuffle", || {
            let none = Tensor::from_object(thalweg_core::resource::ResourceHandle::default());
            let inputs = [range(0, 9), n(3), n(4), none];
            pipeline("GlobalShuffleDataset", &step(1), &inputs, &of_int64()).unwrap()
        }),
        ("all of it", || {
            let inner = mapped(&range(1, 6), "InterleaveDataset", "up_to", &[n(2), n(1)]);
            let shuffled = on(&on(&inner, "PrefetchDataset", &[3]), "ShuffleDataset", &[5, 1, 1]);
            let batched = on(&on(&shuffled, "RepeatDataset", &[2]), "BatchDataset", &[3]);
            on(&batched, "PrefetchDataset", &[1])
        }),
    ]
}

#[test]
fn the_rest_of_every_pipeline_is_the_same_after_restoring() {
    for (name, make) in pipelines() {
        let (step, _) = with_functions();
        let whole = rest(&step, &iterator(&step, &make()));
        for at in 0..=whole.len() {
            let (step, _) = with_functions();
            let handle = iterator(&step, &make());
            for _ in 0..at {
                let _ = next(&step, &handle);
            }
            let state = save(&step, &handle);
            // Saving does not disturb the iterator.
            let expect = rest(&step, &handle);
            assert_eq!(expect, rest_of(&whole, at, expect.len()), "{name} goes on after being saved at {at}");
            // Nor is the state used up, and a part of it again is saved and restored.
            for again in [0, 1] {
                let (step, _) = with_functions();
                let handle = iterator(&step, &make());
                restore(&step, &handle, &state).unwrap();
                for _ in 0..again {
                    let _ = next(&step, &handle);
                }
                let state = save(&step, &handle);
                restore(&step, &handle, &state).unwrap();
                let got = rest(&step, &handle);
                let want = &expect[again.min(expect.len())..];
                assert_eq!(got[..want.len()], *want, "{name} restored at {at} and {again} further");
            }
        }
    }
}

/// Part of a whole; past its end, what repeats without end goes on, so that only the part that is there is compared.
fn rest_of<T: Clone>(whole: &[T], at: usize, len: usize) -> Vec<T> {
    // Datasets here that go on past 30 elements repeat every three.
    (at..at + len).filter_map(|i| whole.get(i).or_else(|| whole.get(i % 3)).cloned()).collect()
}

#[test]
fn a_random_shuffle_is_continued_in_its_order() {
    let make = || on(&on(&range(0, 9), "ShuffleDataset", &[5, 0, 0]), "RepeatDataset", &[3]);
    let (one, _) = with_functions();
    let handle = iterator(&one, &make());
    for _ in 0..4 {
        next(&one, &handle).unwrap();
    }
    let state = save(&one, &handle);
    let (two, _) = with_functions();
    let other = iterator(&two, &make());
    restore(&two, &other, &state).unwrap();
    assert_eq!(rest(&one, &handle), rest(&two, &other));
}

#[test]
fn states_of_other_datasets_garbage_and_none_are_errors() {
    let (step, _) = with_functions();
    let handle = iterator(&step, &on(&range(0, 9), "ShuffleDataset", &[5, 1, 1]));
    next(&step, &handle).unwrap();
    let state = save(&step, &handle);
    let other = iterator(&step, &on(&range(0, 9), "TakeDataset", &[5]));
    assert_eq!(code(restore(&step, &other, &state).map(|()| vec![])), Code::InvalidArgument);
    // The iterator is where it was.
    assert_eq!(next(&step, &other).unwrap().to_scalar::<i64>().unwrap(), 0);
    let nothing = Tensor::from_objects(Shape::vector(1), vec![Variant::default()]).unwrap();
    assert!(restore(&step, &handle, &nothing).is_err());
    assert!(restore(&step, &handle, &range(0, 3)).is_err());
    let bare = with(&[("shared_name", "bare".into()), ("container", "".into())]);
    let bare = call_in(&step, "IteratorV2", &[], &bare).unwrap().remove(0);
    assert_eq!(code(call_in(&step, "SerializeIterator", &[bare.clone()], &[])), Code::FailedPrecondition);
    assert_eq!(restore(&step, &bare, &state).unwrap_err().code(), Code::FailedPrecondition);
}

#[test]
fn damaged_states_never_panic() {
    // Unique elements of a repetition without end are looked for without end.
    for (name, make) in pipelines().into_iter().filter(|(name, _)| *name != "unique") {
        let (step, _) = with_functions();
        let handle = iterator(&step, &make());
        for _ in 0..3 {
            let _ = next(&step, &handle);
        }
        let state = save(&step, &handle);
        let held = state.variants().unwrap()[0].get::<EncodedVariant>().unwrap();
        for i in 0..held.tensors.len() {
            for with in [n(i64::MAX), n(-1), n(3), Tensor::string("x")] {
                let mut damaged = held.clone();
                damaged.tensors[i] = with;
                let damaged = Tensor::from_objects(Shape::vector(1), vec![Variant::new(damaged)]).unwrap();
                let (step, _) = with_functions();
                let handle = iterator(&step, &make());
                if let Err(e) = restore(&step, &handle, &damaged) {
                    assert_ne!(e.code(), Code::Internal, "{name}: {e}");
                }
                for _ in 0..3 {
                    let next = call_in(&step, "IteratorGetNext", &[handle.clone()], &of_int64());
                    assert!(next.is_ok() || code(next) != Code::Internal, "{name}");
                }
            }
        }
    }
}
