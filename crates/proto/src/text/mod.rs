//! Protobuf text format, as TensorFlow prints and parses it (`.pbtxt`).
//!
//! Printing equals Python's `text_format.MessageToString` to the byte. Parsing accepts all of
//! text format: either kind of brackets and quotes, comments, separators, lists, numbers in octal and
//! hexadecimal, and `Any` written out as the message it holds. Unknown fields, and a second value for a field
//! that takes one, are errors.
//!
//! Both work between text and encoded bytes, guided by tables that the build script makes from the `.proto`
//! files, so that none of this code is repeated per message type.

mod lex;
mod parse;
mod print;

use std::fmt;

use prost::{Message, Name};

use crate::{GraphDef, schema};

/// The limit on nesting, as in the binary format.
const MAX_DEPTH: usize = 100;

/// A parse error, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Line of the offending token, from 1.
    pub line: usize,
    /// Column of its first character, from 1.
    pub column: usize,
    pub message: String,
    /// The text may be valid, but an allocation failed.
    pub is_out_of_memory: bool,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for TextError {}

/// Parses a message of this crate.
///
/// # Panics
///
/// If `M` belongs to another crate.
pub fn parse<M: Message + Name + Default>(text: &str) -> Result<M, TextError> {
    crate::decode(to_wire::<M>(text)?).map_err(|e| lex::error(text, text.len(), e.to_string()))
}

/// The encoding of the message of type `M` that a text describes.
///
/// # Panics
///
/// If `M` belongs to another crate.
pub fn to_wire<M: Name>(text: &str) -> Result<Vec<u8>, TextError> {
    parse::parse(schema::of::<M>(), text)
}

/// Prints a message of this crate.
///
/// # Panics
///
/// If `M` belongs to another crate.
pub fn print<M: Message + Name>(message: &M) -> String {
    print::print(schema::of::<M>(), &crate::encode(message))
}

/// Parses a graph.
pub fn parse_graph_def(text: &str) -> Result<GraphDef, TextError> {
    parse(text)
}

/// Prints a graph.
pub fn print_graph_def(graph: &GraphDef) -> String {
    print(graph)
}
