//! The methods.

use crate::common::bench;
use crate::raw::{self, END_HEADERS, END_STREAM, Raw};

/// The frames of a call with an empty message.
fn call(stream: u32, path: &str) -> Vec<u8> {
    let fields =
        [(":method", "POST"), (":scheme", "http"), (":path", path), ("content-type", "application/grpc")];
    let literal = |(k, v): (&str, &str)| {
        [&[0, k.len() as u8][..], k.as_bytes(), &[v.len() as u8], v.as_bytes()].concat()
    };
    let head: Vec<u8> = fields.into_iter().flat_map(literal).collect();
    let message = raw::frame(raw::DATA, END_STREAM, stream, &raw::message(&[]));
    [raw::frame(raw::HEADERS, END_HEADERS, stream, &head), message].concat()
}

#[tokio::test]
async fn every_method_is_there_and_no_other() {
    let b = bench().await;
    let mut peer = Raw::connect(b.server.address());
    peer.send(&[raw::PREFACE, &raw::settings(&[])].concat());
    let mut stream = 1;
    let mut answer = |path: &str| {
        peer.send(&call(stream, path));
        let end = peer.frames_until_end_of(stream).pop().unwrap();
        stream += 2;
        String::from_utf8_lossy(&end.payload).into_owned()
    };
    let services = [
        (
            "MasterService",
            "CloseSession CreateSession ExtendSession ListDevices MakeCallable PartialRunSetup ReleaseCallable Reset RunCallable RunStep",
        ),
        (
            "WorkerService",
            "CleanupAll CleanupGraph CreateWorkerSession DeleteWorkerSession DeregisterGraph GetStatus Logging RecvTensor RegisterGraph RunGraph",
        ),
    ];
    for (service, methods) in services {
        for method in methods.split(' ') {
            // Whether an empty request is an error is up to the method.
            let told = answer(&format!("/tensorflow.{service}/{method}"));
            assert!(!told.contains("does not exist"), "{method}: {told}");
        }
        for method in ["", "Other", "runstep"] {
            let told = answer(&format!("/tensorflow.{service}/{method}"));
            assert!(told.contains("does not exist"), "{method}: {told}");
        }
    }
    assert!(answer("/tensorflow.OtherService/RunStep").contains("there is no service at"));
}
