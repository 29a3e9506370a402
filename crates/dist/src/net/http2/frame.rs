//! The frame layer: headers of nine bytes, frame types, flags, error codes and settings (RFC 9113, 4 and 6).

use bytes::{BufMut, BytesMut};

/// Bytes of a frame header.
pub const HEAD: usize = 9;

/// The connection preface of a client.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const ACK: u8 = 1;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;
pub const WITH_PRIORITY: u8 = 0x20;

pub const NO_ERROR: u32 = 0;
pub const PROTOCOL_ERROR: u32 = 1;
pub const FLOW_CONTROL_ERROR: u32 = 3;
pub const STREAM_CLOSED: u32 = 5;
pub const FRAME_SIZE_ERROR: u32 = 6;
pub const REFUSED_STREAM: u32 = 7;
pub const CANCEL: u32 = 8;
pub const COMPRESSION_ERROR: u32 = 9;
pub const ENHANCE_YOUR_CALM: u32 = 11;

pub const SET_HEADER_TABLE_SIZE: u16 = 1;
pub const SET_ENABLE_PUSH: u16 = 2;
pub const SET_MAX_STREAMS: u16 = 3;
pub const SET_INITIAL_WINDOW: u16 = 4;
pub const SET_MAX_FRAME: u16 = 5;
pub const SET_MAX_HEADER_LIST: u16 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    pub length: usize,
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
}

impl FrameHeader {
    pub fn parse(b: &[u8; HEAD]) -> FrameHeader {
        FrameHeader {
            length: u32::from_be_bytes([0, b[0], b[1], b[2]]) as usize,
            kind: b[3],
            flags: b[4],
            stream: u32::from_be_bytes([b[5], b[6], b[7], b[8]]) & (u32::MAX >> 1),
        }
    }

    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Writes a frame header. The caller limits lengths to what a frame can have.
pub fn put_frame_header(out: &mut BytesMut, length: usize, kind: u8, flags: u8, stream: u32) {
    out.put_uint(length as u64, 3);
    out.put_slice(&[kind, flags]);
    out.put_u32(stream);
}

pub fn put_settings(out: &mut BytesMut, settings: &[(u16, u32)]) {
    put_frame_header(out, 6 * settings.len(), SETTINGS, 0, 0);
    for (name, value) in settings {
        out.put_u16(*name);
        out.put_u32(*value);
    }
}

/// Frames whose payload is one number: RST_STREAM, WINDOW_UPDATE.
pub fn put_number(out: &mut BytesMut, kind: u8, stream: u32, number: u32) {
    put_frame_header(out, 4, kind, 0, stream);
    out.put_u32(number);
}

pub fn put_ping(out: &mut BytesMut, flags: u8, payload: &[u8; 8]) {
    put_frame_header(out, 8, PING, flags, 0);
    out.put_slice(payload);
}

pub fn put_goaway(out: &mut BytesMut, last: u32, code: u32) {
    put_frame_header(out, 8, GOAWAY, 0, 0);
    out.put_u32(last);
    out.put_u32(code);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_reads_back_as_it_was_written() {
        let mut out = BytesMut::new();
        put_frame_header(&mut out, 0x012345, CONTINUATION, END_HEADERS, u32::MAX >> 1);
        let read = FrameHeader::parse(out[..].try_into().unwrap());
        assert_eq!((read.length, read.kind, read.stream), (0x012345, CONTINUATION, u32::MAX >> 1));
        assert!(read.has(END_HEADERS) && !read.has(PADDED));
    }

    /// RFC 9113, 4.1: the reserved bit of a stream id is ignored.
    #[test]
    fn the_reserved_bit_is_passed_over() {
        let read = FrameHeader::parse(&[0, 0, 1, DATA, END_STREAM | PADDED, 0x80, 0, 0, 5]);
        assert_eq!((read.length, read.stream), (1, 5));
        assert!(read.has(END_STREAM) && read.has(PADDED) && !read.has(END_HEADERS));
    }

    /// The frame formats of RFC 9113, 6.
    #[test]
    fn frames_are_written_as_the_standard_has_them() {
        let written = |put: &dyn Fn(&mut BytesMut)| {
            let mut out = BytesMut::new();
            put(&mut out);
            out.to_vec()
        };
        let settings = [(SET_MAX_FRAME, 0x0102_0304), (SET_ENABLE_PUSH, 0)];
        assert_eq!(
            written(&|out| put_settings(out, &settings)),
            [0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4, 0, 2, 0, 0, 0, 0]
        );
        assert_eq!(
            written(&|out| put_number(out, WINDOW_UPDATE, 7, 0x0a0b)),
            [0, 0, 4, 8, 0, 0, 0, 0, 7, 0, 0, 0x0a, 0x0b]
        );
        assert_eq!(
            written(&|out| put_ping(out, ACK, b"abcdefgh")),
            [&[0, 0, 8, 6, 1, 0, 0, 0, 0][..], b"abcdefgh"].concat()
        );
        assert_eq!(
            written(&|out| put_goaway(out, 9, ENHANCE_YOUR_CALM)),
            [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 11]
        );
    }
}
