//! For tests: connected sockets, frames, and a handler that records its calls.

use super::frame::{FrameHeader, put_frame_header};
use super::{ConnectionError, FrameWriter, Handled, Handler, Head, Socket};
use bytes::BytesMut;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};

/// Both ends of a TCP connection.
pub async fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (ours, theirs) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
    (ours.unwrap(), theirs.unwrap().0)
}

/// The same, ours as a `Socket`.
pub async fn pair() -> (Socket, TcpStream) {
    let (ours, theirs) = tcp().await;
    (ours.into(), theirs)
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    put_frame_header(&mut out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
    out.to_vec()
}

/// Parses these bytes as frames.
pub fn frames(mut bytes: &[u8]) -> Vec<(FrameHeader, Vec<u8>)> {
    let mut found = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk() {
        let head = FrameHeader::parse(head);
        let (payload, rest) = rest.split_at(head.length);
        found.push((head, payload.to_vec()));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "half a head");
    found
}

/// Kind, flags, stream and payload of the encoded frames.
pub fn drained(writer: &mut FrameWriter) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let all = frames(&writer.out.drained());
    all.into_iter().map(|(h, payload)| (h.kind, h.flags, h.stream, payload)).collect()
}

/// A `Handler` call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Head { stream: u32, path: Vec<u8>, end: bool },
    Begin { stream: u32, length: usize },
    Data { stream: u32, bytes: Vec<u8> },
    Filled { stream: u32, bytes: usize },
    End(u32),
    Reset(u32, u32),
    Goaway(u32),
}

/// Streams up to `last` are open; those in `refused` accept no data.
#[derive(Default)]
pub struct Notes {
    pub events: Vec<Event>,
    pub last: u32,
    pub refused: Vec<u32>,
    /// The buffer for any stream's payload, and bytes filled.
    pub room: Option<Vec<u8>>,
    pub filled: usize,
    /// Minimum time to handle each GOAWAY.
    pub slow: Duration,
}

impl Notes {
    /// The events since the last call, with adjacent data joined.
    pub fn joined(&mut self) -> Vec<Event> {
        let mut joined: Vec<Event> = Vec::new();
        for event in std::mem::take(&mut self.events) {
            match (joined.last_mut(), event) {
                (Some(Event::Data { stream: a, bytes }), Event::Data { stream: b, bytes: more })
                    if *a == b =>
                {
                    bytes.extend(more)
                }
                (_, event) => joined.push(event),
            }
        }
        joined
    }
}

impl Handler for Notes {
    fn is_idle(&self, stream: u32) -> bool {
        stream > self.last
    }

    fn last_stream(&self) -> u32 {
        self.last
    }

    fn head(&mut self, _: &mut FrameWriter, stream: u32, head: Head, end: bool) -> Handled {
        let path = head.path.unwrap_or_default().to_vec();
        self.last = self.last.max(stream);
        self.events.push(Event::Head { stream, path: path.clone(), end });
        match &path[..] {
            b"/bad" => Err(ConnectionError::protocol("a bad path")),
            _ => Ok(()),
        }
    }

    fn begin_data(&mut self, _: &mut FrameWriter, stream: u32, length: usize) -> bool {
        self.events.push(Event::Begin { stream, length });
        !self.refused.contains(&stream)
    }

    fn data(&mut self, _: &mut FrameWriter, stream: u32, bytes: &[u8]) {
        self.events.push(Event::Data { stream, bytes: bytes.to_vec() });
    }

    fn room(&mut self, _: u32) -> Option<&mut [u8]> {
        self.room.as_mut()?.get_mut(self.filled..)
    }

    fn filled(&mut self, _: &mut FrameWriter, stream: u32, bytes: usize) {
        self.filled += bytes;
        self.events.push(Event::Filled { stream, bytes });
    }

    fn end(&mut self, _: &mut FrameWriter, stream: u32) {
        self.events.push(Event::End(stream));
    }

    fn reset(&mut self, stream: u32, code: u32) {
        self.events.push(Event::Reset(stream, code));
    }

    fn goaway(&mut self, last: u32) {
        self.events.push(Event::Goaway(last));
        let since = Instant::now();
        while since.elapsed() < self.slow {
            std::hint::spin_loop();
        }
    }
}
