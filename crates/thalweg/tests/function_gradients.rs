//! Gradients through function calls and functional control flow, against finite differences.

mod common;

use common::{check, repeat, scalar, vector};
use thalweg::prelude::*;
use thalweg::{PartialShape, TracedFunction};

/// A node that calls `f` on these arguments and its captured values.
fn call(g: &Scope, op: &str, f: &TracedFunction, args: &[&Output]) -> Vec<Output> {
    let mut all = args.to_vec();
    all.extend(&f.captured);
    let results: Vec<DataType> = f.results.iter().map(|r| r.0).collect();
    g.op(op).inputs(&all).attr("Tout", Attr::types(&results)).attr("f", f.func.clone()).outputs().into()
}

fn double() -> (DataType, PartialShape) {
    (DataType::Double, PartialShape::unknown())
}

#[test]
fn a_call_has_the_gradient_of_its_body() {
    let g = Scope::new();
    let (x, w) = (vector(&g, 2), vector(&g, 2));
    let f = g
        .function("f", &[double()], |g, v| vec![g.op("Sin").input(&(&v[0] * &w)).output(), &v[0] * &v[0]])
        .unwrap();
    let y = call(&g, "PartitionedCall", &f, &[&x]);
    check(&g, &(&y[0] * &y[1]), &[(&x, vec![0.4, -1.1]), (&w, vec![0.9, 1.2])]);
}

#[test]
fn calls_within_calls_and_second_derivatives() {
    let g = Scope::new();
    let x = vector(&g, 2);
    let f = g
        .function("outer", &[double()], |g, v| {
            let cube = g.function("cube", &[double()], |_, v| vec![&(&v[0] * &v[0]) * &v[0]]).unwrap();
            let inner = call(g, "PartitionedCall", &cube, &[&v[0]]);
            vec![g.op("Exp").input(&inner[0]).output()]
        })
        .unwrap();
    let y = call(&g, "StatefulPartitionedCall", &f, &[&x]);
    let first = g.gradients(&[&y[0]], &[&x])[0].dense(&g).unwrap();
    check(&g, &y[0], &[(&x, vec![0.4, -0.6])]);
    check(&g, &first, &[(&x, vec![0.4, -0.6])]);
}

#[test]
fn a_random_number_of_a_call_is_the_same_on_the_way_back() {
    let g = Scope::new();
    let x = scalar(&g);
    let f = g
        .function("noisy", &[double()], |g, v| {
            let shape = g.constant(Tensor::vector::<i32>(&[]).unwrap());
            let noise = g.op("RandomUniform").input(&shape).attr("dtype", DataType::Double).output();
            vec![&v[0] * &noise]
        })
        .unwrap();
    let y = call(&g, "StatefulPartitionedCall", &f, &[&x]);
    let d = g.gradients(&[&y[0]], &[&x])[0].dense(&g).unwrap();
    let (y, d) = Session::new(&g).unwrap().run(&(y[0].clone(), d), &[feed(&x, 2f64)]).unwrap();
    assert_eq!(y.to_scalar::<f64>().unwrap(), 2.0 * d.to_scalar::<f64>().unwrap());
}

#[test]
fn a_call_in_a_loop_in_a_branch() {
    let g = Scope::new();
    let (x, w) = (scalar(&g), scalar(&g));
    let f = g
        .function("f", &[double(), double()], |g, v| {
            vec![&g.op("Tanh").input(&(&v[0] * &v[1])).output() + &g.constant(0.5f64)]
        })
        .unwrap();
    let left = repeat(&g, 4, &[&x], |l, v| {
        let small = l.op("Less").input(&v[0]).input(l.constant(0.6f64)).output();
        l.cond(
            &small,
            &[&v[0]],
            |b, u| call(b, "PartitionedCall", &f, &[&u[0], &w]),
            |_, u| vec![&u[0] * &u[0]],
        )
    });
    check(&g, &left[0], &[(&x, vec![0.3]), (&w, vec![0.8])]);
}

/// The first result of an `If`.
fn branch(
    g: &Scope,
    pred: &Output,
    then: &TracedFunction,
    other: &TracedFunction,
    args: &[&Output],
) -> Output {
    assert!(then.captured.is_empty() && other.captured.is_empty());
    let results: Vec<DataType> = then.results.iter().map(|r| r.0).collect();
    let op = g.op("If").input(pred).inputs(args).attr("Tout", Attr::types(&results));
    op.attr("then_branch", then.func.clone()).attr("else_branch", other.func.clone()).output()
}

#[test]
fn both_sides_of_an_if() {
    let g = Scope::new();
    let (x, y) = (scalar(&g), scalar(&g));
    let then = g.function("then", &[double(), double()], |_, v| vec![&(&v[0] * &v[0]) * &v[1]]).unwrap();
    let other =
        g.function("other", &[double(), double()], |g, v| vec![g.op("Exp").input(&v[0]).output()]).unwrap();
    let less = g.op("Less").input(&x).input(&y).output();
    let z = branch(&g, &less, &then, &other, &[&x, &y]);
    check(&g, &z, &[(&x, vec![0.5]), (&y, vec![2.0])]);
    check(&g, &z, &[(&x, vec![0.5]), (&y, vec![0.1])]);
}

#[test]
fn a_variable_in_one_branch_of_an_if() {
    let g = Scope::new();
    let x = scalar(&g);
    let v = g.variable("v", &g.constant(3f64));
    let resource = (DataType::Resource, PartialShape::scalar());
    let read = |g: &Scope, handle: &Output| {
        g.op("ReadVariableOp").input(handle).attr("dtype", DataType::Double).output()
    };
    let then =
        g.function("then", &[double(), resource.clone()], |g, a| vec![&a[0] * &read(g, &a[1])]).unwrap();
    let other = g.function("other", &[double(), resource], |_, a| vec![&a[0] * &a[0]]).unwrap();
    let pred = g.placeholder(DataType::Bool, &[]);
    let z = branch(&g, &pred, &then, &other, &[&x, &v.handle]);
    let d = g.gradients(&[&z], &[&v.handle])[0].dense(&g).unwrap();
    let s = Session::new(&g).unwrap();
    s.run(&g.init(), &[]).unwrap();
    let run =
        |taken: bool| s.run(&d, &[feed(&x, 5f64), feed(&pred, taken)]).unwrap().to_scalar::<f64>().unwrap();
    assert_eq!((run(true), run(false)), (5.0, 0.0));
}

fn functional_while(
    g: &Scope,
    values: &[&Output],
    cond: &TracedFunction,
    body: &TracedFunction,
) -> Vec<Output> {
    g.op("While")
        .inputs(values)
        .attr("cond", cond.func.clone())
        .attr("body", body.func.clone())
        .outputs()
        .into()
}

#[test]
fn a_while_of_functions_with_values_that_stay() {
    let g = Scope::new();
    let (x, w) = (vector(&g, 2), vector(&g, 2));
    let types = [(DataType::Int32, PartialShape::scalar()), double(), double()];
    let cond = g
        .function("cond", &types, |g, v| vec![g.op("Less").input(&v[0]).input(g.constant(5)).output()])
        .unwrap();
    let body = g
        .function("body", &types, |g, v| {
            let next = g.op("Sin").input(&(&v[1] * &v[2])).output();
            vec![&v[0] + &g.constant(1), &next + &v[1], v[2].clone()]
        })
        .unwrap();
    let zero = g.constant(0);
    let left = functional_while(&g, &[&zero, &x, &w], &cond, &body);
    let at = [(&x, vec![0.4, -1.1]), (&w, vec![0.9, 1.2])];
    check(&g, &(&left[1] * &left[2]), &at);
    let first = g.gradients(&[&left[1]], &[&w])[0].dense(&g).unwrap();
    check(&g, &first, &at);
}

#[test]
fn a_constant_from_a_call_in_a_branch_not_taken_is_dead() {
    let g = Scope::new();
    let x = scalar(&g);
    let f = g.function("seven", &[double()], |g, _| vec![g.constant(7f64)]).unwrap();
    let pred = g.placeholder(DataType::Bool, &[]);
    let y = g.cond(&pred, &[&x], |b, v| call(b, "PartitionedCall", &f, &[&v[0]]), |_, v| vec![&v[0] + &v[0]]);
    for optimise in [true, false] {
        let s = Session::with_options(&g, SessionOptions { optimise, ..Default::default() }).unwrap();
        let run = |taken: bool| s.run(&y[0], &[feed(&x, 1f64), feed(&pred, taken)]).unwrap();
        assert_eq!(run(true).to_scalar::<f64>().unwrap(), 7.0);
        assert_eq!(run(false).to_scalar::<f64>().unwrap(), 2.0);
    }
}

#[test]
fn every_branch_of_a_case_and_the_last_for_all_other_numbers() {
    let g = Scope::new();
    let (x, pick) = (scalar(&g), g.placeholder(DataType::Int32, &[]));
    let branches: Vec<Attr> = ["Sin", "Exp", "Square"]
        .iter()
        .map(|op| {
            let f = g.function(op, &[double()], |g, v| vec![g.op(op).input(&v[0]).output()]).unwrap();
            Attr::Func(f.func)
        })
        .collect();
    let case = |index: &Output| {
        let op = g.op("Case").input(index).inputs(&[&x]).attr("branches", Attr::List(branches.clone()));
        op.attr("Tout", Attr::types(&[DataType::Double])).output()
    };
    let (y, known) = (case(&pick), case(&g.identity(g.constant(1))));
    let d = g.gradients(&[&y], &[&x])[0].dense(&g).unwrap();
    let s = Session::new(&g).unwrap();
    let slope =
        |at: i32| s.run(&d, &[feed(&x, 0.5f64), feed(&pick, at)]).unwrap().to_scalar::<f64>().unwrap();
    assert_eq!([0, 1, 2, 3, -1].map(slope), [0.5f64.cos(), 0.5f64.exp(), 1.0, 1.0, 1.0]);
    assert_eq!(s.run(&known, &[feed(&x, 0.5f64)]).unwrap().to_scalar::<f64>().unwrap(), 0.5f64.exp());
}

#[test]
fn a_folded_identity_that_others_wait_for_runs() {
    let g = Scope::new();
    let (x, pred) = (scalar(&g), g.placeholder(DataType::Bool, &[]));
    let known = g.identity(g.constant(3f64));
    let y = g.cond(&pred, &[&x], |_, v| vec![&v[0] + &v[0]], |_, v| vec![&v[0] * &v[0]]);
    let after = g.control_dependencies(&[&known.op()]).identity(&y[0]);
    let s = Session::new(&g).unwrap();
    assert_eq!(
        s.run(&after, &[feed(&x, 3f64), feed(&pred, false)]).unwrap().to_scalar::<f64>().unwrap(),
        9.0
    );
}
