//! Shared by the gradient tests.

#![allow(dead_code, reason = "no test file uses all of it")]

use thalweg::prelude::*;
use thalweg::train::gradient_checker::{Options, compute_gradient};

/// The gradients of `y` with respect to the fed values, against finite differences, optimised and not.
pub fn check(g: &Scope, y: &Output, xs: &[(&Output, Vec<f64>)]) {
    let value = |v: &[f64]| match v {
        [one] => Tensor::scalar(*one),
        many => Tensor::vector(many).unwrap(),
    };
    let fed: Vec<(&Output, Tensor)> = xs.iter().map(|(x, v)| (*x, value(v))).collect();
    let init = g.init();
    for optimise in [true, false] {
        let s = Session::with_options(g, SessionOptions { optimise, ..Default::default() }).unwrap();
        for (i, (x, at)) in fed.iter().enumerate() {
            let others: Vec<_> = fed.iter().filter(|(o, _)| o.name() != x.name()).cloned().collect();
            let options = Options { delta: 1e-5, feeds: &others, init: Some(&init) };
            let found = compute_gradient(g, &s, x, at, y, &options).unwrap();
            for (graph, differences) in found.theoretical.iter().zip(&found.numeric) {
                assert!(
                    (graph - differences).abs() < 1e-5 * differences.abs().max(1.0),
                    "x {i}: {graph} by the graph, {differences} by differences (optimise {optimise}): {found:?}"
                );
            }
        }
    }
}

pub fn scalar(g: &Scope) -> Output {
    g.placeholder(DataType::Double, &[])
}

pub fn vector(g: &Scope, n: i64) -> Output {
    g.placeholder(DataType::Double, &[n])
}

/// `while i < n: values = step(values)`.
pub fn repeat<R: Into<Vec<Output>>>(
    g: &Scope,
    times: i32,
    values: &[&Output],
    step: impl FnOnce(&Scope, &[Output]) -> R,
) -> Vec<Output> {
    let zero = g.constant(0);
    let mut all = vec![&zero];
    all.extend(values);
    let left = g.while_loop(
        &all,
        10,
        |l, v| l.op("Less").input(&v[0]).input(l.constant(times)).output(),
        |l, v| {
            let mut next = vec![&v[0] + &l.constant(1)];
            next.extend(step(l, &v[1..]).into());
            next
        },
    );
    left[1..].to_vec()
}
