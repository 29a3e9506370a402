//! Gradients through conds, loops, variables and lookups, against finite differences.

mod common;

use common::{check, repeat, scalar, vector};
use thalweg::Gradient;
use thalweg::prelude::*;

#[test]
fn both_sides_of_a_cond() {
    let g = Scope::new();
    let (x, y) = (scalar(&g), scalar(&g));
    let less = g.op("Less").input(&x).input(&y).output();
    let z = g.cond(
        &less,
        &[&x, &y],
        |_, v| vec![&(&v[0] * &v[0]) * &v[1]],
        |g, v| vec![g.op("Exp").input(&v[0]).output()],
    );
    check(&g, &z[0], &[(&x, vec![0.5]), (&y, vec![2.0])]);
    check(&g, &z[0], &[(&x, vec![0.5]), (&y, vec![0.1])]);
}

#[test]
fn a_power_by_a_loop() {
    let g = Scope::new();
    let x = scalar(&g);
    let one = g.constant(1f64);
    let p = repeat(&g, 5, &[&one], |_, v| vec![&v[0] * &x]);
    check(&g, &p[0], &[(&x, vec![1.3])]);
}

#[test]
fn values_that_change_places_and_meet_in_loops() {
    let g = Scope::new();
    let (x, y, w) = (vector(&g, 3), vector(&g, 3), vector(&g, 3));
    let left = repeat(&g, 4, &[&x, &y], |l, v| {
        let a = l.op("Tanh").input(&(&v[1] * &w)).output();
        let b = &(&v[0] + &v[1]) * &w;
        vec![a, b]
    });
    let total = &left[0] * &left[1];
    let at = |k: f64| vec![0.3 * k, -0.7 * k, 0.5];
    check(&g, &total, &[(&x, at(1.0)), (&y, at(-2.0)), (&w, at(1.5))]);
}

#[test]
fn a_loop_that_does_not_run_passes_its_gradients_on() {
    let g = Scope::new();
    let (x, w) = (scalar(&g), scalar(&g));
    let left = repeat(&g, 0, &[&x], |_, v| vec![&v[0] * &w]);
    check(&g, &(&left[0] * &left[0]), &[(&x, vec![1.5]), (&w, vec![0.4])]);
}

#[test]
fn loops_within_loops() {
    let g = Scope::new();
    let (x, w) = (vector(&g, 2), vector(&g, 2));
    let left = repeat(&g, 3, &[&x], |outer, v| {
        let y = repeat(outer, 2, &[&v[0]], |inner, u| vec![inner.op("Sin").input(&(&u[0] * &w)).output()]);
        vec![&y[0] + &v[0]]
    });
    check(&g, &left[0], &[(&x, vec![0.4, -1.1]), (&w, vec![0.9, 1.2])]);
}

#[test]
fn a_cond_in_a_loop_takes_either_side_in_different_rounds() {
    let g = Scope::new();
    let (x, w) = (scalar(&g), scalar(&g));
    let zero = g.constant(0);
    let left = g.while_loop(
        &[&zero, &x],
        10,
        |l, v| l.op("Less").input(&v[0]).input(l.constant(6)).output(),
        |l, v| {
            let two = l.constant(2);
            let odd = l.op("FloorMod").input(&v[0]).input(&two).output();
            let odd = l.cast(&odd, DataType::Bool);

            let y = l.cond(
                &odd,
                &[&v[1], &w],
                |g, u| vec![g.op("Sin").input(&(&u[0] * &u[1])).output()],
                |g, u| vec![&g.op("Square").input(&u[0]).output() + &u[1]],
            );
            vec![&v[0] + &l.constant(1), y[0].clone()]
        },
    );
    check(&g, &left[1], &[(&x, vec![0.3]), (&w, vec![0.8])]);
}

#[test]
fn a_loop_in_a_cond_in_a_loop() {
    let g = Scope::new();
    let (x, w) = (scalar(&g), scalar(&g));
    let left = repeat(&g, 3, &[&x], |l, v| {
        let small = l.op("Less").input(&v[0]).input(&w).output();
        l.cond(
            &small,
            &[&v[0], &w],
            |g, u| {
                let zero = &u[0] - &u[0];
                let sum = g.while_loop(
                    &[&u[0], &zero],
                    10,
                    |l, s| l.op("Less").input(&s[0]).input(l.constant(2f64)).output(),
                    |l, s| vec![&s[0] * &l.constant(1.5f64), &s[1] + &(&s[0] * &u[1])],
                );
                vec![sum[1].clone()]
            },
            |g, u| vec![g.op("Exp").input(g.op("Neg").input(&u[0]).output()).output()],
        )
    });
    check(&g, &left[0], &[(&x, vec![0.7]), (&w, vec![0.9])]);
}

#[test]
fn variables_read_in_loops() {
    let g = Scope::new();
    let x = vector(&g, 2);
    let v = g.variable("v", &g.constant([0.5f64, -0.25]));
    let left = repeat(&g, 3, &[&x], |l, u| {
        let handle = &v.handle;
        let value = l.op("ReadVariableOp").input(handle).attr("dtype", DataType::Double).output();
        vec![&(&u[0] * &value) + &value]
    });
    check(&g, &left[0], &[(&x, vec![0.4, -1.1])]);
    let d = g.gradients(&[&left[0]], &[&v.handle])[0].dense(&g).unwrap();
    let s = Session::new(&g).unwrap();
    s.run(&g.init(), &[]).unwrap();
    let d = s.run(&d, &[feed(&x, [0.4f64, -1.1])]).unwrap();
    // y = x v^3 + v^3 + v^2 + v, so dy/dv = 3 v^2 (x + 1) + 2 v + 1.
    let expected = |x: f64, v: f64| 3.0 * v * v * (x + 1.0) + 2.0 * v + 1.0;
    for (d, (x, v)) in d.as_slice::<f64>().unwrap().iter().zip([(0.4, 0.5), (-1.1, -0.25)]) {
        assert!((d - expected(x, v)).abs() < 1e-12);
    }
}

#[test]
fn rows_stay_rows() {
    let g = Scope::new();
    let (table, rows) = (g.placeholder(DataType::Double, &[5, 2]), g.constant([1i32, 3, 1]));
    let looked_up = g.gather(&table, &rows, 0);
    let total = g.reduce_sum(&looked_up, &[0, 1]);
    let found = g.gradients(&[&total], &[&table]);
    let Gradient::Slices(s) = &found[0] else { panic!("{:?}", found[0]) };
    let dense = found[0].dense(&g).unwrap();
    let session = Session::new(&g).unwrap();
    let fed =
        [feed(&table, Tensor::vector(&[0f64; 10]).unwrap().reshape(Shape::new(&[5, 2]).unwrap()).unwrap())];
    let (indices, dense) = session.run(&(s.indices.clone(), dense), &fed).unwrap();
    assert_eq!(indices.as_slice::<i32>().unwrap(), &[1, 3, 1]);
    assert_eq!(dense.as_slice::<f64>().unwrap(), &[0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn second_derivatives() {
    let g = Scope::new();
    let x = vector(&g, 2);
    let y = g.op("Sin").input(&(&(&x * &x) * &x)).output();
    let first = g.gradients(&[&y], &[&x])[0].dense(&g).unwrap();
    check(&g, &first, &[(&x, vec![0.4, -1.1])]);
}

/// Second derivatives with respect to each of these.
fn check_second(g: &Scope, y: &Output, xs: &[(&Output, Vec<f64>)]) {
    for (x, _) in xs {
        let first = g.gradients(&[y], &[x])[0].dense(g).unwrap();
        check(g, &first, xs);
    }
}

#[test]
fn second_derivatives_of_a_power_by_a_loop() {
    let g = Scope::new();
    let x = scalar(&g);
    let one = g.constant(1f64);
    let p = repeat(&g, 5, &[&one], |_, v| vec![&v[0] * &x]);
    let first = g.gradients(&[&p[0]], &[&x])[0].dense(&g).unwrap();
    let second = g.gradients(&[&first], &[&x])[0].dense(&g).unwrap();
    let third = g.gradients(&[&second], &[&x])[0].dense(&g).unwrap();
    let s = Session::new(&g).unwrap();
    let found = s.run(&[second, third], &[feed(&x, 1.5f64)]).unwrap();
    let found: Vec<f64> = found.iter().map(|t| t.to_scalar::<f64>().unwrap()).collect();
    assert_eq!(found, [20.0 * 1.5f64.powi(3), 60.0 * 1.5f64.powi(2)]);
}

#[test]
fn second_derivatives_by_a_constant() {
    let g = Scope::new();
    let (x, one) = (g.constant(1.5f64), g.constant(1f64));
    let p = repeat(&g, 5, &[&one], |_, v| vec![&v[0] * &x]);
    let first = g.gradients(&[&p[0]], &[&x])[0].dense(&g).unwrap();
    let second = g.gradients(&[&first], &[&x])[0].dense(&g).unwrap();
    let found = Session::new(&g).unwrap().run(&second, &[]).unwrap();
    assert_eq!(found.to_scalar::<f64>().unwrap(), 20.0 * 1.5f64.powi(3));
}

#[test]
fn second_derivatives_of_a_loop_in_a_branch_taken_or_not() {
    let g = Scope::new();
    let (x, w) = (scalar(&g), scalar(&g));
    let less = g.op("Less").input(&x).input(&w).output();
    let y = g.cond(
        &less,
        &[&x, &w],
        |g, u| repeat(g, 3, &[&u[0]], |_, s| vec![&(&s[0] * &u[1]) + &(&s[0] * &s[0])]),
        |_, u| vec![&(&u[0] * &u[0]) * &u[1]],
    );
    check_second(&g, &y[0], &[(&x, vec![0.7]), (&w, vec![0.9])]);
    check_second(&g, &y[0], &[(&x, vec![0.9]), (&w, vec![0.7])]);
}

#[test]
fn second_derivatives_of_values_that_change_places_in_a_loop() {
    let g = Scope::new();
    let (x, y, w) = (vector(&g, 2), vector(&g, 2), vector(&g, 2));
    let left = repeat(&g, 3, &[&x, &y], |l, v| {
        let a = l.op("Tanh").input(&(&v[1] * &w)).output();
        vec![a, &(&v[0] + &v[1]) * &w]
    });
    let at = |k: f64| vec![0.3 * k, -0.7 * k];
    check_second(&g, &(&left[0] * &left[1]), &[(&x, at(1.0)), (&y, at(-2.0)), (&w, at(1.5))]);
}

#[test]
fn second_derivatives_of_loops_within_loops() {
    let g = Scope::new();
    let (x, w) = (vector(&g, 2), vector(&g, 2));
    let left = repeat(&g, 3, &[&x], |outer, v| {
        let y = repeat(outer, 2, &[&v[0]], |inner, u| vec![inner.op("Sin").input(&(&u[0] * &w)).output()]);
        vec![&y[0] + &v[0]]
    });
    check_second(&g, &left[0], &[(&x, vec![0.4, -1.1]), (&w, vec![0.9, 1.2])]);
}

#[test]
fn second_derivatives_of_a_cond_in_a_loop() {
    let g = Scope::new();
    let (x, w) = (scalar(&g), scalar(&g));
    let left = repeat(&g, 6, &[&x], |l, v| {
        let small = l.op("Less").input(&v[0]).input(l.constant(0.9f64)).output();
        l.cond(
            &small,
            &[&v[0], &w],
            |g, u| vec![&g.op("Square").input(&u[0]).output() + &u[1]],
            |g, u| vec![g.op("Sin").input(&(&u[0] * &u[1])).output()],
        )
    });
    check_second(&g, &left[0], &[(&x, vec![0.3]), (&w, vec![0.8])]);
}

#[test]
fn second_derivatives_of_a_loop_in_a_cond_in_a_loop() {
    let g = Scope::new();
    let (x, w) = (scalar(&g), scalar(&g));
    let left = repeat(&g, 3, &[&x], |l, v| {
        let small = l.op("Less").input(&v[0]).input(&w).output();
        l.cond(
            &small,
            &[&v[0], &w],
            |g, u| repeat(g, 2, &[&u[0]], |_, s| vec![&(&s[0] * &u[1]) + &(&s[0] * &s[0])]),
            |g, u| vec![g.op("Exp").input(g.op("Neg").input(&u[0]).output()).output()],
        )
    });
    check_second(&g, &left[0], &[(&x, vec![0.7]), (&w, vec![0.9])]);
}

#[test]
fn second_derivatives_through_a_tensor_array_are_refused() {
    let g = Scope::new();
    let x = scalar(&g);
    let size = g.constant(1);
    let array = g.op("TensorArrayV3").input(&size).attr("dtype", DataType::Double).build();
    let (handle, at) = (array.output(0), g.constant(0));
    let squared = &x * &x;
    let flow =
        g.op("TensorArrayWriteV3").input(&handle).input(&at).input(&squared).input(array.output(1)).output();
    let read = g.op("TensorArrayReadV3").input(&handle).input(&at).input(&flow);
    let y = read.attr("dtype", DataType::Double).output();
    let first = g.gradients(&[&(&y * &y)], &[&x])[0].dense(&g).unwrap();
    g.gradients(&[&first], &[&x]);
    let e = g.check().unwrap_err();
    assert_eq!(e.code(), Code::Unimplemented, "{e}");
    assert!(e.message().contains("TensorArrayGradV3"), "{e}");
}

#[test]
fn gradients_with_respect_to_the_inside_of_a_loop_are_refused() {
    let g = Scope::new();
    let x = scalar(&g);
    let mut inside = None;
    let left = repeat(&g, 3, &[&x], |_, v| {
        inside = Some(v[0].clone());
        vec![&v[0] * &v[0]]
    });
    let line = line!() + 1;
    g.gradients(&[&left[0]], &[&inside.unwrap()]);
    let e = g.check().unwrap_err();
    assert_eq!((e.code(), e.location().unwrap().line()), (Code::InvalidArgument, line));
    assert!(e.message().contains("is inside a loop"), "{e}");
}
