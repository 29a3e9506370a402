//! What the tests of gradients share.

#![allow(dead_code, reason = "no test file uses all of it")]

use thalweg::prelude::*;

/// The derivatives of `y` with respect to the fed values, by the graph and by differences.
pub fn check(g: &Scope, y: &Output, xs: &[(&Output, Vec<f64>)]) {
    let inputs: Vec<&Output> = xs.iter().map(|x| x.0).collect();
    let grads: Vec<Output> =
        g.gradients(&[y], &inputs).iter().map(|d| d.dense(g).expect("there is a gradient")).collect();
    for optimise in [true, false] {
        let s = Session::with_options(g, SessionOptions { optimise, ..Default::default() }).unwrap();
        s.run(&g.init(), &[]).unwrap();
        let run = |values: &[Vec<f64>], what: &[&Output]| {
            let feeds: Vec<_> = inputs
                .iter()
                .zip(values)
                .map(|(x, v)| match v.as_slice() {
                    [one] => feed(x, *one),
                    many => feed(x, Tensor::vector(many).unwrap()),
                })
                .collect();
            let results = s.run(&what.iter().map(|o| (*o).clone()).collect::<Vec<_>>(), &feeds).unwrap();
            results.iter().map(|t| t.as_slice::<f64>().unwrap().to_vec()).collect::<Vec<_>>()
        };
        let at: Vec<Vec<f64>> = xs.iter().map(|x| x.1.clone()).collect();
        let found = run(&at, &grads.iter().collect::<Vec<_>>());
        let sum = |values: &[Vec<f64>]| run(values, &[y])[0].iter().sum::<f64>();
        for (i, x) in at.iter().enumerate() {
            assert_eq!(found[i].len(), x.len());
            for j in 0..x.len() {
                let (mut up, mut down) = (at.clone(), at.clone());
                up[i][j] += 1e-5;
                down[i][j] -= 1e-5;
                let expected = (sum(&up) - sum(&down)) / 2e-5;
                let difference = (found[i][j] - expected).abs();
                assert!(
                    difference < 1e-5 * expected.abs().max(1.0),
                    "x[{i}][{j}]: {} by the graph, {expected} by differences (optimise {optimise})",
                    found[i][j]
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
pub fn repeat(
    g: &Scope,
    times: i32,
    values: &[&Output],
    step: impl FnOnce(&Scope, &[Output]) -> Vec<Output>,
) -> Vec<Output> {
    let zero = g.constant(0);
    let mut all = vec![&zero];
    all.extend(values);
    let left = g.while_loop(
        &all,
        10,
        |l, v| l.op("Less").input(&v[0]).input(&l.constant(times)).output(),
        |l, v| {
            let mut next = vec![&v[0] + &l.constant(1)];
            next.extend(step(l, &v[1..]));
            next
        },
    );
    left[1..].to_vec()
}
