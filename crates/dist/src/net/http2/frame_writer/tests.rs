//! Round robin, windows, and completion.

use super::*;
use crate::net::http2::frame::FrameHeader;
use crate::net::http2::testing::drained;
use std::sync::Arc;

/// Kind, flags, stream and length of the frames.
fn frames(s: &mut FrameWriter) -> Vec<(u8, u8, u32, usize)> {
    s.write_frames();
    let all = s.out.drained();
    let (mut found, mut rest) = (Vec::new(), &all[..]);
    while !rest.is_empty() {
        let head = FrameHeader::parse(rest[..9].try_into().unwrap());
        found.push((head.kind, head.flags, head.stream, head.length));
        rest = &rest[9 + head.length..];
    }
    found
}

fn message(n: usize) -> VecDeque<Bytes> {
    [Bytes::from(vec![1; n])].into()
}

#[test]
fn messages_take_turns_within_the_windows() {
    let mut s = FrameWriter::default();
    for id in [1, 3, 5] {
        s.open(id);
    }
    s.message(1, message(100_000), Ending::Ok, None);
    s.message(3, message(10), Ending::Ok, None);
    s.message(5, message(50_000), Ending::Nothing, None);
    let sent = frames(&mut s);
    // The small one is not last; the sum stays within the connection's window.
    assert_eq!(sent[..2], [(0, 0, 1, 16_384), (0, 0, 3, 10)]);
    assert_eq!(sent.iter().filter(|f| f.0 == 0).map(|f| f.3).sum::<usize>(), 65_535);
    s.on_window_update(0, 1_000_000).unwrap();
    let sent = frames(&mut s);
    assert_eq!(sent.last().map(|f| (f.1, f.2)), Some((frame::END_STREAM, 5)));
    // Stream 1's window is used up.
    s.on_window_update(1, 1_000_000).unwrap();
    let sent = frames(&mut s);
    assert_eq!(sent.last().map(|f| (f.0, f.2)), Some((frame::HEADERS, 1)));
    assert!(s.streams.is_empty() && s.ready.is_empty());
}

#[test]
fn a_new_window_for_all_streams_counts_what_was_sent() {
    let mut s = FrameWriter::default();
    s.on_window_update(0, 1 << 20).unwrap();
    s.open(1);
    s.message(1, message(100_000), Ending::Nothing, None);
    assert_eq!(frames(&mut s).iter().map(|f| f.3).sum::<usize>(), 65_535);
    s.apply_setting(frame::SET_INITIAL_WINDOW, 70_000).unwrap();
    assert_eq!(frames(&mut s).iter().map(|f| f.3).sum::<usize>(), 70_000 - 65_535);
    s.apply_setting(frame::SET_INITIAL_WINDOW, 10).unwrap();
    assert_eq!(frames(&mut s), []);
    assert!(s.on_window_update(1, u32::MAX >> 1).is_ok());
    assert!(s.on_window_update(0, u32::MAX >> 1).is_err());
}

#[test]
fn a_thousand_settings_of_the_window_cost_one_look_at_the_streams() {
    let mut s = FrameWriter::default();
    s.on_window_update(0, 1 << 20).unwrap();
    s.apply_setting(frame::SET_INITIAL_WINDOW, 0).unwrap();
    for id in [1, 3] {
        s.open(id);
        s.message(id, message(10), Ending::Nothing, None);
    }
    assert_eq!(frames(&mut s), []);
    for window in 0..1000 {
        s.apply_setting(frame::SET_INITIAL_WINDOW, window % 10).unwrap();
    }
    // Streams are not checked for each SETTINGS, only at the next write.
    assert!(s.ready.is_empty() && !s.is_blocked());
    let mut sent = frames(&mut s);
    sent.sort_by_key(|f| f.2);
    assert_eq!(sent.iter().map(|f| (f.2, f.3)).collect::<Vec<_>>(), [(1, 9), (3, 9)]);
    assert!(s.is_blocked());
}

/// RFC 9113, 4.2: SETTINGS_MAX_FRAME_SIZE applies to headers too.
#[test]
fn headers_longer_than_a_frame_are_continued() {
    let long = vec![b'x'; 40_000];
    let mut s = FrameWriter::default();
    s.headers(7, true, |encoder, out| encoder.passing(out, "grpc-message", &long));
    let all = s.out.drained();
    let (mut block, mut rest, mut seen) = (Vec::new(), &all[..], Vec::new());
    while !rest.is_empty() {
        let head = FrameHeader::parse(rest[..9].try_into().unwrap());
        seen.push((head.kind, head.flags, head.stream));
        assert!(head.length <= 16_384);
        block.extend_from_slice(&rest[9..9 + head.length]);
        rest = &rest[9 + head.length..];
    }
    let want = [
        (frame::HEADERS, frame::END_STREAM, 7),
        (frame::CONTINUATION, 0, 7),
        (frame::CONTINUATION, frame::END_HEADERS, 7),
    ];
    assert_eq!(seen, want);
    assert_eq!(block.iter().filter(|b| **b == b'x').count(), 40_000);
    // A short block is one frame.
    s.headers(9, false, |encoder, out| encoder.passing(out, "a", b"b"));
    assert_eq!(
        frames(&mut s).iter().map(|f| (f.0, f.1)).collect::<Vec<_>>(),
        [(frame::HEADERS, frame::END_HEADERS)]
    );
}

#[test]
fn a_window_grows_by_something_and_not_too_far() {
    let mut s = FrameWriter::default();
    s.open(1);
    for stream in [0, 1] {
        assert_eq!(s.on_window_update(stream, 0).unwrap_err().code, frame::PROTOCOL_ERROR);
        s.on_window_update(stream, (u32::MAX >> 1) - 65_535).unwrap();
        assert_eq!(s.on_window_update(stream, 1).unwrap_err().code, frame::FLOW_CONTROL_ERROR);
    }
    assert!(s.apply_setting(frame::SET_ENABLE_PUSH, 2).is_err());
    assert!(s.apply_setting(frame::SET_ENABLE_PUSH, 1).is_ok());
}

/// A writer that windows never block.
fn unhindered() -> FrameWriter {
    let mut s = FrameWriter::default();
    s.on_window_update(0, 1 << 30).unwrap();
    s.apply_setting(frame::SET_INITIAL_WINDOW, 1 << 30).unwrap();
    s
}

#[test]
fn a_message_is_written_when_its_last_byte_is() {
    let mut s = FrameWriter::default();
    assert!(s.is_idle() && s.is_blocked());
    s.open(1);
    assert!(s.is_idle() && s.is_blocked());
    s.message(1, message(70_000), Ending::Nothing, None);
    assert!(!s.is_idle() && !s.is_blocked());
    s.write_frames();
    // Blocked by the socket first, then by the connection's window.
    assert!(!s.is_idle() && s.is_blocked());
    s.out.drained();
    assert!(!s.is_idle() && s.is_blocked());
    s.on_window_update(0, 100_000).unwrap();
    assert!(!s.is_blocked());
    // The stream's own window is used up as well: none is ready.
    assert_eq!(frames(&mut s), []);
    assert!(!s.is_idle() && s.is_blocked());
    s.on_window_update(1, 100_000).unwrap();
    assert!(!s.is_idle() && !s.is_blocked());
    s.write_frames();
    assert!(!s.is_idle() && s.is_blocked());
    s.out.drained();
    assert!(s.is_idle() && s.is_blocked());
}

#[test]
fn a_window_that_has_room_again_to_the_byte_is_used_to_the_byte() {
    let mut s = FrameWriter::default();
    s.open(1);
    s.message(1, message(65_537), Ending::Nothing, None);
    assert_eq!(frames(&mut s).iter().map(|f| f.3).collect::<Vec<_>>(), [16_384, 16_384, 16_384, 16_383]);
    s.on_window_update(1, 1 << 20).unwrap();
    s.on_window_update(0, 1).unwrap();
    assert_eq!(frames(&mut s), [(frame::DATA, 0, 1, 1)]);
    s.on_window_update(0, 1).unwrap();
    assert_eq!(frames(&mut s), [(frame::DATA, frame::END_STREAM, 1, 1)]);
}

#[test]
fn who_was_next_when_the_window_closed_is_next_when_it_opens() {
    let mut s = FrameWriter::default();
    s.apply_setting(frame::SET_INITIAL_WINDOW, 1 << 20).unwrap();
    for id in [1, 3, 5] {
        s.open(id);
        s.message(id, message(65_535), Ending::Nothing, None);
    }
    assert_eq!(frames(&mut s).iter().map(|f| f.2).collect::<Vec<_>>(), [1, 3, 5, 1]);
    s.on_window_update(0, 30_000).unwrap();
    assert_eq!(frames(&mut s).iter().map(|f| f.2).collect::<Vec<_>>(), [3, 5]);
}

#[test]
fn a_stream_that_waits_is_in_turn_once_however_often_its_window_grows() {
    let mut s = FrameWriter::default();
    s.on_window_update(0, 1 << 20).unwrap();
    s.apply_setting(frame::SET_INITIAL_WINDOW, 0).unwrap();
    s.open(1);
    s.message(1, message(30), Ending::Nothing, None);
    assert_eq!(frames(&mut s), []);
    for _ in 0..3 {
        s.on_window_update(1, 5).unwrap();
    }
    s.apply_setting(frame::SET_INITIAL_WINDOW, 1).unwrap();
    assert_eq!(s.ready.len(), 1);
    assert_eq!(frames(&mut s), [(frame::DATA, 0, 1, 16)]);
    // WINDOW_UPDATE for an unknown stream is ignored.
    s.on_window_update(9, 5).unwrap();
    assert!(s.ready.is_empty());
}

#[test]
fn an_empty_message_needs_no_window() {
    let mut s = FrameWriter::default();
    s.open(1);
    s.message(1, message(65_535), Ending::Nothing, None);
    frames(&mut s);
    s.apply_setting(frame::SET_INITIAL_WINDOW, 0).unwrap();
    for id in [3, 5] {
        s.open(id);
    }
    s.message(3, VecDeque::new(), Ending::Nothing, None);
    s.message(5, VecDeque::new(), Ending::Ok, None);
    let (ends, closes) = (frame::END_STREAM, frame::END_STREAM | frame::END_HEADERS);
    let sent: Vec<_> = frames(&mut s).iter().map(|f| (f.0, f.1, f.2)).collect();
    assert_eq!(sent, [(frame::DATA, ends, 3), (frame::DATA, 0, 5), (frame::HEADERS, closes, 5)]);
}

#[test]
fn a_call_that_went_well_ends_with_its_status() {
    let mut s = FrameWriter::default();
    s.out.small.extend_from_slice(&[0, 0, 0, frame::SETTINGS, frame::ACK, 0, 0, 0, 0]);
    s.open(1);
    s.message(1, message(3), Ending::Ok, None);
    s.write_frames();
    let status = [&b"\x40\x0bgrpc-status\x01"[..], b"0"].concat();
    let want = [
        (frame::SETTINGS, frame::ACK, 0, vec![]),
        (frame::DATA, 0, 1, vec![1; 3]),
        (frame::HEADERS, frame::END_STREAM | frame::END_HEADERS, 1, status),
    ];
    assert_eq!(drained(&mut s), want);
}

/// Long frames are cheap as long as no other stream waits.
#[test]
fn frames_are_as_long_as_the_peer_takes_and_shorter_while_others_wait() {
    for (setting, longest) in [(16_384, 16_384), (500_000, 500_000), ((1 << 24) - 1, 1 << 20)] {
        let mut s = unhindered();
        s.apply_setting(frame::SET_MAX_FRAME, setting).unwrap();
        s.open(1);
        s.message(1, message(3 << 20), Ending::Nothing, None);
        assert_eq!(frames(&mut s)[0], (frame::DATA, 0, 1, longest));
    }
    let mut s = unhindered();
    s.apply_setting(frame::SET_MAX_FRAME, 1 << 20).unwrap();
    for id in [3, 5] {
        s.open(id);
        s.message(id, message(600_000), Ending::Nothing, None);
    }
    let (mut sent, mut more) = (Vec::new(), frames(&mut s));
    while !more.is_empty() {
        sent.extend(more);
        more = frames(&mut s);
    }
    let lengths: Vec<_> = sent.iter().map(|f| (f.2, f.3)).collect();
    let (turn, rest) = (256 << 10, 600_000 - (512 << 10));
    assert_eq!(lengths, [(3, turn), (5, turn), (3, turn), (5, turn), (3, rest), (5, rest)]);
    for wrong in [0, 16_383, 1 << 24] {
        assert_eq!(s.apply_setting(frame::SET_MAX_FRAME, wrong).unwrap_err().code, frame::PROTOCOL_ERROR);
    }
}

#[test]
fn no_more_is_made_ready_than_the_socket_is_to_take() {
    let mut s = unhindered();
    s.open(1);
    s.message(1, message(3 << 20), Ending::Nothing, None);
    // The last frame may exceed the limit.
    assert_eq!(frames(&mut s).len(), (1usize << 20).div_ceil(16_384 + 9));
    s.out.small.resize(1 << 20, 0);
    s.write_frames();
    assert_eq!(s.out.len(), 1 << 20);
    s.out.small.truncate((1 << 20) - 1);
    s.write_frames();
    assert_eq!(s.out.len(), (1 << 20) - 1 + 9 + 16_384);
}

#[test]
fn what_the_peer_wants_no_more_of_is_not_sent() {
    let held = Arc::new(());
    let mut s = FrameWriter::default();
    let ends: [(&dyn Fn(&mut FrameWriter), Vec<(u8, u8, u32, usize)>); 3] = [
        (&|s| s.close(1), vec![]),
        (&|s| s.reset(1, frame::CANCEL), vec![(frame::RST_STREAM, 0, 1, 4)]),
        (&|s| s.reset_if_open(1), vec![(frame::RST_STREAM, 0, 1, 4)]),
    ];
    for (end, want) in ends {
        s.open(1);
        s.message(1, message(10), Ending::Ok, Some(Box::new(held.clone())));
        end(&mut s);
        assert_eq!(Arc::strong_count(&held), 1);
        assert_eq!(frames(&mut s), want);
    }
    // A closed stream is not reset again, and gets no message.
    s.reset_if_open(1);
    s.message(1, message(10), Ending::Ok, None);
    assert_eq!(frames(&mut s), []);
    s.reset(3, 0x0102_0304);
    assert_eq!(drained(&mut s), [(frame::RST_STREAM, 0, 3, vec![1, 2, 3, 4])]);
    s.send_window_update(5, 0x0102_0304);
    assert_eq!(drained(&mut s), [(frame::WINDOW_UPDATE, 0, 5, vec![1, 2, 3, 4])]);
}

#[test]
fn who_holds_a_message_is_told_when_it_has_gone_out_and_not_before() {
    let held = Arc::new(());
    let mut s = FrameWriter::default();
    s.open(1);
    s.message(1, message(65_536), Ending::Ok, Some(Box::new(held.clone())));
    frames(&mut s);
    assert_eq!(Arc::strong_count(&held), 2);
    s.on_window_update(0, 1).unwrap();
    s.on_window_update(1, 1).unwrap();
    frames(&mut s);
    // `held` moved to the write buffer.
    assert!(s.streams.is_empty());
    assert_eq!(Arc::strong_count(&held), 2);
    s.out = WriteBuffer::default();
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn settings_of_the_peer_count_from_when_they_come() {
    let mut s = FrameWriter::default();
    assert_eq!(s.max_streams(), usize::MAX);
    s.apply_setting(frame::SET_MAX_STREAMS, 100).unwrap();
    assert_eq!(s.max_streams(), 100);
    s.apply_setting(frame::SET_INITIAL_WINDOW, i32::MAX as u32).unwrap();
    let too_large = s.apply_setting(frame::SET_INITIAL_WINDOW, 1 << 31).unwrap_err();
    assert_eq!(too_large.code, frame::FLOW_CONTROL_ERROR);
    // The next block begins with a table size update.
    s.apply_setting(frame::SET_HEADER_TABLE_SIZE, 0).unwrap();
    s.headers(1, false, |encoder, out| encoder.field(out, ":method", b"POST"));
    assert_eq!(drained(&mut s), [(frame::HEADERS, frame::END_HEADERS, 1, vec![0x20, 0x83])]);
    s.apply_setting(0xfff, 7).unwrap();
}

/// Regression: one frame of SETTINGS that opened the windows of ten thousand streams was answered in one poll, which took milliseconds.
#[test]
fn thousands_of_frames_are_encoded_some_at_a_time() {
    let mut s = FrameWriter { initial_window: 0, ..Default::default() };
    let count = 3 * FRAMES + 1;
    for stream in 0..count as u32 {
        s.open(stream);
        s.message(stream, [Bytes::from_static(b"ab")].into(), Ending::Nothing, None);
    }
    while s.write_frames() {}
    assert_eq!(s.out.len(), 0);
    s.apply_setting(frame::SET_INITIAL_WINDOW, 1).unwrap();
    for _ in 0..3 {
        assert!(s.write_frames());
        assert_eq!(s.out.drained().len(), FRAMES * (frame::HEAD + 1));
    }
    // The last stream; then those that are blocked again.
    while s.write_frames() {}
    assert_eq!(s.out.drained().len(), frame::HEAD + 1);
}
