//! Restarts of replicas, chiefs and parameter servers: each update still has one gradient of each replica, computed from the
//! variables that it updates.

use crate::tasks::Cluster;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use thalweg_client::{
    Cancellation, ClusterSpec, Code, DataType, Error, Output, Result, RunOptions, Scope, Session, Variable,
    feed,
};
use thalweg_dist::Server;
use thalweg_proto::ConfigProto;
use thalweg_train::hooks::StopAtStepHook;
use thalweg_train::monitored::{
    ChiefSessionCreator, Hook, MonitoredSession, SessionCreator, WorkerSessionCreator,
};
use thalweg_train::optimizers::GradientDescent;
use thalweg_train::sync_replicas::{SyncReplicas, SyncTraining};
use thalweg_train::{ReplicaDeviceSetter, get_or_create_global_step};

const REPLICAS: usize = 3;
/// What an update subtracts from each variable: the mean of 1, 4 and 16. No other three of these numbers have it.
const TAKEN: f32 = 7.0;
/// The tasks of a cluster in their order: two parameter servers, then the replicas.
const FIRST: usize = 2;

/// The graph of one replica: two variables, on two parameter servers, whose gradients are fed.
struct Program {
    g: Scope,
    x: Output,
    variables: [Variable; 2],
    step: Variable,
    sync: SyncTraining,
}

fn program(cluster: &ClusterSpec, number: usize, aggregate: usize) -> Program {
    let setter =
        ReplicaDeviceSetter::for_cluster(cluster).worker_device(&format!("/job:worker/task:{number}"));
    let g = Scope::new().device_function(setter.device_function());
    let variables = ["a", "b"].map(|name| g.variable(name, &g.constant(0f32)));
    let step = get_or_create_global_step(&g);
    let x = g.placeholder(DataType::Float, &[]);
    let loss = g.mul(&x, g.add(&variables[0].value, &variables[1].value));
    let sync = SyncReplicas::new(GradientDescent::new(1.0), aggregate).total_num_replicas(REPLICAS);
    let sync = sync.number(number).minimize(&g, &loss, &step).unwrap();
    Program { g, x, variables, step, sync }
}

/// Device filters: sessions of a replica do not see the others.
fn config(number: usize) -> ConfigProto {
    let own = format!("/job:worker/task:{number}");
    ConfigProto { device_filters: vec!["/job:ps".into(), own], ..Default::default() }
}

/// The chief, which initialises the variables each time.
fn chief<'a>(cluster: &Cluster, p: &Program) -> MonitoredSession<'a> {
    let creator = ChiefSessionCreator::new().target(&cluster.target(FIRST)).config(config(0));
    MonitoredSession::new(&p.g, creator, vec![Box::new(p.sync.hook(&p.g, true).unwrap())]).unwrap()
}

/// A replica that is not the chief. Its graph must be complete.
struct Worker {
    p: Program,
    session: Session,
}

impl Worker {
    fn start(cluster: &Cluster, number: usize, aggregate: usize) -> Worker {
        let server = cluster.tasks[FIRST + number].as_ref().unwrap();
        Worker::start_on(server, cluster, number, aggregate)
    }

    fn start_on(server: &Server, cluster: &Cluster, number: usize, aggregate: usize) -> Worker {
        let p = program(&cluster.spec, number, aggregate);
        let target = format!("grpc://{}", server.address());
        let session = Session::connect_with(&target, &p.g, config(number)).unwrap();
        session.run(&p.sync.local_step_init, &[]).unwrap();
        Worker { p, session }
    }

    fn train(&self, x: f32) {
        // A timeout that only a hanging test reaches.
        let options = RunOptions { timeout: Some(Duration::from_secs(60)), ..Default::default() };
        self.session.run_with(&self.p.sync.train, &[feed(&self.p.x, x)], &options).map(drop).unwrap();
    }
}

/// The variables and the global step.
fn state(p: &Program, session: &Session) -> Result<(f32, f32, i64)> {
    let [a, b] = &p.variables;
    let (a, b, step) = session.run(&(&a.value, &b.value, &p.step.value), &[])?;
    Ok((a.to_scalar()?, b.to_scalar()?, step.to_scalar()?))
}

fn after(steps: i64) -> (f32, f32, i64) {
    let value = -TAKEN * steps as f32;
    (value, value, steps)
}

/// Every replica runs so often, with its own gradient.
fn all_run(chief: &mut MonitoredSession<'_>, p: &Program, workers: &[&Worker], times: usize) {
    std::thread::scope(|s| {
        for (i, worker) in workers.iter().enumerate() {
            s.spawn(move || (0..times).for_each(|_| worker.train([4.0, 16.0][i])));
        }
        for _ in 0..times {
            chief.run(&p.sync.train, &[feed(&p.x, 1f32)]).unwrap().unwrap();
        }
    });
}

/// Waits until an accumulator of each variable holds so many gradients.
fn wait_for_gradients(p: &Program, session: &Session, count: i32) {
    let count_of = |name: &str| {
        let handle = p.g.output(name).unwrap();
        p.g.op("AccumulatorNumAccumulated").input(&handle).output()
    };
    let names = ["sync_replicas/conditional_accumulator:0", "sync_replicas/conditional_accumulator_1:0"];
    let counts = names.map(count_of);
    let found = || session.run(&counts, &[]).unwrap();
    while found().iter().any(|n| n.to_scalar::<i32>().unwrap() != count) {
        std::thread::yield_now();
    }
}

/// A chief enqueues a token for each replica when it starts: the first runs do not wait, the gradients of the second are stale, and
/// each after that is a step.
#[test]
fn a_chief_that_starts_again_applies_no_gradient_from_before() {
    let mut cluster = Cluster::of(&[("ps", 2), ("worker", REPLICAS as u32)]);
    let p = program(&cluster.spec, 0, REPLICAS);
    let mut first = chief(&cluster, &p);
    let [one, two] = [1, 2].map(|i| Worker::start(&cluster, i, REPLICAS));
    all_run(&mut first, &p, &[&one, &two], 3);
    assert_eq!(state(&p, first.session()).unwrap(), after(2));
    std::thread::scope(|s| {
        // One gradient of the third step is accumulated when the chief dies; another is still being computed.
        let waiting = s.spawn(|| one.train(1000.0));
        wait_for_gradients(&two.p, &two.session, 1);
        drop(first);
        cluster.restart(FIRST);
        let p = program(&cluster.spec, 0, REPLICAS);
        let mut second = chief(&cluster, &p);
        waiting.join().unwrap();
        two.train(1e6);
        assert_eq!(state(&p, second.session()).unwrap(), after(0));
        second.run(&p.sync.train, &[feed(&p.x, 1f32)]).unwrap().unwrap();
        for step in 1..5 {
            all_run(&mut second, &p, &[&one, &two], 1);
            assert_eq!(state(&p, second.session()).unwrap(), after(step));
        }
    });
}

#[test]
fn a_replica_that_starts_again_in_a_step_gives_it_one_gradient() {
    let cluster = Cluster::of(&[("ps", 2), ("worker", REPLICAS as u32)]);
    let p = program(&cluster.spec, 0, REPLICAS);
    let mut chief = chief(&cluster, &p);
    let [mut one, two] = [1, 2].map(|i| Worker::start(&cluster, i, REPLICAS));
    all_run(&mut chief, &p, &[&one, &two], 3);
    for _ in 0..4 {
        // It adds its gradient of the third step, and is cancelled while it waits for the token of the fourth.
        let lost = Arc::new(Cancellation::default());
        std::thread::scope(|s| {
            let (worker, options) = (&one, RunOptions { cancel: Some(lost.clone()), ..Default::default() });
            let run = s.spawn(move || {
                worker.session.run_with(&worker.p.sync.train, &[feed(&worker.p.x, 4f32)], &options).map(drop)
            });
            wait_for_gradients(&two.p, &two.session, 1);
            lost.cancel(Error::new(Code::Cancelled, "killed"));
            assert_eq!(run.join().unwrap().unwrap_err().code(), Code::Cancelled);
        });
        // Cancels its pending dequeue before the restart.
        one.session.close().unwrap();
        one = Worker::start(&cluster, 1, REPLICAS);
    }
    all_run(&mut chief, &p, &[&one, &two], 1);
    assert_eq!(state(&p, chief.session()).unwrap(), after(3));
}

/// A TCP proxy whose target can be changed.
struct Proxy {
    address: String,
    target: Arc<Mutex<String>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    fn new() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (target, open): (Arc<Mutex<String>>, Arc<Mutex<Vec<TcpStream>>>) = Default::default();
        let (to, kept) = (target.clone(), open.clone());
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(to.lock().unwrap().as_str()) else { continue };
                let clone = |stream: &TcpStream| stream.try_clone().unwrap();
                for (mut from, mut into) in [(clone(&near), clone(&far)), (clone(&far), clone(&near))] {
                    std::thread::spawn(move || std::io::copy(&mut from, &mut into));
                }
                kept.lock().unwrap().extend([near, far]);
            }
        });
        Proxy { address, target, open }
    }

    /// Redirects new connections, and shuts down the open ones.
    fn lead_to(&self, target: String) {
        *self.target.lock().unwrap() = target;
        let open = std::mem::take(&mut *self.open.lock().unwrap());
        open.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }
}

/// A replica is lost without closing its connections: its pending dequeue on a parameter server outlives it. The token of
/// the step goes to its successor.
#[test]
fn a_replica_whose_loss_nobody_has_noticed_takes_no_token_of_its_successor() {
    let proxy = Proxy::new();
    let cluster = Cluster::known_by(&[("ps", 2), ("worker", REPLICAS as u32)], |job, task, address| {
        if (job, task) != ("worker", 1) {
            return address;
        }
        proxy.lead_to(address);
        proxy.address.clone()
    });
    let p = program(&cluster.spec, 0, REPLICAS);
    let mut chief = chief(&cluster, &p);
    let [lost, two] = [1, 2].map(|i| Worker::start(&cluster, i, REPLICAS));
    all_run(&mut chief, &p, &[&lost, &two], 3);
    std::thread::scope(|s| {
        let waiting = s.spawn(|| lost.session.run(&lost.p.sync.train, &[feed(&lost.p.x, 4f32)]));
        wait_for_gradients(&two.p, &two.session, 1);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        proxy.lead_to(listener.local_addr().unwrap().to_string());
        let server = cluster.serve(listener, "worker", 1);
        let next = Worker::start_on(&server, &cluster, 1, REPLICAS);
        // All tokens of the third step are enqueued, and none is lost.
        for step in 3..5 {
            all_run(&mut chief, &p, &[&next, &two], 1);
            assert_eq!(state(&p, chief.session()).unwrap(), after(step));
        }
        let e = waiting.join().unwrap().unwrap_err();
        assert!(matches!(e.code(), Code::Aborted | Code::Cancelled), "{e}");
    });
}

/// A replica that recovers by itself.
fn keep_training(cluster: &Spec, number: usize, aggregate: usize, seen: &AtomicI64) {
    let p = program(&cluster.0, number, aggregate);
    let target = &cluster.1[number];
    let creator: Box<dyn SessionCreator> = match number {
        0 => Box::new(ChiefSessionCreator::new().target(target).config(config(0))),
        n => Box::new(WorkerSessionCreator::new(target).config(config(n)).log(|_| {})),
    };
    let hooks: Vec<Box<dyn Hook>> =
        vec![Box::new(p.sync.hook(&p.g, number == 0).unwrap()), Box::new(StopAtStepHook::last_step(LAST))];
    let mut session = MonitoredSession::new(&p.g, creator, hooks).unwrap();
    let x = if aggregate == REPLICAS { [1f32, 4.0, 16.0][number] } else { TAKEN };
    while session.run(&p.sync.train, &[feed(&p.x, x)]).unwrap().is_some() {
        seen.fetch_max(session.global_step(), Ordering::Relaxed);
        // No update runs between two steps of the chief, not even with backups. The next step notices a lost server.
        if number == 0
            && let Ok(found) = state(&p, session.session())
        {
            assert_eq!(found, after(session.global_step()));
        }
    }
}

/// The cluster spec, and the targets of the replicas' sessions.
type Spec = (ClusterSpec, [String; REPLICAS]);
const LAST: u64 = 60;

/// All variables are initialised again, though only one of the parameter servers has lost its own.
#[test]
fn all_go_on_when_parameter_servers_start_again() {
    for aggregate in [REPLICAS, REPLICAS - 1] {
        let mut cluster = Cluster::of(&[("ps", 2), ("worker", REPLICAS as u32)]);
        let spec: Spec = (cluster.spec.clone(), [0, 1, 2].map(|i| cluster.target(FIRST + i)));
        let seen = AtomicI64::new(0);
        std::thread::scope(|s| {
            for number in 0..REPLICAS {
                let (spec, seen) = (&spec, &seen);
                s.spawn(move || keep_training(spec, number, aggregate, seen));
            }
            for task in [1, 0] {
                while seen.swap(0, Ordering::Relaxed) < 10 {
                    std::thread::yield_now();
                }
                cluster.restart(task);
            }
        });
    }
}
