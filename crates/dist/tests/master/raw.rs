//! Raw HTTP/2 frames, for peers that break the rules.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RESET: u8 = 3;
pub const PRIORITY: u8 = 2;
pub const SETTINGS: u8 = 4;
pub const GOAWAY: u8 = 7;
pub const PING: u8 = 6;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;
pub const ACK: u8 = 1;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;
pub const INITIAL_WINDOW: u16 = 4;

pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut f = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    f.extend([kind, flags]);
    f.extend(stream.to_be_bytes());
    f.extend(payload);
    f
}

pub fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = values
        .iter()
        .flat_map(|(k, v)| [k.to_be_bytes().to_vec(), v.to_be_bytes().to_vec()].concat())
        .collect();
    frame(SETTINGS, 0, 0, &payload)
}

/// A gRPC message with its prefix.
pub fn message(body: &[u8]) -> Vec<u8> {
    [&[0][..], &(body.len() as u32).to_be_bytes(), body].concat()
}

/// Header fields as literals without indexing.
pub fn headers(method: &str, timeout: Option<&str>) -> Vec<u8> {
    let path = format!("/tensorflow.MasterService/{method}");
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", &path),
        (":authority", "test"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    fields
        .into_iter()
        .chain(timeout.map(|t| ("grpc-timeout", t)))
        .flat_map(|(k, v): (&str, &str)| {
            [&[0, k.len() as u8][..], k.as_bytes(), &[v.len() as u8], v.as_bytes()].concat()
        })
        .collect()
}

/// The frames of a request.
pub fn request(stream: u32, method: &str, data: &[u8], ends: bool) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, stream, &headers(method, None));
    [head, frame(DATA, if ends { END_STREAM } else { 0 }, stream, data)].concat()
}

/// The same, with a deadline.
pub fn request_within(timeout: &str, stream: u32, method: &str, data: &[u8]) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, stream, &headers(method, Some(timeout)));
    [head, frame(DATA, END_STREAM, stream, data)].concat()
}

/// A connection with a single call.
pub fn call(method: &str, body: &[u8]) -> Vec<u8> {
    [PREFACE, &settings(&[]), &request(1, method, &message(body), true)].concat()
}

pub struct Raw(TcpStream);

impl Raw {
    pub fn connect(address: SocketAddr) -> Raw {
        Raw(TcpStream::connect(address).unwrap())
    }

    pub fn send(&mut self, bytes: &[u8]) {
        // A closed connection shows when reading.
        let _ = self.0.write_all(bytes);
    }

    /// The next frame; none when the connection is closed.
    pub fn frame(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload).ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// The next headers of a stream.
    pub fn headers(&mut self, stream: u32) -> Option<Frame> {
        std::iter::from_fn(|| self.frame()).find(|f| f.kind == HEADERS && f.stream == stream)
    }

    /// All frames up to the end of a stream, which must come.
    pub fn frames_until_end_of(&mut self, stream: u32) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let f = self.frame().unwrap();
            let ends = f.kind == HEADERS && f.stream == stream && f.flags & END_STREAM != 0;
            frames.push(f);
            if ends {
                return frames;
            }
        }
    }

    pub fn frames_until_closed(&mut self) -> Vec<Frame> {
        std::iter::from_fn(|| self.frame()).collect()
    }
}

/// A xorshift generator.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    /// A well-delimited frame of a random kind on a low stream.
    pub fn frame(&mut self) -> Vec<u8> {
        let (kind, flags, stream) = (self.next() % 11, self.next(), self.next() % 6);
        let length = self.next() % 60;
        let payload = self.bytes(length as usize);
        frame(kind as u8, flags as u8, stream as u32, &payload)
    }
}
