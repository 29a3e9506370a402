//! Hostile and honest load on one server, and the latency of the honest clients.
//!
//!     cargo run --profile bench -p thalweg-dist --example siege -- 127.0.0.1:2222 connections 10000
//!     .. streams 100000 | cancels 1000000 | settings 1000000 | mixed SECONDS [one of its attacks] | honest SECONDS
//!
//! In production, attackers and honest clients are different machines. On one machine, run `honest` beside a `nice -n 19` attacker, to
//! measure the server and not the scheduler.
//!
//! A probe runs a small step every 10 ms, first without other load: its percentiles are printed for both, and
//! how many of its calls failed or took over a second.

#[path = "../tests/master/raw.rs"]
#[allow(dead_code, reason = "written for the tests of the master")]
mod raw;

use raw::Raw;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use thalweg_core::error::Result;
use thalweg_dist::{RemoteRunOptions, RemoteSession};
use thalweg_graph::Graph;
use thalweg_proto::{
    ConfigProto, CreateSessionRequest, CreateSessionResponse, Message, RunStepRequest, text,
};

const GRAPH: &str = "
    node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }
    node { name: 'y' op: 'AddV2' input: 'c' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'q' op: 'FIFOQueueV2' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
    node { name: 'get' op: 'QueueDequeueV2' input: 'q' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
    node { name: 'dims' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
           attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 50000000 } } } }
    node { name: 'large' op: 'Fill' input: 'dims' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some(address), Some(mode)) = (args.first().and_then(|a| a.parse().ok()), args.get(1)) else {
        eprintln!("siege ADDRESS connections|streams|cancels|settings|mixed|honest NUMBER");
        std::process::exit(2);
    };
    let number: usize = args.get(2).and_then(|n| n.parse().ok()).unwrap_or(10);
    let quiet = Probe::start(address)?;
    thread::sleep(Duration::from_secs(3));
    quiet.end("quiet");
    let probe = Probe::start(address)?;
    let began = Instant::now();
    match mode.as_str() {
        "connections" => drop(connections(address, number)),
        "streams" => drop(streams(address, number)),
        "cancels" => cancels(address, number),
        "settings" => settings(address, number),
        "mixed" => mixed(address, Duration::from_secs(number as u64), args.get(3).map(String::as_str)),
        "honest" => thread::sleep(Duration::from_secs(number as u64)),
        _ => eprintln!("there is no siege '{mode}'"),
    }
    println!("{mode} {number}: {:.1} s", began.elapsed().as_secs_f64());
    probe.end(mode);
    Ok(())
}

/// An honest client: a step every 10 ms.
struct Probe {
    stop: Arc<AtomicBool>,
    asking: thread::JoinHandle<(Vec<Duration>, usize)>,
}

impl Probe {
    fn start(address: SocketAddr) -> Result<Probe> {
        let registry = Arc::new(thalweg_ops::registry());
        let def = text::parse_graph_def(GRAPH).map_err(|e| thalweg_core::error::internal(e.to_string()))?;
        let graph = Graph::from_def(registry, &def)?;
        let session = RemoteSession::connect(&format!("grpc://{address}"), &graph, ConfigProto::default())?;
        let stop = Arc::<AtomicBool>::default();
        let stopped = stop.clone();
        let asking = thread::spawn(move || {
            let options = RemoteRunOptions { timeout: Some(Duration::from_secs(30)), ..Default::default() };
            let (mut took, mut failed) = (Vec::new(), 0);
            while !stopped.load(Ordering::Relaxed) {
                let began = Instant::now();
                if let Err(e) = session.run(&[], &["y:0".into()], &[], &options) {
                    failed += 1;
                    eprintln!("an honest call failed: {e}");
                }
                took.push(began.elapsed());
                thread::sleep(Duration::from_millis(10).saturating_sub(began.elapsed()));
            }
            (took, failed)
        });
        Ok(Probe { stop, asking })
    }

    fn end(self, name: &str) {
        self.stop.store(true, Ordering::Relaxed);
        let Ok((mut took, failed)) = self.asking.join() else { return };
        took.sort();
        let at = |share: f64| {
            took.get((took.len() as f64 * share) as usize).map_or(0.0, |t| t.as_secs_f64() * 1e3)
        };
        let late = took.iter().filter(|t| t.as_secs() >= 1).count();
        println!(
            "probe ({name}): {} calls, p50 {:.2} ms, p99 {:.2} ms, max {:.1} ms, {late} over 1 s, {failed} failed",
            took.len(),
            at(0.5),
            at(0.99),
            at(1.0 - f64::EPSILON)
        );
    }
}

fn hello(address: SocketAddr, window: u32) -> Raw {
    let mut peer = Raw::connect(address);
    peer.send(&[raw::PREFACE, &raw::settings(&[(raw::INITIAL_WINDOW, window)])].concat());
    peer
}

/// CreateSession by this peer.
fn session(peer: &mut Raw) -> String {
    let create = CreateSessionRequest { graph_def: text::parse_graph_def(GRAPH).ok(), ..Default::default() };
    peer.send(&raw::request(1, "CreateSession", &raw::message(&create.encode_to_vec()), true));
    let frames = peer.frames_until_end_of(1);
    let body: Vec<u8> =
        frames.iter().filter(|f| f.kind == raw::DATA).flat_map(|f| f.payload.clone()).collect();
    CreateSessionResponse::decode(&body[5..]).map(|r| r.session_handle).unwrap_or_default()
}

fn step(session: &str, fetch: &str) -> Vec<u8> {
    let request =
        RunStepRequest { session_handle: session.into(), fetch: vec![fetch.into()], ..Default::default() };
    raw::message(&request.encode_to_vec())
}

/// Connections that send the preface and nothing else.
fn connections(address: SocketAddr, count: usize) -> Vec<Raw> {
    (0..count).map(|_| hello(address, 65_535)).collect()
}

/// Pending calls, 10,000 to a connection.
fn streams(address: SocketAddr, count: usize) -> Vec<Raw> {
    let mut peers = Vec::new();
    for first in (0..count).step_by(10_000) {
        let mut peer = hello(address, 65_535);
        let get = step(&session(&mut peer), "get:0");
        for i in 0..(count - first).min(9_999) {
            peer.send(&raw::request(2 * i as u32 + 3, "RunStep", &get, true));
        }
        peers.push(peer);
    }
    thread::sleep(Duration::from_secs(2));
    peers
}

/// Calls that are started and cancelled.
fn cancels(address: SocketAddr, count: usize) {
    let attack = move || {
        let mut peer = hello(address, 65_535);
        let get = step(&session(&mut peer), "get:0");
        for i in 0..count / 4 {
            let stream = 2 * i as u32 + 3;
            peer.send(&raw::request(stream, "RunStep", &get, true));
            peer.send(&raw::frame(raw::RESET, 0, stream, &8u32.to_be_bytes()));
        }
        // The ACK confirms that all of it was handled.
        peer.send(&raw::frame(raw::PING, 0, 0, b"are_done"));
        while peer.frame().is_some_and(|f| f.payload != b"are_done") {}
    };
    let attacks: Vec<_> = (0..4).map(|_| thread::spawn(attack)).collect();
    attacks.into_iter().for_each(|a| drop(a.join()));
}

/// SETTINGS_INITIAL_WINDOW_SIZE, on a connection with 10,000 streams blocked by flow control.
fn settings(address: SocketAddr, bytes: usize) {
    let mut peer = hello(address, 0);
    let mut open = hello(address, 65_535);
    let fetch = step(&session(&mut open), "c:0");
    for i in 0..9_999 {
        peer.send(&raw::request(2 * i + 1, "RunStep", &fetch, true));
    }
    let many: Vec<(u16, u32)> = (0..64).map(|i| (raw::INITIAL_WINDOW, i % 2)).collect();
    let one = raw::settings(&many);
    for _ in 0..bytes / one.len() {
        peer.send(&one);
    }
    peer.send(&raw::frame(raw::PING, 0, 0, b"are_done"));
    while peer.frame().is_some_and(|f| f.payload != b"are_done") {}
}

/// All of it at once, with announced contents that are never sent, unread responses, and steps that allocate much; or one of these.
fn mixed(address: SocketAddr, time: Duration, only: Option<&str>) {
    let attacks: [(&str, fn(SocketAddr)); 7] = [
        ("connections", |a| drop(connections(a, 500))),
        ("streams", |a| drop(streams(a, 5_000))),
        ("cancels", |a| cancels(a, 20_000)),
        ("settings", |a| settings(a, 100_000)),
        ("announce", announce),
        ("unread", leave_unread),
        ("garbage", garbage),
    ];
    let end = Instant::now() + time;
    let chosen = attacks.into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    let running: Vec<_> = chosen
        .map(|(_, attack)| {
            thread::spawn(move || {
                while Instant::now() < end {
                    attack(address);
                }
            })
        })
        .collect();
    running.into_iter().for_each(|a| drop(a.join()));
}

/// A gigabyte announced on each of a hundred streams, and few bytes sent.
fn announce(address: SocketAddr) {
    let mut peer = hello(address, 65_535);
    // A feed with a large content: fields 2, 2 and 4, each with its length.
    let start = [
        0, 0x40, 0, 0, 0, 0x12, 0xf0, 0xff, 0xff, 0xff, 3, 0x12, 0xe0, 0xff, 0xff, 0xff, 3, 0x22, 0xd0, 0xff,
        0xff, 0xff, 3,
    ];
    for i in 0..100 {
        peer.send(&raw::request(2 * i + 1, "RunStep", &[&start[..], &[7; 100]].concat(), false));
    }
    thread::sleep(Duration::from_millis(200));
}

/// Unread responses of 200 MB.
fn leave_unread(address: SocketAddr) {
    let mut peer = hello(address, 0);
    let mut other = hello(address, 65_535);
    let large = step(&session(&mut other), "large:0");
    for i in 0..5 {
        peer.send(&raw::request(2 * i + 1, "RunStep", &large, true));
    }
    thread::sleep(Duration::from_millis(500));
}

fn garbage(address: SocketAddr) {
    let mut random = raw::Random(Instant::now().elapsed().as_nanos() as u64 | 1);
    let mut peer = hello(address, 65_535);
    for _ in 0..100 {
        peer.send(&random.frame());
    }
}
