//! Descriptors of messages: a `FileDescriptorSet` is walked as it lies on the wire, and only what is asked for is built.

use super::wire::{Field, Fields};
use crate::files;
use crate::prelude::*;
use bytes::Bytes;
use std::path::Path;
use thalweg_proto::FILE_DESCRIPTOR_SET;

/// The types of fields, by their numbers in a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Double = 1,
    Float,
    Int64,
    Uint64,
    Int32,
    Fixed64,
    Fixed32,
    Bool,
    String,
    Group,
    Message,
    Bytes,
    Uint32,
    Enum,
    Sfixed32,
    Sfixed64,
    Sint32,
    Sint64,
}

const KINDS: [(Kind, &str); 18] = [
    (Kind::Double, "double"),
    (Kind::Float, "float"),
    (Kind::Int64, "int64"),
    (Kind::Uint64, "uint64"),
    (Kind::Int32, "int32"),
    (Kind::Fixed64, "fixed64"),
    (Kind::Fixed32, "fixed32"),
    (Kind::Bool, "bool"),
    (Kind::String, "string"),
    (Kind::Group, "group"),
    (Kind::Message, "message"),
    (Kind::Bytes, "bytes"),
    (Kind::Uint32, "uint32"),
    (Kind::Enum, "enum"),
    (Kind::Sfixed32, "sfixed32"),
    (Kind::Sfixed64, "sfixed64"),
    (Kind::Sint32, "sint32"),
    (Kind::Sint64, "sint64"),
];

impl Kind {
    fn of_number(n: u64) -> Option<Kind> {
        KINDS.iter().map(|(kind, _)| *kind).find(|kind| *kind as u64 == n)
    }

    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The type of a value on the wire.
    pub fn wire_type(self) -> u32 {
        match self {
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => 1,
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => 5,
            Kind::String | Kind::Message | Kind::Bytes => 2,
            Kind::Group => 3,
            _ => 0,
        }
    }

    /// Whether elements of this type hold the values.
    pub fn fits(self, dtype: DataType) -> bool {
        use DataType as D;
        match self {
            Kind::Double => dtype == D::Double,
            Kind::Float => matches!(dtype, D::Float | D::Double),
            Kind::Int64 | Kind::Sfixed64 | Kind::Sint64 => dtype == D::Int64,
            Kind::Uint64 | Kind::Fixed64 => dtype == D::Uint64,
            Kind::Int32 | Kind::Sfixed32 | Kind::Sint32 => matches!(dtype, D::Int32 | D::Int64),
            Kind::Uint32 | Kind::Fixed32 => matches!(dtype, D::Uint32 | D::Uint64),
            Kind::Bool => dtype == D::Bool,
            Kind::Enum => dtype == D::Int32,
            Kind::String | Kind::Group | Kind::Message | Kind::Bytes => dtype == D::String,
        }
    }
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub struct FieldType<'a> {
    pub number: u32,
    pub kind: Kind,
    pub repeated: bool,
    pub packed: bool,
    /// The default as text, where the descriptor has one.
    pub default: Option<&'a [u8]>,
    /// The full name of the type of messages and enums, with a dot before it.
    pub type_name: &'a [u8],
}

/// A serialized `FileDescriptorSet`.
#[derive(Clone)]
pub struct Descriptors(Bytes);

impl Descriptors {
    /// TensorFlow's own messages, a set in the attr itself, or one in a file.
    pub fn of(c: &OpCall<'_>, source: &Bytes) -> Result<Descriptors> {
        if matches!(&source[..], b"" | b"local://") {
            return Ok(Descriptors(Bytes::from_static(FILE_DESCRIPTOR_SET)));
        }
        if let Some(set) = source.strip_prefix(b"bytes://") {
            return Ok(Descriptors(source.slice_ref(set)));
        }
        let wrong = || {
            invalid!(
                "Source does not represent serialized file descriptor set proto: '{}'",
                source.escape_ascii()
            )
        };
        let path = std::str::from_utf8(source).map_err(|_| wrong())?;
        let set = files::read(&c.step.device.access, Path::new(path)).map_err(|e| match e.code() {
            Code::NotFound | Code::FailedPrecondition => wrong(),
            _ => e,
        })?;
        let mut fields = Fields(&set);
        while fields.next().map_err(|_| wrong())?.is_some() {}
        Ok(Descriptors(set.into()))
    }

    /// The message of this full name.
    pub fn message(&self, name: &[u8]) -> Option<MessageType<'_>> {
        for file in all(&self.0, 1) {
            let Some(inside) = within(name, text(file, 2)) else { continue };
            if let Some(message) = nested(file, 4, inside) {
                return Some(MessageType { message, packs: packs(file) });
            }
        }
        None
    }

    /// The number of a value of an enum; of its first one if none is named.
    pub fn enum_value(&self, of: &[u8], value: Option<&[u8]>) -> Option<i32> {
        let of = of.strip_prefix(b".")?;
        let found = all(&self.0, 1).find_map(|file| {
            let inside = within(of, text(file, 2))?;
            let (scope, own) = match inside.iter().rposition(|b| *b == b'.') {
                Some(dot) => (nested(file, 4, &inside[..dot])?, &inside[dot + 1..]),
                None => (file, inside),
            };
            let field = if scope.len() == file.len() { 5 } else { 4 };
            all(scope, field).find(|e| text(e, 1) == own)
        })?;
        let named = all(found, 2).find(|v| value.is_none_or(|name| text(v, 1) == name))?;
        Some(int(named, 2).unwrap_or(0) as i32)
    }
}

/// A message's descriptor.
#[derive(Clone, Copy)]
pub struct MessageType<'a> {
    message: &'a [u8],
    /// Whether repeated numbers are packed unless an option says otherwise.
    packs: bool,
}

impl<'a> MessageType<'a> {
    pub fn field(&self, name: &[u8]) -> Option<FieldType<'a>> {
        let field = all(self.message, 2).find(|f| text(f, 1) == name)?;
        let kind = Kind::of_number(int(field, 5)?)?;
        let repeated = int(field, 4) == Some(3);
        let packable = matches!(kind.wire_type(), 0 | 1 | 5);
        let option = all(field, 8).filter_map(|options| int(options, 2)).last();
        let default = all(field, 7).last();
        Some(FieldType {
            number: u32::try_from(int(field, 3)?).ok().filter(|n| (1..1 << 29).contains(n))?,
            kind,
            repeated,
            packed: repeated && packable && option.map_or(self.packs, |packed| packed != 0),
            default,
            type_name: text(field, 6),
        })
    }
}

/// Files of the third syntax, and of editions, pack numbers.
fn packs(file: &[u8]) -> bool {
    !matches!(text(file, 12), b"" | b"proto2")
}

/// What follows the package in a full name.
fn within<'a>(name: &'a [u8], package: &[u8]) -> Option<&'a [u8]> {
    if package.is_empty() { Some(name) } else { name.strip_prefix(package)?.strip_prefix(b".") }
}

/// The message of a name with dots: in a file its messages are field `first`, in messages they are field 3.
fn nested<'a>(file: &'a [u8], first: u32, name: &[u8]) -> Option<&'a [u8]> {
    let (mut scope, mut number) = (file, first);
    for part in name.split(|b| *b == b'.') {
        scope = all(scope, number).find(|m| text(m, 1) == part)?;
        number = 3;
    }
    Some(scope)
}

/// The contents of fields with this number, as far as the message is well formed.
fn all(message: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    let mut fields = Fields(message);
    std::iter::from_fn(move || {
        loop {
            match fields.next() {
                Ok(Some((n, Field::Bytes(bytes)))) if n == number => return Some(bytes),
                Ok(Some(_)) => {}
                _ => return None,
            }
        }
    })
}

fn text(message: &[u8], number: u32) -> &[u8] {
    all(message, number).last().unwrap_or_default()
}

fn int(message: &[u8], number: u32) -> Option<u64> {
    let (mut fields, mut found) = (Fields(message), None);
    while let Ok(Some((n, field))) = fields.next() {
        match field {
            Field::Varint(v) if n == number => found = Some(v),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_fields_and_enums_are_found_by_name() {
        let own = Descriptors(Bytes::from_static(FILE_DESCRIPTOR_SET));
        let tensor = own.message(b"tensorflow.TensorProto").unwrap();
        let floats = tensor.field(b"float_val").unwrap();
        assert_eq!(
            (floats.number, floats.kind, floats.repeated, floats.packed),
            (5, Kind::Float, true, true)
        );
        let dtype = tensor.field(b"dtype").unwrap();
        assert_eq!((dtype.kind, dtype.type_name), (Kind::Enum, &b".tensorflow.DataType"[..]));
        assert_eq!(own.enum_value(dtype.type_name, Some(b"DT_INT32")), Some(3));
        assert_eq!(own.enum_value(dtype.type_name, None), Some(0));
        assert!(tensor.field(b"nothing").is_none());
        assert!(own.message(b"tensorflow.TensorShapeProto.Dim").unwrap().field(b"size").is_some());
        assert!(
            [&b"tensorflow"[..], b".tensorflow.TensorProto", b""].iter().all(|n| own.message(n).is_none())
        );
    }
}
