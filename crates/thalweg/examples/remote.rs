//! Trains on another task: `remote grpc://host:port`. The task may be Thalweg's or TensorFlow's.

use thalweg::data::iris;
use thalweg::prelude::*;

fn main() -> Result<()> {
    let target = std::env::args().nth(1).unwrap_or_else(|| "grpc://localhost:2222".into());
    let (train, test) = iris::load();
    let g = Scope::new();
    g.set_random_seed(1);
    let x = g.placeholder(DataType::Float, &[-1, 4]);
    let y = g.placeholder(DataType::Int32, &[-1]);
    let hidden = Dense::new(10).activation(Activation::Relu).apply(&g, &x);
    let logits = Dense::new(3).apply(&g, &hidden);
    let loss = losses::sparse_softmax_cross_entropy(&g, &y, &logits, None);
    let train_step = Adam::new(0.02).minimize(&g, &loss, None)?;

    let session = Session::connect(&target, &g)?; // or Session::new(&g)
    println!("devices: {}", session.devices()?.join(", "));
    session.run(&g.init(), &[])?;
    for step in 0..=300 {
        let (loss, ()) =
            session.run(&(&loss, &train_step), &[feed(&x, train.matrix()), feed(&y, train.kinds.clone())])?;
        if step % 100 == 0 {
            println!("step {step:3}  loss {loss:.4}");
        }
    }
    // Nodes made since are sent with the next run.
    let right = g.equal(g.argmax(&logits, 1), g.cast(&y, DataType::Int64));
    let accuracy = g.reduce_mean(g.cast(right, DataType::Float), &[]);
    let found = session.run(&accuracy, &[feed(&x, test.matrix()), feed(&y, test.kinds.clone())])?;
    println!("test accuracy {found:.3}");
    let wrong = session.run(&g.reshape(&logits, &[7, 1]), &[feed(&x, test.matrix())]);
    println!("error: {}", wrong.err().map_or("none".into(), |e| format!("{:?}", e.code())));
    session.close()
}
