//! Optimizers on small problems.

use thalweg::prelude::*;
use thalweg::train::optimizers::{Adagrad, Adam, GradientDescent, Minimize, Momentum};
use thalweg::train::{get_or_create_global_step, initializers};

/// y = 0.1 x + 0.3, from the lectures.
fn fit(optimizer: &impl Minimize, steps: usize) -> (f32, f32, i64) {
    let g = Scope::new();
    let xs: Vec<f32> = (0..100).map(|i| i as f32 / 100.0).collect();
    let ys: Vec<f32> = xs.iter().map(|x| x * 0.1 + 0.3).collect();
    let (x, y) = (g.constant(xs), g.constant(ys));
    let w = g.get_variable("w", &[1], &initializers::RandomUniform { low: -1.0, high: 1.0, seed: Some(7) });
    let b = g.get_variable("b", &[1], &initializers::Zeros);
    let error = &(&(&w.value * &x) + &b.value) - &y;
    let loss = g.reduce_mean(g.square(&error), &[]);
    let step = get_or_create_global_step(&g);
    let train = optimizer.minimize(&g, &loss, Some(&step)).unwrap();
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    for _ in 0..steps {
        session.run(&train, &[]).unwrap();
    }
    let (w, b, step) = session.run(&(&w.value, &b.value, &step.value), &[]).unwrap();
    (w.as_slice::<f32>().unwrap()[0], b.as_slice::<f32>().unwrap()[0], step.to_scalar::<i64>().unwrap())
}

#[test]
fn linear_regression_finds_the_line() {
    let near = |(w, b, step): (f32, f32, i64), steps: i64| {
        assert!(
            (w - 0.1).abs() < 1e-3 && (b - 0.3).abs() < 1e-3 && step == steps,
            "w {w}, b {b}, step {step}"
        );
    };
    near(fit(&GradientDescent::new(0.5), 300), 300);
    near(fit(&Momentum::new(0.1, 0.9).nesterov(), 300), 300);
    near(fit(&Adam::new(0.05), 400), 400);
    near(fit(&Adagrad::new(0.5), 600), 600);
}

#[test]
fn slots_are_named_as_tensorflow_names_them() {
    let g = Scope::new();
    let w = g.variable_scope("layer").get_variable("w", &[2], &initializers::Ones);
    let loss = g.reduce_sum(g.square(&w.value), &[]);
    Adam::new(0.1).minimize(&g, &loss, None).unwrap();
    Momentum::new(0.1, 0.9).minimize(&g, &loss, None).unwrap();
    let names: Vec<String> = g.global_variables().iter().map(|v| v.name()).collect();
    assert_eq!(
        names,
        ["layer/w", "beta1_power", "beta2_power", "layer/w/Adam", "layer/w/Adam_1", "layer/w/Momentum"]
    );
}

#[test]
fn variables_are_shared_by_scope_and_name() {
    use thalweg::Reuse;
    let g = Scope::new();
    let layer = |g: &Scope| {
        g.variable_scope_with("layer", Reuse::Auto).get_variable("w", &[2, 3], &initializers::Zeros)
    };
    assert_eq!(layer(&g).name(), layer(&g).name());
    assert_eq!(g.global_variables().len(), 1);
    let line = line!() + 1;
    g.variable_scope("layer").get_variable("w", &[2, 3], &initializers::Zeros);
    let e = g.check().unwrap_err();
    assert!(e.message().contains("Reuse::Auto") && e.location().unwrap().line() == line, "{e}");
}

#[test]
fn layers_in_scopes_that_name_nodes_alone_have_variables_of_their_own() {
    use thalweg::train::layers::Dense;
    let g = Scope::new();
    let x = g.constant([[1f32, 2.0]]);
    Dense::new(3).apply(&g, &x);
    Dense::new(3).apply(&g.name_scope("other"), &x);
    g.check().unwrap();
    let names: Vec<String> = g.global_variables().iter().map(|v| v.name()).collect();
    assert_eq!(names, ["dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"]);
    // With reuse, the same scope shares them.
    for _ in 0..2 {
        let shared = g.variable_scope_with("tower", thalweg::Reuse::Auto);
        Dense::new(3).apply(&shared, &x);
    }
    g.check().unwrap();
    assert_eq!(g.global_variables().len(), 6);
}
