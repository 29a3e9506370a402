//! Steps over the wire: errors, timeouts, cancellation, partial runs, callables.

use crate::common::*;
use crate::raw;
use thalweg_core::tensor::Tensor;
use thalweg_graph::convert::tensor_to_proto;
use thalweg_proto::*;
use tonic::Code;

#[tokio::test]
async fn an_error_names_the_task_and_the_node() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{SUM}")).await;
    let r = b.run(&s, &[], &["y:0"], &[]).await;
    assert_eq!(r.status_code, 3);
    assert_eq!(
        r.status_error_message,
        "From /job:localhost/replica:0/task:0:\nYou must feed a value for placeholder tensor 'x' with dtype float\n\t \
         [[{{node x}}]]"
    );
    let plain = RunStepRequest { store_errors_in_response_body: false, ..step(&s, &[], &["y:0"], &[]) };
    let e = b.client.run_step(plain).await.unwrap_err();
    assert_eq!((e.code(), e.message()), (Code::InvalidArgument, r.status_error_message.as_str()));
    let unknown = b.run(&s, &[], &["nowhere:0"], &[]).await;
    assert_eq!(unknown.status_code, 5);
    let twice = b.run(&s, &[float("x:0", 1.0), float("x:0", 1.0)], &["y:0"], &[]).await;
    assert_eq!((twice.status_code, twice.status_error_message.as_str()), (3, "Duplicated feeds: x:0"));
    let mut lying = float("x:0", 1.0);
    lying.tensor.as_mut().unwrap().tensor_shape = Some(TensorShapeProto {
        dim: vec![tensor_shape_proto::Dim { size: 1 << 60, ..Default::default() }],
        unknown_rank: false,
    });
    assert_eq!(b.run(&s, &[lying], &["y:0"], &[]).await.status_code, 3);
}

#[tokio::test]
async fn a_thousand_steps_blocked_on_a_queue_block_nobody_else() {
    const STEPS: usize = 1000;
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{QUEUE}")).await;
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..STEPS {
        let (mut client, request) = (b.client.clone(), step(&s, &[], &["get:0"], &[]));
        waiting.spawn(async move { client.run_step(request).await.unwrap().into_inner() });
    }
    b.until_active(STEPS).await;
    assert_eq!(b.fetch(&s, "c:0").await, 3.0);
    for _ in 0..STEPS {
        assert_eq!(b.run(&s, &[], &[], &["put"]).await.status_code, 0);
    }
    let mut ended = 0;
    while let Some(r) = waiting.join_next().await {
        let r = r.unwrap();
        assert_eq!(r.status_code, 0, "{}", r.status_error_message);
        ended += 1;
    }
    assert_eq!(ended, STEPS);
}

#[tokio::test]
async fn a_client_that_goes_away_takes_nothing_from_the_queue() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{QUEUE}")).await;
    let (mut client, request) = (b.client.clone(), step(&s, &[], &["get:0"], &[]));
    let waiting = tokio::spawn(async move { client.run_step(request).await });
    b.until_active(1).await;
    waiting.abort();
    b.until_active(0).await;
    assert_eq!(b.run(&s, &[], &[], &["put"]).await.status_code, 0);
    assert_eq!(b.fetch(&s, "size:0").await, 1.0);
}

#[tokio::test]
async fn a_step_ends_with_its_time_its_session_or_its_queue() {
    let mut b = bench().await;
    let text = format!("{CONSTANT}{QUEUE}");
    let s = b.create(&text).await;
    let options = RunOptions { timeout_in_ms: 30, ..Default::default() };
    let late = RunStepRequest { options: Some(options), ..step(&s, &[], &["get:0"], &[]) };
    assert_eq!(b.client.run_step(late).await.unwrap().into_inner().status_code, 4);
    let config = ConfigProto { operation_timeout_in_ms: 30, ..Default::default() };
    let hurried = b.create_with(&text, config).await.unwrap();
    assert_eq!(b.run(&hurried, &[], &["get:0"], &[]).await.status_code, 4);

    let (mut client, request) = (b.client.clone(), step(&s, &[], &["get:0"], &[]));
    let waiting = tokio::spawn(async move { client.run_step(request).await.unwrap().into_inner() });
    b.until_active(1).await;
    assert_eq!(b.run(&s, &[], &[], &["close"]).await.status_code, 0);
    let r = waiting.await.unwrap();
    assert_eq!(r.status_code, 11);
    assert!(r.status_error_message.contains("is closed and has insufficient elements"));

    let s = b.create(&text).await;
    let (mut client, request) = (b.client.clone(), step(&s, &[], &["get:0"], &[]));
    let waiting = tokio::spawn(async move { client.run_step(request).await.unwrap().into_inner() });
    b.until_active(1).await;
    b.client.close_session(CloseSessionRequest { session_handle: s }).await.unwrap();
    let r = waiting.await.unwrap();
    assert_eq!(r.status_code, 1);
    // The step may have been about to start.
    let texts = ["Step was cancelled by an explicit call to `Session::Close()`.", "Session has been closed."];
    assert!(texts.iter().any(|t| r.status_error_message.contains(t)), "{}", r.status_error_message);
}

/// A call of functions that each call the next twice: inlining takes long to reach its limit.
fn endless_calls() -> String {
    let arg = |what: &str, name: &str| format!("{what} {{ name: '{name}' type: DT_FLOAT }}");
    let ends = format!("{} {}", arg("input_arg", "x"), arg("output_arg", "y"));
    let one = |i: usize| {
        let call =
            |name: &str, x: &str| format!("node_def {{ name: '{name}' op: 'f{}' input: '{x}' }}", i + 1);
        let square =
            "node_def { name: 'b' op: 'Square' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }";
        let body = if i < 60 { call("a", "x") + &call("b", "a:y:0") } else { square.to_string() };
        format!("function {{ signature {{ name: 'f{i}' {ends} }} {body} ret {{ key: 'y' value: 'b:y:0' }} }}")
    };
    let functions: String = (0..=60).map(one).collect();
    format!("{CONSTANT} node {{ name: 'call' op: 'f0' input: 'c' }} library {{ {functions} }}")
}

#[tokio::test]
async fn compiling_ends_with_the_time_of_its_step_and_with_its_client() {
    let mut b = bench().await;
    let s = b.create(&endless_calls()).await;
    let options = RunOptions { timeout_in_ms: 30, ..Default::default() };
    let late = RunStepRequest { options: Some(options), ..step(&s, &[], &["call:0"], &[]) };
    let r = b.client.run_step(late).await.unwrap().into_inner();
    assert_eq!(r.status_code, 4, "{}", r.status_error_message);
    let (mut client, request) = (b.client.clone(), step(&s, &[], &["call:0"], &[]));
    let waiting = tokio::spawn(async move { client.run_step(request).await });
    b.until_active(1).await;
    waiting.abort();
    b.until_active(0).await;
    assert_eq!(b.fetch(&s, "c:0").await, 3.0);
}

#[tokio::test]
async fn a_step_ends_with_the_time_that_its_call_was_given() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{QUEUE}")).await;
    let get = raw::message(&step(&s, &[], &["get:0"], &[]).encode_to_vec());
    let mut peer = raw::Raw::connect(b.server.address());
    peer.send(&[raw::PREFACE, &raw::settings(&[]), &raw::request_within("30m", 1, "RunStep", &get)].concat());
    let frames = tokio::task::spawn_blocking(move || peer.frames_until_end_of(1)).await.unwrap();
    assert!(!frames.iter().any(|f| f.kind == raw::DATA));
    b.until_active(0).await;
    b.run(&s, &[], &[], &["put"]).await;
    assert_eq!(b.fetch(&s, "size:0").await, 1.0);
}

#[tokio::test]
async fn a_request_sent_twice_runs_once() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{VARIABLE}")).await;
    b.run(&s, &[], &[], &["init"]).await;
    let plus = RunStepRequest { request_id: 77, ..step(&s, &[], &[], &["plus"]) };
    let mut codes = Vec::new();
    for request in [plus.clone(), plus.clone(), RunStepRequest { request_id: 78, ..plus }] {
        codes.push(b.client.run_step(request).await.unwrap().into_inner().status_code);
    }
    assert_eq!((codes, b.fetch(&s, "v:0").await), (vec![0, 10, 0], 9.0));
}

/// `a + c`, then times `d`.
const PRODUCT: &str = "node { name: 'd' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'z' op: 'Mul' input: 'y' input: 'd' attr { key: 'T' value { type: DT_FLOAT } } }";

#[tokio::test]
async fn a_partial_run_takes_its_feeds_when_they_come() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{SUM}{PRODUCT}")).await;
    let setup = PartialRunSetupRequest {
        session_handle: s.clone(),
        feed: names(&["x:0", "d:0"]),
        fetch: names(&["y:0", "z:0"]),
        ..Default::default()
    };
    let handle = b.client.partial_run_setup(setup.clone()).await.unwrap().into_inner().partial_run_handle;
    assert_eq!(handle, "0");
    let part = |handle: &str, feed: &[NamedTensorProto], fetch: &[&str]| RunStepRequest {
        partial_run_handle: handle.into(),
        ..step(&s, feed, fetch, &[])
    };
    let mut run = async |r: RunStepRequest| b.client.run_step(r).await.unwrap().into_inner();
    for (request, error) in [
        (part(&handle, &[], &["c:0"]), "The fetch c:0 was not specified in partial_run_setup."),
        (part(&handle, &[float("c:0", 1.0)], &[]), "The feed c:0 was not specified in partial_run_setup."),
        (
            part(&handle, &[float("x:0", 1.0)], &["z:0"]),
            "Fetch z:0 can't be computed from the feeds that have been fed so far.",
        ),
        (part("77", &[], &["z:0"]), "Must run PartialRunSetup before performing partial runs"),
    ] {
        let r = run(request).await;
        assert_eq!((r.status_code, r.status_error_message.as_str()), (3, error));
    }
    let first = run(part(&handle, &[float("x:0", 4.0)], &["y:0"])).await;
    assert_eq!(value(first.tensor[0].tensor.as_ref().unwrap()), 7.0);
    assert!(first.metadata.is_none());
    let again = run(part(&handle, &[float("x:0", 4.0)], &[])).await;
    assert_eq!(again.status_error_message, "The feed x:0 has already been fed.");
    let again = run(part(&handle, &[], &["y:0"])).await;
    assert_eq!(again.status_error_message, "The fetch y:0 has already been fetched.");
    let last = run(part(&handle, &[float("d:0", 10.0)], &["z:0"])).await;
    assert_eq!(value(last.tensor[0].tensor.as_ref().unwrap()), 70.0);
    assert!(last.metadata.is_some());
    let over = run(part(&handle, &[], &["y:0"])).await;
    assert_eq!(over.status_error_message, "Must run PartialRunSetup before performing partial runs");
    let next = b.client.partial_run_setup(setup).await.unwrap().into_inner().partial_run_handle;
    assert_eq!(next, "1");
}

#[tokio::test]
async fn a_partial_run_that_its_first_call_traces_tells_its_nodes_with_its_last() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{SUM}{PRODUCT}")).await;
    for levels in [[0, 0], [3, 0], [0, 3]] {
        let setup = PartialRunSetupRequest {
            session_handle: s.clone(),
            feed: names(&["x:0", "d:0"]),
            fetch: names(&["y:0", "z:0"]),
            ..Default::default()
        };
        let handle = b.client.partial_run_setup(setup).await.unwrap().into_inner().partial_run_handle;
        let mut told = Vec::new();
        for (level, (feed, fetch)) in levels.into_iter().zip([("x:0", "y:0"), ("d:0", "z:0")]) {
            let options = RunOptions { trace_level: level, ..Default::default() };
            let request = RunStepRequest {
                partial_run_handle: handle.clone(),
                options: Some(options),
                ..step(&s, &[float(feed, 4.0)], &[fetch], &[])
            };
            let answer = b.client.run_step(request).await.unwrap().into_inner();
            let stats = answer.metadata.map(|m| m.step_stats.unwrap_or_default());
            let nodes = |s: StepStats| s.dev_stats.into_iter().flat_map(|d| d.node_stats);
            let nodes =
                stats.map(|s| nodes(s).map(|n| n.node_name).filter(|n| n == "y" || n == "z").collect());
            told.push(nodes.map(|mut all: Vec<String>| {
                all.sort();
                all
            }));
        }
        let all = if levels[0] == 3 { vec!["y".to_string(), "z".to_string()] } else { vec![] };
        assert_eq!(told, [None, Some(all)], "{levels:?}");
    }
}

#[tokio::test]
async fn a_callable_runs_until_it_is_released() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{SUM}")).await;
    let options = CallableOptions { feed: names(&["x:0"]), fetch: names(&["y:0"]), ..Default::default() };
    let make =
        MakeCallableRequest { session_handle: s.clone(), options: Some(options), ..Default::default() };
    let handle = b.client.make_callable(make).await.unwrap().into_inner().handle;
    assert_eq!(handle, 0);
    let run = |handle: i64, values: &[Tensor]| RunCallableRequest {
        session_handle: s.clone(),
        handle,
        feed: values.iter().map(|v| tensor_to_proto(v).unwrap()).collect(),
        ..Default::default()
    };
    for i in 0..3 {
        let r = b.client.run_callable(run(handle, &[Tensor::scalar(i as f32)])).await.unwrap().into_inner();
        assert_eq!(value(&r.fetch[0]), i as f32 + 3.0);
    }
    let e = b.client.run_callable(run(handle, &[])).await.unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    let e = b.client.run_callable(run(9, &[])).await.unwrap_err();
    assert_eq!(e.message(), "No such callable handle: 9");
    b.client.release_callable(ReleaseCallableRequest { session_handle: s.clone(), handle }).await.unwrap();
    let e = b.client.run_callable(run(handle, &[])).await.unwrap_err();
    assert_eq!(e.message(), "Attempted to run callable after handle was released: 0");
}

#[tokio::test]
async fn large_tensors_pass_both_ways() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{SUM}")).await;
    let n = (16 << 20) / 4;
    let t = Tensor::build(thalweg_core::shape::Shape::vector(n), |out: &mut [f32]| {
        out.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32);
    })
    .unwrap();
    let feed = NamedTensorProto { name: "x:0".into(), tensor: Some(tensor_to_proto(&t).unwrap()) };
    let r = b.run(&s, &[feed], &["y:0"], &[]).await;
    let y = thalweg_graph::convert::tensor_from_proto(r.tensor[0].tensor.as_ref().unwrap()).unwrap();
    assert!(y.as_slice::<f32>().unwrap().iter().enumerate().all(|(i, v)| *v == i as f32 + 3.0));
}

#[tokio::test]
async fn a_traced_step_tells_what_ran_and_from_what() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{SUM}")).await;
    let options = RunOptions { trace_level: 3, output_partition_graphs: true, ..Default::default() };
    let request = RunStepRequest { options: Some(options), ..step(&s, &[float("x:0", 1.0)], &["y:0"], &[]) };
    let r = b.client.run_step(request).await.unwrap().into_inner();
    let metadata = r.metadata.unwrap();
    let stats = &metadata.step_stats.unwrap().dev_stats[0];
    assert_eq!(stats.device, "/job:localhost/replica:0/task:0/device:CPU:0");
    let labels: Vec<_> = stats.node_stats.iter().map(|n| n.timeline_label.as_str()).collect();
    assert!(labels.contains(&"y = AddV2(x, c)"), "{labels:?}");
    let nodes: Vec<_> = metadata.partition_graphs[0].node.iter().map(|n| n.name.as_str()).collect();
    assert!(nodes.contains(&"y"), "{nodes:?}");
}

/// TensorFlow's clients use these.
#[tokio::test]
async fn devices_say_what_tensorflows_say() {
    let mut b = bench().await;
    let listed = b.client.list_devices(ListDevicesRequest::default()).await.unwrap().into_inner();
    let [device] = &listed.local_device[..] else { panic!("one device") };
    assert_eq!(device.name, "/job:localhost/replica:0/task:0/device:CPU:0");
    assert_eq!((device.device_type.as_str(), device.memory_limit), ("CPU", 268_435_456));
    assert_eq!((device.xla_global_id, device.locality.is_some()), (-1, true));
    assert!(device.incarnation != 0 && listed.remote_device.is_empty());
}

#[tokio::test]
async fn a_step_tells_its_graphs_only_if_it_is_asked() {
    let mut b = bench().await;
    let s = b.create(CONSTANT).await;
    for asked in [false, true] {
        let options = RunOptions { output_partition_graphs: asked, ..Default::default() };
        let request = RunStepRequest { options: Some(options), ..step(&s, &[], &["c:0"], &[]) };
        let told = b.client.run_step(request).await.unwrap().into_inner().metadata.unwrap();
        assert_eq!((told.partition_graphs.len(), told.step_stats.is_some()), (usize::from(asked), false));
    }
}

#[tokio::test]
async fn callables_that_were_released_are_told_from_those_that_never_were() {
    let mut b = bench().await;
    let s = b.create(CONSTANT).await;
    let options = CallableOptions { fetch: names(&["c:0"]), ..Default::default() };
    let make =
        MakeCallableRequest { session_handle: s.clone(), options: Some(options), ..Default::default() };
    for handle in 0..2 {
        assert_eq!(b.client.make_callable(make.clone()).await.unwrap().into_inner().handle, handle);
        let release = ReleaseCallableRequest { session_handle: s.clone(), handle };
        b.client.release_callable(release).await.unwrap();
    }
    for (handle, text) in [
        (-1, "No such callable handle: -1"),
        (0, "Attempted to run callable after handle was released: 0"),
        (1, "Attempted to run callable after handle was released: 1"),
        (2, "No such callable handle: 2"),
    ] {
        let run = RunCallableRequest { session_handle: s.clone(), handle, ..Default::default() };
        assert_eq!(b.client.run_callable(run).await.unwrap_err().message(), text);
    }
}

#[tokio::test]
async fn a_partial_run_ends_with_the_client_that_waits_for_a_part_of_it() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{QUEUE}")).await;
    let setup =
        PartialRunSetupRequest { session_handle: s.clone(), fetch: names(&["get:0"]), ..Default::default() };
    let handle = b.client.partial_run_setup(setup).await.unwrap().into_inner().partial_run_handle;
    let (mut client, request) = (b.client.clone(), step(&s, &[], &["get:0"], &[]));
    let request = RunStepRequest { partial_run_handle: handle, ..request };
    let waiting = tokio::spawn(async move { client.run_step(request).await });
    b.until_active(1).await;
    waiting.abort();
    b.until_active(0).await;
    assert_eq!(b.run(&s, &[], &[], &["put"]).await.status_code, 0);
    assert_eq!(b.fetch(&s, "size:0").await, 1.0);
}
