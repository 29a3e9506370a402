//! Datasets that choose, count and wait; what is asked of a dataset without its elements.

use super::with_functions;
use super::{all, cardinality, flat, func, iterator, mapped, n, of_int64, on, pipeline, range, with};
use crate::prelude::*;
use crate::testing::{begin, call_in, code, step};

fn asked(op: &str, dataset: &Tensor) -> Tensor {
    call_in(&step(1), op, &[dataset.clone()], &[]).unwrap().remove(0)
}

fn batch_size(dataset: &Tensor) -> i64 {
    asked("ComputeBatchSize", dataset).to_scalar().unwrap()
}

pub fn rows_by_index(elements: i64) -> Tensor {
    let none = || Attr::List(vec![]);
    let attrs = with(&[
        ("map_func", func("pair")),
        ("index_map_func", func("halves")),
        ("Tmap_func_args", none()),
        ("Tindex_map_func_args", none()),
    ]);
    let (step, _) = with_functions();
    pipeline("IndexFlatMapDataset", &step, &[range(0, elements), n(2 * elements)], &attrs).unwrap()
}

pub fn weighted(sizes: &[i64], weights: &[f64]) -> Result<Tensor> {
    let datasets = sizes.iter().zip(1..).map(|(size, i)| range(100 * i, 100 * i + size));
    let inputs: Vec<Tensor> = datasets.chain(weights.iter().map(|w| Tensor::scalar(*w))).collect();
    let attrs = with(&[("N", (sizes.len() as i64).into()), ("M", (weights.len() as i64).into())]);
    pipeline("WeightedFlatMapDataset", &step(1), &inputs, &attrs)
}

pub fn fastest_branch(dataset: &Tensor, f: &str) -> Tensor {
    let attrs = with(&[
        ("Targuments", Attr::List(vec![])),
        ("num_elements_per_branch", 2.into()),
        ("branches", Attr::List(vec![func(f), func("never")])),
        ("other_arguments_lengths", Attr::ints(&[0, 0])),
    ]);
    let (step, _) = with_functions();
    pipeline("ChooseFastestBranchDataset", &step, &[dataset.clone(), n(2), n(1)], &attrs).unwrap()
}

#[test]
fn sliding_windows_are_batches() {
    let sliding = |size, shift, stride, drop: bool| {
        let inputs = [range(0, 7), n(size), n(shift), n(stride)];
        pipeline("SlidingWindowDataset", &step(1), &inputs, &with(&[("drop_remainder", drop.into())]))
    };
    assert_eq!(all(&sliding(3, 2, 1, true).unwrap()), [[0, 1, 2], [2, 3, 4], [4, 5, 6]]);
    assert_eq!(all(&sliding(2, 2, 3, false).unwrap()), [vec![0, 3], vec![2, 5], vec![4], vec![6]]);
    assert_eq!(all(&sliding(2, 5, 1, false).unwrap()), [[0, 1], [5, 6]]);
    assert_eq!(cardinality(&sliding(3, 2, 1, true).unwrap()), 3);
    for (size, shift, stride) in [(0, 1, 1), (1, 0, 1), (1, 1, -1)] {
        let refused = sliding(size, shift, stride, true).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
    }
    let old = on(&range(0, 4), "ExperimentalSlidingWindowDataset", &[3, 1, 1]);
    assert_eq!(all(&old), [[0, 1, 2], [1, 2, 3]]);
}

#[test]
fn rows_of_elements_have_numbers() {
    let rows = rows_by_index(3);
    assert_eq!((flat(&rows), cardinality(&rows)), (vec![0, 1, 10, 11, 20, 21], 6));
    let none = Tensor::from_object(thalweg_core::resource::ResourceHandle::default());
    let inputs = [rows, n(3), n(4), none];
    let mut shuffled = flat(&pipeline("GlobalShuffleDataset", &step(1), &inputs, &of_int64()).unwrap());
    shuffled.sort_unstable();
    assert_eq!(shuffled, [0, 1, 10, 11, 20, 21]);
}

#[test]
fn the_heaviest_dataset_has_as_many_elements_as_the_scarcest() {
    let some = weighted(&[6, 4, 4], &[3.0, 1.0, 2.0]).unwrap();
    assert_eq!(flat(&some), [100, 101, 102, 103, 200, 300, 301]);
    assert_eq!(cardinality(&some), 7);
    assert_eq!(flat(&weighted(&[6, 0], &[1.0, 1.0]).unwrap()), [0i64; 0]);
    let scarce = weighted(&[10, 30, 10, 9], &[2.0, 1.0, 1.0, 3.0]).unwrap_err();
    assert_eq!(scarce.message(), "Input 3 needs to have at least 10 elements. It only has 9 elements.");
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(weighted(&[2, 2], &[1.0, wrong]).unwrap_err().code(), Code::InvalidArgument);
    }
    assert_eq!(weighted(&[2, 2], &[1.0, 1.0, 1.0]).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn the_first_of_several_ways_is_taken() {
    let branch = fastest_branch(&range(0, 3), "identity");
    assert_eq!((flat(&branch), cardinality(&branch)), (vec![0, 1, 2], 6));
    let fastest = |others: [Tensor; 2]| {
        let attrs = with(&[("N", 2.into()), ("num_experiments", 1.into())]);
        pipeline("ChooseFastestDataset", &step(1), &others, &attrs)
    };
    assert_eq!(flat(&fastest([range(0, 3), range(0, 3)]).unwrap()), [0, 1, 2]);
    assert_eq!(fastest([range(0, 3), range(0, 4)]).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn workers_share_elements_but_not_files() {
    let shard = |policy: i64, workers, index| {
        let inputs = [range(0, 7), n(workers), n(index)];
        let attrs = with(&[("auto_shard_policy", policy.into()), ("num_replicas", 0.into())]);
        pipeline("AutoShardDataset", &step(1), &inputs, &attrs)
    };
    for policy in [0, 2] {
        assert_eq!(flat(&shard(policy, 3, 1).unwrap()), [1, 4]);
    }
    assert_eq!(flat(&shard(-1, 3, 1).unwrap()).len(), 7);
    assert_eq!(shard(1, 3, 1).unwrap_err().code(), Code::NotFound);
    for (policy, workers, index) in [(4, 3, 1), (0, 0, 0), (0, 3, 3), (0, 3, -1)] {
        assert_eq!(shard(policy, workers, index).unwrap_err().code(), Code::InvalidArgument);
    }
}

#[test]
fn later_options_override_earlier_ones_field_by_field() {
    let with_options = |dataset: &Tensor, options: &[u8]| {
        let options = bytes::Bytes::copy_from_slice(options);
        let attrs = with(&[("serialized_options", Attr::Str(options))]);
        pipeline("OptionsDataset", &step(1), &[dataset.clone()], &attrs)
    };
    let options = |dataset: &Tensor| asked("GetOptions", dataset).strings().unwrap()[0].to_vec();
    assert_eq!(options(&range(0, 3)), b"");
    let inner = with_options(&range(0, 3), b"\x08\x01\x12\x00*\x04\x08\x03\x10\x02").unwrap();
    let outer = on(&inner, "TakeDataset", &[2]);
    assert_eq!(options(&outer), b"\x08\x01\x12\x00*\x04\x08\x03\x10\x02");
    let again = with_options(&outer, b"*\x02\x10\x05\x08\x00").unwrap();
    assert_eq!(options(&again), b"\x08\x00\x12\x00*\x04\x08\x03\x10\x05");
    assert_eq!(with_options(&inner, b"garbage").unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn batches_have_a_size_that_is_known_without_running() {
    let batched = on(&range(0, 9), "BatchDataset", &[4]);
    assert_eq!([&range(0, 9), &batched].map(batch_size), [-1, 4]);
    assert_eq!(batch_size(&on(&on(&batched, "TakeDataset", &[2]), "RepeatDataset", &[2])), 4);
    assert_eq!(batch_size(&mapped(&batched, "MapDataset", "double", &[])), -1);
    let joined = |other: i64| {
        let other = on(&range(0, 9), "BatchDataset", &[other]);
        let both = pipeline("ConcatenateDataset", &step(1), &[batched.clone(), other], &of_int64());
        batch_size(&both.unwrap())
    };
    assert_eq!([joined(4), joined(3)], [4, -1]);
}

/// A dataset of two that are the same, again and again: each path to the first is another one.
#[test]
fn what_is_asked_of_a_dataset_is_asked_of_each_input_once() {
    let mut dataset = on(&range(0, 8), "BatchDataset", &[2]);
    for _ in 0..60 {
        let both = [dataset.clone(), dataset];
        let joined = pipeline("ConcatenateDataset", &step(1), &both, &of_int64()).unwrap();
        dataset = on(&joined, "TakeDataset", &[4]);
    }
    assert_eq!(batch_size(&dataset), 2);
    assert_eq!(asked("GetOptions", &dataset).strings().unwrap()[0], b""[..]);
}

#[test]
fn a_pause_ends_with_its_step() {
    assert_eq!(flat(&on(&range(0, 3), "SleepDataset", &[1500])), [0, 1, 2]);
    let (step, _) = with_functions();
    let handle = iterator(&step, &on(&range(0, 3), "SleepDataset", &[i64::MAX]));
    let pending = begin(&step, "IteratorGetNext", &[handle], &of_int64());
    step.cancel.cancel(cancelled("enough"));
    assert_eq!(code(pending.recv().unwrap()), Code::Cancelled);
    let negative = pipeline("SleepDataset", &step, &[range(0, 3), n(-1)], &of_int64());
    assert_eq!(negative.unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn a_pool_and_an_aggregator_are_handles() {
    let handle = |op: &str, attrs: &[(&'static str, Attr)]| {
        let names = [("container", "".into()), ("shared_name", "it".into())];
        call_in(&step(1), op, &[], &[attrs, &names].concat()).map(|mut r| r.remove(0))
    };
    let threads = |n: i64| {
        let attrs = [("num_threads", n.into()), ("display_name", "pool".into())];
        handle("ThreadPoolHandle", &[&attrs[..], &[("max_intra_op_parallelism", 1.into())]].concat())
    };
    assert_eq!(threads(-1).unwrap_err().code(), Code::InvalidArgument);
    assert!(threads(i64::MAX).is_ok(), "no threads are started");
    let (step, _) = with_functions();
    let names = [("container", "".into()), ("shared_name", "stats".into())];
    let aggregator = call_in(&step, "StatsAggregatorHandle", &[], &names).unwrap().remove(0);
    let (tag, prefix) = (Tensor::string("tag"), Tensor::string(""));
    let inputs = [range(0, 3), aggregator.clone(), tag, prefix];
    let told = pipeline("SetStatsAggregatorDataset", &step, &inputs, &of_int64()).unwrap();
    assert_eq!(flat(&told), [0, 1, 2]);
    let wrong = pipeline("ThreadPoolDataset", &step, &[range(0, 3), aggregator], &of_int64());
    assert!(wrong.is_err());
}
