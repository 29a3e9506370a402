//! Asynchronous training.

use crate::model::*;
use crate::tasks::Cluster;
use thalweg_client::{Scope, Session, feed};
use thalweg_train::optimizers::{GradientDescent, Minimize};
use thalweg_train::{ReplicaDeviceSetter, get_or_create_global_step};

const WORKERS: usize = 3;
const STEPS: usize = 1500;
const BATCHES: usize = 12;
/// Small enough for stale gradients.
const RATE: f32 = 0.05;

fn loss(session: &Session, fed: &Fed) -> f32 {
    let (x, y) = batches(0, BATCHES);
    session.run(&fed.loss, &[feed(&fed.x, x), feed(&fed.y, y)]).unwrap().to_scalar().unwrap()
}

#[test]
fn workers_that_do_not_wait_for_each_other_get_there_too() {
    let cluster = Cluster::of(&[("ps", 2), ("worker", WORKERS as u32)]);
    let build = |worker: usize| {
        let setter = ReplicaDeviceSetter::for_cluster(&cluster.spec)
            .worker_device(&format!("/job:worker/task:{worker}"))
            .greedy();
        let g = Scope::new().device_function(setter.device_function());
        let net = Net::new(&g);
        let step = get_or_create_global_step(&g);
        let fed = net.copy(&g);
        let train = GradientDescent::new(RATE).minimize(&g, &fed.loss, Some(&step)).unwrap();
        let init = g.init();
        let session = Session::connect(&cluster.target(2 + worker), &g).unwrap();
        (fed, train, init, step, session)
    };
    let workers: Vec<_> = (0..WORKERS).map(build).collect();
    let (fed, _, init, step, session) = &workers[0];
    session.run(init, &[]).unwrap();
    let before = loss(session, fed);
    let source = Source::new(STEPS);
    std::thread::scope(|s| {
        for (i, (fed, train, _, _, session)) in workers.iter().enumerate() {
            let (source, mut dice) = (&source, Dice::new(i as u64));
            s.spawn(move || {
                while let Some(batch) = source.take() {
                    dice.dawdle();
                    let (x, y) = batches(batch % BATCHES, 1);
                    session.run(train, &[feed(&fed.x, x), feed(&fed.y, y)]).unwrap();
                }
            });
        }
    });
    assert_eq!(session.run(&step.value, &[]).unwrap().to_scalar::<i64>().unwrap(), STEPS as i64);
    let after = loss(session, fed);
    assert!(after < before / 8.0, "loss {before} before, {after} after");
}
