//! Tasks of a cluster in one process: tests of internals.

use crate::cluster::ClusterSpec;
use crate::{Credentials, RemoteRunOptions, RemoteSession, Server, ServerOptions};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::Code;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::Graph;
use thalweg_proto::{ConfigProto, text};

/// Feeds on the ps, sent to the worker.
const GRAPH: &str = "
    node { name: 'x' op: 'Placeholder' device: '/job:ps/task:0' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'neg' op: 'Neg' input: 'x' device: '/job:ps/task:0' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'pos' op: 'Neg' input: 'neg' device: '/job:worker/task:0' attr { key: 'T' value { type: DT_FLOAT } } }";

const WORKER: &str = "/job:worker/replica:0/task:0";

/// A ps and a worker.
fn tasks() -> [Server; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [ps, worker] = [0, 1].map(|i: usize| listeners[i].local_addr().unwrap());
    let cluster = ClusterSpec::parse(&format!(r#"{{"ps": ["{ps}"], "worker": ["{worker}"]}}"#)).unwrap();
    let mut jobs = ["ps", "worker"].into_iter();
    listeners.map(|listener| {
        let options = ServerOptions {
            job: jobs.next().unwrap().into(),
            threads: 1,
            cluster: cluster.clone(),
            drain: Duration::ZERO,
            ..Default::default()
        };
        Server::start_on(listener, Arc::new(thalweg_ops::registry()), options).unwrap()
    })
}

fn session(master: &Server) -> RemoteSession {
    session_of(GRAPH, master)
}

fn session_of(text: &str, master: &Server) -> RemoteSession {
    let def = text::parse_graph_def(text).unwrap();
    let graph = Graph::from_def(Arc::new(thalweg_ops::registry()), &def).unwrap();
    let target = format!("grpc://{}", master.address());
    RemoteSession::connect_as(&Credentials::default(), &target, &graph, ConfigProto::default()).unwrap()
}

fn step(session: &RemoteSession, trace: bool) {
    let x = Tensor::from_slice(Shape::new(&[250_000]).unwrap(), &vec![1f32; 250_000]).unwrap();
    let options = RemoteRunOptions { trace, ..Default::default() };
    session.run(&[("x:0".into(), x)], &["pos:0".into()], &[], &options).unwrap();
}

/// Waits for messages that tasks send after the response.
fn soon(what: impl Fn() -> bool) {
    while !what() {
        std::thread::yield_now();
    }
}

#[test]
fn nothing_of_a_step_is_left_on_any_task_and_nothing_of_a_session() {
    let [ps, worker] = tasks();
    let s = session(&worker);
    step(&s, false);
    soon(|| ps.master().worker.steps.len() == 0 && worker.master().worker.steps.len() == 0);
    // The ps knows the session's master and its incarnation.
    let life = worker.master().task.devices()[0].context.incarnation as i64;
    assert_eq!(ps.master().worker.masters(), [(WORKER.to_string(), life)]);
    assert_eq!((ps.guests(), worker.guests()), (1, 0));
    s.close().unwrap();
    assert_eq!(worker.sessions(), 0);
    soon(|| ps.guests() == 0);
}

#[test]
fn transfers_are_recorded_while_a_step_is_traced_and_not_after_it() {
    let [ps, worker] = tasks();
    let s = session(&worker);
    step(&s, true);
    let records = |server: &Server| server.master().worker.steps.transfers.begin().is_some();
    soon(|| !records(&ps) && !records(&worker));
}

#[test]
fn bytes_are_counted_by_the_tasks_that_they_go_between() {
    let [ps, worker] = tasks();
    let s = session(&worker);
    let million = 1_000_000;
    let of = |server: &Server| {
        let [other] = &server.traffic()[..] else { panic!("one other task") };
        (other.task.clone(), other.received, other.sent)
    };
    step(&s, false);
    // The feed was sent to the ps, and its result received.
    let (other, received, sent) = of(&worker);
    assert_eq!(other, "/job:ps/replica:0/task:0");
    assert!(received > million && sent > million, "{received} {sent}");
    let (other, received, sent) = of(&ps);
    assert_eq!(other, WORKER);
    assert!(received >= million && sent >= million, "{received} {sent}");
    assert!(received < 2 * million && sent < 2 * million, "{received} {sent}");
}

/// A queue on the ps that stays empty.
const QUEUE: &str = "
    node { name: 'q' op: 'FIFOQueueV2' device: '/job:ps/task:0'
           attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
    node { name: 'get' op: 'QueueDequeueV2' input: 'q' device: '/job:ps/task:0'
           attr { key: 'component_types' value { list { type: DT_FLOAT } } } }";

#[test]
fn a_step_that_waits_for_another_task_says_for_which_when_its_time_is_up() {
    let [ps, worker] = tasks();
    let s = session_of(QUEUE, &worker);
    let step = |millis| {
        let options = RemoteRunOptions { timeout: Some(Duration::from_millis(millis)), ..Default::default() };
        s.run(&[], &["get:0".into()], &[], &options).unwrap_err()
    };
    let e = step(300);
    assert_eq!(e.code(), Code::DeadlineExceeded);
    assert!(e.message().contains("no answer from /job:ps/replica:0/task:0 at 127.0.0.1:"), "{e}");
    // The step is cleaned up on that task.
    soon(|| ps.master().worker.steps.len() == 0);
}

/// The step ids that TensorFlow accepts.
#[test]
fn numbers_of_steps_have_56_bits() {
    let [ps, worker] = tasks();
    let s = session_of(QUEUE, &worker);
    let cancel = Arc::<Cancellation>::default();
    std::thread::scope(|scope| {
        let options = RemoteRunOptions { cancel: Some(cancel.clone()), ..Default::default() };
        let steps: Vec<_> = (0..4)
            .map(|_| {
                let (s, options) = (&s, options.clone());
                scope.spawn(move || s.run(&[], &["get:0".into()], &[], &options).is_err())
            })
            .collect();
        let steps_of_guest = || ps.master().worker.steps.of_session(1);
        soon(|| steps_of_guest().len() == 4);
        let ids = steps_of_guest();
        cancel.cancel(thalweg_core::error::cancelled("enough"));
        assert!(steps.into_iter().all(|step| step.join().unwrap()));
        assert!(ids.iter().all(|id| *id < 1 << 56), "{ids:x?}");
        // A random id this low has a probability of 2^-36.
        assert!(ids.iter().all(|id| *id > 1 << 20), "{ids:x?}");
    });
}
