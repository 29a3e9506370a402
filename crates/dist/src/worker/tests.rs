//! Sessions and steps that masters leak: call by call, with a fake clock.

use super::Worker;
use crate::auth::Caller;
use crate::cluster::{ClusterSpec, Connector, Membership};
use crate::log::Log;
use crate::net::client_connection::KeepAliveOptions;
use crate::net::server::peer::ConnectionToken;
use crate::wire::tensors::Contents;
use crate::worker::task::Task;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_core::error::{Code, Error, Result};
use thalweg_proto::{
    CleanupGraphRequest, CreateWorkerSessionRequest, DeleteWorkerSessionRequest, DeregisterGraphRequest,
    RecvTensorRequest, RegisterGraphRequest, RunGraphRequest, RunGraphResponse, text,
};
use thalweg_runtime::SessionOptions;

/// A queue of this task, with enqueue, dequeue and size. Sends are as masters make them.
const QUEUE: &str = "
    node { name: 'q' op: 'FIFOQueueV2' device: 'DEVICE' attr { key: 'component_types' value { list { type: DT_FLOAT } } }
           attr { key: 'shapes' value { list { shape {} } } } attr { key: 'shared_name' value { s: 'tokens' } } }";
const TAKE: &str = "
    node { name: 'take' op: 'QueueDequeueV2' device: 'DEVICE' input: 'q' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }";
const PUT: &str = "
    node { name: 'c' op: 'Const' device: 'DEVICE' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }
    node { name: 'put' op: 'QueueEnqueueV2' device: 'DEVICE' input: 'q' input: 'c' attr { key: 'Tcomponents' value { list { type: DT_FLOAT } } } }";
const SIZE: &str = "
    node { name: 'size' op: 'QueueSizeV2' device: 'DEVICE' input: 'q' }
    node { name: 'told' op: '_Send' device: 'DEVICE' input: 'size' attr { key: 'T' value { type: DT_INT32 } }
           attr { key: 'tensor_name' value { s: 'size:0' } } attr { key: 'client_terminated' value { b: true } }
           attr { key: 'send_device' value { s: 'DEVICE' } } attr { key: 'recv_device' value { s: 'DEVICE' } }
           attr { key: 'send_device_incarnation' value { i: 1 } } }";

const DEVICE: &str = "/job:ps/replica:0/task:0/device:CPU:0";

struct Bench {
    worker: Arc<Worker>,
    next_step: i64,
}

/// A master's session, of one incarnation, with its connection.
struct Master {
    handle: String,
    connection: Arc<ConnectionToken>,
}

impl Bench {
    fn new() -> Bench {
        let options = SessionOptions { job: "ps".into(), threads: 1, ..Default::default() };
        let task = Arc::new(Task::new(Arc::new(thalweg_ops::registry()), options).unwrap());
        let keep_alive =
            KeepAliveOptions { interval: Duration::from_secs(1), timeout: Duration::from_secs(1) };
        let connector =
            Connector::new(Vec::new(), keep_alive, Default::default(), Default::default(), Log::default());
        let home = Membership::of(&connector, task.name.clone(), &ClusterSpec::default()).unwrap();
        Bench { worker: Arc::new(Worker::new(task, connector, home, Log::default())), next_step: 0 }
    }

    fn open(&self, handle: &str, master: &str, life: i64) -> Master {
        let made = Master { handle: handle.into(), connection: Arc::default() };
        let request = CreateWorkerSessionRequest {
            session_handle: handle.into(),
            master_task: master.into(),
            master_incarnation: life,
            ..Default::default()
        };
        self.worker.create_worker_session(request, &made.connection).unwrap();
        made
    }

    async fn register(&self, m: &Master, nodes: &[&str]) -> String {
        let text = nodes.concat().replace("DEVICE", DEVICE);
        let request = RegisterGraphRequest {
            session_handle: m.handle.clone(),
            graph_def: Some(text::parse_graph_def(&text).unwrap()),
            create_worker_session_called: true,
            ..Default::default()
        };
        self.worker
            .register_graph(request, &m.connection, &Caller::default().party)
            .await
            .unwrap()
            .graph_handle
    }

    async fn run_as(&self, m: &Master, step: i64, graph: &str, partial: bool) -> Result<RunGraphResponse> {
        let request = RunGraphRequest {
            session_handle: m.handle.clone(),
            create_worker_session_called: true,
            graph_handle: graph.into(),
            step_id: step,
            is_partial: partial,
            ..Default::default()
        };
        self.worker.run_graph(request, Contents::default(), &m.connection, &Caller::default().party).await
    }

    /// A step blocked on dequeue: already blocked on return, as it is a partial run whose first call fetches nothing.
    async fn wait_for_element(&mut self, m: &Master) -> i64 {
        let graph = self.register(m, &[QUEUE, TAKE]).await;
        self.next_step += 1;
        self.run_as(m, self.next_step, &graph, true).await.unwrap();
        self.next_step
    }

    async fn put(&mut self, m: &Master) {
        let graph = self.register(m, &[QUEUE, PUT]).await;
        self.step(m, &graph).await.unwrap();
    }

    async fn step(&mut self, m: &Master, graph: &str) -> Result<RunGraphResponse> {
        self.next_step += 1;
        let answer = self.run_as(m, self.next_step, graph, false).await;
        self.worker.cleanup_graph(&CleanupGraphRequest { step_id: self.next_step });
        answer
    }

    /// Elements in the queue.
    async fn size(&mut self, m: &Master) -> i32 {
        let graph = self.register(m, &[QUEUE, SIZE]).await;
        let key = format!("{DEVICE};0000000000000001;{DEVICE};size:0;0:0");
        self.next_step += 1;
        let request = RunGraphRequest {
            session_handle: m.handle.clone(),
            create_worker_session_called: true,
            graph_handle: graph,
            step_id: self.next_step,
            recv_key: vec![key],
            ..Default::default()
        };
        let answer = self
            .worker
            .run_graph(request, Contents::default(), &m.connection, &Caller::default().party)
            .await
            .unwrap();
        self.worker.cleanup_graph(&CleanupGraphRequest { step_id: self.next_step });
        let tensor = answer.recv[0].tensor.clone().unwrap();
        Contents::default().tensor(&tensor).unwrap().to_scalar().unwrap()
    }
}

#[tokio::test]
async fn a_master_that_started_anew_takes_no_elements_with_the_steps_of_its_earlier_life() {
    let mut b = Bench::new();
    let other = b.open("other", "/job:worker/replica:0/task:0", 7);
    let old = b.open("old", "/job:worker/replica:0/task:1", 1);
    b.wait_for_element(&old).await;
    // Its connection is open: its death is undetected.
    let new = b.open("new", "/job:worker/replica:0/task:1", 2);
    b.put(&other).await;
    assert_eq!(b.size(&new).await, 1);
    assert_eq!((b.worker.guests(), b.worker.steps.len()), (2, 0));
    // Late calls of the old incarnation fail.
    let late = b.run_as(&old, 99, "0000000000000001", false).await.unwrap_err();
    assert_eq!(late.code(), Code::Aborted, "{late}");
}

#[tokio::test]
async fn steps_end_with_their_session_and_with_the_word_that_they_have_ended() {
    let mut b = Bench::new();
    let m = b.open("m", "/job:worker/replica:0/task:0", 7);
    let leaving = b.open("leaving", "/job:worker/replica:0/task:1", 1);
    b.wait_for_element(&leaving).await;
    b.worker.delete_worker_session(&DeleteWorkerSessionRequest { session_handle: "leaving".into() });
    let step = b.wait_for_element(&m).await;
    b.worker.cleanup_graph(&CleanupGraphRequest { step_id: step });
    b.put(&m).await;
    assert_eq!(b.size(&m).await, 1);
}

/// Some masters do not cancel the pending call when they send CleanupGraph.
#[tokio::test]
async fn a_call_that_waits_ends_when_its_step_does() {
    let mut b = Bench::new();
    let m = b.open("m", "/job:worker/replica:0/task:0", 7);
    let graph = b.register(&m, &[QUEUE, TAKE]).await;
    let (worker, connection) = (b.worker.clone(), m.connection.clone());
    let request = RunGraphRequest {
        session_handle: "m".into(),
        create_worker_session_called: true,
        graph_handle: graph,
        step_id: 50,
        ..Default::default()
    };
    let waiting = tokio::spawn(async move {
        worker.run_graph(request, Contents::default(), &connection, &Caller::default().party).await
    });
    while b.worker.steps.len() == 0 {
        tokio::task::yield_now().await;
    }
    b.worker.cleanup_graph(&CleanupGraphRequest { step_id: 50 });
    let e: Error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(e.code(), Code::Aborted | Code::Cancelled), "{e}");
    b.put(&m).await;
    assert_eq!(b.size(&m).await, 1);
}

#[tokio::test]
async fn what_a_master_leaves_behind_that_has_gone_is_freed() {
    let mut b = Bench::new();
    let m = b.open("m", "/job:worker/replica:0/task:0", 7);
    let gone = b.open("gone", "/job:worker/replica:0/task:1", 1);
    b.wait_for_element(&gone).await;
    let left = b.register(&gone, &[QUEUE, SIZE]).await;
    // An ended step for which CleanupGraph never comes.
    b.run_as(&gone, 1000, &left, false).await.unwrap();
    assert_eq!(b.worker.steps.len(), 2);
    let start = Instant::now();
    let after = |seconds: u64| start + Duration::from_secs(seconds);
    b.worker.collect(after(0));
    b.worker.collect(after(100_000));
    assert_eq!((b.worker.steps.len(), b.worker.guests()), (2, 2), "a master that is there may take its time");
    drop(gone.connection);
    b.worker.collect(after(100_001));
    b.worker.collect(after(100_060));
    assert_eq!(b.worker.steps.len(), 2, "it may connect again");
    b.worker.collect(after(100_061));
    assert_eq!(b.worker.steps.len(), 2, "a minute is not over");
    b.worker.collect(after(100_062));
    assert_eq!((b.worker.steps.len(), b.worker.guests()), (0, 2));
    b.put(&m).await;
    assert_eq!(b.size(&m).await, 1);
    b.worker.collect(after(100_001 + 24 * 3600));
    assert_eq!(b.worker.guests(), 2, "a day is not over");
    b.worker.collect(after(100_002 + 24 * 3600));
    assert_eq!(b.worker.guests(), 1);
}

#[tokio::test]
async fn a_master_that_connects_again_keeps_its_session() {
    let mut b = Bench::new();
    let m = b.open("m", "/job:worker/replica:0/task:0", 7);
    let graph = b.register(&m, &[QUEUE, PUT]).await;
    let start = Instant::now();
    let Master { handle, connection } = m;
    drop(connection);
    b.worker.collect(start);
    let again = Master { handle, connection: Arc::default() };
    b.step(&again, &graph).await.unwrap();
    b.worker.collect(start + Duration::from_secs(48 * 3600));
    assert_eq!((b.worker.guests(), b.size(&again).await), (1, 1));
}

#[tokio::test]
async fn partial_runs_have_an_upper_bound() {
    let b = Bench::new();
    let m = b.open("m", "/job:worker/replica:0/task:0", 7);
    let graph = b.register(&m, &[QUEUE, TAKE]).await;
    let most = crate::threads::awaited_step::MAX_PARTIAL_RUNS as i64;
    for step in 1..=most {
        b.run_as(&m, step, &graph, true).await.unwrap();
    }
    let e = b.run_as(&m, most + 1, &graph, true).await.unwrap_err();
    assert_eq!(e.code(), Code::ResourceExhausted, "{e}");
    b.worker.cleanup_graph(&CleanupGraphRequest { step_id: 1 });
    b.run_as(&m, most + 2, &graph, true).await.unwrap();
    b.worker.delete_worker_session(&DeleteWorkerSessionRequest { session_handle: "m".into() });
    assert_eq!(b.worker.steps.len(), 0);
}

#[test]
fn sessions_have_an_upper_bound_and_those_of_masters_that_have_gone_go_first() {
    let b = Bench::new();
    let mut masters: Vec<Master> =
        (0..4096).map(|i| b.open(&i.to_string(), &format!("/job:worker/replica:0/task:{i}"), 1)).collect();
    let request =
        |handle: &str| CreateWorkerSessionRequest { session_handle: handle.into(), ..Default::default() };
    let connection = Arc::default();
    let e = b.worker.create_worker_session(request("more"), &connection).unwrap_err();
    assert_eq!(e.code(), Code::ResourceExhausted, "{e}");
    let gone = masters.remove(17);
    drop(gone.connection);
    b.worker.collect(Instant::now());
    b.worker.create_worker_session(request("more"), &connection).unwrap();
    assert_eq!(b.worker.guests(), 4096);
    assert!(b.worker.session("17", true).is_err() && b.worker.session("18", true).is_ok());
}

#[test]
fn steps_have_an_upper_bound_except_for_our_own_masters() {
    let b = Bench::new();
    let (steps, us) = (&b.worker.steps, &b.worker.home);
    for id in 0..100_000 {
        steps.begin_remote(id, us, 1).unwrap();
    }
    let e = steps.begin_remote(100_000, us, 1).err().unwrap();
    assert_eq!(e.code(), Code::ResourceExhausted, "{e}");
    assert!(steps.wanted(100_000).is_err(), "asking for a tensor is no way around it");
    // Open steps continue, and our own master's steps are not limited.
    assert!(steps.begin_remote(7, us, 1).is_ok() && steps.wanted(7).is_ok());
    steps.begin(100_000, us);
    steps.of_session(1).into_iter().for_each(|id| steps.end(id));
    assert_eq!(steps.len(), 1);
}

/// Regression: each left its key and its call until the step ended: 2,000 with long keys held 376 MB.
#[tokio::test]
async fn receives_that_are_given_up_leave_nothing_on_their_step() {
    let mut b = Bench::new();
    let master = b.open("s", "/job:worker/replica:0/task:0", 1);
    let id = b.wait_for_element(&master).await;
    let step = b.worker.steps.wanted(id as u64).unwrap();
    let life = b.worker.task.devices()[0].context.incarnation;
    let receive = |n: usize| {
        let rendezvous_key = format!("{DEVICE};{life:016x};{DEVICE};tensor{n}:0;0:0");
        let request = RecvTensorRequest { step_id: id, rendezvous_key, ..Default::default() };
        let worker = b.worker.clone();
        async move { worker.recv_tensor(request).await }
    };
    let before = step.keys();
    let waiting: Vec<_> = (0..2_000).map(|n| tokio::spawn(receive(n))).collect();
    while step.keys() < before + 2_000 {
        tokio::task::yield_now().await;
    }
    waiting.iter().for_each(|call| call.abort());
    for call in waiting {
        assert!(call.await.unwrap_err().is_cancelled());
    }
    assert_eq!(step.keys(), before);
}

#[test]
fn masters_that_open_no_session_share_one() {
    let b = Bench::new();
    let m = b.open("m", "/job:worker/replica:0/task:0", 7);
    let own = b.worker.session("m", true).unwrap();
    // Number 0 is for our own master's steps.
    assert_eq!((own.number, own.master_task()), (1, "/job:worker/replica:0/task:0"));
    let shared = b.worker.session("", true).unwrap();
    assert_eq!((shared.number, shared.master_task()), (2, ""));
    for (handle, created) in [("", false), ("other", false)] {
        assert!(Arc::ptr_eq(&shared, &b.worker.session(handle, created).unwrap()));
    }
    assert!(Arc::ptr_eq(&own, &b.worker.session("m", false).unwrap()));
    assert_eq!(b.worker.session("other", true).err().unwrap().code(), Code::Aborted);
    assert_eq!(b.worker.masters(), [("/job:worker/replica:0/task:0".to_string(), 7)]);
    drop(m);
}

#[test]
fn a_master_is_there_as_long_as_one_of_its_connections_is() {
    let b = Bench::new();
    let m = b.open("m", "/job:worker/replica:0/task:0", 7);
    let start = Instant::now();
    let later = start + Duration::from_secs(48 * 3600);
    // Closed connections are not kept.
    for _ in 0..100 {
        b.worker.session_used("m", true, &Arc::default()).unwrap();
    }
    let session = b.worker.session("m", true).unwrap();
    assert!(session.connections() <= 2, "{}", session.connections());
    let second = Arc::<ConnectionToken>::default();
    b.worker.session_used("m", true, &second).unwrap();
    b.worker.session_used("m", true, &second).unwrap();
    drop(second);
    b.worker.collect(start);
    b.worker.collect(later);
    assert_eq!(b.worker.guests(), 1);
    drop(m.connection);
    b.worker.collect(later);
    b.worker.collect(later + Duration::from_secs(48 * 3600));
    assert_eq!(b.worker.guests(), 0);
}

/// Kernels cache resources, and others may hold the store.
#[test]
fn what_a_sessions_devices_hold_goes_with_it() {
    let b = Bench::new();
    let m = b.open("m", "/job:worker/replica:0/task:0", 7);
    let store = b.worker.session("m", true).unwrap().devices[0].context.resources.clone();
    let before = store.generation();
    b.worker.delete_worker_session(&DeleteWorkerSessionRequest { session_handle: m.handle });
    assert_ne!(store.generation(), before);
}

#[test]
fn who_comes_late_to_a_step_is_told_as_long_as_it_is_remembered() {
    let b = Bench::new();
    let steps = &b.worker.steps;
    (0..4096).for_each(|id| steps.end(id));
    // A second end of a step has no effect.
    steps.end(0);
    assert_eq!(steps.wanted(0).err().unwrap().code(), Code::Aborted);
    steps.end(4096);
    assert!(steps.wanted(0).is_ok() && steps.wanted(1).is_err() && steps.wanted(4096).is_err());
    // Some masters reuse step ids.
    steps.begin(1, &b.worker.home);
    assert!(steps.wanted(1).is_ok());
}

#[test]
fn a_step_that_never_began_and_that_nobody_waits_for_is_forgotten() {
    let b = Bench::new();
    let steps = &b.worker.steps;
    let waiting = steps.wanted(1).unwrap();
    drop(steps.wanted(2).unwrap());
    drop(steps.begin(3, &b.worker.home));
    b.worker.collect(Instant::now());
    assert_eq!(steps.len(), 2);
    assert!(steps.has(1, &waiting));
    let other = steps.begin(3, &b.worker.home);
    assert!(steps.has(3, &other) && !steps.has(3, &waiting) && !steps.has(2, &waiting));
    drop(waiting);
    b.worker.collect(Instant::now());
    assert_eq!(steps.len(), 1);
    steps.end(3);
    assert!(!steps.has(3, &other));
}

#[tokio::test]
async fn a_tensor_is_asked_for_by_a_key_of_ours_and_once() {
    let b = Bench::new();
    let life = b.worker.task.devices()[0].context.incarnation;
    let receive = |key: String, request_id: i64| {
        let worker = b.worker.clone();
        let request = RecvTensorRequest { step_id: 5, rendezvous_key: key, request_id, ..Default::default() };
        async move { worker.recv_tensor(request).await.err().unwrap() }
    };
    for (key, code) in [
        (String::new(), Code::InvalidArgument),
        (format!("{DEVICE};{life:016x};{DEVICE};t:0"), Code::InvalidArgument),
        (format!("{DEVICE};{life:016x};{DEVICE};t:0;0:0;more"), Code::InvalidArgument),
        (format!("{DEVICE};nonsense;{DEVICE};t:0;0:0"), Code::InvalidArgument),
        (format!("no device;{life:016x};{DEVICE};t:0;0:0"), Code::InvalidArgument),
        (
            format!("/job:ps/replica:0/task:0/device:CPU:1;{life:016x};{DEVICE};t:0;0:0"),
            Code::InvalidArgument,
        ),
        (format!("{DEVICE};{:016x};{DEVICE};t:0;0:0", life ^ 1), Code::Aborted),
    ] {
        let e = receive(key.clone(), 0).await;
        assert_eq!(e.code(), code, "{key}: {e}");
        assert!(e.message().contains("key") || e.message().contains("device"), "{e}");
    }
    assert_eq!(b.worker.steps.len(), 0);
    b.worker.steps.end(5);
    let key = || format!("{DEVICE};{life:016x};{DEVICE};t:0;0:0");
    let late = receive(key(), 77).await;
    assert!(late.message().contains("step 5 has ended"), "{late}");
    let again = receive(key(), 77).await;
    assert!(again.message().contains("The same RecvTensor request was received twice"), "{again}");
}

#[tokio::test]
async fn a_graph_is_there_until_it_is_deregistered() {
    let mut b = Bench::new();
    let m = b.open("m", "/job:worker/replica:0/task:0", 7);
    let (graph, other) = (b.register(&m, &[QUEUE, SIZE]).await, b.register(&m, &[QUEUE, PUT]).await);
    assert_ne!(graph, other);
    let request = DeregisterGraphRequest {
        graph_handle: graph.clone(),
        session_handle: "m".into(),
        create_worker_session_called: true,
    };
    b.step(&m, &graph).await.unwrap();
    b.worker.deregister_graph(&request).unwrap();
    let e = b.step(&m, &graph).await.unwrap_err();
    assert_eq!(
        (e.code(), e.message()),
        (Code::Aborted, format!("Graph handle is not found: {graph}").as_str())
    );
    assert_eq!(b.worker.deregister_graph(&request).unwrap_err().code(), Code::InvalidArgument);
    b.step(&m, &other).await.unwrap();
    assert_eq!(b.size(&m).await, 1);
}

#[tokio::test]
async fn a_partial_run_gives_what_is_fetched_before_its_end() {
    let b = Bench::new();
    let m = b.open("m", "/job:worker/replica:0/task:0", 7);
    let graph = b.register(&m, &[QUEUE, SIZE]).await;
    let party = Caller::default().party;
    let call = |keys: Vec<String>, is_last_partial_run| {
        let request = RunGraphRequest {
            session_handle: "m".into(),
            create_worker_session_called: true,
            graph_handle: graph.clone(),
            step_id: 9,
            is_partial: true,
            is_last_partial_run,
            recv_key: keys,
            ..Default::default()
        };
        b.worker.run_graph(request, Contents::default(), &m.connection, &party)
    };
    let key = format!("{DEVICE};0000000000000001;{DEVICE};size:0;0:0");
    let first = call(vec![key.clone()], false).await.unwrap();
    assert_eq!((first.recv.len(), first.recv[0].name.as_str()), (1, key.as_str()));
    let size = Contents::default().tensor(first.recv[0].tensor.as_ref().unwrap()).unwrap();
    assert_eq!(size.to_scalar::<i32>().unwrap(), 0);
    let last = call(Vec::new(), true).await.unwrap();
    assert!(last.recv.is_empty() && last.cost_graph.is_some());
    assert_eq!(b.worker.partial.lock().unwrap().len(), 0);
}
