//! A net of 2-4-1 units learns exclusive or.

use thalweg::prelude::*;

fn main() -> Result<()> {
    let g = Scope::new();
    g.set_random_seed(1);
    let x = g.constant([[0f32, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]);
    let y = g.constant([[0f32], [1.0], [1.0], [0.0]]);
    let hidden = Dense::new(4).activation(Activation::Tanh).apply(&g, &x);
    let logits = Dense::new(1).apply(&g, &hidden);
    let loss = losses::sigmoid_cross_entropy(&g, &y, &logits, None);
    let train = Adam::new(0.05).minimize(&g, &loss, None)?;
    let answer = g.sigmoid(&logits);
    let session = Session::new(&g)?;
    session.run(&g.init(), &[])?;
    for _ in 0..1000 {
        session.run(&train, &[])?;
    }
    let (loss, answer) = session.run(&(loss, answer), &[])?;
    println!("loss {loss:.5}");
    for (i, p) in answer.as_slice::<f32>()?.iter().enumerate() {
        println!("{} xor {} = {p:.3}", i / 2, i % 2);
    }
    Ok(())
}
