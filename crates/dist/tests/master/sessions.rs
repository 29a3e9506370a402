//! Sessions over the wire: created, extended, closed, limited, reset; their state.

use crate::common::*;
use std::sync::{Condvar, Mutex};
use std::time::Duration;
use thalweg_core::error::Result;
use thalweg_core::kernel::{Kernel, OpCall};
use thalweg_core::op::{KernelRow, Make, Op};
use thalweg_dist::ServerOptions;
use thalweg_proto::*;
use tonic::Code;

#[tokio::test]
async fn a_graph_is_created_extended_and_run() {
    let mut b = bench().await;
    let s = b.create(CONSTANT).await;
    assert_eq!(b.fetch(&s, "c:0").await, 3.0);
    assert_eq!(b.extend(&s, SUM, 0).await.unwrap(), 1);
    let r = b.run(&s, &[float("x:0", 4.0)], &["y:0"], &["c"]).await;
    assert_eq!((r.tensor[0].name.as_str(), value(r.tensor[0].tensor.as_ref().unwrap())), ("y:0", 7.0));
    assert!(r.metadata.is_some());
    b.client.close_session(CloseSessionRequest { session_handle: s }).await.unwrap();
    assert_eq!(b.server.sessions(), 0);
}

#[tokio::test]
async fn an_extension_of_another_version_is_aborted_and_changes_nothing() {
    let mut b = bench().await;
    let s = b.create(CONSTANT).await;
    let e = b.extend(&s, SUM, 5).await.unwrap_err();
    assert_eq!((e.code(), e.message()), (Code::Aborted, "Current version is 0 but caller expected 5."));
    let bad = b.extend(&s, "node { name: 'z' op: 'Neg' input: 'nowhere' }", 0).await.unwrap_err();
    assert_eq!(bad.code(), Code::InvalidArgument);
    assert_eq!(b.extend(&s, SUM, 0).await.unwrap(), 1);
}

#[tokio::test]
async fn a_session_that_is_not_there_is_aborted_in_every_call() {
    let mut b = bench().await;
    let handle = || "feedfacefeedface".to_string();
    let gone = "Session feedfacefeedface is not found.";
    let restarted = "Session feedfacefeedface is not found. Possibly, this master has restarted.";
    let r = b.run(&handle(), &[], &["c:0"], &[]).await;
    assert_eq!((r.status_code, r.status_error_message.as_str()), (10, gone));
    let request = RunStepRequest { store_errors_in_response_body: false, ..step(&handle(), &[], &[], &[]) };
    let c = &mut b.client;
    let mut errors = vec![c.run_step(request).await.err()];
    let part =
        RunStepRequest { partial_run_handle: "0".into(), session_handle: handle(), ..Default::default() };
    errors.push(c.run_step(part).await.err());
    errors.push(
        c.extend_session(ExtendSessionRequest { session_handle: handle(), ..Default::default() }).await.err(),
    );
    errors.push(
        c.partial_run_setup(PartialRunSetupRequest { session_handle: handle(), ..Default::default() })
            .await
            .err(),
    );
    errors.push(
        c.make_callable(MakeCallableRequest { session_handle: handle(), ..Default::default() }).await.err(),
    );
    errors.push(
        c.run_callable(RunCallableRequest { session_handle: handle(), ..Default::default() }).await.err(),
    );
    errors.push(
        c.release_callable(ReleaseCallableRequest { session_handle: handle(), ..Default::default() })
            .await
            .err(),
    );
    for e in errors {
        let e = e.unwrap();
        assert_eq!((e.code(), e.message()), (Code::Aborted, gone));
    }
    let e = c.close_session(CloseSessionRequest { session_handle: handle() }).await.unwrap_err();
    assert_eq!((e.code(), e.message()), (Code::Aborted, restarted));
    let e = c.list_devices(ListDevicesRequest { session_handle: handle() }).await.unwrap_err();
    assert_eq!((e.code(), e.message()), (Code::InvalidArgument, restarted));
}

#[tokio::test]
async fn variables_are_the_servers_and_queues_the_sessions() {
    let mut b = bench().await;
    let text = format!("{CONSTANT}{VARIABLE}{QUEUE}");
    let (first, second) = (b.create(&text).await, b.create(&text).await);
    b.run(&first, &[], &[], &["init", "put"]).await;
    assert_eq!(b.fetch(&second, "v:0").await, 3.0);
    assert_eq!((b.fetch(&first, "size:0").await, b.fetch(&second, "size:0").await), (1.0, 0.0));
    let config = ConfigProto { isolate_session_state: true, ..Default::default() };
    let alone = b.create_with(&text, config).await.unwrap();
    let r = b.run(&alone, &[], &["v:0"], &[]).await;
    assert_eq!(r.status_code, Code::FailedPrecondition as i32);
    b.client.close_session(CloseSessionRequest { session_handle: first }).await.unwrap();
    let third = b.create(&text).await;
    assert_eq!(b.fetch(&third, "v:0").await, 3.0);
}

#[tokio::test]
async fn reset_closes_all_sessions_and_clears_containers() {
    let mut b = bench().await;
    let text = format!("{CONSTANT}{VARIABLE}");
    let s = b.create(&text).await;
    b.run(&s, &[], &[], &["init"]).await;
    let other = ResetRequest { container: names(&["other"]), ..Default::default() };
    b.client.reset(other).await.unwrap();
    assert_eq!(b.run(&s, &[], &["c:0"], &[]).await.status_code, 10);
    let s = b.create(&text).await;
    assert_eq!(b.fetch(&s, "v:0").await, 3.0);
    b.client.reset(ResetRequest::default()).await.unwrap();
    let s = b.create(&text).await;
    assert_eq!(b.run(&s, &[], &["v:0"], &[]).await.status_code, Code::FailedPrecondition as i32);
}

#[tokio::test]
async fn devices_are_listed_and_sessions_may_have_more_of_them() {
    let mut b = bench().await;
    let config = ConfigProto { device_count: [("CPU".to_string(), 2)].into(), ..Default::default() };
    let two = b.create_with(CONSTANT, config).await.unwrap();
    let one = b.create(CONSTANT).await;
    let mut listed = Vec::new();
    for s in [one, two] {
        let r = b.client.list_devices(ListDevicesRequest { session_handle: s }).await.unwrap().into_inner();
        assert!(r.remote_device.is_empty());
        assert!(r.local_device.iter().all(|d| d.device_type == "CPU" && d.incarnation != 0));
        listed.push(r.local_device.iter().map(|d| d.name.clone()).collect::<Vec<_>>());
    }
    let name = |i: usize| format!("/job:localhost/replica:0/task:0/device:CPU:{i}");
    assert_eq!(listed, [vec![name(0)], vec![name(0), name(1)]]);
    let many = ConfigProto { device_count: [("CPU".to_string(), i32::MAX)].into(), ..Default::default() };
    assert_eq!(b.create_with(CONSTANT, many).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn abandoned_sessions_make_room() {
    let mut b = bench_with(ServerOptions { max_sessions: 3, ..Default::default() }).await;
    let mut handles = Vec::new();
    for _ in 0..50 {
        handles.push(b.create(CONSTANT).await);
    }
    assert_eq!(b.server.sessions(), 3);
    assert_eq!(b.run(&handles[0], &[], &["c:0"], &[]).await.status_code, 10);
    assert_eq!(b.fetch(&handles[49], "c:0").await, 3.0);
}

#[tokio::test]
async fn bad_graphs_are_refused_and_the_server_goes_on() {
    let mut b = bench().await;
    let cycle = "node { name: 'a' op: 'Neg' input: 'b' attr { key: 'T' value { type: DT_FLOAT } } }
                 node { name: 'b' op: 'Neg' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } }";
    let pinned = CONSTANT.replace("op: 'Const'", "op: 'Const' device: '/job:nosuch/task:0'");
    let twice = format!("{CONSTANT}{CONSTANT}");
    for bad in [cycle, &pinned, &twice] {
        assert!(b.create_with(bad, ConfigProto::default()).await.is_err(), "{bad}");
    }
    let s = b.create(&format!("{CONSTANT} node {{ name: 'x' op: 'NoSuchOp' }}")).await;
    assert_eq!(b.fetch(&s, "c:0").await, 3.0, "a step that does not need it");
    assert_eq!(b.run(&s, &[], &[], &["x"]).await.status_code, 5);
    let e = b.create_with(&pinned, ConfigProto::default()).await.unwrap_err();
    assert!(
        e.message().contains("{{node c}} was explicitly assigned to /job:nosuch/task:0"),
        "{}",
        e.message()
    );
    let soft = ConfigProto { allow_soft_placement: true, ..Default::default() };
    let s = b.create_with(&pinned, soft).await.unwrap();
    assert_eq!(b.fetch(&s, "c:0").await, 3.0);
}

/// A kernel whose drop blocks until the test allows it.
struct SlowToFree;

static FREED: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

impl Kernel for SlowToFree {
    fn compute(&self, _: &mut OpCall<'_>) -> Result<()> {
        Ok(())
    }
}

impl Drop for SlowToFree {
    fn drop(&mut self) {
        drop(FREED.1.wait_while(FREED.0.lock().unwrap(), |may| !*may));
    }
}

static SLOW_TO_FREE: Op = Op {
    name: "SlowToFree",
    kernels: &[KernelRow {
        types: &[],
        device: "CPU",
        priority: 0,
        make: Make::Prepared(|_| Ok(Box::new(SlowToFree))),
    }],
    ..Op::STATEFUL
};

/// Regression: a session's graph, maybe of a million nodes, was freed on the io thread of its connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_a_large_session_held_up_all_calls_of_the_connection() {
    let mut registry = thalweg_ops::registry();
    registry.add(&SLOW_TO_FREE);
    let mut b = bench_of(registry, ServerOptions { drain: Duration::ZERO, ..Default::default() }).await;
    let s = b.create("node { name: 'n' op: 'SlowToFree' }").await;
    assert_eq!(b.run(&s, &[], &[], &["n"]).await.status_code, 0);
    let mut client = b.client.clone();
    let close = tokio::spawn(async move {
        client.close_session(CloseSessionRequest { session_handle: s }).await.unwrap();
    });
    while b.server.sessions() > 0 {
        tokio::task::yield_now().await;
    }
    let asked = b.client.list_devices(ListDevicesRequest::default());
    let answered = tokio::time::timeout(Duration::from_secs(120), asked).await.is_ok();
    *FREED.0.lock().unwrap() = true;
    FREED.1.notify_all();
    assert!(answered, "the connection is held up");
    close.await.unwrap();
}
