//! Messages, binary and text, decoded with growing budgets: an error if it is too small, success if not.

use crate::child;
use crate::common::assert_none;
use crate::failing::{BOOKS, failures, fill_caches, within};
use thalweg_core::error::{Code, Result};
use thalweg_io::message::{decode, parse_text};
use thalweg_io::varint;
use thalweg_proto::{
    Bytes, CreateSessionRequest, Event, Example, GraphDef, Message, MetaGraphDef, Name, RegisterGraphRequest,
    RunGraphRequest, RunStepRequest, RunStepResponse, SavedModel, ServerDef, Summary, TensorProto,
};

/// Decodes a message; whether valid.
type Read = Box<dyn Fn() -> Result<bool>>;

#[test]
fn no_message_ends_the_process_when_there_is_little_memory() {
    let all = messages();
    let Some(from) = child::from() else {
        let test = "messages::no_message_ends_the_process_when_there_is_little_memory";
        return assert_none("readings did not survive", child::run(test, all.len(), None));
    };
    fill_caches();
    let mut attempts = 0;
    for (piece, (name, read)) in all.iter().enumerate().skip(from) {
        let mut budget = 10_000;
        loop {
            child::at(piece, &format!("{name}, {budget} bytes"));
            attempts += 1;
            match within(budget, BOOKS, read) {
                Ok(true) => break,
                Ok(false) => child::failed(piece, &format!("{name}: not read")),
                Err(e) if e.code() == Code::ResourceExhausted => {}
                Err(e) => child::failed(piece, &format!("{name}, {budget} bytes: {e}")),
            }
            budget += budget / 16;
            if budget > 1 << 32 {
                child::failed(piece, &format!("{name}: {budget} bytes are not enough"));
                break;
            }
        }
    }
    println!("messages: {} of them, {attempts} attempts, {} refusals", all.len(), failures());
}

fn messages() -> Vec<(String, Read)> {
    let node = field(1, &[field(1, b"a node's name"), field(5, &[]), field(3, b"input")].concat());
    let nodes = node.repeat(3000);
    let tensor = [field(1, b"x:0"), field(2, &field(8, b"string").repeat(100))].concat();
    let feature =
        |i: usize| field(1, &[field(1, format!("{i}").as_bytes()), field(2, &field(1, &[]))].concat());
    let features: Vec<u8> = (0..5000).flat_map(feature).collect();
    let text =
        "node { name: 'name' op: 'NoOp' attr { key: 'T' value { type: DT_FLOAT } } input: ['a', 'b'] }\n";
    let numbers = format!("tensor_shape {{ }} float_val: [{}1]", "1,".repeat(30_000));
    vec![
        binary::<GraphDef>(nodes.clone()),
        binary::<GraphDef>(field(1, &[]).repeat(20_000)),
        binary::<GraphDef>(field(1, &field(1, &[b'n'; 300_000]))),
        binary::<MetaGraphDef>(field(2, &nodes)),
        binary::<SavedModel>(field(2, &field(2, &nodes))),
        binary::<Event>(field(5, &field(1, &field(1, b"tag")).repeat(9000))),
        binary::<Summary>(field(1, &field(1, b"tag")).repeat(9000)),
        binary::<Example>(field(1, &features)),
        binary::<RunStepRequest>(field(2, &tensor).repeat(200)),
        binary::<RunStepRequest>(field(4, b"target").repeat(9000)),
        binary::<RunStepResponse>(field(1, &tensor).repeat(200)),
        binary::<RunGraphRequest>(field(3, &tensor).repeat(200)),
        binary::<CreateSessionRequest>(field(1, &nodes)),
        binary::<RegisterGraphRequest>(field(2, &nodes)),
        binary::<ServerDef>(field(1, &field(1, &field(1, b"worker")).repeat(9000))),
        binary::<TensorProto>(field(7, &vec![1; 100_000])),
        binary::<TensorProto>(field(5, &vec![1; 100_000])),
        in_text::<GraphDef>(text.repeat(1000)),
        in_text::<GraphDef>(format!("node {{ name: '{}' }}", "n".repeat(100_000))),
        in_text::<TensorProto>(numbers),
        in_text::<MetaGraphDef>(format!("graph_def {{ {} }}", text.repeat(1000))),
    ]
}

fn binary<M: Message + Name + Default>(bytes: Vec<u8>) -> (String, Read) {
    let bytes = Bytes::from(bytes);
    (M::full_name(), Box::new(move || decode::<M>(bytes.clone()).map(|m| m.is_ok())))
}

fn in_text<M: Message + Name + Default>(text: String) -> (String, Read) {
    (format!("{} in text", M::full_name()), Box::new(move || parse_text::<M>(&text).map(|m| m.is_ok())))
}

/// A length-delimited field.
fn field(number: u64, inner: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::put(&mut bytes, number << 3 | 2);
    varint::put(&mut bytes, inner.len() as u64);
    [bytes, inner.to_vec()].concat()
}
