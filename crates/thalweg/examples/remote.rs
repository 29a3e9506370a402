//! Linear regression on another task: `remote grpc://host:port`. The task may be Thalweg's or TensorFlow's.

use thalweg::prelude::*;
use thalweg::train::optimizers::{GradientDescent, Minimize};
use thalweg::train::{get_or_create_global_step, initializers, losses};

fn main() -> Result<()> {
    let target = std::env::args().nth(1).unwrap_or_else(|| "grpc://localhost:2222".into());
    let g = Scope::new();
    let x = g.placeholder(DataType::Float, &[-1]);
    let w = g.get_variable("W", &[1], &initializers::Zeros);
    let b = g.get_variable("b", &[1], &initializers::Zeros);
    let line = &w.value * &x + &b.value;
    let truth = &x * 0.1f32 + 0.3f32;
    let loss = losses::mean_squared_error(&g, &truth, &line, None);
    let step = get_or_create_global_step(&g);
    let train = GradientDescent::new(0.5).minimize(&g, &loss, Some(&step))?;
    let init = g.init();
    let session = Session::connect(&target, &g)?;
    println!("devices: {}", session.devices()?.join(", "));
    session.run(&init, &[])?;
    let points: Vec<f32> = (0..100).map(|i| i as f32 / 100.0).collect();
    for _ in 0..300 {
        session.run(&train, &[feed(&x, points.clone())])?;
    }
    let (w, b, step) = session.run(&(&w.value, &b.value, &step.value), &[])?;
    println!("W = {:.3}, b = {:.3} after {step} steps", w.as_slice::<f32>()?[0], b.as_slice::<f32>()?[0]);
    // Nodes made since are sent with the next run.
    let double = &line * 2.0f32;
    println!("twice the line at 1: {:.3}", session.run(&double, &[feed(&x, [1f32])])?.as_slice::<f32>()?[0]);
    let wrong = session.run(&(&x + &line), &[feed(&x, [f32::NAN])]).map(|_| "ran").unwrap_or("did not run");
    println!("NaN {wrong}");
    let fetched = session.run(&g.reshape(&line, &[3, 1]), &[feed(&x, [1f32, 2.0])]);
    println!("error: {}", fetched.err().map_or("none".into(), |e| format!("{:?}", e.code())));
    session.close()
}
