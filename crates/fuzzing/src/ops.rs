//! Ops that parse strings.

use crate::files::folder;
use crate::graphs::registry;
use std::sync::OnceLock;
use thalweg_core::error::Code;
use thalweg_core::tensor::Tensor;
use thalweg_graph::Graph;
use thalweg_io::message::decode;
use thalweg_proto::{AttrValue, Example, attr_value, encode, text};
use thalweg_runtime::{Session, SessionOptions};

const INPUT: &str = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_STRING } } }";

/// A session whose node `y` parses the fed string.
fn session(nodes: &str) -> Option<Session> {
    let def = text::parse_graph_def(&format!("{INPUT}{nodes}")).ok()?;
    let graph = Graph::from_def(registry().clone(), &def).ok()?;
    Session::of(&graph, SessionOptions { threads: 1, ..Default::default() }).ok()
}

fn parse(held: &'static OnceLock<Session>, nodes: &str, bytes: &[u8]) {
    let session = held.get_or_init(|| session(nodes).expect("the graph of a fuzz target is good"));
    if let Err(e) = session.run(&[("x:0", Tensor::string(bytes))], &["y:0"], &[]) {
        assert_ne!(e.code(), Code::NotFound, "nothing was parsed: {e}");
    }
}

pub fn png(bytes: &[u8]) {
    static SESSION: OnceLock<Session> = OnceLock::new();
    parse(&SESSION, "node { name: 'y' op: 'DecodePng' input: 'x' }", bytes);
}

/// A CSV file with a float, an optional integer, and a string. The first byte selects quotes and a header.
pub fn csv(bytes: &[u8]) {
    static SESSION: OnceLock<Session> = OnceLock::new();
    let path = folder().join("records.csv");
    let Some((form, rest)) = bytes.split_first() else { return };
    let _ = std::fs::write(&path, rest);
    let session = SESSION.get_or_init(|| session(CSV).expect("the graph of a fuzz target is good"));
    let feeds = [
        ("x:0", Tensor::string(path.as_os_str().as_encoded_bytes())),
        ("quotes:0", Tensor::scalar(form & 1 == 0)),
        ("header:0", Tensor::scalar(form & 2 == 2)),
    ];
    session.run(&feeds, &[], &["make"]).expect("the dataset of a fuzz target is good");
    for _ in 0..100 {
        match session.run(&[], &["get:0", "get:1", "get:2"], &[]) {
            Err(e) if e.code() == Code::OutOfRange => return,
            // The next run skips an invalid record.
            _ => {}
        }
    }
}

const CSV: &str = "
    node { name: 'quotes' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } }
    node { name: 'header' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } }
    node { name: 'none' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
           attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape {} string_val: '' } } } }
    node { name: 'comma' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
           attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape {} string_val: ',' } } } }
    node { name: 'size' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } }
           attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 64 } } } }
    node { name: 'all' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } }
           attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 0 } } } } } }
    node { name: 'd0' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 0 } } } } } }
    node { name: 'd1' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } }
           attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 7 } } } }
    node { name: 'd2' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
           attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 0 } } } } } }
    node { name: 'csv' op: 'CSVDataset' input: 'x' input: 'none' input: 'size' input: 'header' input: 'comma' input: 'quotes' input: 'none'
           input: 'all' input: 'd0' input: 'd1' input: 'd2'
           attr { key: 'output_types' value { list { type: DT_FLOAT type: DT_INT64 type: DT_STRING } } }
           attr { key: 'output_shapes' value { list { shape {} shape {} shape {} } } } }
    node { name: 'it' op: 'IteratorV2' attr { key: 'shared_name' value { s: 'it' } } attr { key: 'container' value { s: '' } }
           attr { key: 'output_types' value { list { type: DT_FLOAT type: DT_INT64 type: DT_STRING } } }
           attr { key: 'output_shapes' value { list { shape {} shape {} shape {} } } } }
    node { name: 'make' op: 'MakeIterator' input: 'csv' input: 'it' }
    node { name: 'get' op: 'IteratorGetNext' input: 'it'
           attr { key: 'output_types' value { list { type: DT_FLOAT type: DT_INT64 type: DT_STRING } } }
           attr { key: 'output_shapes' value { list { shape {} shape {} shape {} } } } }";

/// An Example message: encoding it and decoding it again gives the same.
pub fn example(bytes: &[u8]) {
    if let Ok(Ok(read)) = decode::<Example>(bytes.to_vec()) {
        assert!(matches!(decode::<Example>(encode(&read)), Ok(Ok(again)) if encode(&again) == encode(&read)));
    }
}

/// A record for DecodeCSV: a float, an optional integer and a string.
pub fn csv_record(bytes: &[u8]) {
    static SESSION: OnceLock<Session> = OnceLock::new();
    parse(&SESSION, CSV_RECORD, bytes);
}

const CSV_RECORD: &str = "
    node { name: 'd0' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 0 } } } } } }
    node { name: 'd1' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } }
           attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 1 } } int64_val: 7 } } } }
    node { name: 'd2' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
           attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 0 } } } } } }
    node { name: 'y' op: 'DecodeCSV' input: 'x' input: 'd0' input: 'd1' input: 'd2'
           attr { key: 'OUT_TYPE' value { list { type: DT_FLOAT type: DT_INT64 type: DT_STRING } } } }";

/// An Example for ParseSingleExample: a dense, a padded and a sparse feature.
pub fn parse_example(bytes: &[u8]) {
    static SESSION: OnceLock<Session> = OnceLock::new();
    parse(&SESSION, PARSE_EXAMPLE, bytes);
}

const PARSE_EXAMPLE: &str = "
    node { name: 'd0' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 } } } }
    node { name: 'd1' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } }
           attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 1 } } int64_val: 7 } } } }
    node { name: 'y' op: 'ParseSingleExample' input: 'x' input: 'd0' input: 'd1'
           attr { key: 'num_sparse' value { i: 1 } }
           attr { key: 'sparse_keys' value { list { s: 'tags' } } }
           attr { key: 'dense_keys' value { list { s: 'x' s: 'counts' } } }
           attr { key: 'sparse_types' value { list { type: DT_STRING } } }
           attr { key: 'Tdense' value { list { type: DT_FLOAT type: DT_INT64 } } }
           attr { key: 'dense_shapes' value { list { shape { dim { size: 2 } } shape { dim { size: -1 } } } } } }";

/// An Example in JSON.
pub fn json_example(bytes: &[u8]) {
    static SESSION: OnceLock<Session> = OnceLock::new();
    parse(&SESSION, "node { name: 'y' op: 'DecodeJSONExample' input: 'x' }", bytes);
}

/// A serialized tensor.
pub fn parse_tensor(bytes: &[u8]) {
    static SESSION: OnceLock<Session> = OnceLock::new();
    parse(
        &SESSION,
        "node { name: 'y' op: 'ParseTensor' input: 'x' attr { key: 'out_type' value { type: DT_FLOAT } } }",
        bytes,
    );
}

/// A message for DecodeProtoV2: a TensorProto's strings, type, floats, integers and shape.
pub fn decode_proto(bytes: &[u8]) {
    static SESSION: OnceLock<Session> = OnceLock::new();
    parse(&SESSION, DECODE_PROTO, bytes);
}

const DECODE_PROTO: &str = "
    node { name: 'y' op: 'DecodeProtoV2' input: 'x'
           attr { key: 'message_type' value { s: 'tensorflow.TensorProto' } }
           attr { key: 'field_names' value { list { s: 'string_val' s: 'dtype' s: 'float_val' s: 'int64_val' s: 'tensor_shape' } } }
           attr { key: 'output_types' value { list { type: DT_STRING type: DT_INT32 type: DT_DOUBLE type: DT_INT64 type: DT_STRING } } } }";

/// Descriptors for DecodeProtoV2, of a message `p.M` with a field `f`.
pub fn proto_descriptors(bytes: &[u8]) {
    let mut source = b"bytes://".to_vec();
    source.extend_from_slice(bytes);
    let Ok(mut def) = text::parse_graph_def(&format!("{INPUT}{PROTO_DESCRIPTORS}")) else { return };
    let Some(node) = def.node.last_mut() else { return };
    let value = AttrValue { value: Some(attr_value::Value::S(source.into())) };
    node.attr.insert("descriptor_source".into(), value);
    let Ok(graph) = Graph::from_def(registry().clone(), &def) else { return };
    let Ok(session) = Session::of(&graph, SessionOptions { threads: 1, ..Default::default() }) else {
        return;
    };
    let _ = session.run(&[("x:0", Tensor::string(*b"\x08\x01"))], &["y:0"], &[]);
}

const PROTO_DESCRIPTORS: &str = "
    node { name: 'y' op: 'DecodeProtoV2' input: 'x'
           attr { key: 'message_type' value { s: 'p.M' } }
           attr { key: 'field_names' value { list { s: 'f' } } }
           attr { key: 'output_types' value { list { type: DT_INT32 } } } }";
