//! Finds W and b of y = 0.1 x + 0.3 from a hundred points.

use thalweg::prelude::*;
use thalweg::train::initializers::{RandomUniform, Zeros};
use thalweg::train::losses;
use thalweg::train::optimizers::{GradientDescent, Minimize};

fn main() -> Result<()> {
    let g = Scope::new();
    let points: Vec<f32> = (0..100).map(|i| i as f32 / 100.0).collect();
    let x = g.constant(points);
    let truth = &x * 0.1f32 + 0.3f32;
    let w = g.get_variable("W", &[1], &RandomUniform { low: -1.0, high: 1.0, seed: Some(1) });
    let b = g.get_variable("b", &[1], &Zeros);
    let y = &w.value * &x + &b.value;
    let loss = losses::mean_squared_error(&g, &truth, &y, None);
    let train = GradientDescent::new(0.5).minimize(&g, &loss, None)?;
    let session = Session::new(&g)?;
    session.run(&g.init(), &[])?;
    for step in 0..=200 {
        if step % 40 == 0 {
            let (w, b) = session.run(&(&w.value, &b.value), &[])?;
            println!("{step:3}  W {:.4}  b {:.4}", w.as_slice::<f32>()?[0], b.as_slice::<f32>()?[0]);
        }
        session.run(&train, &[])?;
    }
    Ok(())
}
