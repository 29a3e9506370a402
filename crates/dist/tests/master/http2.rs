//! Valid and invalid frames, by the sections of RFC 9113 (HTTP/2) and RFC 7541 (HPACK): the cases of h2spec that
//! concern a gRPC server.

use crate::common::*;
use crate::raw::{self, *};

const NO_ERROR: u32 = 0;
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE_ERROR: u32 = 6;
const COMPRESSION_ERROR: u32 = 9;
const PRIORITY_FLAG: u8 = 0x20;

/// The server's reaction.
#[derive(Debug, PartialEq)]
enum Taken {
    /// GOAWAY with this code.
    Connection(u32),
    /// RST_STREAM with this code.
    Stream(u32, u32),
    /// It answered the stream.
    Answered(u32),
    /// It answered the PING that followed, without an error.
    Nothing,
}

use Taken::*;

fn number(payload: &[u8]) -> u32 {
    u32::from_be_bytes(payload[..4].try_into().unwrap())
}

/// Sends frames after a preface and SETTINGS, then a PING; the server's first reaction.
fn say(b: &Bench, frames: &[u8]) -> Taken {
    say_after(b, &[PREFACE, &settings(&[])].concat(), frames)
}

fn say_after(b: &Bench, start: &[u8], frames: &[u8]) -> Taken {
    let mut peer = Raw::connect(b.server.address());
    peer.send(&[start, frames, &frame(PING, 0, 0, b"are_done")].concat());
    while let Some(f) = peer.frame() {
        match f.kind {
            GOAWAY => return Connection(number(&f.payload[4..])),
            RESET => return Stream(f.stream, number(&f.payload)),
            HEADERS => return Answered(f.stream),
            PING if f.payload == b"are_done" => return Nothing,
            _ => {}
        }
    }
    panic!("the connection was closed without a word")
}

/// Fields as literals without indexing.
fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let literal = |(k, v): &(&str, &str)| {
        [&[0, k.len() as u8][..], k.as_bytes(), &[v.len() as u8], v.as_bytes()].concat()
    };
    fields.iter().flat_map(literal).collect()
}

const GOOD: [(&str, &str); 6] = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/tensorflow.MasterService/ListDevices"),
    (":authority", "x"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
];

fn good() -> Vec<u8> {
    fields(&GOOD)
}

/// HEADERS without END_STREAM.
fn open(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &good())
}

/// A whole call with an empty message.
fn whole(stream: u32) -> Vec<u8> {
    [open(stream), frame(DATA, END_STREAM, stream, &[0; 5])].concat()
}

fn head(stream: u32, fields_of_it: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields(fields_of_it))
}

#[tokio::test]
async fn section_3_4_the_preface() {
    let b = bench().await;
    assert_eq!(say_after(&b, b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", &[]), Connection(PROTOCOL_ERROR));
    assert_eq!(say(&b, &[]), Nothing);
}

#[tokio::test]
async fn section_4_frames() {
    let b = bench().await;
    // 4.1: unknown types and flags, and the reserved bit, are ignored.
    assert_eq!(say(&b, &frame(0x16, 0xff, 0, &[7; 8])), Nothing);
    assert_eq!(say(&b, &frame(PING, 0x16, 0, b"are_done")), Nothing);
    assert_eq!(say(&b, &frame(PING, 0, 1 << 31, b"are_done")), Nothing);
    // 4.2: sizes.
    let most = [open(1), frame(DATA, 0, 1, &[0; 16_384])].concat();
    assert_ne!(say(&b, &most), Connection(FRAME_SIZE_ERROR));
    let long = vec![0; (1 << 20) + 1];
    assert_eq!(say(&b, &[open(1), frame(DATA, 0, 1, &long)].concat()), Connection(FRAME_SIZE_ERROR));
    assert_eq!(say(&b, &frame(HEADERS, END_HEADERS, 1, &long)), Connection(FRAME_SIZE_ERROR));
    // 4.3: header blocks.
    assert_eq!(say(&b, &frame(HEADERS, END_HEADERS, 1, &[0xff; 5])), Connection(COMPRESSION_ERROR));
    let begun = frame(HEADERS, 0, 1, &good());
    let between =
        [frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1]), open(3), frame(0x16, 0, 0, &[]), frame(DATA, 0, 1, &[])];
    for other in between {
        assert_eq!(say(&b, &[begun.clone(), other].concat()), Connection(PROTOCOL_ERROR));
    }
}

#[tokio::test]
async fn section_5_1_streams_and_their_states() {
    let b = bench().await;
    let update = |stream| frame(WINDOW_UPDATE, 0, stream, &100u32.to_be_bytes());
    let cancel = |stream| frame(RESET, 0, stream, &8u32.to_be_bytes());
    let more = |stream| frame(CONTINUATION, END_HEADERS, stream, &[]);
    // Idle.
    for sent in [frame(DATA, END_STREAM, 1, &[0; 5]), cancel(1), update(1), more(1)] {
        assert_eq!(say(&b, &sent), Connection(PROTOCOL_ERROR));
    }
    assert_eq!(say(&b, &frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1])), Nothing);
    // Half-closed by us: the response is sent, and its window updates count.
    assert_eq!(say(&b, &[whole(1), update(1)].concat()), Answered(1));
    let after = |sent: Vec<u8>| {
        let mut peer = Raw::connect(b.server.address());
        peer.send(&[PREFACE, &settings(&[]), &whole(1)].concat());
        peer.frames_until_end_of(1);
        peer.send(&sent);
        peer.send(&frame(PING, 0, 0, b"are_done"));
        let said = peer.frame().unwrap();
        match said.kind {
            GOAWAY => Connection(number(&said.payload[4..])),
            RESET => Stream(said.stream, number(&said.payload)),
            _ => Nothing,
        }
    };
    assert_eq!(after(frame(DATA, 0, 1, &[0; 5])), Stream(1, STREAM_CLOSED));
    assert_eq!(after(open(1)), Connection(STREAM_CLOSED));
    assert_eq!(after(more(1)), Connection(PROTOCOL_ERROR));
    assert_eq!(after([update(1), cancel(1)].concat()), Nothing);
    // Reset by the peer.
    assert_eq!(say(&b, &[open(1), cancel(1), frame(DATA, 0, 1, &[0; 5])].concat()), Stream(1, STREAM_CLOSED));
    assert_eq!(say(&b, &[open(1), cancel(1), open(1)].concat()), Connection(STREAM_CLOSED));
    assert_eq!(say(&b, &[open(1), cancel(1), more(1)].concat()), Connection(PROTOCOL_ERROR));
}

#[tokio::test]
async fn section_5_1_nothing_comes_on_a_stream_whose_call_runs() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{QUEUE}")).await;
    let get = raw::message(&thalweg_proto::Message::encode_to_vec(&step(&s, &[], &["get:0"], &[])));
    let waiting = raw::request(1, "RunStep", &get, true);
    for more in [frame(DATA, 0, 1, &[0; 5]), open(1)] {
        assert_eq!(say(&b, &[waiting.clone(), more].concat()), Stream(1, STREAM_CLOSED));
    }
    b.until_active(0).await;
}

#[tokio::test]
async fn section_5_1_numbers_of_streams() {
    let b = bench().await;
    assert_eq!(say(&b, &open(2)), Connection(PROTOCOL_ERROR));
    assert_eq!(say(&b, &[open(5), open(3)].concat()), Connection(PROTOCOL_ERROR));
}

#[tokio::test]
async fn section_5_1_2_more_streams_than_were_allowed_are_refused() {
    let peers = thalweg_dist::PeerLimits { calls: 3, ..Default::default() };
    let b = bench_with(thalweg_dist::ServerOptions { peers, ..Default::default() }).await;
    let four: Vec<u8> = [1, 3, 5, 7].into_iter().flat_map(open).collect();
    assert_eq!(say(&b, &four), Stream(7, 7));
}

#[tokio::test]
async fn section_5_3_a_stream_does_not_depend_on_itself() {
    let b = bench().await;
    let own = [&1u32.to_be_bytes()[..], &[9], &good()].concat();
    let sent = frame(HEADERS, END_HEADERS | PRIORITY_FLAG, 1, &own);
    assert_eq!(say(&b, &sent), Connection(PROTOCOL_ERROR));
    assert_eq!(say(&b, &frame(PRIORITY, 0, 3, &[0, 0, 0, 3, 9])), Stream(3, PROTOCOL_ERROR));
    let other = [&3u32.to_be_bytes()[..], &[9], &good()].concat();
    assert_eq!(say(&b, &frame(HEADERS, END_HEADERS | PRIORITY_FLAG, 1, &other)), Nothing);
}

#[tokio::test]
async fn section_6_frames_on_the_wrong_streams_or_of_the_wrong_length() {
    let b = bench().await;
    let connection = Connection(FRAME_SIZE_ERROR);
    for kind in [DATA, HEADERS, PRIORITY, RESET, CONTINUATION] {
        assert_eq!(say(&b, &frame(kind, END_HEADERS, 0, &[0; 5])), Connection(PROTOCOL_ERROR), "kind {kind}");
    }
    for kind in [SETTINGS, PING, GOAWAY] {
        assert_eq!(say(&b, &frame(kind, 0, 1, &[0; 8])), Connection(PROTOCOL_ERROR), "kind {kind}");
    }
    // 6.1, 6.2: padding.
    assert_eq!(say(&b, &[open(1), frame(DATA, PADDED, 1, &[9; 5])].concat()), Connection(PROTOCOL_ERROR));
    assert_eq!(say(&b, &frame(HEADERS, END_HEADERS | PADDED, 1, &[200, 0])), Connection(PROTOCOL_ERROR));
    // 6.3 to 6.5, 6.7, 6.9.
    assert_eq!(say(&b, &[open(1), frame(PRIORITY, 0, 1, &[0; 4])].concat()), Stream(1, FRAME_SIZE_ERROR));
    assert_eq!(say(&b, &[open(1), frame(RESET, 0, 1, &[0; 3])].concat()), connection);
    assert_eq!(say(&b, &frame(SETTINGS, ACK, 0, &[0; 6])), connection);
    assert_eq!(say(&b, &frame(SETTINGS, 0, 0, &[0; 5])), connection);
    assert_eq!(say(&b, &frame(PING, 0, 0, &[0; 6])), connection);
    assert_eq!(say(&b, &frame(GOAWAY, 0, 0, &[0; 7])), connection);
    assert_eq!(say(&b, &frame(WINDOW_UPDATE, 0, 0, &[0; 3])), connection);
}

#[tokio::test]
async fn section_6_5_settings() {
    let b = bench().await;
    for (name, value, code) in [
        (2, 2, PROTOCOL_ERROR),
        (4, 1 << 31, FLOW_CONTROL_ERROR),
        (5, 16_383, PROTOCOL_ERROR),
        (5, 1 << 24, PROTOCOL_ERROR),
    ] {
        assert_eq!(say(&b, &settings(&[(name, value)])), Connection(code), "{name} = {value}");
    }
    assert_eq!(say(&b, &settings(&[(0xff, 1), (2, 0), (5, 16_384)])), Nothing);
    let mut peer = Raw::connect(b.server.address());
    peer.send(&[PREFACE, &settings(&[])].concat());
    assert!(std::iter::from_fn(|| peer.frame()).any(|f| (f.kind, f.flags) == (SETTINGS, ACK)));
}

#[tokio::test]
async fn section_6_7_a_ping_that_answers_is_not_answered() {
    let b = bench().await;
    let mut peer = Raw::connect(b.server.address());
    peer.send(
        &[PREFACE, &settings(&[]), &frame(PING, ACK, 0, b"answered"), &frame(PING, 0, 0, b"are_done")]
            .concat(),
    );
    let first = std::iter::from_fn(|| peer.frame()).find(|f| f.kind == PING).unwrap();
    assert_eq!((first.flags, &first.payload[..]), (ACK, &b"are_done"[..]));
}

#[tokio::test]
async fn section_6_9_windows() {
    let b = bench().await;
    let update = |stream, by: u32| frame(WINDOW_UPDATE, 0, stream, &by.to_be_bytes());
    let most = u32::MAX >> 1;
    assert_eq!(say(&b, &update(0, 0)), Connection(PROTOCOL_ERROR));
    assert_eq!(say(&b, &[open(1), update(1, 0)].concat()), Stream(1, PROTOCOL_ERROR));
    assert_eq!(say(&b, &[update(0, most), update(0, most)].concat()), Connection(FLOW_CONTROL_ERROR));
    assert_eq!(say(&b, &[open(1), update(1, most), update(1, most)].concat()), Stream(1, FLOW_CONTROL_ERROR));
}

#[tokio::test]
async fn section_6_10_continuations() {
    let b = bench().await;
    let all = good();
    let end = END_STREAM;
    let three = [
        frame(HEADERS, end, 1, &all[..10]),
        frame(CONTINUATION, 0, 1, &all[10..20]),
        frame(CONTINUATION, END_HEADERS, 1, &all[20..]),
    ];
    assert_eq!(say(&b, &three.concat()), Answered(1));
    let more = frame(CONTINUATION, END_HEADERS, 1, &[]);
    assert_eq!(say(&b, &[open(1), more.clone()].concat()), Connection(PROTOCOL_ERROR));
    assert_eq!(say(&b, &[open(1), frame(DATA, 0, 1, &[0; 5]), more].concat()), Connection(PROTOCOL_ERROR));
    let begun = frame(HEADERS, 0, 1, &all);
    assert_eq!(
        say(&b, &[begun, frame(CONTINUATION, END_HEADERS, 3, &[])].concat()),
        Connection(PROTOCOL_ERROR)
    );
}

#[tokio::test]
async fn section_7_codes_that_nobody_knows_are_codes() {
    let b = bench().await;
    assert_eq!(say(&b, &[open(1), frame(RESET, 0, 1, &[0xff; 4])].concat()), Nothing);
    assert_eq!(say(&b, &frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 0xff])), Nothing);
}

#[tokio::test]
async fn section_8_1_messages() {
    let b = bench().await;
    let reset = Stream(1, PROTOCOL_ERROR);
    // A second HEADERS without END_STREAM; trailers, good and bad.
    assert_eq!(say(&b, &[open(1), open(1)].concat()), reset);
    let message = frame(DATA, 0, 1, &[0; 5]);
    let trailers = |of: &[(&str, &str)]| [open(1), message.clone(), head(1, of)].concat();
    assert_eq!(say(&b, &trailers(&[("x-more", "1")])), Answered(1));
    assert_eq!(say(&b, &trailers(&[(":path", "/")])), reset);
    // `content-length`.
    for (length, data) in [("4", 5), ("6", 5), ("5", 0)] {
        let told = fields(&[&GOOD[..], &[("content-length", length)]].concat());
        let halves =
            [frame(DATA, 0, 1, &vec![0; data / 2]), frame(DATA, END_STREAM, 1, &vec![0; data - data / 2])];
        let sent = [frame(HEADERS, END_HEADERS, 1, &told), halves.concat()].concat();
        assert_eq!(say(&b, &sent), reset, "{length} told, {data} sent");
    }
    let told = fields(&[&GOOD[..], &[("content-length", "5")]].concat());
    let sent = [frame(HEADERS, END_HEADERS, 1, &told), frame(DATA, END_STREAM, 1, &[0; 5])].concat();
    assert_eq!(say(&b, &sent), Answered(1));
}

#[tokio::test]
async fn section_8_2_and_8_3_fields() {
    let b = bench().await;
    assert_eq!(say(&b, &head(1, &GOOD)), Answered(1));
    for bad in [
        ("X-Upper", "1"),
        (":unknown", "1"),
        (":status", "200"),
        (":path", "/again"),
        (":method", "POST"),
        (":scheme", "http"),
        ("connection", "keep-alive"),
        ("te", "trailers, deflate"),
    ] {
        let with = [&GOOD[..], &[bad]].concat();
        assert_eq!(say(&b, &head(1, &with)), Stream(1, PROTOCOL_ERROR), "{bad:?}");
    }
    for missing in &GOOD[..3] {
        let without: Vec<_> = GOOD.into_iter().filter(|f| f != missing).collect();
        assert_eq!(say(&b, &head(1, &without)), Stream(1, PROTOCOL_ERROR), "without {}", missing.0);
    }
}

#[tokio::test]
async fn section_8_4_clients_promise_nothing() {
    let b = bench().await;
    let promise = frame(5, END_HEADERS, 1, &[&3u32.to_be_bytes()[..], &good()].concat());
    assert_eq!(say(&b, &[open(1), promise].concat()), Connection(PROTOCOL_ERROR));
}

#[tokio::test]
async fn hpack_what_is_wrong_in_a_block_ends_the_connection() {
    let b = bench().await;
    let block = |bytes: &[u8]| frame(HEADERS, END_HEADERS | END_STREAM, 1, bytes);
    let with = |more: &[u8]| block(&[&good()[..], more].concat());
    let coded = |text: &[u8]| with(&[&[0, 4], &b"test"[..], &[0x80 | text.len() as u8], text].concat());
    for (what, sent) in [
        ("2.3.3: a number that there is not", with(&[0xc6])),
        ("2.3.3: the name of one", with(&[0x7f, 0x30, 1, b'a'])),
        ("4.2: a table size at the end", with(&[0x20])),
        ("5.2: padding of more than 7 bits", coded(&[0x64, 0x02, 0xff])),
        ("5.2: padding of zeros", coded(&[0x64])),
        ("5.2: the sign for the end", coded(&[0xff, 0xff, 0xff, 0xff])),
        ("6.1: number 0", with(&[0x80])),
        ("6.3: a table larger than was allowed", block(&[&[0x3f, 0xe1, 0x5f], &good()[..]].concat())),
    ] {
        assert_eq!(say(&b, &sent), Connection(COMPRESSION_ERROR), "{what}");
    }
    let sizes = block(&[&[0x20, 0x3f, 0xe1, 0x1f], &good()[..]].concat());
    assert_eq!(say(&b, &sizes), Answered(1));
}

#[tokio::test]
async fn what_is_http_and_not_grpc_is_told_so_in_http() {
    let b = bench().await;
    let status = |fields_of_it: &[(&str, &str)]| {
        let mut peer = Raw::connect(b.server.address());
        peer.send(&[PREFACE, &settings(&[]), &head(1, fields_of_it)].concat());
        String::from_utf8_lossy(&peer.headers(1).unwrap().payload).into_owned()
    };
    let get = [(":method", "GET"), (":scheme", "http"), (":path", "/")];
    assert!(status(&get).ends_with("405"));
    assert!(status(&[&[(":method", "POST")], &get[1..]].concat()).ends_with("415"));
    assert_eq!(say(&b, &[open(1), frame(RESET, 0, 1, &NO_ERROR.to_be_bytes())].concat()), Nothing);
}
