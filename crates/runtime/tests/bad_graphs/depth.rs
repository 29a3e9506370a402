//! Deep graphs: calls, chains, scopes, attrs, and nested shapes.

use crate::*;

#[test]
fn f15_functions_that_call_themselves() {
    invalid(&library(&[calls("f", "f")], "f"), &["'f' calls itself"]);
    invalid(&library(&[calls("f", "g"), calls("g", "f")], "f"), &["calls itself", "f -> g"]);
    let through_attr = function(
        "f",
        "node_def { name: 'c' op: 'PartitionedCall' input: 'x'
           attr { key: 'Tin' value { list { type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } }
           attr { key: 'f' value { func { name: 'f' } } } }",
        "ret { key: 'y' value: 'c:output:0' }",
    );
    invalid(&library(&[through_attr], "f"), &["'f' calls itself"]);
    let ring: Vec<String> =
        (0..2000).map(|i| calls(&format!("f{i}"), &format!("f{}", (i + 1) % 2000))).collect();
    invalid(&library(&ring, "f0"), &["calls itself"]);
}

#[test]
fn f15_calls_nested_deep_or_wide() {
    let neg = "node_def { name: 'c' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }";
    let last = function("f0", neg, "ret { key: 'y' value: 'c:y:0' }");
    // Deep: each function calls the next.
    let mut deep = vec![last.clone()];
    deep.extend((1..500).map(|i| calls(&format!("f{i}"), &format!("f{}", i - 1))));
    let s = session(true);
    s.extend_with(|g| g.import(&parse(&library(&deep, "f499")))).unwrap();
    assert_eq!(s.run(&[], &["bad:0"], &[]).unwrap()[0].to_scalar::<f32>().unwrap(), -1.0);
    // Wide: each function calls the next twice; inlined there would be 2^40 nodes.
    let twice = |i: usize| {
        let call =
            |n: usize, input: &str| format!("node_def {{ name: 'c{n}' op: 'f{}' input: '{input}' }}", i - 1);
        function(&format!("f{i}"), &(call(1, "x") + &call(2, "c1:y:0")), "ret { key: 'y' value: 'c2:y:0' }")
    };
    let mut wide = vec![last];
    wide.extend((1..=40).map(twice));
    refused(&library(&wide, "f40"), Code::ResourceExhausted, &[]);
}

/// A chain of Identity nodes, last node first if `backwards`.
fn chain(length: usize, backwards: bool) -> GraphDef {
    let attrs = parse(&identity_of("a")).node[1].attr.clone();
    assert!(attrs_from_proto(&attrs).is_ok());
    let mut def = parse(&constant("n0", "DT_FLOAT", "dtype: DT_FLOAT float_val: 7"));
    def.node.extend((1..=length).map(|i| NodeDef {
        name: format!("n{i}"),
        op: "Identity".into(),
        input: vec![format!("n{}", i - 1)],
        attr: attrs.clone(),
        ..Default::default()
    }));
    if backwards {
        def.node.reverse();
    }
    def
}

fn runs_chain(length: usize, backwards: bool, optimise: bool, fetched: usize) {
    let s = session(optimise);
    s.extend_with(|g| g.import(&chain(length, backwards))).unwrap();
    let name = format!("n{fetched}:0");
    assert_eq!(s.run(&[], &[&name], &[]).unwrap()[0].to_scalar::<f32>().unwrap(), 7.0);
    still_good(&s);
}

#[test]
fn f17_chain_of_40_000_nodes() {
    for optimise in [true, false] {
        runs_chain(40_000, false, optimise, 40_000);
        runs_chain(40_000, true, optimise, 40_000);
    }
}

#[test]
fn f17_chain_of_a_million_nodes() {
    runs_chain(1_000_000, false, false, 1_000_000);
}

#[test]
fn f17_names_a_thousand_scopes_deep() {
    let name = "scope/".repeat(1000) + "bad";
    let t = dtype("T", "DT_FLOAT");
    let graph = with_a(&format!("op: 'Neg' input: '{name}' {t}"))
        + &format!("node {{ name: '{name}' op: 'Neg' input: 'a' {t} }}");
    let s = session(true);
    s.extend_with(|g| g.import(&parse(&graph))).unwrap();
    assert_eq!(s.run(&[], &["bad:0"], &[]).unwrap()[0].to_scalar::<f32>().unwrap(), 1.0);
}

/// A length-delimited field around bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    thalweg_io::varint::put(&mut out, bytes.len() as u64);
    [out, bytes.to_vec()].concat()
}

/// An encoded graph whose node has a function attr nested that deep.
fn nested(depth: usize) -> Vec<u8> {
    let mut attr: Vec<u8> = vec![3 << 3, 1];
    for _ in 0..depth {
        let entry = [field(1, b"f"), field(2, &attr)].concat();
        attr = field(10, &[field(1, b"good"), field(2, &entry)].concat());
    }
    let entry = [field(1, b"deep"), field(2, &attr)].concat();
    field(1, &[field(1, b"bad"), field(2, b"NoOp"), field(5, &entry)].concat())
}

#[test]
fn f20_attrs_nested_thousands_deep() {
    assert!(decode::<GraphDef>(nested(3)).is_ok());
    for depth in [100, 5000] {
        assert!(decode::<GraphDef>(nested(depth)).is_err());
    }
    // Built in memory, beyond the decoder's limit.
    let mut def = decode::<GraphDef>(nested(1)).unwrap();
    let deep = |def: &mut GraphDef| def.node[0].attr.get_mut("deep").cloned().unwrap();
    for _ in 0..80 {
        let inner = deep(&mut def);
        let mut outer = inner.clone();
        if let Some(thalweg_proto::attr_value::Value::Func(f)) = &mut outer.value {
            f.attr.insert("f".into(), inner);
        }
        def.node[0].attr.insert("deep".into(), outer);
    }
    refused_def(&def, Code::InvalidArgument, &["bad", "nested"]);
    let text = "node { attr { value { func { ".to_string() + &"attr { value { func { ".repeat(50_000);
    assert!(text::parse_graph_def(&text).is_err());
    let list =
        "node { attr { value { list { func { ".to_string() + &"attr { value { list { func { ".repeat(5000);
    assert!(text::parse_graph_def(&list).is_err());
}

/// Each level concatenates the one below a hundred times: visited one by one, 100^8.
#[test]
fn f21_sizes_made_of_sizes_a_hundredfold() {
    let int = dtype("T", "DT_INT32");
    let number = |n: i64| format!("attr {{ key: 'N' value {{ i: {n} }} }}");
    let mut graph = constant("axis", "DT_INT32", "dtype: DT_INT32 int_val: 0")
        + &format!(
            "node {{ name: 'p' op: 'Placeholder' {} attr {{ key: 'shape' value {{ shape {{ dim {{ size: -1 }} }} }} }} }}
             node {{ name: 's0' op: 'Shape' input: 'p' {} }}",
            dtype("dtype", "DT_FLOAT"),
            dtype("T", "DT_FLOAT")
        );
    for level in 1..=8 {
        let below = format!("input: 's{}' ", level - 1).repeat(100);
        graph += &format!(
            "node {{ name: 's{level}' op: 'ConcatV2' {below} input: 'axis' {} {int} }}",
            number(100)
        );
    }
    let t = dtype("T", "DT_FLOAT");
    graph += &with_a(&format!("op: 'Reshape' input: 'a' input: 's8' {t}"));
    let s = session(true);
    s.extend_with(|g| g.import(&parse(&graph))).unwrap();
    s.with_graph(|g| assert!(g.shape(g.output("bad").unwrap()).rank().is_none()));
    still_good(&s);
}
