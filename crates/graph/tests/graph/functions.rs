//! The function library: validation, and instantiated bodies.

use crate::{parsed, read};
use std::sync::Arc;
use thalweg_core::attr::{Attrs, Func};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_graph::Graph;

/// A function of one argument `x` and one result `y`, of type `T`.
fn function(name: &str, nodes: &str, result: &str) -> String {
    format!(
        "function {{
            signature {{
                name: '{name}'
                input_arg {{ name: 'x' type_attr: 'T' }}
                output_arg {{ name: 'y' type_attr: 'T' }}
                attr {{ name: 'T' type: 'type' }}
            }}
            {nodes}
            ret {{ key: 'y' value: '{result}' }}
        }}"
    )
}

fn node(name: &str, op: &str, input: &str) -> String {
    format!(
        "node_def {{ name: '{name}' op: '{op}' input: '{input}' attr {{ key: 'T' value {{ placeholder: 'T' }} }} }}"
    )
}

fn library(functions: &[String]) -> Result<Graph> {
    read(&parsed(&format!("library {{ {} }}", functions.concat())))
}

fn instantiated(g: &Graph, name: &str, attrs: Attrs) -> Result<thalweg_graph::function::Body> {
    g.library.instantiate(&Arc::new(thalweg_ops::registry()), &Func { name: name.into(), attrs })
}

fn of_double() -> Attrs {
    let mut attrs = Attrs::new();
    attrs.set("T", DataType::Double);
    attrs
}

#[test]
fn a_body_has_the_types_that_its_caller_gives() {
    let g = library(&[function("F", &node("n", "Neg", "x"), "n:y:0")]).unwrap();
    let body = instantiated(&g, "F", of_double()).unwrap();
    let [y] = body.results[..] else { panic!("{:?}", body.results) };
    assert_eq!((body.args.len(), body.graph.dtype(y)), (1, DataType::Double));
    assert_eq!(body.graph.tensor_name(y), "n:0");
    let e = instantiated(&g, "F", Attrs::new()).err().unwrap();
    assert!(e.message().contains("needs attr 'T'") && e.message().contains("'F'"), "{e}");
    let e = instantiated(&g, "G", of_double()).err().unwrap();
    assert!(e.message().contains("no function 'G'"), "{e}");
}

#[test]
fn names_that_a_body_does_not_have_are_refused() {
    let instantiate = |nodes: &str, result: &str| {
        let g = library(&[function("F", nodes, result)]).unwrap();
        instantiated(&g, "F", of_double()).err().map(|e| e.to_string())
    };
    assert_eq!(instantiate(&node("n", "Neg", "x"), "n:y"), None);
    for (input, result) in [("z", "n:y:0"), ("x", "n:z:0"), ("x", "n:y:1"), ("x:1", "n:y:0")] {
        assert!(instantiate(&node("n", "Neg", input), result).is_some(), "{input} {result}");
    }
}

#[test]
fn control_inputs_may_name_arguments() {
    let nodes = node("n", "Neg", "x").replace("input: 'x'", "input: 'x' input: '^x'");
    let g = library(&[function("F", &nodes, "n:y:0")]).unwrap();
    let body = instantiated(&g, "F", of_double()).unwrap();
    let neg = body.graph.node(body.graph.get("n").unwrap());
    assert_eq!(neg.control[..], body.args[..]);
}

#[test]
fn functions_that_call_themselves_are_refused() {
    let calls = |name: &str, callee: &str| function(name, &node("n", callee, "x"), "n:y:0");
    let e = library(&[calls("F", "G"), calls("G", "H"), calls("H", "G")]).err().unwrap();
    assert!(e.message().contains("G -> H -> G") || e.message().contains("H -> G -> H"), "{e}");
    let twice = function("F", &[node("n", "G", "x"), node("m", "G", "n:y:0")].concat(), "m:y:0");
    assert!(library(&[twice, function("G", "", "x")]).is_ok(), "two calls of one function are fine");
}

#[test]
fn a_name_stands_for_one_function() {
    let f = function("F", &node("n", "Neg", "x"), "n:y:0");
    let g = library(std::slice::from_ref(&f)).unwrap();
    assert!(g.clone().import(&parsed(&format!("library {{ {f} }}"))).is_ok(), "the same again is fine");
    let other = function("F", "", "x");
    let e = g.clone().import(&parsed(&format!("library {{ {other} }}"))).unwrap_err();
    assert!(e.message().contains("two different functions named 'F'"), "{e}");
    let unbound = f.replace("key: 'y'", "key: 'z'");
    assert!(library(&[unbound]).err().unwrap().message().contains("bound to nothing"));
}

/// A node whose op is a function's name is a call; attrs name functions of the library.
#[test]
fn calls_name_functions_of_the_library() {
    let f = function("F", &node("n", "Neg", "x"), "n:y:0");
    let x = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }";
    let call = "node { name: 'c' op: 'F' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }";
    let g = read(&parsed(&format!("library {{ {f} }} {x} {call}"))).unwrap();
    let c = g.get("c").unwrap();
    assert_eq!((g.node(c).op.name, g.dtype(c.output(0))), ("PartitionedCall", DataType::Float));
    let unknown = "node { name: 'c' op: 'PartitionedCall' attr { key: 'f' value { func { name: 'G' } } }
        attr { key: 'Tin' value { list { } } } attr { key: 'Tout' value { list { } } } }";
    let e = read(&parsed(unknown)).err().unwrap();
    assert!(e.message().contains("'G', which is not in the library"), "{e}");
}

/// A function whose only node is the gradient of another.
fn gradient(name: &str, of: &str) -> String {
    let types = |n: &str, t: &str| format!("attr {{ key: '{n}' value {{ list {{ {t} }} }} }}");
    let t = "type: DT_FLOAT";
    format!(
        "function {{
            signature {{ name: '{name}' input_arg {{ name: 'x' type: DT_FLOAT }} output_arg {{ name: 'y' type: DT_FLOAT }} }}
            node_def {{ name: 'g' op: 'SymbolicGradient' input: 'x' input: 'x' {} {}
                attr {{ key: 'f' value {{ func {{ name: '{of}' attr {{ key: 'T' value {{ type: DT_FLOAT }} }} }} }} }} }}
            ret {{ key: 'y' value: 'g:output:0' }}
        }}",
        types("Tin", "type: DT_FLOAT type: DT_FLOAT"),
        types("Tout", t)
    )
}

/// Each is the gradient of the one before: making it goes as deep.
#[test]
fn gradients_of_gradients_have_a_limit() {
    let mut functions = vec![function("F0", &node("n", "Sin", "x"), "n:y:0")];
    functions.extend((1..40).map(|i| gradient(&format!("F{i}"), &format!("F{}", i - 1))));
    let g = library(&functions).unwrap();
    let gradient_of = |f: &str| {
        let mut attrs = Attrs::new();
        attrs.set("f", Func { name: f.into(), attrs: [("T", DataType::Float)].into_iter().collect() });
        attrs.set("Tout", thalweg_core::attr::Attr::types(&[DataType::Float]));
        instantiated(&g, "SymbolicGradient", attrs)
    };
    let body = gradient_of("F2").unwrap();
    assert_eq!((body.args.len(), body.results.len()), (2, 1));
    let e = gradient_of("F39").err().unwrap();
    assert!(e.message().contains("nested deeper"), "{e}");
}
