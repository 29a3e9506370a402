//! Synchronous replicas give the result of one worker with larger batches, in any interleaving.

use crate::model::*;
use crate::tasks::Cluster;
use std::sync::Arc;
use thalweg_client::{Operation, Output, Scope, Session, feed};
use thalweg_train::optimizers::{Adam, GradientDescent, Minimize, Momentum, Optimizer};
use thalweg_train::sync_replicas::SyncReplicas;
use thalweg_train::{Coordinator, ReplicaDeviceSetter, get_or_create_global_step};

const WORKERS: usize = 3;
const STEPS: usize = 8;

/// Takes batches until there are no more.
fn work(session: &Session, train: &Operation, copy: &Fed, source: &Source, mut dice: Dice) {
    dice.dawdle();
    while let Some(batch) = source.take() {
        dice.dawdle();
        let (x, y) = batches(batch, 1);
        session.run(train, &[feed(&copy.x, x), feed(&copy.y, y)]).unwrap();
    }
}

/// Several copies of the net in one graph and session, a thread for each.
fn in_one_session(optimizer: impl Optimizer, seed: u64) -> Vec<f32> {
    let g = Scope::new();
    let net = Net::new(&g);
    let step = get_or_create_global_step(&g);
    let copies: Vec<Fed> = (0..WORKERS).map(|_| net.copy(&g)).collect();
    let sync =
        SyncReplicas::new(optimizer, WORKERS).apply_gradients(&g, &copies[0].gradients(&g), &step).unwrap();
    let others: Vec<_> = copies[1..].iter().map(|c| sync.replica(&g, &c.gradients(&g)).unwrap()).collect();
    let session = Arc::new(Session::new(&g).unwrap());
    session.run(&g.init(), &[]).unwrap();
    session.run(&sync.chief_init, &[]).unwrap();
    others.iter().for_each(|r| session.run(&r.local_step_init, &[]).unwrap());
    let all = Coordinator::new();
    sync.chief_queue_runner.start(&session, &all).unwrap();
    let source = Source::new(STEPS * WORKERS);
    let trains = std::iter::once(&sync.train).chain(others.iter().map(|r| &r.train));
    std::thread::scope(|s| {
        for (i, (train, copy)) in trains.zip(&copies).enumerate() {
            let (session, source) = (&session, &source);
            s.spawn(move || work(session, train, copy, source, Dice::new(seed * 10 + i as u64)));
        }
    });
    assert_eq!(session.run(&step.value, &[]).unwrap().to_scalar::<i64>().unwrap(), STEPS as i64);
    assert_eq!(session.run(&sync.stale_gradients(&g), &[]).unwrap().to_scalar::<i64>().unwrap(), 0);
    all.request_stop();
    all.join().unwrap();
    net.values(&session)
}

/// A graph and a session on a task of its own for each worker, variables on two parameter servers.
fn on_a_cluster<O: Optimizer>(optimizer: fn() -> O, seed: u64) -> Vec<f32> {
    let cluster = Cluster::of(&[("ps", 2), ("worker", WORKERS as u32)]);
    let build = |worker: usize| {
        let setter = ReplicaDeviceSetter::for_cluster(&cluster.spec)
            .worker_device(&format!("/job:worker/task:{worker}"));
        let g = Scope::new().device_function(setter.device_function());
        let net = Net::new(&g);
        let step = get_or_create_global_step(&g);
        let copy = net.copy(&g);
        let sync = SyncReplicas::new(optimizer(), WORKERS).minimize(&g, &copy.loss, &step).unwrap();
        let init = g.init();
        let session = Arc::new(Session::connect(&cluster.target(2 + worker), &g).unwrap());
        (net, copy, sync, init, step, session)
    };
    let workers: Vec<_> = (0..WORKERS).map(build).collect();
    let (net, _, sync, init, step, session) = &workers[0];
    session.run(init, &[]).unwrap();
    session.run(&sync.chief_init, &[]).unwrap();
    let all = Coordinator::new();
    sync.chief_queue_runner.start(session, &all).unwrap();
    let source = Source::new(STEPS * WORKERS);
    std::thread::scope(|s| {
        for (i, (_, copy, sync, _, _, session)) in workers.iter().enumerate() {
            let source = &source;
            s.spawn(move || {
                let dice = Dice::new(seed * 10 + i as u64);
                session.run(&sync.local_step_init, &[]).unwrap();
                work(session, &sync.train, copy, source, dice)
            });
        }
    });
    assert_eq!(session.run(&step.value, &[]).unwrap().to_scalar::<i64>().unwrap(), STEPS as i64);
    all.request_stop();
    all.join().unwrap();
    net.values(session)
}

#[test]
fn replicas_in_one_session_train_as_one_with_large_batches() {
    let expected = alone(&Adam::new(0.05), STEPS, WORKERS);
    for seed in 0..8 {
        assert_close(&in_one_session(Adam::new(0.05), seed), &expected, &format!("seed {seed}"));
    }
    let expected = alone(&GradientDescent::new(0.1), STEPS, WORKERS);
    assert_close(&in_one_session(GradientDescent::new(0.1), 9), &expected, "gradient descent");
}

#[test]
fn workers_on_a_cluster_train_as_one_with_large_batches() {
    let expected = alone(&Momentum::new(0.05, 0.9), STEPS, WORKERS);
    for seed in 0..3 {
        assert_close(&on_a_cluster(|| Momentum::new(0.05, 0.9), seed), &expected, &format!("seed {seed}"));
    }
    let expected = alone(&Adam::new(0.05), STEPS, WORKERS);
    assert_close(&on_a_cluster(|| Adam::new(0.05), 3), &expected, "adam");
}

/// Sparse gradients: the mean of each row is over the replicas that have it.
#[test]
fn rows_are_averaged_over_the_replicas_that_have_them() {
    let g = Scope::new();
    let table = g.variable("table", &g.constant(vec![1f32, 1.0, 1.0, 1.0]));
    let step = get_or_create_global_step(&g);
    let gradients = |x: &Output, rows: Vec<i32>| {
        let loss = g.reduce_sum(g.mul(x, table.gather(&g, g.constant(rows))), &[]);
        GradientDescent::new(0.0).compute_gradients(&g, &loss).unwrap()
    };
    let (x, y) = (g.constant(2f32), g.constant(4f32));
    let sync = SyncReplicas::new(GradientDescent::new(1.0), 2);
    let sync = sync.apply_gradients(&g, &gradients(&x, vec![0, 1]), &step).unwrap();
    let other = sync.replica(&g, &gradients(&y, vec![1, 3])).unwrap();
    let session = Session::new(&g).unwrap();
    for op in [&g.init(), &sync.chief_init, &other.local_step_init] {
        session.run(op, &[]).unwrap();
    }
    std::thread::scope(|s| {
        s.spawn(|| session.run(&sync.train, &[]).unwrap());
        s.spawn(|| session.run(&other.train, &[]).unwrap());
        session.run(&sync.sync, &[]).unwrap();
    });
    let values = session.run(&table.value, &[]).unwrap();
    assert_eq!(values.as_slice::<f32>().unwrap(), [-1.0, -2.0, 1.0, -3.0]);
    // Replicas must agree whether a gradient is dense or sparse.
    let dense = g.reduce_sum(g.square(&table.value), &[]);
    let dense = GradientDescent::new(0.0).compute_gradients(&g, &dense).unwrap();
    assert!(sync.replica(&g, &dense).err().unwrap().message().contains("must be of one kind"));
}
