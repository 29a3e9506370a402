//! The text form against what TensorFlow wrote (`data/make_fixtures.py`), and against bad input.

use std::fs;

use prost::Name;
use prost::encoding::encode_varint;
use thalweg_proto::google::protobuf::Any;
use thalweg_proto::{
    AttrValue, Bytes, CheckpointState, ConfigProto, DataType, GraphDef, Message, MetaGraphDef, NodeDef,
    StructuredValue, TensorProto, VersionDef, attr_value, collection_def, decode, text,
};

/// TensorFlow's two forms of a message are the same message to us, and we write both as it did.
fn matches_tensorflow<M: Message + Name + Default + PartialEq>(name: &str) -> M {
    let path = |ext: &str| format!("{}/tests/data/{name}.{ext}", env!("CARGO_MANIFEST_DIR"));
    let printed = fs::read_to_string(path("pbtxt")).unwrap();

    let message: M = decode(fs::read(path("pb")).unwrap()).unwrap();
    let parsed: M = text::parse(&printed).unwrap();
    // Compared as bytes, because NaN does not equal itself.
    assert_eq!(parsed.encode_to_vec(), message.encode_to_vec());
    for (ours, theirs) in text::print(&message).lines().zip(printed.lines()) {
        assert_eq!(ours, theirs);
    }
    assert!(text::print(&message) == printed);
    message
}

#[test]
fn constants() {
    let graph: GraphDef = matches_tensorflow("constants");
    let value = |node: &str| graph.node.iter().find(|n| n.name == node).unwrap().attr["value"].value.clone();
    let Some(attr_value::Value::Tensor(tensor)) = value("f0") else { panic!("not a tensor") };
    assert!(tensor.float_val[0].is_nan());
    assert_eq!(tensor.dtype(), DataType::DtFloat);
}

#[test]
fn control_flow() {
    let graph: GraphDef = matches_tensorflow("control_flow");
    let ops: Vec<_> = graph.node.iter().map(|n| n.op.as_str()).collect();
    for op in ["Switch", "Merge", "NextIteration", "StatelessIf", "StatelessWhile"] {
        assert!(ops.contains(&op), "no {op} in {ops:?}");
    }
    assert!(!graph.library.unwrap().function.is_empty());
}

#[test]
fn meta_graph() {
    let meta: MetaGraphDef = matches_tensorflow("meta_graph");
    let any = meta.meta_info_def.unwrap().any_info.unwrap();
    assert_eq!(decode::<VersionDef>(any.value).unwrap().producer, 7);
    let Some(collection_def::Kind::AnyList(list)) = &meta.collection_def["anys"].kind else {
        panic!("no anys")
    };
    assert_eq!(list.value[0].value, Bytes::from_static(b"\x08\x01"));
}

#[test]
fn config() {
    let config: ConfigProto = matches_tensorflow("config");
    assert_eq!(config.device_count["GPU"], 0);
    assert_eq!(config.cluster_def.unwrap().job[0].tasks[&0], "host0:2222");
}

#[test]
fn all_spellings_of_values() {
    let text = r#"
        # A comment.
        dtype: 1, tensor_shape: < dim { size: -1 }; dim: { size: 0x10 name: "rows" 'and' } >
        float_val: [1, -2.5f, .5, 1e-3, -Inf, infinity, nan, - 7]
        double_val: [] double_val: 1E+2
        int_val: 010 int_val: - 1 int_val: -2147483648
        bool_val: [true, f, True, 0, 1, t]
        uint64_val: 18446744073709551615
        string_val: "\a\b\t\n\v\f\r\\\'\"\?\0\1017\x41\xfz\u00e9\U0001F30A" 'single "double"'
        string_val: ""
        resource_handle_val: [{ name: "a" }, < name: "b" >]
    "#;
    let tensor: TensorProto = text::parse(text).unwrap();
    assert_eq!(tensor.dtype(), DataType::DtFloat);
    let dims = tensor.tensor_shape.unwrap().dim;
    assert_eq!((dims[0].size, dims[1].size, dims[1].name.as_str()), (-1, 16, "rowsand"));
    let floats = [1.0, -2.5, 0.5, 1e-3, f32::NEG_INFINITY, f32::INFINITY];
    assert_eq!(tensor.float_val[..6], floats);
    assert!(tensor.float_val[6].is_nan() && tensor.float_val[7] == -7.0);
    assert_eq!(tensor.double_val, [100.0]);
    assert_eq!(tensor.int_val, [8, -1, i32::MIN]);
    assert_eq!(tensor.bool_val, [true, false, true, false, true, true]);
    assert_eq!(tensor.uint64_val, [u64::MAX]);
    let escapes = b"\x07\x08\t\n\x0b\x0c\r\\'\"?\0A7A\x0fz\xc3\xa9\xf0\x9f\x8c\x8asingle \"double\"";
    assert_eq!(tensor.string_val, [Bytes::from_static(escapes), Bytes::new()]);
    assert_eq!(tensor.resource_handle_val[1].name, "b");
}

#[test]
fn numbers_print_as_python_prints_them() {
    let floats = [1e-5, 1e-4, 0.1, 1.0, 123456.0, 9.9999e15, 1e16, 1e-45, -0.0, f32::MAX];
    let tensor = TensorProto { float_val: floats.into(), ..Default::default() };
    let want = [
        "1e-05",
        "0.0001",
        "0.1",
        "1.0",
        "123456.0",
        "9999900000000000.0",
        "1e+16",
        "1.4013e-45",
        "-0.0",
        "3.4028235e+38",
    ];
    let want: String = want.iter().map(|v| format!("float_val: {v}\n")).collect();
    assert_eq!(text::print(&tensor), want);

    let doubles = [711497021489890.25, 0.1, 1e23, 5e-324, -0.0, 1e15, 1e16, f64::NEG_INFINITY];
    let tensor = TensorProto { double_val: doubles.into(), ..Default::default() };
    let want = ["711497021489890.2", "0.1", "1e+23", "5e-324", "-0.0", "1000000000000000.0", "1e+16", "-inf"];
    let want: String = want.iter().map(|v| format!("double_val: {v}\n")).collect();
    assert_eq!(text::print(&tensor), want);
}

/// The error of parsing a graph, which must be one.
fn graph_error(text: &str) -> String {
    text::parse_graph_def(text).unwrap_err().to_string()
}

#[test]
fn errors_say_where() {
    assert_eq!(graph_error("node {\n  nme: 'x'\n}"), "2:3: tensorflow.NodeDef has no field `nme`");
    assert_eq!(graph_error("node {"), "1:7: expected the name of a field, found the end of the text");
    assert_eq!(graph_error("node { name 'x' }"), "1:13: expected `:`, found a string");
    assert_eq!(graph_error("node { name: 'é' op: 1 }"), "1:22: expected a string, found `1`");
    assert_eq!(graph_error("node { name: 'x\n' }"), "1:14: string without an end");
    assert_eq!(graph_error("node { name: 'x\\"), "1:14: string without an end");
    assert_eq!(graph_error(r"node { name: 'x\q' }"), "1:16: not a known escape");
    assert_eq!(graph_error(r"node { name: '\400' }"), "1:15: not a known escape");
    assert_eq!(graph_error(r"node { name: '\ud800' }"), "1:15: not a known escape");
    assert_eq!(graph_error(r"node { name: '\xff' }"), "1:14: `name` must be UTF-8");
    assert_eq!(graph_error("node { op: 'a' op: 'b' }"), "1:16: tensorflow.NodeDef takes only one `op`");
    assert_eq!(graph_error("node { } }"), "1:10: expected the name of a field, found `}`");
    assert_eq!(graph_error("node { >"), "1:8: expected the name of a field, found `>`");
    assert_eq!(graph_error("node: [{}, ]"), "1:12: expected `{`, found `]`");
    assert_eq!(graph_error("version: [1]"), "1:10: expected a 32-bit integer, found `[`");
    assert_eq!(graph_error("version: 2147483648"), "1:10: `2147483648` is not a 32-bit integer");
    assert_eq!(graph_error("version: 08"), "1:10: `08` is not a 32-bit integer");
    assert_eq!(graph_error("version: 1.5"), "1:10: `1.5` is not a 32-bit integer");
    assert_eq!(graph_error("[a.b]: 1"), "1:1: tensorflow.GraphDef has no extensions");
    assert_eq!(graph_error("é"), "1:1: expected the name of a field, found `é`");

    let attr = |text: &str| text::parse::<AttrValue>(text).unwrap_err().to_string();
    assert_eq!(attr("i: 1 f: 2"), "1:6: tensorflow.AttrValue takes only one of `i` and `f`");
    assert_eq!(attr("type: DT_FLAOT"), "1:7: tensorflow.DataType has no value `DT_FLAOT`");
    assert_eq!(attr("b: yes"), "1:4: expected `true` or `false`, found `yes`");
    assert_eq!(attr("f: 012"), "1:4: expected a number, found `012`");
}

#[test]
fn every_prefix_of_a_text_is_an_error_or_a_message() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/config.pbtxt");
    let printed = fs::read_to_string(path).unwrap() + "# é\n'\\";
    for (i, _) in printed.char_indices() {
        let _ = text::parse::<ConfigProto>(&printed[..i]);
        let _ = text::parse::<ConfigProto>(&printed[i..]);
    }
}

/// `n` messages inside one another, in text.
fn nested(n: usize) -> String {
    "list_value { values { ".repeat(n / 2) + &"} } ".repeat(n / 2)
}

#[test]
fn nesting_has_a_limit() {
    let deep: StructuredValue = text::parse(&nested(100)).unwrap();
    assert_eq!(text::parse::<StructuredValue>(&text::print(&deep)).unwrap(), deep);

    let error = text::parse::<StructuredValue>(&nested(102)).unwrap_err();
    assert_eq!((error.line, error.column), (1, 22 * 50 + 12));
    assert_eq!(error.message, "nested deeper than 100");
    text::parse::<StructuredValue>(&"list_value { values { ".repeat(1_000_000)).unwrap_err();
    text::parse::<StructuredValue>(&"list_value: < values: [ ".repeat(1_000_000)).unwrap_err();

    let mut wire = Vec::new();
    for field in [1, 51].repeat(2_000) {
        let inner = std::mem::take(&mut wire);
        encode_varint(field << 3 | 2, &mut wire);
        encode_varint(inner.len() as u64, &mut wire);
        wire.extend_from_slice(&inner);
    }
    decode::<StructuredValue>(wire).unwrap_err();
}

#[test]
fn any_holds_any_bytes() {
    let url = "type.googleapis.com/tensorflow.NodeDef";
    let any =
        |url: &str, value: &'static [u8]| Any { type_url: url.into(), value: Bytes::from_static(value) };

    let good = any(url, b"\x0a\x01a\x12\x01b");
    assert_eq!(text::print(&good), format!("[{url}] {{\n  name: \"a\"\n  op: \"b\"\n}}\n"));
    assert_eq!(text::parse::<Any>(&text::print(&good)).unwrap(), good);

    // The last value of a repeated singular field wins; unknown fields are skipped.
    let repeated = any(url, b"\x0a\x01a\x0a\x01b\xf8\x07\x01");
    assert_eq!(text::print(&repeated), format!("[{url}] {{\n  name: \"b\"\n}}\n"));

    let bad: [&[u8]; 5] =
        [b"\x0a", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0b", b"\x0a\x01\xff", b"\x80"];
    for bytes in bad {
        let any = any(url, bytes);
        assert!(text::print(&any).starts_with("type_url: "), "{bytes:?}");
        assert_eq!(text::parse::<Any>(&text::print(&any)).unwrap(), any);
    }
    let odd = any("a b]/tensorflow.NodeDef", b"\x0a\x01a");
    assert_eq!(text::parse::<Any>(&text::print(&odd)).unwrap(), odd);
    assert_eq!(
        text::parse::<Any>("[x/tensorflow.None] {}").unwrap_err().to_string(),
        "1:1: `x/tensorflow.None` is not the address of a known message type"
    );
}

#[test]
fn any_inside_any_does_not_overflow_the_stack() {
    let url = "/google.protobuf.Any";
    let mut any = Any::default();
    for _ in 0..5_000 {
        any = Any { type_url: url.into(), value: any.encode_to_vec().into() };
    }
    let printed = text::print(&any);
    assert_eq!(text::parse::<Any>(&printed).unwrap(), any);
}

#[test]
fn checkpoint_state() {
    let text = "model_checkpoint_path: \"model-2\"\nall_model_checkpoint_paths: \"model-1\"\n";
    let state: CheckpointState = text::parse(text).unwrap();
    assert_eq!(state.model_checkpoint_path, "model-2");
    assert_eq!(text::print(&state), text);
}

#[test]
fn decoding_shares_the_input() {
    let tensor = TensorProto { tensor_content: vec![7; 1000].into(), ..Default::default() };
    let wire = Bytes::from(tensor.encode_to_vec());
    let decoded: TensorProto = decode(wire.clone()).unwrap();
    assert!(wire.as_ptr_range().contains(&decoded.tensor_content.as_ptr()));
}

#[test]
fn maps_encode_in_order_of_keys() {
    let text = "attr { key: 'b' } attr { key: 'a' value { i: 1 } } attr { key: 'a' value { i: 2 } }";
    let node: NodeDef = text::parse(text).unwrap();
    assert_eq!(node.attr.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(node.attr["a"].value, Some(attr_value::Value::I(2)));
}

#[test]
fn encode_equals_prosts_own() {
    let graph =
        text::parse_graph_def("node { name: 'a' op: 'Const' attr { key: 'x' value { i: -1 } } }").unwrap();
    assert_eq!(thalweg_proto::encode(&graph), graph.encode_to_vec());
}
