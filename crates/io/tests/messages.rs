//! Messages whose decoded size is many times their encoding, above the memory limit: rejected, where prost would abort the process.

use std::sync::{Mutex, MutexGuard, PoisonError};
use thalweg_core::error::{Code, Result};
use thalweg_core::memory::{self, Counting, Limits};
use thalweg_io::message::decode;
use thalweg_io::varint;
use thalweg_proto::{
    Bytes, CreateSessionRequest, Event, Example, GraphDef, Message, MetaGraphDef, Name, NodeDef,
    RegisterGraphRequest, RunStepRequest, SavedModel, ServerDef, TensorProto,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: usize = 1 << 20;

/// The limits are global: one test at a time. What `inputs` allocates is not part of the limit. From the ceiling on, the allocator
/// itself fails.
fn alone_within<T>(limit: usize, inputs: impl FnOnce() -> T) -> (T, MutexGuard<'static, ()>) {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    memory::start(Some(64 << 30));
    let inputs = inputs();
    let limit = memory::live() + limit;
    memory::set_limits(Limits { limit, ceiling: limit + MIB });
    (inputs, guard)
}

/// A length-delimited field: `number`, length, payload.
fn field(number: u64, inner: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::put(&mut bytes, number << 3 | 2);
    varint::put(&mut bytes, inner.len() as u64);
    [bytes, inner.to_vec()].concat()
}

/// Repeats it to a megabyte.
fn much(part: Vec<u8>) -> Vec<u8> {
    part.repeat(MIB / part.len())
}

/// A message, and how it is decoded.
type Reading = (Bytes, fn(&Bytes));

fn refused<M: Message + Name + Default>(bytes: Vec<u8>) -> Reading {
    let read = |bytes: &Bytes| {
        let before = memory::live();
        let e = decode::<M>(bytes.clone()).map(drop).expect_err(&M::full_name());
        assert_eq!(e.code(), Code::ResourceExhausted, "{}: {e}", M::full_name());
        assert!(e.message().starts_with("reading a message: "), "{e}");
        assert!(memory::live() < before + MIB, "{} was decoded before it was refused", M::full_name());
    };
    (bytes.into(), read)
}

/// Two to eight bytes each when encoded, hundreds when decoded.
fn many_tiny_parts() -> Vec<Reading> {
    let node = field(1, &field(5, &[]));
    vec![
        refused::<GraphDef>(much(node.clone())),
        refused::<MetaGraphDef>(field(2, &much(node.clone()))),
        refused::<MetaGraphDef>(much(field(5, &[]))),
        refused::<SavedModel>(field(2, &field(2, &much(node.clone())))),
        refused::<CreateSessionRequest>(field(1, &much(node.clone()))),
        refused::<RegisterGraphRequest>(field(2, &much(node))),
        refused::<Event>(field(5, &much(field(1, &[])))),
        refused::<Example>(field(1, &many_keys())),
        refused::<RunStepRequest>(much(field(2, &field(4, &[])))),
        refused::<RunStepRequest>(much(field(4, &[])).repeat(2)),
        refused::<ServerDef>(field(1, &much(field(1, &field(2, &[]))))),
        refused::<TensorProto>(field(7, &vec![0; 4 * MIB])),
        refused::<TensorProto>(much(field(8, &[]))),
    ]
}

#[test]
fn messages_of_many_tiny_parts_are_refused() {
    let (readings, _alone) = alone_within(16 * MIB, many_tiny_parts);
    readings.iter().for_each(|(bytes, read)| read(bytes));
}

/// A map with unique keys.
fn many_keys() -> Vec<u8> {
    (0..300_000).flat_map(|i| field(1, &field(1, format!("{i:x}").as_bytes()))).collect()
}

/// A name is copied.
#[test]
fn a_name_larger_than_memory_is_refused() {
    let long = || refused::<GraphDef>(field(1, &field(1, &vec![b'a'; 32 * MIB])));
    let ((bytes, read), _alone) = alone_within(16 * MIB, long);
    read(&bytes);
}

#[test]
fn messages_that_fit_are_read() {
    // The content of a tensor is not copied.
    let tensor = || TensorProto { tensor_content: vec![1; 20 * MIB].into(), ..Default::default() };
    let (tensor, _alone) = alone_within(16 * MIB, || Bytes::from(tensor().encode_to_vec()));
    assert_eq!(decode::<TensorProto>(tensor).unwrap().unwrap().tensor_content.len(), 20 * MIB);
    let node = NodeDef { name: "a name".into(), op: "NoOp".into(), ..Default::default() };
    let graph = GraphDef { node: vec![node; 1000], ..Default::default() };
    assert_eq!(decode::<GraphDef>(graph.encode_to_vec()).unwrap().unwrap(), graph);
    assert!(decode::<GraphDef>(vec![0xff; 9]).unwrap().is_err());
}

/// Each of them fits in memory, but not all.
#[test]
fn messages_read_at_the_same_time_do_not_count_on_the_same_room() {
    let (bytes, _alone) = alone_within(40 * MIB, || Bytes::from(field(1, &field(5, &[])).repeat(5000)));
    let read = || -> Result<usize> {
        let graph = decode::<GraphDef>(bytes.clone())?.unwrap();
        Ok(graph.node.len())
    };
    assert_eq!(read().unwrap(), 5000);
    let threads = 8;
    let done: Vec<_> = std::thread::scope(|s| {
        let each = || (0..20).map(|_| read()).collect::<Vec<_>>();
        let all: Vec<_> = (0..threads).map(|_| s.spawn(each)).collect();
        all.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    for result in done {
        assert!(result.as_ref().map_or_else(|e| e.code() == Code::ResourceExhausted, |n| *n == 5000));
    }
}
