//! Calls of ops that crashed other systems: each has the stated error or result, called directly and in a session, with
//! constants and with values of unknown shape. The letters and numbers are the rows of the crash corpus.

#[path = "../common/mod.rs"]
mod common;

use common::{Example, Inputs, options, registry, step};
use thalweg_core::attr::Attr;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Code::{self, *};
use thalweg_core::error::{Error, Result};
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_runtime::Session;

/// The allocation limit of these calls.
const LIMIT: usize = 1 << 30;

fn example(op: &str, inputs: Vec<Tensor>, attrs: Vec<(&'static str, Attr)>) -> Example {
    thalweg_core::buffer::set_limit(LIMIT);
    let op = registry().find(op).unwrap();
    Example { op, label: op.name.into(), inputs, attrs: attrs.into_iter().collect(), no_difference: vec![] }
}

/// Direct and session calls.
fn every_way(example: &Example) -> Vec<(String, Result<Vec<Tensor>>)> {
    let mut ways = vec![("direct".to_string(), example.call(&step(2)))];
    for how in [Inputs::Constants, Inputs::Unknown] {
        for optimise in [true, false] {
            ways.push((format!("{how:?}, optimise {optimise}"), in_session(example, how, optimise)));
        }
    }
    ways
}

fn in_session(example: &Example, how: Inputs, optimise: bool) -> Result<Vec<Tensor>> {
    let wired = example.wire(how)?;
    let s = Session::of(&wired.graph, options(optimise, 2))?;
    let (feeds, values) = match how {
        Inputs::Constants => (vec![], vec![]),
        _ => (wired.inputs.clone(), example.inputs.clone()),
    };
    let run = || s.callable(&feeds, &wired.outputs(), &[wired.node])?.run(values.clone());
    let (first, again) = (run(), run());
    // A failed step does not change the next one.
    assert_eq!(
        first.as_ref().map(Vec::len).map_err(Error::code),
        again.as_ref().map(Vec::len).map_err(Error::code)
    );
    first
}

fn check_refused(op: &str, inputs: Vec<Tensor>, attrs: Vec<(&'static str, Attr)>, codes: &[Code]) {
    let example = example(op, inputs, attrs);
    for (way, result) in every_way(&example) {
        let e = match result {
            Err(e) => e,
            Ok(r) => panic!("{op}, {way}: accepted: {r:?}"),
        };
        assert!(codes.contains(&e.code()), "{op}, {way}: {e}");
        assert!(e.node().is_some(), "{op}, {way}: no node is named: {e}");
    }
}

fn check_allowed(op: &str, inputs: Vec<Tensor>, attrs: Vec<(&'static str, Attr)>, want: Option<Tensor>) {
    let example = example(op, inputs, attrs);
    for (way, result) in every_way(&example) {
        let got = result.unwrap_or_else(|e| panic!("{op}, {way}: {e}"));
        if let Some(want) = &want {
            assert!(got[0].same_bits(want), "{op}, {way}: {:?}", got[0]);
        }
    }
}

/// Rows: `name: "Op", [inputs], attr = value => codes;`
macro_rules! refused {
    ($($name:ident: $op:literal, [$($input:expr),*] $(, $attr:ident = $value:expr)* => $($code:ident)|+;)*) => { $(
        #[test]
        fn $name() {
            check_refused($op, vec![$($input),*], vec![$((stringify!($attr), $value.into())),*], &[$($code),+]);
        }
    )* };
}

/// Rows: `name: "Op", [inputs], attr = value => first output;`
macro_rules! allowed {
    ($($name:ident: $op:literal, [$($input:expr),*] $(, $attr:ident = $value:expr)* => $want:expr;)*) => { $(
        #[test]
        fn $name() {
            check_allowed($op, vec![$($input),*], vec![$((stringify!($attr), $value.into())),*], $want);
        }
    )* };
}

mod absent;
mod files;
mod indexing;
mod parsing;
mod sizes;
mod state;
mod values;
mod windows;

/// Any float tensor of this shape.
fn f(dims: &[usize]) -> Tensor {
    Tensor::full(Shape::new(dims).unwrap(), 1f32).unwrap()
}

fn i(dims: &[usize], values: &[i32]) -> Tensor {
    Tensor::from_slice(Shape::new(dims).unwrap(), values).unwrap()
}

fn v(values: &[i32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn l(values: &[i64]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn n(value: i32) -> Tensor {
    Tensor::scalar(value)
}

fn x(value: f32) -> Tensor {
    Tensor::scalar(value)
}

fn s(text: &str) -> Tensor {
    Tensor::string(text)
}

fn ints(values: &[i64]) -> Attr {
    Attr::ints(values)
}

const BIG: i64 = 1 << 62;

/// Indices of a sparse tensor.
fn at(cols: usize, values: &[i64]) -> Tensor {
    Tensor::from_slice(Shape::new(&[values.len() / cols, cols]).unwrap(), values).unwrap()
}

fn i2(rows: &[[i64; 2]]) -> Tensor {
    Tensor::from_slice(Shape::new(&[rows.len(), 2]).unwrap(), rows.as_flattened()).unwrap()
}

/// A handle of a resource that does not exist.
fn forged(name: &str) -> Tensor {
    let handle = thalweg_core::resource::ResourceHandle {
        device: "/job:localhost/replica:0/task:0/device:CPU:0".into(),
        container: "localhost".into(),
        name: name.into(),
        hash_code: 0xdead_beef,
        type_name: "Var".into(),
        values: vec![],
        target: None,
    };
    Tensor::from_object(handle)
}

/// Strings of an empty shape.
fn nothing(dims: &[usize]) -> Tensor {
    Tensor::uninit(DataType::String, Shape::new(dims).unwrap()).unwrap()
}

fn no_handles() -> Tensor {
    Tensor::uninit(DataType::Resource, Shape::vector(0)).unwrap()
}
