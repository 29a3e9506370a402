//! `Error`: a canonical code, a message, and where it happened.
//!
//! Codes are part of the behaviour, not decoration: OutOfRange ends a queue, Aborted means retry,
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
    /// Where the caller made the node, for graphs built by the Rust API.
    location: Option<&'static Location<'static>>,
    /// Follows from another failure (a receive cancelled because its sender failed): the original is reported instead.
    derived: bool,
}

impl Error {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error(Box::new(Inner { code, message: message.into(), node: None, location: None, derived: false }))
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

    /// Names the node at fault; the first one named stays, as it is the closest to the cause.
    pub fn at_node(mut self, name: &str, op: &str) -> Self {
        if self.0.node.is_none() {
            self.0.node = Some((name.to_string(), op.to_string()));
        }
        self
    }

    pub fn at(mut self, location: Option<&'static Location<'static>>) -> Self {
        self.0.location = self.0.location.or(location);
        self
    }

    /// Puts words before the message: `context: message`.
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// Puts what to do after the message: `message; hint`.
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.0.message = format!("{}; {hint}", self.0.message);
        self
    }

    /// The message with the node in the form that TensorFlow's clients look for.
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

pub fn cancelled(message: impl Into<String>) -> Error {
    Error::new(Code::Cancelled, message)
}
pub fn invalid_argument(message: impl Into<String>) -> Error {
    Error::new(Code::InvalidArgument, message)
}
pub fn deadline_exceeded(message: impl Into<String>) -> Error {
    Error::new(Code::DeadlineExceeded, message)
}
pub fn not_found(message: impl Into<String>) -> Error {
    Error::new(Code::NotFound, message)
}
pub fn already_exists(message: impl Into<String>) -> Error {
    Error::new(Code::AlreadyExists, message)
}
pub fn resource_exhausted(message: impl Into<String>) -> Error {
    Error::new(Code::ResourceExhausted, message)
}
pub fn failed_precondition(message: impl Into<String>) -> Error {
    Error::new(Code::FailedPrecondition, message)
}
pub fn aborted(message: impl Into<String>) -> Error {
    Error::new(Code::Aborted, message)
}
pub fn out_of_range(message: impl Into<String>) -> Error {
    Error::new(Code::OutOfRange, message)
}
pub fn unimplemented(message: impl Into<String>) -> Error {
    Error::new(Code::Unimplemented, message)
}
pub fn internal(message: impl Into<String>) -> Error {
    Error::new(Code::Internal, message)
}
pub fn data_loss(message: impl Into<String>) -> Error {
    Error::new(Code::DataLoss, message)
}

/// `invalid!("got {x}, need {y}")`: an InvalidArgument error.
#[macro_export]
macro_rules! invalid {
    ($($arg:tt)*) => { $crate::error::invalid_argument($crate::error::message(format_args!($($arg)*))) };
}

/// Messages quote what was given; of more than this nobody reads the end.
const LONGEST_MESSAGE: usize = 1 << 20;

/// A message as long as it may be and as memory allows, and `...` where that cuts it.
pub fn message(args: fmt::Arguments<'_>) -> String {
    let mut cut = Cut(String::new());
    if fmt::write(&mut cut, args).is_err() && cut.0.try_reserve(3).is_ok() {
        cut.0.push_str("...");
    }
    cut.0
}

struct Cut(String);

impl fmt::Write for Cut {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let fits = s.floor_char_boundary(LONGEST_MESSAGE.saturating_sub(self.0.len()));
        self.0.try_reserve(fits).map_err(|_| fmt::Error)?;
        self.0.push_str(&s[..fits]);
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

    #[test]
    fn an_error_is_one_word() {
        assert_eq!(std::mem::size_of::<Result<()>>(), std::mem::size_of::<usize>());
    }
}
