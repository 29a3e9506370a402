//! `Error`: a canonical code, a message, and where it happened.
//!
//! Codes are semantic: OutOfRange ends a queue, Aborted means retry,
//! Unavailable means reconnect. They cross the wire unchanged.

use std::fmt;
use std::panic::Location;

pub type Result<T> = std::result::Result<T, Error>;

/// The sixteen canonical codes, numbered as on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(i32)]
pub enum Code {
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

const CODES: [(Code, &str); 16] = [
    (Code::Cancelled, "CANCELLED"),
    (Code::Unknown, "UNKNOWN"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
    (Code::NotFound, "NOT_FOUND"),
    (Code::AlreadyExists, "ALREADY_EXISTS"),
    (Code::PermissionDenied, "PERMISSION_DENIED"),
    (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (Code::FailedPrecondition, "FAILED_PRECONDITION"),
    (Code::Aborted, "ABORTED"),
    (Code::OutOfRange, "OUT_OF_RANGE"),
    (Code::Unimplemented, "UNIMPLEMENTED"),
    (Code::Internal, "INTERNAL"),
    (Code::Unavailable, "UNAVAILABLE"),
    (Code::DataLoss, "DATA_LOSS"),
    (Code::Unauthenticated, "UNAUTHENTICATED"),
];

impl Code {
    pub fn from_wire(n: i32) -> Code {
        CODES.iter().map(|c| c.0).find(|c| *c as i32 == n).unwrap_or(Code::Unknown)
    }

    pub fn name(self) -> &'static str {
        CODES.iter().find(|c| c.0 == self).map_or("UNKNOWN", |c| c.1)
    }
}

/// One word wide, so that `Result` stays cheap on the path where nothing fails.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: Code,
    message: String,
    /// Name of the node at fault and the type of its op.
    node: Option<(String, String)>,
    /// Call site that made the node, for graphs built by the Rust API.
    location: Option<&'static Location<'static>>,
    /// A consequence of another failure (a receive cancelled because its sender failed), which is reported instead.
    derived: bool,
}

impl Error {
    pub fn new(code: Code, message: impl Words) -> Self {
        let message = message.within(LONGEST_MESSAGE);
        Error(Box::new(Inner { code, message, node: None, location: None, derived: false }))
    }

    pub fn code(&self) -> Code {
        self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn node(&self) -> Option<&str> {
        self.0.node.as_ref().map(|n| n.0.as_str())
    }

    pub fn location(&self) -> Option<&'static Location<'static>> {
        self.0.location
    }

    pub fn is_derived(&self) -> bool {
        self.0.derived
    }

    pub fn derived(mut self) -> Self {
        self.0.derived = true;
        self
    }

    /// Sets the node at fault; the first one set stays, as it is the closest to the cause.
    pub fn at_node(mut self, name: &str, op: &str) -> Self {
        if self.0.node.is_none() {
            self.0.node = Some((name.within(LONGEST_PART), op.within(LONGEST_PART)));
        }
        self
    }

    pub fn at(mut self, location: Option<&'static Location<'static>>) -> Self {
        self.0.location = self.0.location.or(location);
        self
    }

    /// Without the call site: for users of a program, to whom its source lines say nothing.
    pub fn without_location(mut self) -> Self {
        self.0.location = None;
        self
    }

    /// Prepends context: `context: message`. The message is not truncated, as it is closest to the cause.
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        if let Some(room) = self.room_for_a_part() {
            let context = format_args!("{context}").within(room);
            self.0.message = format!("{context}: {}", self.0.message);
        }
        self
    }

    /// Appends a hint: `message; hint`.
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        if let Some(room) = self.room_for_a_part() {
            let hint = format_args!("{hint}").within(room);
            self.0.message = format!("{}; {hint}", self.0.message);
        }
        self
    }

    /// None if the message has its maximum length.
    fn room_for_a_part(&self) -> Option<usize> {
        let room = LONGEST_MESSAGE.saturating_sub(self.0.message.len());
        (room > 0).then_some(room.min(LONGEST_PART))
    }

    /// The message with the node in the format that TensorFlow's clients parse.
    pub fn wire_message(&self) -> String {
        match &self.0.node {
            Some((name, _)) => format!("{}\n\t [[{{{{node {name}}}}}]]", self.0.message),
            None => self.0.message.clone(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code.name(), self.0.message)?;
        if let Some((name, op)) = &self.0.node {
            write!(f, "\n  at node '{name}' ({op})")?;
        }
        if let Some(place) = self.0.location {
            write!(f, "\n  made at {place}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        use std::io::ErrorKind as K;
        let code = match e.kind() {
            K::NotFound => Code::NotFound,
            K::PermissionDenied => Code::PermissionDenied,
            K::AlreadyExists => Code::AlreadyExists,
            K::InvalidInput | K::InvalidFilename => Code::InvalidArgument,
            K::NotADirectory | K::IsADirectory | K::DirectoryNotEmpty | K::ReadOnlyFilesystem => {
                Code::FailedPrecondition
            }
            K::InvalidData | K::UnexpectedEof => Code::DataLoss,
            K::OutOfMemory | K::StorageFull | K::QuotaExceeded | K::FileTooLarge => Code::ResourceExhausted,
            _ => Code::Unknown,
        };
        Error::new(code, e.to_string())
    }
}

pub fn cancelled(message: impl Words) -> Error {
    Error::new(Code::Cancelled, message)
}
pub fn invalid_argument(message: impl Words) -> Error {
    Error::new(Code::InvalidArgument, message)
}
pub fn deadline_exceeded(message: impl Words) -> Error {
    Error::new(Code::DeadlineExceeded, message)
}
pub fn not_found(message: impl Words) -> Error {
    Error::new(Code::NotFound, message)
}
pub fn already_exists(message: impl Words) -> Error {
    Error::new(Code::AlreadyExists, message)
}
pub fn resource_exhausted(message: impl Words) -> Error {
    Error::new(Code::ResourceExhausted, message)
}
pub fn failed_precondition(message: impl Words) -> Error {
    Error::new(Code::FailedPrecondition, message)
}
pub fn aborted(message: impl Words) -> Error {
    Error::new(Code::Aborted, message)
}
pub fn out_of_range(message: impl Words) -> Error {
    Error::new(Code::OutOfRange, message)
}
pub fn unimplemented(message: impl Words) -> Error {
    Error::new(Code::Unimplemented, message)
}
pub fn internal(message: impl Words) -> Error {
    Error::new(Code::Internal, message)
}
pub fn data_loss(message: impl Words) -> Error {
    Error::new(Code::DataLoss, message)
}

/// `invalid!("got {x}, need {y}")`: an InvalidArgument error.
#[macro_export]
macro_rules! invalid {
    ($($arg:tt)*) => { $crate::error::invalid_argument(format_args!($($arg)*)) };
}

/// Bytes of a message at most: messages quote input, which may be megabytes, and are copied for each level of context.
const LONGEST_MESSAGE: usize = 8 << 10;

/// The same for the name of a node, and for prefixes and suffixes of a message.
const LONGEST_PART: usize = 1 << 10;

/// The source of a message: text, or `format_args!`, which is truncated as it is formatted.
pub trait Words {
    /// The first `longest` bytes, and `...` if truncated. Less if out of memory.
    fn within(self, longest: usize) -> String;
}

impl Words for fmt::Arguments<'_> {
    fn within(self, longest: usize) -> String {
        let mut cut = Cut { written: String::new(), longest };
        if fmt::write(&mut cut, self).is_err() && cut.written.try_reserve(3).is_ok() {
            cut.written.push_str("...");
        }
        cut.written
    }
}

impl Words for &str {
    fn within(self, longest: usize) -> String {
        format_args!("{self}").within(longest)
    }
}

impl Words for &String {
    fn within(self, longest: usize) -> String {
        self.as_str().within(longest)
    }
}

impl Words for String {
    fn within(self, longest: usize) -> String {
        if self.len() <= longest { self } else { self.as_str().within(longest) }
    }
}

/// Text for a message, truncated.
pub(crate) fn part(args: fmt::Arguments<'_>) -> String {
    args.within(LONGEST_PART)
}

struct Cut {
    written: String,
    longest: usize,
}

impl fmt::Write for Cut {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let fits = s.floor_char_boundary(self.longest.saturating_sub(self.written.len()));
        self.written.try_reserve(fits).map_err(|_| fmt::Error)?;
        self.written.push_str(&s[..fits]);
        if fits < s.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Bytes shown as text, without a copy: what is not UTF-8 is shown as U+FFFD.
pub struct Lossy<'a>(pub &'a [u8]);

impl fmt::Display for Lossy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_str("\u{fffd}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_message_carries_the_node_marker() {
        let e = invalid!("bad size {}", 3).at_node("layer/MatMul", "MatMul").at_node("outer", "Call");
        assert_eq!(e.wire_message(), "bad size 3\n\t [[{{node layer/MatMul}}]]");
        assert_eq!(e.code() as i32, 3);
        assert_eq!(Code::from_wire(11), Code::OutOfRange);
        assert_eq!(Code::from_wire(99), Code::Unknown);
    }

    #[test]
    fn what_a_message_quotes_does_not_make_it_endless() {
        let e = invalid!("bad text {}", "\u{e9}".repeat(LONGEST_MESSAGE));
        assert!(e.message().len() <= LONGEST_MESSAGE + 3 && e.message().ends_with("\u{e9}..."));
        assert_eq!(invalid!("b'{}'", Lossy(b"a\xffb")).message(), "b'a\u{fffd}b'");
    }

    /// Each level of context once copied them.
    #[test]
    fn names_of_a_hundred_megabytes_are_not_carried_along() {
        let name = "n".repeat(100 << 20);
        let mut e = not_found(format_args!("no op {name}")).at_node(&name, &name);
        assert!(e.message().starts_with("no op n") && e.node().is_some_and(|n| n.ends_with("n...")));
        for _ in 0..1000 {
            e = e.context(&name).hint(&name).context("reading").hint("do not");
        }
        assert!(e.message().contains("no op n"), "the cause is lost");
        let all = [e.message().len(), e.wire_message().len(), e.to_string().len()];
        assert!(all.iter().all(|n| *n < 16 << 10), "{all:?}");
    }

    #[test]
    fn a_short_cause_stays_under_long_contexts() {
        let long = "c".repeat(LONGEST_PART + 1);
        let e = (0..20).fold(internal("the cause"), |e, _| e.context(&long));
        assert!(e.message().ends_with("c...: the cause") && e.message().len() <= LONGEST_MESSAGE + 8);
        assert_eq!(internal("cause").context("a").hint("b").message(), "a: cause; b");
    }

    #[test]
    fn an_error_is_one_word() {
        assert_eq!(std::mem::size_of::<Result<()>>(), std::mem::size_of::<usize>());
    }
}
