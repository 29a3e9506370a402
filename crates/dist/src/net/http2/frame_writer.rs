//! Encodes messages as DATA frames within the flow-control windows, round robin among streams, so that small messages do not wait for large ones.

use super::frame::{self, put_frame_header, put_number};
use super::hpack::Encoder;
use super::write_buffer::{OnWritten, WriteBuffer};
use super::{ConnectionError, Handled, MAX_FRAME};
use bytes::{Bytes, BytesMut};
use std::collections::{HashMap, VecDeque};

pub struct FrameWriter {
    pub out: WriteBuffer,
    encoder: Encoder,
    /// The flow-control window of the connection.
    window: i64,
    /// SETTINGS_INITIAL_WINDOW_SIZE of the peer.
    initial_window: i64,
    max_frame: usize,
    max_streams: usize,
    streams: HashMap<u32, Stream>,
    /// Streams with data to send and window for it, in round-robin order.
    ready: VecDeque<u32>,
    /// SETTINGS changed the windows of all streams since `ready` was last computed. A peer may change them thousands of times
    /// between two writes.
    windows_changed: bool,
}

#[derive(Default)]
struct Stream {
    /// Bytes sent less window updates.
    used: i64,
    pieces: VecDeque<Bytes>,
    left: usize,
    ending: Ending,
    /// Blocked by its window.
    waits: bool,
    held: Option<OnWritten>,
}

/// What ends a stream after its message.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Ending {
    /// END_STREAM on the last DATA frame.
    #[default]
    Nothing,
    /// Trailers with `grpc-status: 0`.
    Ok,
}

/// Defaults of RFC 9113, 6.5.2.
const DEFAULT_WINDOW: i64 = 65_535;
const DEFAULT_FRAME: usize = 16_384;
const MAX_WINDOW: i64 = i32::MAX as i64;
/// The longest DATA frame while other streams are ready.
const MAX_SHARED_FRAME: usize = 256 << 10;
/// DATA frames that are encoded in one go: a peer may open and close the windows of thousands of streams with each frame it sends.
const FRAMES: usize = 512;
/// Encoded bytes that are buffered for the socket: back-pressure begins here.
pub const BACKLOG: usize = 1 << 20;

impl Default for FrameWriter {
    fn default() -> FrameWriter {
        FrameWriter {
            out: WriteBuffer::default(),
            encoder: Encoder::default(),
            window: DEFAULT_WINDOW,
            initial_window: DEFAULT_WINDOW,
            max_frame: DEFAULT_FRAME,
            max_streams: usize::MAX,
            streams: HashMap::new(),
            ready: VecDeque::new(),
            windows_changed: false,
        }
    }
}

impl FrameWriter {
    /// Opens a stream for a message.
    pub fn open(&mut self, stream: u32) {
        self.streams.insert(stream, Stream::default());
    }

    /// Drops the stream's unsent data.
    pub fn close(&mut self, stream: u32) {
        self.streams.remove(&stream);
    }

    pub fn reset(&mut self, stream: u32, code: u32) {
        self.close(stream);
        put_number(&mut self.out.small, frame::RST_STREAM, stream, code);
    }

    /// WINDOW_UPDATE: of a stream, or of the connection for stream 0.
    pub fn send_window_update(&mut self, stream: u32, bytes: u32) {
        put_number(&mut self.out.small, frame::WINDOW_UPDATE, stream, bytes);
    }

    /// Whether all is written.
    pub fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.out.len() == 0 && self.streams.values().all(|s| s.left == 0)
    }

    /// Whether all streams are blocked by flow control or by the socket.
    pub fn is_blocked(&self) -> bool {
        !self.windows_changed && self.ready.is_empty() || self.window <= 0 || self.out.len() > 0
    }

    /// Resets a stream, if it is open, with NO_ERROR.
    pub fn reset_if_open(&mut self, stream: u32) {
        if self.streams.contains_key(&stream) {
            self.reset(stream, frame::NO_ERROR);
        }
    }

    /// SETTINGS_MAX_CONCURRENT_STREAMS of the peer.
    pub fn max_streams(&self) -> usize {
        self.max_streams
    }

    pub fn headers(&mut self, stream: u32, ends: bool, fill: impl FnOnce(&mut Encoder, &mut BytesMut)) {
        let out = &mut self.out.small;
        let at = out.len();
        let flags = frame::END_HEADERS | if ends { frame::END_STREAM } else { 0 };
        put_frame_header(out, 0, frame::HEADERS, flags, stream);
        self.encoder.begin(out);
        fill(&mut self.encoder, out);
        // The length is known only now; it has three bytes.
        let length = out.len() - at - frame::HEAD;
        if length > self.max_frame {
            return self.continued(stream, ends, at);
        }
        out[at..at + 3].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
    }

    /// Splits the header block at `at`, longer than the peer's frames, into HEADERS and CONTINUATION.
    fn continued(&mut self, stream: u32, ends: bool, at: usize) {
        let out = &mut self.out.small;
        let block = out.split_off(at).split_off(frame::HEAD);
        let frames = block.len().div_ceil(self.max_frame);
        for (i, part) in block.chunks(self.max_frame).enumerate() {
            let kind = if i == 0 { frame::HEADERS } else { frame::CONTINUATION };
            let last = if i + 1 == frames { frame::END_HEADERS } else { 0 };
            let end = if i == 0 && ends { frame::END_STREAM } else { 0 };
            put_frame_header(out, part.len(), kind, last | end, stream);
            out.extend_from_slice(part);
        }
    }

    /// Queues a message; `held` is dropped when it has been written.
    pub fn message(&mut self, stream: u32, pieces: VecDeque<Bytes>, ending: Ending, held: Option<OnWritten>) {
        let Some(s) = self.streams.get_mut(&stream) else { return };
        s.left = pieces.iter().map(Bytes::len).sum();
        (s.pieces, s.ending, s.held) = (pieces, ending, held);
        self.ready.push_back(stream);
    }

    /// Encodes DATA frames as far as windows and the buffer's limit allow, but not very many. Whether more can be encoded now.
    pub fn write_frames(&mut self) -> bool {
        if std::mem::take(&mut self.windows_changed) {
            let woken = |(id, s): (&u32, &mut Stream)| std::mem::take(&mut s.waits).then_some(*id);
            self.ready.extend(self.streams.iter_mut().filter_map(woken));
        }
        for _ in 0..FRAMES {
            if self.out.len() >= BACKLOG {
                return false;
            }
            let Some(id) = self.ready.pop_front() else { return false };
            let Some(s) = self.streams.get_mut(&id) else { continue };
            let longest =
                if self.ready.is_empty() { self.max_frame } else { self.max_frame.min(MAX_SHARED_FRAME) };
            let room = self.window.min(self.initial_window - s.used).min(longest as i64);
            if room <= 0 && s.left > 0 {
                if self.window <= 0 {
                    self.ready.push_front(id);
                    return false;
                }
                s.waits = true;
                continue;
            }
            let n = s.left.min(room.max(0) as usize);
            s.left -= n;
            s.used += n as i64;
            self.window -= n as i64;
            let last = s.left == 0;
            let flags = if last && s.ending == Ending::Nothing { frame::END_STREAM } else { 0 };
            put_frame_header(&mut self.out.small, n, frame::DATA, flags, id);
            self.out.take(&mut s.pieces, n);
            match last {
                false => self.ready.push_back(id),
                true => self.finish(id),
            }
        }
        !self.ready.is_empty()
    }

    fn finish(&mut self, id: u32) {
        let Some(s) = self.streams.remove(&id) else { return };
        if s.ending == Ending::Ok {
            self.headers(id, true, |encoder, out| encoder.field(out, "grpc-status", b"0"));
        }
        self.out.hold(s.held);
    }

    /// A WINDOW_UPDATE of the peer. An error is the stream's, or for stream 0 the connection's.
    pub fn on_window_update(&mut self, stream: u32, bytes: u32) -> Handled {
        let overflow =
            || ConnectionError { code: frame::FLOW_CONTROL_ERROR, why: "a window that is too large".into() };
        if bytes == 0 {
            return Err(ConnectionError::protocol("a window that grows by nothing"));
        }
        let bytes = i64::from(bytes);
        if stream == 0 {
            self.window += bytes;
            return if self.window > MAX_WINDOW { Err(overflow()) } else { Ok(()) };
        }
        // The stream may be closed.
        let Some(s) = self.streams.get_mut(&stream) else { return Ok(()) };
        s.used -= bytes;
        if self.initial_window - s.used > MAX_WINDOW {
            return Err(overflow());
        }
        if std::mem::take(&mut s.waits) {
            self.ready.push_back(stream);
        }
        Ok(())
    }

    /// A setting of the peer.
    pub fn apply_setting(&mut self, name: u16, value: u32) -> Handled {
        match name {
            frame::SET_HEADER_TABLE_SIZE => self.encoder.peer_table(value as usize),
            frame::SET_MAX_STREAMS => self.max_streams = value as usize,
            frame::SET_INITIAL_WINDOW => {
                if i64::from(value) > MAX_WINDOW {
                    let why = "a window that is too large".into();
                    return Err(ConnectionError { code: frame::FLOW_CONTROL_ERROR, why });
                }
                self.initial_window = i64::from(value);
                self.windows_changed = true;
            }
            frame::SET_ENABLE_PUSH if value > 1 => {
                return Err(ConnectionError::protocol(format!("push is on or off, not {value}")));
            }
            frame::SET_MAX_FRAME => {
                if !(DEFAULT_FRAME..1 << 24).contains(&(value as usize)) {
                    return Err(ConnectionError::protocol(format!("frames of {value} bytes")));
                }
                self.max_frame = (value as usize).min(MAX_FRAME as usize);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
