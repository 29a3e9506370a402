//! Thousands of calls, cancels, resets and timeouts on a connection, with a probe on another one.

use crate::client::Client;
use crate::common::*;
use crate::raw::{self, Raw};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use thalweg_core::tensor::Tensor;
use thalweg_graph::convert::tensor_to_proto;
use thalweg_proto::*;

/// A server with a queue that stays empty.
async fn with_queue() -> (Bench, String) {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{QUEUE}")).await;
    (b, s)
}

fn get(session: &str) -> Vec<u8> {
    raw::message(&step(session, &[], &["get:0"], &[]).encode_to_vec())
}

/// A client that fetches a constant repeatedly; panics if a response takes over a second.
struct Probe {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    asking: tokio::task::JoinHandle<()>,
}

impl Probe {
    async fn start(b: &Bench) -> Probe {
        let client = b.another().await;
        let (stop, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (stopped, count) = (stop.clone(), answered.clone());
        let asking = tokio::spawn(async move {
            let mut client = client;
            let create = CreateSessionRequest { graph_def: Some(graph(CONSTANT)), ..Default::default() };
            let session = client.create_session(create).await.unwrap().into_inner().session_handle;
            while !stopped.load(Ordering::Relaxed) {
                let asked = client.run_step(step(&session, &[], &["c:0"], &[]));
                let said = tokio::time::timeout(Duration::from_secs(20), asked).await;
                assert_eq!(said.expect("the server is silent").unwrap().into_inner().status_code, 0);
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Probe { stop, answered, asking }
    }

    /// Waits for some more responses: the server still serves.
    async fn more(&self) {
        let wanted = self.answered.load(Ordering::Relaxed) + 3;
        while self.answered.load(Ordering::Relaxed) < wanted {
            assert!(!self.asking.is_finished(), "the probe has failed");
            tokio::task::yield_now().await;
        }
    }

    async fn end(self) {
        self.more().await;
        self.stop.store(true, Ordering::Relaxed);
        self.asking.await.unwrap();
    }
}

/// The server's side of the poll that hung with 128 tensors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_cancelled_at_once_leave_the_server_serving() {
    let (b, s) = with_queue().await;
    let probe = Probe::start(&b).await;
    // On more connections than io threads.
    let mut peers: Vec<Raw> = (0..6).map(|_| Raw::connect(b.server.address())).collect();
    for count in [129, 300, 3_000] {
        for peer in &mut peers {
            if count == 129 {
                peer.send(&[raw::PREFACE, &raw::settings(&[])].concat());
            }
            let streams = |i: u32| count * 10 + 2 * i + 1;
            let calls = (0..count).flat_map(|i| raw::request(streams(i), "RunStep", &get(&s), true));
            peer.send(&calls.collect::<Vec<_>>());
        }
        b.until_active(6 * count as usize).await;
        for peer in &mut peers {
            let streams = |i: u32| count * 10 + 2 * i + 1;
            let resets = (0..count).flat_map(|i| raw::frame(raw::RESET, 0, streams(i), &8u32.to_be_bytes()));
            peer.send(&resets.collect::<Vec<_>>());
        }
        while b.server.active_requests() > 1 {
            tokio::task::yield_now().await;
        }
        probe.more().await;
    }
    drop(peers);
    probe.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_whose_time_is_up_together_are_all_answered() {
    let (b, s) = with_queue().await;
    let probe = Probe::start(&b).await;
    let mut peer = Raw::connect(b.server.address());
    let calls = (0..1_000).flat_map(|i| raw::request_within("300m", 2 * i + 1, "RunStep", &get(&s)));
    peer.send(&[raw::PREFACE, &raw::settings(&[]), &calls.collect::<Vec<_>>()].concat());
    let ended = tokio::task::spawn_blocking(move || {
        let ends = std::iter::from_fn(|| peer.frame())
            .filter(|f| f.kind == raw::HEADERS && f.flags & raw::END_STREAM != 0);
        ends.take(1_000).count()
    });
    assert_eq!(ended.await.unwrap(), 1_000);
    probe.end().await;
}

/// SETTINGS_INITIAL_WINDOW_SIZE iterated over all streams.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_on_a_connection_with_thousands_of_streams_do_not_silence_the_server() {
    let (b, s) = with_queue().await;
    let probe = Probe::start(&b).await;
    let mut peer = Raw::connect(b.server.address());
    peer.send(&[raw::PREFACE, &raw::settings(&[(raw::INITIAL_WINDOW, 0)])].concat());
    let fetch = raw::message(&step(&s, &[], &["c:0"], &[]).encode_to_vec());
    for i in 0..5_000 {
        peer.send(&raw::request(4 * i + 1, "RunStep", &fetch, true));
        peer.send(&raw::request(4 * i + 3, "RunStep", &get(&s), true));
    }
    let many: Vec<(u16, u32)> = (0..64).map(|i| (raw::INITIAL_WINDOW, i % 2)).collect();
    for _ in 0..2_600 {
        peer.send(&raw::settings(&many));
    }
    probe.more().await;
    drop(peer);
    probe.end().await;
}

/// Calls that are cancelled at once (rapid reset).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rapid_resets_do_not_silence_the_server() {
    let (b, s) = with_queue().await;
    let probe = Probe::start(&b).await;
    let address = b.server.address();
    let attacks: Vec<_> = (0..4)
        .map(|_| {
            let get = get(&s);
            tokio::task::spawn_blocking(move || {
                let mut peer = Raw::connect(address);
                peer.send(&[raw::PREFACE, &raw::settings(&[])].concat());
                for i in 0..5_000 {
                    let stream = 2 * i + 1;
                    peer.send(&raw::request(stream, "RunStep", &get, true));
                    peer.send(&raw::frame(raw::RESET, 0, stream, &8u32.to_be_bytes()));
                }
            })
        })
        .collect();
    for attack in attacks {
        attack.await.unwrap();
    }
    probe.end().await;
}

/// A while loop on `x`: endless, or without iterations.
const LOOP: &str = "
node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } }
node { name: 'enter' op: 'Enter' input: 'x' attr { key: 'T' value { type: DT_BOOL } }
       attr { key: 'frame_name' value { s: 'f' } } }
node { name: 'merge' op: 'Merge' input: 'enter' input: 'next' attr { key: 'T' value { type: DT_BOOL } }
       attr { key: 'N' value { i: 2 } } }
node { name: 'go' op: 'LoopCond' input: 'merge' }
node { name: 'switch' op: 'Switch' input: 'merge' input: 'go' attr { key: 'T' value { type: DT_BOOL } } }
node { name: 'next' op: 'NextIteration' input: 'switch:1' attr { key: 'T' value { type: DT_BOOL } } }
node { name: 'exit' op: 'Exit' input: 'switch' attr { key: 'T' value { type: DT_BOOL } } }";

fn for_ever(goes_on: bool) -> NamedTensorProto {
    let tensor = tensor_to_proto(&Tensor::scalar(goes_on)).unwrap();
    NamedTensorProto { name: "x:0".into(), tensor: Some(tensor) }
}

/// Regression: endless steps took all threads for sessions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_without_end_do_not_keep_others_from_making_sessions() {
    let mut b = bench().await;
    let s = b.create(LOOP).await;
    let mut endless = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let (mut client, request) = (b.client.clone(), step(&s, &[for_ever(true)], &["exit:0"], &[]));
        endless.spawn(async move { client.run_step(request).await.unwrap().into_inner() });
    }
    b.until_active(40).await;
    let other = b.create(CONSTANT).await;
    assert_eq!(b.fetch(&other, "c:0").await, 3.0);
    b.client.close_session(CloseSessionRequest { session_handle: s }).await.unwrap();
    while let Some(ended) = endless.join_next().await {
        assert_ne!(ended.unwrap().status_code, 0);
    }
}

/// Endless steps, one call each.
#[derive(Default)]
struct Endless(tokio::task::JoinSet<Result<tonic::Response<RunStepResponse>, tonic::Status>>);

impl Endless {
    fn start(&mut self, client: &Client, request: RunStepRequest) {
        let mut client = client.clone();
        self.0.spawn(async move { client.run_step(request).await });
    }

    /// They have been cancelled.
    async fn end(mut self) {
        while let Some(ended) = self.0.join_next().await {
            assert_ne!(ended.unwrap().map_or(1, |r| r.into_inner().status_code), 0);
        }
    }
}

/// An honest client: creates a session, runs steps, one of which blocks, and closes it.
async fn honest(b: &Bench) {
    let used = async {
        let mut client = b.another().await;
        client.list_devices(ListDevicesRequest::default()).await.unwrap();
        let graph_def = Some(graph(&format!("{CONSTANT}{QUEUE}")));
        let create = CreateSessionRequest { graph_def, ..Default::default() };
        let s = client.create_session(create).await.unwrap().into_inner().session_handle;
        let asked = |fetch: &[&str], target: &[&str]| {
            let (mut client, request) = (client.clone(), step(&s, &[], fetch, target));
            tokio::spawn(async move { client.run_step(request).await.unwrap().into_inner() })
        };
        let first = |r: RunStepResponse| value(r.tensor[0].tensor.as_ref().unwrap());
        assert_eq!(first(asked(&["c:0"], &[]).await.unwrap()), 3.0);
        let waits = asked(&["get:0"], &[]);
        assert_eq!(asked(&[], &["put"]).await.unwrap().status_code, 0);
        assert_eq!(first(waits.await.unwrap()), 3.0);
        client.close_session(CloseSessionRequest { session_handle: s }).await.unwrap();
    };
    // Only a server that hangs takes so long.
    tokio::time::timeout(Duration::from_secs(300), used).await.expect("the server is silent");
}

/// Regression: 32 sessions with eight steps each took all threads for steps.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_without_end_in_many_sessions_left_no_threads_to_other_clients() {
    let mut b = bench().await;
    let mut endless = Endless::default();
    for _ in 0..32 {
        let s = b.create(LOOP).await;
        (0..8).for_each(|_| endless.start(&b.client, step(&s, &[for_ever(true)], &["exit:0"], &[])));
    }
    b.until_active(256).await;
    honest(&b).await;
    b.another().await.reset(ResetRequest::default()).await.unwrap();
    endless.end().await;
}

/// Regression: a loop that used to be short ran on the io thread and blocked it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loops_that_had_been_short_kept_the_threads_of_connections() {
    let mut b = bench().await;
    let s = b.create(LOOP).await;
    for _ in 0..5 {
        assert_eq!(b.run(&s, &[for_ever(false)], &["exit:0"], &[]).await.status_code, 0);
    }
    let mut endless = Endless::default();
    for _ in 0..8 {
        endless.start(&b.another().await, step(&s, &[for_ever(true)], &["exit:0"], &[]));
    }
    b.until_active(8).await;
    honest(&b).await;
    b.another().await.reset(ResetRequest::default()).await.unwrap();
    endless.end().await;
}

/// Regression: they ran on threads for sessions, and on those for steps that resume.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partial_runs_without_end_left_no_threads_to_other_clients() {
    let mut b = bench().await;
    let s = b.create(LOOP).await;
    let mut endless = Endless::default();
    for _ in 0..40 {
        let setup = PartialRunSetupRequest {
            session_handle: s.clone(),
            feed: names(&["x:0"]),
            fetch: names(&["exit:0"]),
            ..Default::default()
        };
        let handle = b.client.partial_run_setup(setup).await.unwrap().into_inner().partial_run_handle;
        let request = step(&s, &[for_ever(true)], &["exit:0"], &[]);
        endless.start(&b.client, RunStepRequest { partial_run_handle: handle, ..request });
    }
    b.until_active(40).await;
    honest(&b).await;
    b.client.close_session(CloseSessionRequest { session_handle: s }).await.unwrap();
    endless.end().await;
}
