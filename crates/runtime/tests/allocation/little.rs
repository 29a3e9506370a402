//! Calls that need more memory than a small address space has.

use crate::child;
use crate::common::{Example, assert_none, registry, step};
use thalweg_core::attr::Attr;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Code;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;

/// Address space of the child, in KiB: enough for itself and its inputs.
const SPACE: usize = 1 << 20;

/// Beyond the address space, below the limit of a buffer: only the allocator can fail.
const MANY: usize = 1 << 27;

type Inputs = fn() -> Vec<Tensor>;

/// An op, small inputs, and attrs for which its result is too large.
struct Greedy(&'static str, Inputs, &'static [(&'static str, fn() -> Attr)]);

/// Each must fail at once: growing step by step until memory is exhausted takes long.
const GREEDY: &[Greedy] = &[
    Greedy("ReduceJoin", || vec![strings(&[MANY, 0]), Tensor::scalar(1i32)], &[]),
    Greedy("StringJoin", || vec![text(200 << 20), text(200 << 20), text(200 << 20)], &[("N", || 3.into())]),
    Greedy("StringSplit", || vec![text(MANY).reshape(Shape::vector(1)).unwrap(), Tensor::string("")], &[]),
    Greedy("StringUpper", || vec![text(600 << 20)], &[("encoding", || "utf-8".into())]),
    Greedy("StringLower", || vec![text(600 << 20)], &[]),
    Greedy("EncodeBase64", || vec![text(600 << 20)], &[]),
    Greedy("DecodeRaw", || vec![text(600 << 20)], &[("out_type", || DataType::Uint8.into())]),
    Greedy("AsString", || vec![bytes(MANY)], &[]),
    Greedy("Add", || vec![text(300 << 20), text(300 << 20)], &[]),
    Greedy("Unique", || vec![bytes(MANY)], &[]),
    Greedy("ListDiff", || vec![bytes(MANY), bytes(1)], &[]),
    Greedy("RandomShuffle", || vec![bytes(MANY)], &[]),
    Greedy("InvertPermutation", || vec![ints(&[MANY])], &[]),
    Greedy("NthElement", || vec![floats(&[MANY / 2]), Tensor::scalar(1i32)], &[]),
    Greedy("TopKV2", || vec![floats(&[MANY / 2]), Tensor::scalar(2i32)], &[]),
    Greedy("SparseFillEmptyRows", || sparse(&[1 << 26, 1]), &[]),
    Greedy("SparseFillEmptyRows", || sparse(&[1 << 62, 1]), &[]),
    Greedy("SparseToDense", || scattered(1 << 30), &[]),
    Greedy(
        "TensorListReserve",
        || vec![Tensor::scalar(-1i32), Tensor::scalar(i32::MAX)],
        &[("element_dtype", float)],
    ),
    Greedy("GatherNd", || vec![floats(&[1]), ints(&[1 << 40, 0])], &[]),
    Greedy("ResizeNearestNeighbor", || vec![floats(&[1; 4]), Tensor::vector(&[1 << 15; 2]).unwrap()], &[]),
    Greedy("BatchMatMulV2", || vec![floats(&[1 << 14, 1, 1, 1]), floats(&[1 << 14, 1, 1])], &[]),
];

#[test]
fn little_address_space_is_an_error_of_the_call() {
    let Some(from) = child::from() else {
        let test = "little::little_address_space_is_an_error_of_the_call";
        return assert_none("calls did not survive", child::run(test, GREEDY.len(), Some(SPACE)));
    };
    GREEDY.iter().enumerate().skip(from).for_each(|(piece, call)| refused(piece, call));
}

/// A child's call.
fn refused(piece: usize, Greedy(op, inputs, attrs): &Greedy) {
    child::at(piece, op);
    let attrs = attrs.iter().map(|(name, value)| (*name, value())).collect();
    let op = registry().find(op).unwrap();
    let example = Example { op, label: op.name.into(), inputs: inputs(), attrs, no_difference: vec![] };
    match example.call(&step(2)) {
        Err(e) if matches!(e.code(), Code::ResourceExhausted | Code::InvalidArgument) => {}
        Err(e) => child::failed(piece, &format!("{}: {e}", op.name)),
        Ok(_) => child::failed(piece, &format!("{}: there was enough", op.name)),
    }
}

/// As above, one test for each call that once aborted the process.
fn alone(test: &str, call: Greedy) {
    match child::from() {
        None => assert_none("calls did not survive", child::run(test, 1, Some(SPACE))),
        Some(piece) => refused(piece, &call),
    }
}

#[test]
fn reduce_join_of_rows_of_nothing_ended_the_process() {
    let call = Greedy("ReduceJoin", || vec![strings(&[1 << 40, 0]), Tensor::scalar(1i32)], &[]);
    alone("little::reduce_join_of_rows_of_nothing_ended_the_process", call);
}

#[test]
fn regex_replace_by_more_than_there_is_ended_the_process() {
    let call = Greedy("RegexReplace", || vec![text(1 << 16), Tensor::string("a"), text(20_000)], &[]);
    alone("little::regex_replace_by_more_than_there_is_ended_the_process", call);
}

#[test]
fn sparse_fill_empty_rows_of_2_to_the_31_rows_ended_the_process() {
    let call = Greedy("SparseFillEmptyRows", || sparse(&[1 << 31, 1]), &[]);
    alone("little::sparse_fill_empty_rows_of_2_to_the_31_rows_ended_the_process", call);
}

/// A process continues after a failed allocation.
#[test]
fn a_refused_call_leaves_room_for_the_next() {
    let test = "little::a_refused_call_leaves_room_for_the_next";
    let Some(piece) = child::from() else {
        return assert_none("calls failed", child::run(test, 1, Some(SPACE)));
    };
    let step = step(2);
    let call = |op: &str, inputs: Vec<Tensor>| {
        let op = registry().find(op).unwrap();
        Example { op, label: op.name.into(), inputs, attrs: Default::default(), no_difference: vec![] }
            .call(&step)
    };
    for _ in 0..3 {
        let refused = call("RegexReplace", vec![text(1 << 16), Tensor::string("a"), text(20_000)]);
        let done = call("RegexReplace", vec![text(3), Tensor::string("a"), Tensor::string("bc")]).unwrap();
        if refused.is_ok() || done[0].strings().unwrap()[0] != "bcbcbc" {
            child::failed(piece, &format!("{refused:?}, {done:?}"));
        }
    }
}

fn strings(dims: &[usize]) -> Tensor {
    Tensor::uninit(DataType::String, Shape::new(dims).unwrap()).unwrap()
}

fn text(len: usize) -> Tensor {
    Tensor::string(vec![b'a'; len])
}

fn bytes(n: usize) -> Tensor {
    Tensor::zeros(DataType::Uint8, Shape::vector(n)).unwrap()
}

fn floats(dims: &[usize]) -> Tensor {
    Tensor::zeros(DataType::Float, Shape::new(dims).unwrap()).unwrap()
}

fn float() -> Attr {
    DataType::Float.into()
}

fn ints(dims: &[usize]) -> Tensor {
    Tensor::zeros(DataType::Int32, Shape::new(dims).unwrap()).unwrap()
}

/// A dense vector of no elements, and a default.
fn scattered(size: i64) -> Vec<Tensor> {
    let indices = Tensor::zeros(DataType::Int64, Shape::new(&[0, 1]).unwrap()).unwrap();
    vec![indices, Tensor::vector(&[size]).unwrap(), floats(&[0]), Tensor::scalar(0f32)]
}

/// A sparse matrix without elements, and a default.
fn sparse(dims: &[i64]) -> Vec<Tensor> {
    let indices = Tensor::zeros(DataType::Int64, Shape::new(&[0, 2]).unwrap()).unwrap();
    vec![indices, floats(&[0]), Tensor::vector(dims).unwrap(), Tensor::scalar(1f32)]
}
