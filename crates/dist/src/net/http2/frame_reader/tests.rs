//! Frames split anywhere, at and beyond limits.

use super::*;
use crate::net::http2::Ending;
use crate::net::http2::frame::*;
use crate::net::http2::testing::{Event, Notes, drained, frame, pair};
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

/// A header block with a path of fewer than 127 bytes.
fn path(text: &str) -> Vec<u8> {
    [&[4, text.len() as u8], text.as_bytes()].concat()
}

fn head(stream: u32, text: &str, end: bool) -> Event {
    Event::Head { stream, path: text.into(), end }
}

fn begin(stream: u32, length: usize) -> Event {
    Event::Begin { stream, length }
}

fn data(stream: u32, bytes: &[u8]) -> Event {
    Event::Data { stream, bytes: bytes.into() }
}

/// Feeds the bytes to a reader whose streams up to 9 are open: the events and the writer, or the error code.
fn read(bytes: &[u8]) -> Result<(Vec<Event>, FrameWriter), u32> {
    let (mut notes, mut writer) = (Notes { last: 9, ..Default::default() }, FrameWriter::default());
    match FrameReader::new(false).feed(bytes, &mut notes, &mut writer) {
        Ok(()) => Ok((notes.joined(), writer)),
        Err(fault) => Err(fault.code),
    }
}

fn events(bytes: &[u8]) -> Result<Vec<Event>, u32> {
    read(bytes).map(|(events, _)| events)
}

#[test]
fn frames_in_any_pieces_are_the_same_frames() {
    let block = path("/in/three/parts");
    let all = [
        PREFACE.to_vec(),
        frame(SETTINGS, 0, 0, &[]),
        frame(HEADERS, END_HEADERS, 1, &path("/a")),
        frame(DATA, 0, 1, b"hello "),
        frame(DATA, PADDED, 1, &[&[3][..], b"wo", &[0; 3]].concat()),
        frame(DATA, PADDED, 1, &[&[0][..], b"rld"].concat()),
        frame(DATA, 0, 1, &[]),
        frame(DATA, PADDED | END_STREAM, 1, &[&[4][..], b"!", &[0; 4]].concat()),
        frame(HEADERS, END_STREAM, 3, &block[..2]),
        frame(CONTINUATION, 0, 3, &block[2..7]),
        frame(CONTINUATION, END_HEADERS, 3, &block[7..]),
        frame(PING, 0, 0, b"question"),
        frame(0x20, 0xff, 77, &[9; 300]),
        frame(
            HEADERS,
            END_HEADERS | PADDED | WITH_PRIORITY,
            5,
            &[&[2, 0, 0, 0, 1, 9], &path("/p")[..], &[0; 2]].concat(),
        ),
        frame(DATA, PADDED | END_STREAM, 7, &[&[2][..], b"not taken", &[0; 2]].concat()),
        frame(DATA, 0, 7, b"nor this"),
        frame(PRIORITY, 0, 5, &[0, 0, 0, 3, 9]),
        frame(RST_STREAM, 0, 5, &[0, 0, 0, 8]),
        frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 8]),
        frame(SETTINGS, ACK, 0, &[]),
        frame(PING, ACK, 0, b"answered"),
        frame(GOAWAY, 0, 0, &[0, 0, 0, 5, 0, 0, 0, 0, b'w', b'h', b'y']),
    ]
    .concat();
    let want = [
        head(1, "/a", false),
        begin(1, 6),
        data(1, b"hello "),
        begin(1, 6),
        data(1, b"wo"),
        begin(1, 4),
        data(1, b"rld"),
        begin(1, 0),
        begin(1, 6),
        data(1, b"!"),
        Event::End(1),
        head(3, "/in/three/parts", true),
        head(5, "/p", false),
        begin(7, 12),
        begin(7, 8),
        Event::Reset(5, 8),
        Event::Goaway(5),
    ];
    for size in [1, 2, 3, 5, 8, 9, 10, 64, all.len()] {
        let (mut notes, mut writer) =
            (Notes { last: 7, refused: vec![7], ..Default::default() }, FrameWriter::default());
        let mut reading = FrameReader::new(true);
        for piece in all.chunks(size) {
            reading.feed(piece, &mut notes, &mut writer).unwrap();
        }
        assert_eq!(notes.joined(), want, "pieces of {size}");
        let said = [(SETTINGS, ACK, 0, vec![]), (PING, ACK, 0, b"question".to_vec())];
        assert_eq!(drained(&mut writer), said, "pieces of {size}");
    }
}

#[test]
fn more_than_the_buffer_holds_is_taken_bit_by_bit() {
    let bytes: Vec<u8> = (0..60_000).map(|i| (i % 251) as u8).collect();
    let all: Vec<u8> = (0..10).flat_map(|_| frame(DATA, 0, 1, &bytes)).collect();
    let found = events(&all).unwrap();
    assert_eq!(found.len(), 20);
    assert!(found.iter().skip(1).step_by(2).all(|e| *e == data(1, &bytes)));
    // Many more than `FRAMES`.
    let all: Vec<u8> =
        (0..30_000u32).flat_map(|i| frame(GOAWAY, 0, 0, &[i.to_be_bytes(), [0; 4]].concat())).collect();
    let want: Vec<_> = (0..30_000).map(Event::Goaway).collect();
    assert!(events(&all).unwrap() == want);
}

#[test]
fn what_can_no_more_become_a_preface_is_refused_at_once() {
    let begun = |bytes: &[u8]| {
        let (mut notes, mut writer) = (Notes::default(), FrameWriter::default());
        FrameReader::new(true).feed(bytes, &mut notes, &mut writer).map_err(|fault| fault.code)
    };
    assert_eq!(begun(b"PRI * HT"), Ok(()));
    assert_eq!(begun(b"GET"), Err(PROTOCOL_ERROR));
    assert_eq!(begun(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"), Err(PROTOCOL_ERROR));
    assert_eq!(begun(PREFACE), Ok(()));
}

#[test]
fn frames_have_lengths_up_to_their_limits() {
    let begun = |kind, length| {
        let mut out = bytes::BytesMut::new();
        put_frame_header(
            &mut out,
            length,
            kind,
            0,
            if kind == SETTINGS || kind == PING || kind == GOAWAY { 0 } else { 1 },
        );
        events(&out).map(|_| ())
    };
    let (whole, most) = (64 << 10, 1 << 20);
    for kind in [DATA, 10, 0xff] {
        assert_eq!(begun(kind, most), Ok(()), "kind {kind}");
        assert_eq!(begun(kind, most + 1), Err(FRAME_SIZE_ERROR), "kind {kind}");
    }
    for kind in [HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION] {
        assert_eq!(begun(kind, whole), Ok(()), "kind {kind}");
        assert_eq!(begun(kind, whole + 1), Err(FRAME_SIZE_ERROR), "kind {kind}");
    }
    assert_eq!(begun(PUSH_PROMISE, 4), Err(PROTOCOL_ERROR));
}

#[test]
fn frames_stand_on_streams_or_on_none() {
    for kind in [DATA, HEADERS, PRIORITY, RST_STREAM, CONTINUATION] {
        assert_eq!(events(&frame(kind, 0, 0, &[])), Err(PROTOCOL_ERROR), "kind {kind}");
    }
    for kind in [SETTINGS, PING, GOAWAY] {
        assert_eq!(events(&frame(kind, 0, 1, &[])), Err(PROTOCOL_ERROR), "kind {kind}");
    }
    // Streams after 9 are idle: only HEADERS and PRIORITY are allowed.
    for kind in [DATA, RST_STREAM, WINDOW_UPDATE] {
        assert_eq!(events(&frame(kind, 0, 11, &[0, 0, 0, 1])), Err(PROTOCOL_ERROR), "kind {kind}");
        assert!(events(&frame(kind, 0, 9, &[0, 0, 0, 1])).is_ok(), "kind {kind}");
    }
    assert!(events(&frame(PRIORITY, 0, 11, &[0, 0, 0, 1, 1])).unwrap().is_empty());
    assert_eq!(events(&frame(HEADERS, END_HEADERS, 11, &path("/"))), Ok(vec![head(11, "/", false)]));
    assert!(events(&frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])).is_ok());
    // Unknown frame types are ignored.
    assert!(events(&[frame(10, 0, 0, &[]), frame(10, 0, 11, &[])].concat()).is_ok());
}

#[test]
fn padding_fills_a_frame_and_no_more() {
    let padded = |payload: &[u8]| events(&frame(DATA, PADDED, 1, payload));
    assert_eq!(padded(&[3, 0, 0, 0]), Ok(vec![begin(1, 4)]));
    assert_eq!(padded(&[2, 7, 0, 0]), Ok(vec![begin(1, 4), data(1, &[7])]));
    assert_eq!(padded(&[0]), Ok(vec![begin(1, 1)]));
    assert_eq!(padded(&[4, 0, 0, 0]), Err(PROTOCOL_ERROR));
    assert_eq!(padded(&[]), Err(PROTOCOL_ERROR));
    let headers = |flags, payload: &[u8]| events(&frame(HEADERS, END_HEADERS | flags, 1, payload));
    let (priority, block) = ([0x80, 0, 0, 3, 9], path("/a"));
    let want = Ok(vec![head(1, "/a", false)]);
    assert_eq!(headers(PADDED, &[&[2], &block[..], &[0; 2]].concat()), want);
    assert_eq!(headers(WITH_PRIORITY, &[&priority, &block[..]].concat()), want);
    assert_eq!(headers(PADDED | WITH_PRIORITY, &[&[1], &priority[..], &block, &[0]].concat()), want);
    assert_eq!(headers(PADDED, &[2, 0, 0]), Ok(vec![head(1, "", false)]));
    assert_eq!(headers(PADDED, &[3, 0, 0]), Err(PROTOCOL_ERROR));
    assert_eq!(headers(PADDED, &[]), Err(PROTOCOL_ERROR));
    assert_eq!(headers(PADDED | WITH_PRIORITY, &[&[1], &priority[..]].concat()), Err(PROTOCOL_ERROR));
    assert_eq!(headers(WITH_PRIORITY, &priority[..4]), Err(FRAME_SIZE_ERROR));
    // A stream that depends on itself; exclusive or not.
    for first in [0, 0x80] {
        assert_eq!(headers(WITH_PRIORITY, &[first, 0, 0, 1, 9]), Err(PROTOCOL_ERROR));
    }
}

#[test]
fn priorities_are_well_formed_and_otherwise_nothing() {
    for (payload, code) in [
        (&[0, 0, 0, 3, 1][..], None),
        (&[0x80, 0, 0, 3, 1], None),
        (&[0, 0, 0, 5, 1], Some(PROTOCOL_ERROR)),
        (&[0x80, 0, 0, 5, 1], Some(PROTOCOL_ERROR)),
        (&[0, 0, 0, 3], Some(FRAME_SIZE_ERROR)),
        (&[0, 0, 0, 3, 1, 1], Some(FRAME_SIZE_ERROR)),
    ] {
        let (found, mut writer) = read(&frame(PRIORITY, 0, 5, payload)).unwrap();
        assert_eq!(found, Vec::from_iter(code.map(|code| Event::Reset(5, code))), "{payload:?}");
        let said: Vec<_> =
            code.map(|code| (RST_STREAM, 0, 5, code.to_be_bytes().to_vec())).into_iter().collect();
        assert_eq!(drained(&mut writer), said, "{payload:?}");
    }
}

#[test]
fn small_frames_have_the_lengths_that_they_have() {
    let six = [0, 9, 0, 0, 0, 0];
    for (kind, flags, good, bad) in [
        (RST_STREAM, 0, vec![4], vec![0, 3, 5]),
        (WINDOW_UPDATE, 0, vec![4], vec![0, 3, 5]),
        (PING, 0, vec![8], vec![0, 7, 9]),
        (PING, ACK, vec![8], vec![0, 7, 9]),
        (GOAWAY, 0, vec![8, 9, 1000], vec![0, 4, 7]),
        (SETTINGS, 0, vec![0, 6, 12, 64 * 6], vec![5, 7, 65 * 6]),
        (SETTINGS, ACK, vec![0], vec![1, 6]),
    ] {
        let stream = if matches!(kind, RST_STREAM | WINDOW_UPDATE) { 1 } else { 0 };
        let sent = |n: usize| match kind {
            SETTINGS => frame(kind, flags, stream, &six.repeat(n / 6 + 1)[..n]),
            _ => frame(kind, flags, stream, &vec![1; n]),
        };
        for n in good {
            assert!(events(&sent(n)).is_ok(), "kind {kind}, {n} bytes");
        }
        for n in bad {
            assert_eq!(events(&sent(n)), Err(FRAME_SIZE_ERROR), "kind {kind}, {n} bytes");
        }
    }
}

#[test]
fn reserved_bits_of_numbers_are_passed_over() {
    assert_eq!(events(&frame(GOAWAY, 0, 0, &[0x80, 0, 0, 5, 0, 0, 0, 0])), Ok(vec![Event::Goaway(5)]));
    let (mut notes, mut writer) = (Notes { last: 9, ..Default::default() }, FrameWriter::default());
    writer.apply_setting(SET_INITIAL_WINDOW, 0).unwrap();
    writer.open(1);
    writer.message(1, VecDeque::from([Bytes::from_static(&[7; 100])]), Ending::Nothing, None);
    writer.write_frames();
    let grown = frame(WINDOW_UPDATE, 0, 1, &[0x80, 0, 0, 5]);
    FrameReader::new(false).feed(&grown, &mut notes, &mut writer).unwrap();
    writer.write_frames();
    assert_eq!(drained(&mut writer), [(DATA, 0, 1, vec![7; 5])]);
    // Reset streams send nothing.
    let reset = [grown, frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])].concat();
    FrameReader::new(false).feed(&reset, &mut notes, &mut writer).unwrap();
    writer.write_frames();
    assert_eq!((drained(&mut writer), notes.joined()), (vec![], vec![Event::Reset(1, 8)]));
}

#[test]
fn a_window_that_grows_too_far_is_the_streams_fault_or_the_connections() {
    let (mut notes, mut writer) = (Notes { last: 9, ..Default::default() }, FrameWriter::default());
    writer.open(1);
    for (payload, code) in [([0; 4], PROTOCOL_ERROR), ([0x7f, 0xff, 0xff, 0xff], FLOW_CONTROL_ERROR)] {
        writer.open(1);
        FrameReader::new(false).feed(&frame(WINDOW_UPDATE, 0, 1, &payload), &mut notes, &mut writer).unwrap();
        assert_eq!(notes.joined(), [Event::Reset(1, code)]);
        assert_eq!(drained(&mut writer), [(RST_STREAM, 0, 1, code.to_be_bytes().to_vec())]);
        assert_eq!(events(&frame(WINDOW_UPDATE, 0, 0, &payload)), Err(code));
    }
}

#[test]
fn settings_are_taken_as_they_are_written_and_acknowledged() {
    let payload = [0, 3, 1, 2, 3, 4, 0xff, 3, 9, 9, 9, 9];
    let (_, mut writer) = read(&frame(SETTINGS, 0, 0, &payload)).unwrap();
    assert_eq!(writer.max_streams(), 0x0102_0304);
    assert_eq!(drained(&mut writer), [(SETTINGS, ACK, 0, vec![])]);
    assert_eq!(events(&frame(SETTINGS, 0, 0, &[0, 4, 0x80, 0, 0, 0])), Err(FLOW_CONTROL_ERROR));
    let (_, mut writer) = read(&frame(SETTINGS, ACK, 0, &[])).unwrap();
    assert_eq!(drained(&mut writer), []);
}

#[test]
fn headers_go_on_in_the_next_frame_or_not_at_all() {
    let block = path("/a");
    let begun = frame(HEADERS, 0, 1, &block[..1]);
    let rest = |stream| frame(CONTINUATION, END_HEADERS, stream, &block[1..]);
    assert_eq!(events(&[begun.clone(), rest(1)].concat()), Ok(vec![head(1, "/a", false)]));
    for between in [frame(PING, 0, 0, &[0; 8]), frame(DATA, 0, 1, &[]), frame(10, 0, 1, &[]), rest(3)] {
        assert_eq!(events(&[begun.clone(), between].concat()), Err(PROTOCOL_ERROR));
    }
    assert_eq!(events(&rest(1)), Err(PROTOCOL_ERROR));
    assert_eq!(events(&[begun, rest(1), rest(1)].concat()), Err(PROTOCOL_ERROR));
    assert_eq!(events(&frame(HEADERS, END_HEADERS, 1, &[0x80])), Err(COMPRESSION_ERROR));
    assert_eq!(
        events(&[frame(HEADERS, 0, 1, &[]), frame(CONTINUATION, END_HEADERS, 1, &[0x80])].concat()),
        Err(COMPRESSION_ERROR)
    );
    assert_eq!(events(&frame(HEADERS, END_HEADERS, 1, &path("/bad"))), Err(PROTOCOL_ERROR));
}

#[test]
fn headers_without_end_are_given_up_at_their_limit() {
    let (half, all) = (frame(HEADERS, 0, 1, &[0; 32 << 10]), frame(CONTINUATION, 0, 1, &[0; 32 << 10]));
    assert_eq!(events(&[half.clone(), all.clone()].concat()), Ok(vec![]));
    let one_more = [half, all, frame(CONTINUATION, 0, 1, &[0])].concat();
    assert_eq!(events(&one_more), Err(ENHANCE_YOUR_CALM));
}

#[test]
fn credit_is_given_back_when_half_of_it_is_used() {
    let (mut reading, mut notes, mut writer) =
        (FrameReader::new(false), Notes { last: 9, ..Default::default() }, FrameWriter::default());
    let half = 128 << 20;
    for _ in 0..2 {
        reading.credit(&mut writer, half - 10);
        assert_eq!(drained(&mut writer), []);
        // So do padding and DATA of rejected streams.
        reading.feed(&frame(DATA, PADDED, 1, &[3, 1, 2, 3, 0, 0, 0]), &mut notes, &mut writer).unwrap();
        assert_eq!(drained(&mut writer), []);
        notes.refused = vec![3];
        reading.feed(&frame(DATA, 0, 3, &[1, 2, 3]), &mut notes, &mut writer).unwrap();
        assert_eq!(drained(&mut writer), [(WINDOW_UPDATE, 0, 0, (half as u32).to_be_bytes().to_vec())]);
    }
}

/// Polls until `enough`; the events of each poll.
async fn poll_until(
    reading: &mut FrameReader,
    socket: &mut Socket,
    notes: &mut Notes,
    enough: impl Fn(&Notes) -> bool,
) -> Vec<usize> {
    let (mut writer, mut noted) = (FrameWriter::default(), Vec::new());
    while !enough(notes) {
        let before = notes.events.len();
        let polled = std::future::poll_fn(|cx| reading.poll(socket, cx, notes, &mut writer));
        // The bytes are sent; only a failing test waits.
        let polled = tokio::time::timeout(Duration::from_secs(30), polled).await.unwrap();
        assert!(polled.unwrap(), "it has not ended");
        noted.push(notes.events.len() - before);
    }
    noted
}

fn bytes_of(notes: &Notes) -> Vec<u8> {
    let mut all = notes.room.clone().unwrap_or_default()[..notes.filled].to_vec();
    for event in &notes.events {
        if let Event::Data { bytes, .. } = event {
            all.extend(bytes);
        }
    }
    all
}

#[tokio::test]
async fn large_contents_are_read_to_where_they_stay_if_there_is_room() {
    const DIRECT: usize = 32 << 10;
    for (length, room, direct) in [
        (DIRECT, Some(DIRECT), true),
        (3 * DIRECT, Some(100 * DIRECT), true),
        (3 * DIRECT, Some(DIRECT), true),
        (DIRECT - 1, Some(100 * DIRECT), false),
        (3 * DIRECT, Some(DIRECT - 1), false),
        (3 * DIRECT, None, false),
    ] {
        let (mut socket, mut peer) = pair().await;
        let mut reading = FrameReader::new(false);
        let mut notes = Notes { last: 9, room: room.map(|n| vec![0; n]), ..Default::default() };
        let content: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        let sent = frame(DATA, END_STREAM, 1, &content);
        peer.write_all(&sent[..9]).await.unwrap();
        poll_until(&mut reading, &mut socket, &mut notes, |n| !n.events.is_empty()).await;
        // The next frame is not part of it.
        peer.write_all(&[&sent[9..], &frame(GOAWAY, 0, 0, &[0; 8])].concat()).await.unwrap();
        poll_until(&mut reading, &mut socket, &mut notes, |n| n.events.contains(&Event::Goaway(0))).await;
        let case = format!("{length} bytes, room for {room:?}");
        assert_eq!(matches!(notes.events[1], Event::Filled { .. }), direct, "{case}");
        assert!(direct || notes.filled == 0, "{case}");
        assert!(bytes_of(&notes) == content, "{case}");
        assert_eq!(notes.events[notes.events.len() - 2], Event::End(1), "{case}");
    }
}

#[tokio::test]
async fn some_frames_are_handled_in_one_poll_and_the_rest_in_the_next() {
    let (mut socket, mut peer) = pair().await;
    let all: Vec<u8> =
        (0..100u32).flat_map(|i| frame(GOAWAY, 0, 0, &[i.to_be_bytes(), [0; 4]].concat())).collect();
    peer.write_all(&all).await.unwrap();
    let (mut reading, mut notes) = (FrameReader::new(false), Notes::default());
    let noted = poll_until(&mut reading, &mut socket, &mut notes, |n| n.events.len() == 100).await;
    assert!(noted.iter().all(|n| *n <= 16), "{noted:?}");
    assert_eq!(notes.joined(), (0..100).map(Event::Goaway).collect::<Vec<_>>());
}

#[tokio::test]
async fn frames_that_come_in_halves_are_kept_until_they_are_whole() {
    let (mut socket, mut peer) = pair().await;
    let all: Vec<u8> =
        (0..20_000u32).flat_map(|i| frame(GOAWAY, 0, 0, &[i.to_be_bytes(), [0; 4]].concat())).collect();
    let (mut reading, mut notes) = (FrameReader::new(false), Notes::default());
    let mut sent = 0;
    for piece in all.chunks(9_999) {
        peer.write_all(piece).await.unwrap();
        sent += piece.len();
        poll_until(&mut reading, &mut socket, &mut notes, |n| n.events.len() == sent / 17).await;
    }
    assert!(notes.joined() == (0..20_000).map(Event::Goaway).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_end_of_the_socket_is_told_wherever_it_comes() {
    for before in [vec![], frame(PING, 0, 0, &[0; 8]), frame(DATA, 0, 1, &[0; 100_000])[..9].to_vec()] {
        let (mut socket, mut peer) = pair().await;
        peer.write_all(&before).await.unwrap();
        drop(peer);
        let mut notes = Notes { last: 9, room: Some(vec![0; 100_000]), ..Default::default() };
        let (mut reading, mut writer) = (FrameReader::new(false), FrameWriter::default());
        let mut polls = 0;
        while std::future::poll_fn(|cx| reading.poll(&mut socket, cx, &mut notes, &mut writer)).await.unwrap()
        {
            polls += 1;
            assert!(polls < 3, "it has ended");
        }
        assert_eq!(polls, usize::from(!before.is_empty()), "{} bytes", before.len());
    }
}
