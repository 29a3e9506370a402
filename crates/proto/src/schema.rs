//! Message descriptors: the names, numbers and kinds of fields, and the size of the Rust type.

include!(concat!(env!("OUT_DIR"), "/schema.rs"));

pub(crate) struct MessageType {
    /// With its package: `tensorflow.NodeDef`.
    pub name: &'static str,
    /// Whether this is the implied message of a map's entries.
    pub map_entry: bool,
    /// `size_of` the Rust type. 0 for map entries, which have no type.
    pub size: usize,
    /// By number.
    pub fields: &'static [Field],
}

pub(crate) struct Field {
    pub name: &'static str,
    pub number: u32,
    pub kind: Kind,
    pub repeated: bool,
    /// Which oneof of the message this belongs to.
    pub oneof: Option<i32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "not every kind occurs in our messages")]
pub(crate) enum Kind {
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
pub(crate) enum WireType {
    Varint = 0,
    Fixed64 = 1,
    Delimited = 2,
    Fixed32 = 5,
}

pub(crate) struct EnumType {
    pub name: &'static str,
    pub values: &'static [(&'static str, i32)],
}

/// The message type of `M`.
///
/// # Panics
///
/// If `M` belongs to another crate.
pub(crate) fn of<M: prost::Name>() -> &'static MessageType {
    let name = M::full_name();
    message(&name).unwrap_or_else(|| panic!("{name} is not a message of thalweg-proto"))
}

/// The message type of this full name.
pub(crate) fn message(name: &str) -> Option<&'static MessageType> {
    MESSAGES.binary_search_by(|m| m.name.cmp(name)).ok().map(|i| &MESSAGES[i])
}

impl MessageType {
    pub fn field(&self, number: u32) -> Option<(usize, &Field)> {
        let at = self.fields.binary_search_by_key(&number, |f| f.number).ok()?;
        Some((at, &self.fields[at]))
    }
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
    /// `size_of` a value.
    pub fn size(self) -> usize {
        match self {
            Kind::Bool => 1,
            Kind::String => size_of::<String>(),
            Kind::Bytes => size_of::<bytes::Bytes>(),
            Kind::Message(i) => MESSAGES[i].size,
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 | Kind::Int64 | Kind::Uint64 | Kind::Sint64 => 8,
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => 4,
            Kind::Int32 | Kind::Uint32 | Kind::Sint32 | Kind::Enum(_) => 4,
        }
    }

    pub fn wire_type(self) -> WireType {
        match self {
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => WireType::Fixed64,
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => WireType::Fixed32,
            Kind::String | Kind::Bytes | Kind::Message(_) => WireType::Delimited,
            _ => WireType::Varint,
        }
    }
}
