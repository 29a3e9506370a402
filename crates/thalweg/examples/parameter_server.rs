//! Asynchronous training with parameter servers: every task runs this program and takes its role from TF_CONFIG.
//!
//! `thalweg local --ps 1 --workers 2 -- target/debug/examples/parameter_server DIR` runs all tasks on this machine; without TF_CONFIG the program
//! trains alone.

use thalweg::data::iris;
use thalweg::prelude::*;
use thalweg::train::cluster::ClusterTask;
use thalweg::train::hooks::StopAtStepHook;

fn main() -> Result<()> {
    let mut task = ClusterTask::from_env()?.start()?;
    if let Some(dir) = std::env::args().nth(1) {
        task = task.model_dir(dir, Every::Steps(100));
    }
    if task.is_parameter_server() {
        return task.serve();
    }
    let (train, test) = iris::load();
    let (replicas, number) = task.replica();
    let g = task.scope();
    g.set_random_seed(1);
    // Each replica has its own part of the flowers.
    let flowers = Dataset::from_tensor_slices(&g, (train.matrix(), train.kinds.clone()))
        .shard(replicas as i64, number as i64)
        .shuffle(120, Some(1))
        .repeat(None)
        .batch(16);
    let batch = flowers.one_shot_iterator(&g).get_next();
    let (hidden, logits) = (Dense::new(10).activation(Activation::Relu), Dense::new(3));
    let model = |x: &Output| logits.apply(&g, &hidden.apply(&g, x));
    let loss = losses::sparse_softmax_cross_entropy(&g, &batch[1], &model(&batch[0]), None);
    let step = get_or_create_global_step(&g);
    let update = Adam::new(0.02).minimize(&g, &loss, Some(&step))?;
    let right = g.equal(
        g.argmax(model(&g.constant(test.matrix())), 1),
        g.cast(g.constant(test.kinds), DataType::Int64),
    );
    let accuracy = g.reduce_mean(g.cast(right, DataType::Float), &[]);

    let mut session = task.session(&g, vec![Box::new(StopAtStepHook::last_step(600))])?;
    let mut own = 0;
    while session.run(&update, &[])?.is_some() {
        own += 1;
    }
    println!("replica {number} of {replicas}: {own} of {} steps", session.global_step());
    if task.is_chief() {
        println!("test accuracy {:.3}", session.session().run(&accuracy, &[])?);
    }
    session.close()
}
