//! Server start and shutdown.

use super::*;
use crate::remote::{Channel, Limits as CallLimits};
use crate::{Credentials, RemoteRunOptions, RemoteSession};
use thalweg_core::error::Code;
use thalweg_graph::Graph;
use thalweg_proto::{ListDevicesRequest, ListDevicesResponse, text};

fn start(options: ServerOptions) -> Server {
    Server::start(Arc::new(thalweg_ops::registry()), options).unwrap()
}

#[test]
fn threads_for_sockets_are_few_and_fewer_in_a_cluster() {
    let alone = ClusterSpec::default();
    let cluster = ClusterSpec::parse(r#"{"ps": ["a:1"]}"#).unwrap();
    let threads = |cluster: &ClusterSpec| [1, 2, 3, 4, 6, 64].map(|cores| io_threads(cluster, cores));
    assert_eq!(threads(&alone), [1, 2, 3, 4, 4, 4]);
    assert_eq!(threads(&cluster), [1, 1, 1, 2, 3, 4]);
}

#[test]
fn half_of_a_peers_time_is_for_silence_and_half_for_its_answer() {
    let told = keep_alive(Duration::from_secs(10));
    assert_eq!((told.interval, told.timeout), (Duration::from_secs(5), Duration::from_secs(5)));
}

#[test]
fn a_server_is_what_its_options_say() {
    let cluster = ClusterSpec::parse(r#"{"ps": {"2": "127.0.0.1:1"}, "worker": ["127.0.0.1:2"]}"#).unwrap();
    let options = ServerOptions { job: "ps".into(), task: 2, threads: 3, cluster, ..Default::default() };
    let server = start(options);
    assert_eq!(server.task(), "/job:ps/replica:0/task:2");
    assert_eq!(server.master().task.options.threads, 3);
    let others: Vec<_> = server.traffic().into_iter().map(|t| (t.task, t.received, t.sent)).collect();
    assert_eq!(others, [("/job:worker/replica:0/task:0".to_string(), 0, 0)]);
    assert_eq!((server.sessions(), server.active_requests(), server.guests()), (0, 0, 0));
    assert_ne!(server.address().port(), 0);
}

/// A session with a queue that stays empty.
fn with_queue(server: &Server) -> RemoteSession {
    let queue = "
        node { name: 'q' op: 'FIFOQueueV2' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
        node { name: 'get' op: 'QueueDequeueV2' input: 'q' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }";
    let def = text::parse_graph_def(queue).unwrap();
    let graph = Graph::from_def(Arc::new(thalweg_ops::registry()), &def).unwrap();
    let target = format!("grpc://{}", server.address());
    RemoteSession::connect_as(&Credentials::default(), &target, &graph, ConfigProto::default()).unwrap()
}

/// Stops a server while a step is blocked, with this timeout; the step's code.
fn stopped_during_a_step(drain: Duration, timeout: Option<Duration>) -> Code {
    let server = start(ServerOptions { drain, threads: 1, ..Default::default() });
    let session = with_queue(&server);
    std::thread::scope(|scope| {
        let step = scope.spawn(|| {
            let options = RemoteRunOptions { timeout, ..Default::default() };
            session.run(&[], &["get:0".into()], &[], &options).unwrap_err().code()
        });
        while server.active_requests() == 0 {
            std::thread::yield_now();
        }
        server.stop();
        step.join().unwrap()
    })
}

#[test]
fn a_step_that_ends_in_time_ends_as_it_would_have() {
    let second = Duration::from_secs(1);
    assert_eq!(stopped_during_a_step(3600 * second, Some(second)), Code::DeadlineExceeded);
}

#[test]
fn a_step_that_does_not_end_in_time_is_cancelled_and_answered() {
    assert_eq!(stopped_during_a_step(Duration::ZERO, None), Code::Cancelled);
}

/// An incomplete request, whose rest never comes, does not delay shutdown.
#[test]
fn a_request_that_has_not_come_as_a_whole_does_not_hold_up_the_end() {
    use std::io::{Read, Write};
    let server = start(ServerOptions { drain: Duration::from_secs(3600), threads: 1, ..Default::default() });
    let _session = with_queue(&server);
    let address = server.address();
    let mut peer = std::net::TcpStream::connect(address).unwrap();
    let mut bytes = bytes::BytesMut::from(crate::net::http2::frame::PREFACE);
    crate::net::http2::frame::put_settings(&mut bytes, &[]);
    let mut writer = crate::net::http2::FrameWriter::default();
    writer.headers(1, false, |encoder, out| {
        encoder.field(out, ":method", b"POST");
        encoder.field(out, ":scheme", b"http");
        encoder.field(out, ":path", b"/tensorflow.MasterService/ListDevices");
        encoder.field(out, "content-type", b"application/grpc");
    });
    bytes.extend_from_slice(&writer.out.drained());
    crate::net::http2::frame::put_ping(&mut bytes, 0, b"answered");
    peer.write_all(&bytes).unwrap();
    // The PING's ACK confirms all frames before it.
    let mut seen = Vec::new();
    while !seen.ends_with(b"answered") {
        let mut byte = [0];
        peer.read_exact(&mut byte).unwrap();
        seen.extend(byte);
    }
    server.stop();
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
    while let Ok(1..) = peer.read(&mut [0; 1024]) {}
}

#[test]
fn a_server_that_is_dropped_has_ended() {
    let server = start(ServerOptions { threads: 1, ..Default::default() });
    let target = format!("grpc://{}", server.address());
    let channel = Channel::connect(&target, &Credentials::default()).unwrap();
    assert_eq!(format!("grpc://{}", channel.address()), target);
    let list = || -> Result<ListDevicesResponse> {
        channel.call(
            "/tensorflow.MasterService/ListDevices",
            &ListDevicesRequest::default(),
            &CallLimits::default(),
        )
    };
    assert_eq!(list().unwrap().local_device.len(), 1);
    drop(server);
    assert_eq!(list().unwrap_err().code(), Code::Unavailable);
    assert!(Channel::connect(&target, &Credentials::default()).is_err());
}
