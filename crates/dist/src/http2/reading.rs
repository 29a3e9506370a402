//! Frames on their way in.

use super::frame::{self, FrameHead, HEAD, PREFACE, put_head, put_ping};
use super::hpack::{Decoder, Head};
use super::{CONNECTION_WINDOW, Fault, Handled, MAX_FRAME, Sending, Socket};
use std::io::Result as IoResult;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Whose streams they are. What it has to say it says by way of `Sending`.
pub trait Handler {
    /// Headers; `end`: nothing comes after them.
    fn head(&mut self, sending: &mut Sending, stream: u32, head: Head, end: bool) -> Handled;
    /// Bytes of a message.
    fn data(&mut self, sending: &mut Sending, stream: u32, bytes: &[u8]);
    /// Where the next bytes of the stream's message go as they are, if that is known; then how many have come.
    fn room(&mut self, stream: u32) -> Option<&mut [u8]>;
    fn filled(&mut self, sending: &mut Sending, stream: u32, bytes: usize);
    /// Nothing more comes on the stream.
    fn end(&mut self, sending: &mut Sending, stream: u32);
    /// The peer has given the stream up.
    fn reset(&mut self, stream: u32, code: u32);
    /// The peer takes no streams after this one.
    fn goaway(&mut self, last: u32);
}

pub struct Reading {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    next: Next,
    decoder: Decoder,
    /// Headers that go on in the next frame: of which stream, whether it ends with them, and what has come.
    block: Option<(u32, bool, Vec<u8>)>,
    /// Bytes of messages that the peer has not got credit for again.
    taken: u32,
}

/// What comes next.
enum Next {
    Preface,
    Head,
    /// Of a frame that is handled as a whole.
    Payload(FrameHead),
    /// The length of what a frame of data is filled up with.
    Padding(FrameHead),
    Data {
        stream: u32,
        left: usize,
        padding: usize,
        ends: bool,
    },
    Skip(usize),
}

/// A frame that is handled as a whole, and a block of headers, can be no longer.
const WHOLE: usize = 64 << 10;
const BUFFER: usize = 2 * WHOLE;
/// Settings in one frame; each may concern all streams.
const MAX_SETTINGS: usize = 64;
/// From this many bytes on, reading to where they stay is worth a call of its own.
const DIRECT: usize = 32 << 10;

impl Reading {
    pub fn new(expects_preface: bool) -> Reading {
        Reading {
            // Memory that is never touched is never there.
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            next: if expects_preface { Next::Preface } else { Next::Head },
            decoder: Decoder::default(),
            block: None,
            taken: 0,
        }
    }

    /// Reads what the socket has, as much as there is room for, and handles it; 0 bytes are its end.
    pub fn poll(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context,
        handler: &mut impl Handler,
        sending: &mut Sending,
    ) -> Poll<Result<usize, Fault>> {
        if let Next::Data { stream, left, .. } = &mut self.next
            && self.start == self.end
            && *left >= DIRECT
            && let Some(room) = handler.room(*stream)
            && room.len() >= DIRECT
        {
            let longest = room.len().min(*left);
            let n = ready!(poll_read(socket, cx, &mut room[..longest]))?;
            *left -= n;
            let stream = *stream;
            handler.filled(sending, stream, n);
            self.handle(handler, sending)?;
            return Poll::Ready(Ok(n));
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let n = ready!(poll_read(socket, cx, &mut self.buffer[self.end..]))?;
        self.end += n;
        self.handle(handler, sending)?;
        Poll::Ready(Ok(n))
    }

    /// Handles what has been read, up to what has not come as a whole.
    fn handle(&mut self, handler: &mut impl Handler, sending: &mut Sending) -> Handled {
        loop {
            let have = self.end - self.start;
            match self.next {
                Next::Preface => {
                    let Some(said) = self.take(PREFACE.len()) else {
                        // What can no more become one is refused before it is whole.
                        let so_far = &self.buffer[self.start..self.end];
                        return if PREFACE.starts_with(so_far) { Ok(()) } else { Err(not_http2()) };
                    };
                    if self.buffer[said] != *PREFACE {
                        return Err(not_http2());
                    }
                    self.next = Next::Head;
                }
                Next::Head => {
                    let Some(bytes) = self.buffer[self.start..self.end].first_chunk::<HEAD>() else {
                        return Ok(());
                    };
                    let head = FrameHead::parse(bytes);
                    self.start += HEAD;
                    self.next = self.after(head)?;
                }
                Next::Padding(head) => {
                    let Some(at) = self.take(1) else { return Ok(()) };
                    let padding = usize::from(self.buffer[at.start]);
                    let left = (head.length - 1).checked_sub(padding).ok_or_else(overfilled)?;
                    self.next = data(head, left, padding);
                }
                Next::Data { stream, left: 0, padding, ends } => {
                    self.next = if padding > 0 { Next::Skip(padding) } else { Next::Head };
                    if ends {
                        handler.end(sending, stream);
                    }
                    self.credit(sending);
                }
                Next::Data { .. } if have == 0 => return Ok(()),
                Next::Data { stream, ref mut left, .. } => {
                    let n = have.min(*left);
                    *left -= n;
                    handler.data(sending, stream, &self.buffer[self.start..self.start + n]);
                    self.start += n;
                }
                Next::Payload(head) => {
                    let Some(payload) = self.take(head.length) else { return Ok(()) };
                    self.next = Next::Head;
                    self.frame(head, payload, handler, sending)?;
                }
                Next::Skip(0) => self.next = Next::Head,
                Next::Skip(_) if have == 0 => return Ok(()),
                Next::Skip(ref mut left) => {
                    let n = have.min(*left);
                    *left -= n;
                    self.start += n;
                }
            }
        }
    }

    /// The place of the next `n` bytes, if they are there.
    fn take(&mut self, n: usize) -> Option<std::ops::Range<usize>> {
        let place = self.start..self.start + n;
        (place.end <= self.end).then(|| {
            self.start = place.end;
            place
        })
    }

    fn after(&mut self, head: FrameHead) -> Result<Next, Fault> {
        if head.length > MAX_FRAME as usize {
            return Err(too_long(head));
        }
        if self.block.as_ref().is_some_and(|b| head.kind != frame::CONTINUATION || head.stream != b.0) {
            return Err(Fault::protocol("headers that do not go on"));
        }
        let of_stream =
            matches!(head.kind, frame::DATA | frame::HEADERS | frame::RST_STREAM | frame::CONTINUATION);
        let of_all = matches!(head.kind, frame::SETTINGS | frame::PING | frame::GOAWAY);
        if of_stream && head.stream == 0 || of_all && head.stream != 0 {
            return Err(Fault::protocol(format!("a frame of kind {} on stream {}", head.kind, head.stream)));
        }
        match head.kind {
            frame::DATA => {
                self.taken += head.length as u32;
                match head.has(frame::PADDED) {
                    true if head.length == 0 => Err(overfilled()),
                    true => Ok(Next::Padding(head)),
                    false => Ok(data(head, head.length, 0)),
                }
            }
            frame::HEADERS..=frame::CONTINUATION if head.length > WHOLE => Err(too_long(head)),
            frame::PRIORITY => Ok(Next::Skip(head.length)),
            frame::PUSH_PROMISE => Err(Fault::protocol("a promise that nobody asked for")),
            frame::HEADERS..=frame::CONTINUATION => Ok(Next::Payload(head)),
            _ => Ok(Next::Skip(head.length)),
        }
    }

    /// Lets the peer send more, when it has sent much.
    fn credit(&mut self, sending: &mut Sending) {
        if self.taken >= CONNECTION_WINDOW / 2 {
            sending.give_credit(0, std::mem::take(&mut self.taken));
        }
    }

    fn frame(
        &mut self,
        head: FrameHead,
        place: std::ops::Range<usize>,
        handler: &mut impl Handler,
        sending: &mut Sending,
    ) -> Handled {
        let payload = &self.buffer[place.clone()];
        match head.kind {
            frame::HEADERS => {
                let fields = fields(head, payload)?;
                let ends = head.has(frame::END_STREAM);
                if !head.has(frame::END_HEADERS) {
                    self.block = Some((head.stream, ends, fields.to_vec()));
                    return Ok(());
                }
                let decoded = self.decoder.decode(fields).map_err(bad_headers)?;
                handler.head(sending, head.stream, decoded, ends)?;
            }
            frame::CONTINUATION => {
                let Some((stream, ends, mut all)) = self.block.take() else {
                    return Err(Fault::protocol("headers that go on from nothing"));
                };
                if all.len() + payload.len() > WHOLE {
                    return Err(Fault { code: frame::ENHANCE_YOUR_CALM, why: "endless headers".into() });
                }
                all.extend_from_slice(payload);
                if !head.has(frame::END_HEADERS) {
                    self.block = Some((stream, ends, all));
                    return Ok(());
                }
                let decoded = self.decoder.decode(&all).map_err(bad_headers)?;
                handler.head(sending, stream, decoded, ends)?;
            }
            frame::RST_STREAM => {
                let code = number(payload).ok_or_else(|| too_long(head))?;
                sending.close(head.stream);
                handler.reset(head.stream, code);
            }
            frame::WINDOW_UPDATE => {
                let bytes = number(payload).ok_or_else(|| too_long(head))? & (u32::MAX >> 1);
                sending.window_grew(head.stream, bytes)?;
            }
            frame::SETTINGS if head.has(frame::ACK) => {}
            frame::SETTINGS => {
                let settings = payload.chunks_exact(6);
                if !settings.remainder().is_empty() || settings.len() > MAX_SETTINGS {
                    return Err(too_long(head));
                }
                for s in settings {
                    let value = u32::from_be_bytes([s[2], s[3], s[4], s[5]]);
                    sending.peer_setting(u16::from_be_bytes([s[0], s[1]]), value)?;
                }
                put_head(&mut sending.out.small, 0, frame::SETTINGS, frame::ACK, 0);
            }
            frame::PING => {
                let said: &[u8; 8] = payload.try_into().map_err(|_| too_long(head))?;
                if !head.has(frame::ACK) {
                    put_ping(&mut sending.out.small, frame::ACK, said);
                }
            }
            _ => {
                // GOAWAY is the last that is handled as a whole.
                let last = payload.first_chunk::<8>().ok_or_else(|| too_long(head))?;
                handler.goaway(u32::from_be_bytes([last[0], last[1], last[2], last[3]]) & (u32::MAX >> 1));
            }
        }
        Ok(())
    }
}

fn data(head: FrameHead, left: usize, padding: usize) -> Next {
    Next::Data { stream: head.stream, left, padding, ends: head.has(frame::END_STREAM) }
}

/// The fields of a frame of headers, without what may stand around them.
fn fields(head: FrameHead, payload: &[u8]) -> Result<&[u8], Fault> {
    let mut rest = payload;
    let mut padding = 0;
    if head.has(frame::PADDED) {
        let (first, after) = rest.split_first().ok_or_else(overfilled)?;
        (padding, rest) = (usize::from(*first), after);
    }
    if head.has(frame::WITH_PRIORITY) {
        rest = rest.get(5..).ok_or_else(|| too_long(head))?;
    }
    let end = rest.len().checked_sub(padding).ok_or_else(overfilled)?;
    Ok(&rest[..end])
}

fn number(payload: &[u8]) -> Option<u32> {
    payload.try_into().ok().map(u32::from_be_bytes)
}

fn poll_read(socket: &mut Socket, cx: &mut Context, place: &mut [u8]) -> Poll<IoResult<usize>> {
    let mut place = ReadBuf::new(place);
    ready!(Pin::new(socket).poll_read(cx, &mut place))?;
    Poll::Ready(Ok(place.filled().len()))
}

fn not_http2() -> Fault {
    Fault::protocol("the peer does not speak HTTP/2")
}

fn overfilled() -> Fault {
    Fault::protocol("a frame with more padding than it has room for")
}

fn too_long(head: FrameHead) -> Fault {
    let why = format!("a frame of kind {} with {} bytes", head.kind, head.length);
    Fault { code: frame::FRAME_SIZE_ERROR, why }
}

fn bad_headers(why: &'static str) -> Fault {
    Fault { code: frame::COMPRESSION_ERROR, why: why.into() }
}
