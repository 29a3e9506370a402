//! What text format needs to know of each message: the names, numbers and kinds of its fields.

include!(concat!(env!("OUT_DIR"), "/schema.rs"));

pub(super) struct MessageType {
    /// With its package: `tensorflow.NodeDef`.
    pub name: &'static str,
    /// Whether this is the implied message of a map's entries.
    pub map_entry: bool,
    /// By number.
    pub fields: &'static [Field],
}

pub(super) struct Field {
    pub name: &'static str,
    pub number: u32,
    pub kind: Kind,
    pub repeated: bool,
    /// Which oneof of the message this belongs to.
    pub oneof: Option<i32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "not every kind occurs in our messages")]
pub(super) enum Kind {
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    String,
    Bytes,
    Enum(usize),
    Message(usize),
}

/// How a value is framed on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WireType {
    Varint = 0,
    Fixed64 = 1,
    Delimited = 2,
    Fixed32 = 5,
}

pub(super) struct EnumType {
    pub name: &'static str,
    pub values: &'static [(&'static str, i32)],
}

/// The message type of this full name.
pub(super) fn message(name: &str) -> Option<&'static MessageType> {
    MESSAGES.binary_search_by(|m| m.name.cmp(name)).ok().map(|i| &MESSAGES[i])
}

impl Field {
    /// The type of this field's messages, if it has any.
    pub fn message(&self) -> Option<&'static MessageType> {
        match self.kind {
            Kind::Message(i) => Some(&MESSAGES[i]),
            _ => None,
        }
    }
}

impl Kind {
    pub fn wire_type(self) -> WireType {
        match self {
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => WireType::Fixed64,
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => WireType::Fixed32,
            Kind::String | Kind::Bytes | Kind::Message(_) => WireType::Delimited,
            _ => WireType::Varint,
        }
    }
}
