//! Backup replicas: stale gradients are dropped and counted, and each is used at most once.

use crate::model::Dice;
use std::sync::Arc;
use thalweg_client::{Code, Output, Scope, Session, Variable, feed};
use thalweg_train::optimizers::{GradientDescent, GradientOf, Minimize};
use thalweg_train::sync_replicas::{SyncReplicas, SyncTraining};
use thalweg_train::{Coordinator, get_or_create_global_step};

/// A variable `w` whose gradient each replica is fed.
struct Fed {
    g: Scope,
    w: Variable,
    step: Variable,
    sync: SyncTraining,
    replicas: Vec<(Output, thalweg_client::Operation)>,
}

fn fed(aggregate: usize, total: usize) -> (Fed, Arc<Session>) {
    let g = Scope::new();
    let w = g.variable("w", &g.constant(0f32));
    let step = get_or_create_global_step(&g);
    let gradient = |x: &Output| -> Vec<GradientOf> {
        GradientDescent::new(1.0).compute_gradients(&g, &g.mul(x, &w.value)).unwrap()
    };
    let inputs: Vec<Output> =
        (0..total).map(|_| g.placeholder(thalweg_client::DataType::Float, &[])).collect();
    let sync = SyncReplicas::new(GradientDescent::new(1.0), aggregate).total_num_replicas(total);
    let sync = sync.apply_gradients(&g, &gradient(&inputs[0]), &step).unwrap();
    let mut inits = vec![sync.chief_init.clone()];
    let mut replicas = vec![(inputs[0].clone(), sync.train.clone())];
    for x in &inputs[1..] {
        let replica = sync.replica(&g, &gradient(x)).unwrap();
        inits.push(replica.local_step_init.clone());
        replicas.push((x.clone(), replica.train));
    }
    let session = Arc::new(Session::new(&g).unwrap());
    session.run(&g.init(), &[]).unwrap();
    inits.iter().for_each(|init| session.run(init, &[]).unwrap());
    (Fed { g, w, step, sync, replicas }, session)
}

fn number(session: &Session, o: &Output) -> i64 {
    session.run(o, &[]).unwrap().to_scalar().unwrap()
}

#[test]
fn the_gradient_of_a_slow_replica_is_dropped_and_counted() {
    let (fed, session) = fed(2, 3);
    let stale = fed.sync.stale_gradients(&fed.g);
    let run = |replica: usize, value: f32| {
        let (x, train) = &fed.replicas[replica];
        session.run(train, &[feed(x, value)]).unwrap();
    };
    let w = || session.run(&fed.w.value, &[]).unwrap().to_scalar::<f32>().unwrap();
    std::thread::scope(|s| {
        s.spawn(|| run(0, 1.0));
        s.spawn(|| run(1, 3.0));
        session.run(&fed.sync.sync, &[]).unwrap();
    });
    assert_eq!((w(), number(&session, &fed.step.value), number(&session, &stale)), (-2.0, 1, 0));
    // The third still has the initial weights. Its gradient is dropped as stale, and it continues with the token left for it.
    run(2, 100.0);
    assert_eq!((w(), number(&session, &stale)), (-2.0, 1));
    std::thread::scope(|s| {
        s.spawn(|| run(0, 4.0));
        s.spawn(|| run(2, 6.0));
        session.run(&fed.sync.sync, &[]).unwrap();
    });
    assert_eq!((w(), number(&session, &fed.step.value), number(&session, &stale)), (-7.0, 2, 1));
}

#[test]
fn every_gradient_is_used_once_or_dropped() {
    const STEPS: i64 = 12;
    for seed in 0..6 {
        let (fed, session) = fed(3, 4);
        let stale = fed.sync.stale_gradients(&fed.g);
        let all = Coordinator::new();
        fed.sync.chief_queue_runner.start(&session, &all).unwrap();
        let mut pushed = 0;
        std::thread::scope(|s| {
            let mut workers = Vec::new();
            for (i, (x, train)) in fed.replicas.iter().enumerate() {
                let (session, step, all) = (&session, &fed.step, all.clone());
                let mut dice = Dice::new(seed * 10 + i as u64);
                workers.push(s.spawn(move || {
                    let run = session.callable(&[x], train).unwrap();
                    let (mut pushed, options) = (0, all.run_options());
                    while number(session, &step.value) < STEPS {
                        dice.dawdle();
                        let ended = run.run_with(vec![thalweg_client::Tensor::scalar(1f32)], &options);
                        // At the end some wait for tokens that are never enqueued; their gradients are in.
                        pushed += 1;
                        if let Err(e) = ended {
                            assert_eq!(e.code(), Code::Cancelled, "{e}");
                        }
                    }
                    all.request_stop();
                    pushed
                }));
            }
            pushed = workers.into_iter().map(|w| w.join().unwrap()).sum::<i64>();
        });
        all.join().unwrap();
        // Each step moved w by the mean of three gradients of 1. One in progress at the stop may be lost.
        let steps = number(&session, &fed.step.value);
        let w = session.run(&fed.w.value, &[]).unwrap().to_scalar::<f32>().unwrap();
        assert!(w == -(steps as f32) || w == -(steps as f32 + 1.0), "seed {seed}: {w} after {steps} steps");
        let accumulator = fed.g.output("sync_replicas/conditional_accumulator:0").unwrap();
        let held = fed.g.op("AccumulatorNumAccumulated").input(&accumulator).output();
        let held = session.run(&held, &[]).unwrap().to_scalar::<i32>().unwrap();
        let known = 3 * steps + number(&session, &stale) + i64::from(held);
        assert!(known <= pushed && pushed - known <= 4, "seed {seed}: {pushed} pushed, {known} known of");
    }
}

#[test]
fn too_few_tokens_are_refused() {
    let g = Scope::new();
    let w = g.variable("w", &g.constant(1f32));
    let step = get_or_create_global_step(&g);
    let loss = g.square(&w.value);
    let sync = SyncReplicas::new(GradientDescent::new(1.0), 3).total_num_replicas(1);
    let made = sync.minimize(&g, &loss, &step).unwrap();
    let e = made.init_tokens(&g, Some(1)).unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    assert_eq!(e.message(), "Too few tokens to finish the first step: 1 (given) vs 2 (needed)");
    assert!(SyncReplicas::new(GradientDescent::new(1.0), 0).minimize(&g, &loss, &step).is_err());
    // One replica computes the three gradients of each step, by taking the tokens.
    let (init, tokens) = (g.init(), made.init_tokens(&g, Some(2)).unwrap());
    let session = Arc::new(Session::new(&g).unwrap());
    session.run(&init, &[]).unwrap();
    session.run(&made.chief_init, &[]).unwrap();
    session.run(&tokens, &[]).unwrap();
    let all = Coordinator::new();
    made.chief_queue_runner.start(&session, &all).unwrap();
    (0..6).for_each(|_| session.run(&made.train, &[]).unwrap());
    all.request_stop();
    all.join().unwrap();
    assert_eq!(number(&session, &step.value), 2);
}
