//! relu(Wx + b) with W 784 x 100 in [-1, 1).

use thalweg::prelude::*;

fn main() -> Result<()> {
    let g = Scope::new();
    let b = g.variable("b", &g.zeros(DataType::Float, &[100]));
    let w = g.variable("W", &g.random_uniform_between(&[784, 100], -1.0, 1.0, 1));
    let x = g.placeholder_named("x", DataType::Float, Some(&[1, 784]));
    let relu = g.relu(&(g.matmul(&x, &w.value) + &b.value));
    let init = g.init();
    println!("{relu}");
    let session = Session::new(&g)?;
    session.run(&init, &[])?;
    let pixels = Tensor::full(Shape::new(&[1, 784])?, 0.5f32)?;
    for _ in 0..3 {
        let h = session.run(&relu, &[feed(&x, &pixels)])?;
        let active = h.as_slice::<f32>()?.iter().filter(|v| **v > 0.0).count();
        println!(
            "{active} of 100 units active, the largest at {:.3}",
            h.as_slice::<f32>()?.iter().fold(0f32, |a, b| a.max(*b))
        );
    }
    Ok(())
}
