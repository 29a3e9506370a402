//! Parses frames and hands them to a `Handler`.

use super::frame::{self, FrameHeader, HEAD, PREFACE, put_frame_header, put_ping};
use super::hpack::{Decoder, Head};
use super::{CONNECTION_WINDOW, ConnectionError, FrameWriter, Handled, MAX_FRAME, Socket};
use std::io::Result as IoResult;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Handles the frames of streams. Responses go to the `FrameWriter`.
pub trait Handler {
    /// Whether the stream is idle (RFC 9113, 5.1).
    fn is_idle(&self, stream: u32) -> bool;
    /// The last stream that the peer opened, for GOAWAY.
    fn last_stream(&self) -> u32;
    /// A header block; `end`: with END_STREAM.
    fn head(&mut self, writer: &mut FrameWriter, stream: u32, head: Head, end: bool) -> Handled;
    /// A DATA frame of this length, padding included, begins; whether its stream accepts data. Never for an idle stream.
    fn begin_data(&mut self, writer: &mut FrameWriter, stream: u32, length: usize) -> bool;
    /// Payload of DATA.
    fn data(&mut self, writer: &mut FrameWriter, stream: u32, bytes: &[u8]);
    /// The buffer that the next payload bytes of the stream can be read into, if there is one; `filled` then says how many were.
    fn room(&mut self, stream: u32) -> Option<&mut [u8]>;
    fn filled(&mut self, writer: &mut FrameWriter, stream: u32, bytes: usize);
    /// END_STREAM.
    fn end(&mut self, writer: &mut FrameWriter, stream: u32);
    /// RST_STREAM.
    fn reset(&mut self, stream: u32, code: u32);
    /// GOAWAY: the peer handles no streams after this one.
    fn goaway(&mut self, last: u32);
}

pub struct FrameReader {
    /// Grows when a read has filled it.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    next: Next,
    decoder: Decoder,
    /// A header block that continues in CONTINUATION: its stream, END_STREAM, and the fragments so far.
    block: Option<(u32, bool, Vec<u8>)>,
    /// Bytes of DATA that no WINDOW_UPDATE has returned yet.
    taken: u32,
    /// The buffer holds frames that can be handled without reading more.
    unhandled: bool,
}

/// The state of the parser: what comes next.
enum Next {
    Preface,
    Head,
    /// A frame that is buffered whole.
    Payload(FrameHeader),
    /// The pad length of a DATA frame.
    Padding(FrameHeader),
    Data {
        stream: u32,
        left: usize,
        padding: usize,
        ends: bool,
    },
    Skip(usize),
}

/// The limit of frames that are buffered whole, and of header blocks.
const WHOLE: usize = 64 << 10;
const BUFFER: usize = 2 * WHOLE;
/// The buffer of a new connection. Many never send more, and the allocator does not refuse a block of this size.
const FIRST_BUFFER: usize = 16 << 10;
/// Per SETTINGS frame.
const MAX_SETTINGS: usize = 64;
/// From this many bytes on, reading into the tensor is worth a system call of its own.
const DIRECT: usize = 32 << 10;
/// Frames handled before the clock is checked: each may run a short step.
const FRAMES: usize = 16;
/// Mask without the reserved bit.
const NUMBER: u32 = u32::MAX >> 1;

impl FrameReader {
    pub fn new(expects_preface: bool) -> FrameReader {
        FrameReader {
            buffer: vec![0; FIRST_BUFFER],
            start: 0,
            end: 0,
            next: if expects_preface { Next::Preface } else { Next::Head },
            decoder: Decoder::default(),
            block: None,
            taken: 0,
            unhandled: false,
        }
    }

    /// Handles buffered frames, or reads from the socket first. False at end of file.
    pub fn poll(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context,
        handler: &mut impl Handler,
        writer: &mut FrameWriter,
    ) -> Poll<Result<bool, ConnectionError>> {
        if self.unhandled {
            self.handle(handler, writer)?;
            return Poll::Ready(Ok(true));
        }
        if let Next::Data { stream, left, .. } = &mut self.next
            && *left >= DIRECT
            && let Some(room) = handler.room(*stream)
            && room.len() >= DIRECT
        {
            let longest = room.len().min(*left);
            let n = ready!(poll_read(socket, cx, &mut room[..longest]))?;
            *left -= n;
            let stream = *stream;
            handler.filled(writer, stream, n);
            self.handle(handler, writer)?;
            return Poll::Ready(Ok(n > 0));
        }
        self.make_room()?;
        let n = ready!(poll_read(socket, cx, &mut self.buffer[self.end..]))?;
        self.end += n;
        self.handle(handler, writer)?;
        Poll::Ready(Ok(n > 0))
    }

    /// Moves unhandled bytes to the start of the buffer, which is enlarged if it was full. Without memory for that, a frame that does
    /// not fit ends the connection.
    fn make_room(&mut self) -> Handled {
        let (was_full, have) = (self.end == self.buffer.len(), self.end - self.start);
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, have);
        let more = BUFFER.saturating_sub(self.buffer.len());
        if was_full && more > 0 && self.buffer.try_reserve_exact(more).is_ok() {
            self.buffer.resize(BUFFER, 0);
        }
        if self.end < self.buffer.len() {
            return Ok(());
        }
        let why = format!("no memory to read a frame of more than {} bytes", self.buffer.len());
        Err(ConnectionError { code: frame::ENHANCE_YOUR_CALM, why })
    }

    /// Handles bytes as if they had been read: for fuzzers.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        handler: &mut impl Handler,
        writer: &mut FrameWriter,
    ) -> Handled {
        while self.unhandled || !bytes.is_empty() {
            if !self.unhandled {
                self.make_room()?;
                let (now, later) = bytes.split_at(bytes.len().min(self.buffer.len() - self.end));
                self.buffer[self.end..self.end + now.len()].copy_from_slice(now);
                (self.end, bytes) = (self.end + now.len(), later);
            }
            self.handle(handler, writer)?;
        }
        Ok(())
    }

    /// Handles buffered frames up to the first incomplete one, at most `FRAMES`.
    fn handle(&mut self, handler: &mut impl Handler, writer: &mut FrameWriter) -> Handled {
        let mut frames = 0;
        self.unhandled = false;
        loop {
            let have = self.end - self.start;
            match self.next {
                Next::Preface => {
                    let Some(said) = self.take(PREFACE.len()) else {
                        // A wrong preface is rejected before it is complete.
                        let so_far = &self.buffer[self.start..self.end];
                        return if PREFACE.starts_with(so_far) { Ok(()) } else { Err(not_http2()) };
                    };
                    if self.buffer[said] != *PREFACE {
                        return Err(not_http2());
                    }
                    self.next = Next::Head;
                }
                Next::Head if frames == FRAMES => {
                    self.unhandled = true;
                    return Ok(());
                }
                Next::Head => {
                    let Some(bytes) = self.buffer[self.start..self.end].first_chunk::<HEAD>() else {
                        return Ok(());
                    };
                    let head = FrameHeader::parse(bytes);
                    self.start += HEAD;
                    frames += 1;
                    self.next = self.after(head, handler, writer)?;
                }
                Next::Padding(head) => {
                    let Some(at) = self.take(1) else { return Ok(()) };
                    let padding = usize::from(self.buffer[at.start]);
                    let left = (head.length - 1).checked_sub(padding).ok_or_else(overfilled)?;
                    self.next = data(head, left, padding, handler, writer);
                }
                Next::Data { stream, left: 0, padding, ends } => {
                    self.next = Next::Skip(padding);
                    if ends {
                        handler.end(writer, stream);
                    }
                }
                Next::Data { .. } if have == 0 => return Ok(()),
                Next::Data { stream, ref mut left, .. } => {
                    let n = have.min(*left);
                    *left -= n;
                    handler.data(writer, stream, &self.buffer[self.start..self.start + n]);
                    self.start += n;
                }
                Next::Payload(head) => {
                    let Some(payload) = self.take(head.length) else { return Ok(()) };
                    self.next = Next::Head;
                    self.frame(head, payload, handler, writer)?;
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

    /// The range of the next `n` bytes, if they are buffered.
    fn take(&mut self, n: usize) -> Option<Range<usize>> {
        let place = self.start..self.start + n;
        (place.end <= self.end).then(|| {
            self.start = place.end;
            place
        })
    }

    fn after(
        &mut self,
        head: FrameHeader,
        handler: &mut impl Handler,
        writer: &mut FrameWriter,
    ) -> Result<Next, ConnectionError> {
        if head.length > MAX_FRAME as usize {
            return Err(too_long(head));
        }
        if self.block.as_ref().is_some_and(|b| head.kind != frame::CONTINUATION || head.stream != b.0) {
            return Err(ConnectionError::protocol("headers that do not go on"));
        }
        check_stream(head, handler)?;
        match head.kind {
            frame::DATA => {
                self.credit(writer, head.length);
                match head.has(frame::PADDED) {
                    true if head.length == 0 => Err(overfilled()),
                    true => Ok(Next::Padding(head)),
                    false => Ok(data(head, head.length, 0, handler, writer)),
                }
            }
            frame::HEADERS..=frame::CONTINUATION if head.length > WHOLE => Err(too_long(head)),
            frame::PUSH_PROMISE => Err(ConnectionError::protocol("a promise that nobody asked for")),
            frame::HEADERS..=frame::CONTINUATION => Ok(Next::Payload(head)),
            _ => Ok(Next::Skip(head.length)),
        }
    }

    /// Flow control of the connection: a WINDOW_UPDATE when half of the window is used. Memory is limited by charges, not by the window.
    fn credit(&mut self, writer: &mut FrameWriter, bytes: usize) {
        self.taken += bytes as u32;
        if self.taken >= CONNECTION_WINDOW / 2 {
            writer.send_window_update(0, std::mem::take(&mut self.taken));
        }
    }

    /// A frame that is buffered whole.
    fn frame(
        &mut self,
        head: FrameHeader,
        place: Range<usize>,
        handler: &mut impl Handler,
        writer: &mut FrameWriter,
    ) -> Handled {
        let payload = &self.buffer[place];
        match head.kind {
            frame::HEADERS => {
                let fields = fields(head, payload)?;
                let ends = head.has(frame::END_STREAM);
                if !head.has(frame::END_HEADERS) {
                    self.block = Some((head.stream, ends, fields.to_vec()));
                    return Ok(());
                }
                let decoded = self.decoder.decode(fields).map_err(bad_headers)?;
                handler.head(writer, head.stream, decoded, ends)
            }
            frame::CONTINUATION => {
                let Some((stream, ends, mut all)) = self.block.take() else {
                    return Err(ConnectionError::protocol("headers that go on from nothing"));
                };
                if all.len() + payload.len() > WHOLE {
                    return Err(ConnectionError {
                        code: frame::ENHANCE_YOUR_CALM,
                        why: "endless headers".into(),
                    });
                }
                all.extend_from_slice(payload);
                if !head.has(frame::END_HEADERS) {
                    self.block = Some((stream, ends, all));
                    return Ok(());
                }
                let decoded = self.decoder.decode(&all).map_err(bad_headers)?;
                handler.head(writer, stream, decoded, ends)
            }
            _ => small_frame(head, payload, handler, writer),
        }
    }
}

/// Validates a frame's stream: RFC 9113, 5.1 and section 6.
fn check_stream(head: FrameHeader, handler: &impl Handler) -> Handled {
    let wrong =
        |what: &str| Err(ConnectionError::protocol(format!("a frame of kind {} on {what}", head.kind)));
    match head.kind {
        frame::SETTINGS | frame::PING | frame::GOAWAY if head.stream != 0 => wrong("a stream"),
        frame::DATA | frame::HEADERS | frame::PRIORITY | frame::RST_STREAM | frame::CONTINUATION
            if head.stream == 0 =>
        {
            wrong("stream 0")
        }
        frame::DATA | frame::RST_STREAM | frame::WINDOW_UPDATE
            if head.stream != 0 && handler.is_idle(head.stream) =>
        {
            wrong("an idle stream")
        }
        _ => Ok(()),
    }
}

/// A frame without header fields or data.
fn small_frame(
    head: FrameHeader,
    payload: &[u8],
    handler: &mut impl Handler,
    writer: &mut FrameWriter,
) -> Handled {
    match head.kind {
        frame::RST_STREAM => {
            let code = number(payload).ok_or_else(|| too_long(head))?;
            writer.close(head.stream);
            handler.reset(head.stream, code);
        }
        frame::PRIORITY => match payload.first_chunk::<4>() {
            _ if payload.len() != 5 => reset(writer, handler, head.stream, frame::FRAME_SIZE_ERROR),
            Some(on) if u32::from_be_bytes(*on) & NUMBER == head.stream => {
                reset(writer, handler, head.stream, frame::PROTOCOL_ERROR)
            }
            _ => {}
        },
        frame::WINDOW_UPDATE => {
            let bytes = number(payload).ok_or_else(|| too_long(head))? & NUMBER;
            match writer.on_window_update(head.stream, bytes) {
                Err(fault) if head.stream != 0 => reset(writer, handler, head.stream, fault.code),
                grown => return grown,
            }
        }
        frame::SETTINGS if head.has(frame::ACK) && payload.is_empty() => {}
        frame::SETTINGS => {
            let settings = payload.chunks_exact(6);
            if head.has(frame::ACK) || !settings.remainder().is_empty() || settings.len() > MAX_SETTINGS {
                return Err(too_long(head));
            }
            for s in settings {
                let value = u32::from_be_bytes([s[2], s[3], s[4], s[5]]);
                writer.apply_setting(u16::from_be_bytes([s[0], s[1]]), value)?;
            }
            put_frame_header(&mut writer.out.small, 0, frame::SETTINGS, frame::ACK, 0);
        }
        frame::PING => {
            let said: &[u8; 8] = payload.try_into().map_err(|_| too_long(head))?;
            if !head.has(frame::ACK) {
                put_ping(&mut writer.out.small, frame::ACK, said);
            }
        }
        _ => {
            // GOAWAY is the last type that is buffered whole.
            let last = payload.first_chunk::<4>().filter(|_| payload.len() >= 8);
            handler.goaway(u32::from_be_bytes(*last.ok_or_else(|| too_long(head))?) & NUMBER);
        }
    }
    Ok(())
}

/// Resets a stream after a stream error.
fn reset(writer: &mut FrameWriter, handler: &mut impl Handler, stream: u32, code: u32) {
    writer.reset(stream, code);
    handler.reset(stream, code);
}

/// The state after the header of a DATA frame.
fn data(
    head: FrameHeader,
    left: usize,
    padding: usize,
    handler: &mut impl Handler,
    writer: &mut FrameWriter,
) -> Next {
    match handler.begin_data(writer, head.stream, head.length) {
        true => Next::Data { stream: head.stream, left, padding, ends: head.has(frame::END_STREAM) },
        false => Next::Skip(left + padding),
    }
}

/// The header block fragment of HEADERS, without padding and priority.
fn fields(head: FrameHeader, payload: &[u8]) -> Result<&[u8], ConnectionError> {
    let mut rest = payload;
    let mut padding = 0;
    if head.has(frame::PADDED) {
        let (first, after) = rest.split_first().ok_or_else(overfilled)?;
        (padding, rest) = (usize::from(*first), after);
    }
    if head.has(frame::WITH_PRIORITY) {
        let (priority, after) = rest.split_first_chunk::<5>().ok_or_else(|| too_long(head))?;
        let [a, b, c, d, _] = *priority;
        if u32::from_be_bytes([a, b, c, d]) & NUMBER == head.stream {
            return Err(ConnectionError::protocol("a stream that depends on itself"));
        }
        rest = after;
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

fn not_http2() -> ConnectionError {
    ConnectionError::protocol("the peer does not speak HTTP/2")
}

fn overfilled() -> ConnectionError {
    ConnectionError::protocol("a frame with more padding than it has room for")
}

fn too_long(head: FrameHeader) -> ConnectionError {
    let why = format!("a frame of kind {} with {} bytes", head.kind, head.length);
    ConnectionError { code: frame::FRAME_SIZE_ERROR, why }
}

fn bad_headers(why: &'static str) -> ConnectionError {
    ConnectionError { code: frame::COMPRESSION_ERROR, why: why.into() }
}

#[cfg(test)]
mod tests;
