//! Values of fields: numbers as they are on the wire and in tensors.

use super::descriptor::{Descriptors, FieldType, Kind};
use super::wire::{Field, Fields, Malformed, Wire};
use crate::prelude::*;
use thalweg_io::varint;

/// A number of a field as the bits of an element of a tensor, the lowest bytes first.
pub fn element(kind: Kind, dtype: DataType, raw: Raw) -> u64 {
    let Raw(v) = raw;
    match kind {
        Kind::Float if dtype == DataType::Double => f64::from(f32::from_bits(v as u32)).to_bits(),
        Kind::Int32 | Kind::Enum | Kind::Sfixed32 => i64::from(v as i32) as u64,
        Kind::Uint32 | Kind::Fixed32 => u64::from(v as u32),
        Kind::Sint32 => {
            let v = v as u32;
            i64::from((v >> 1) as i32 ^ -((v & 1) as i32)) as u64
        }
        Kind::Sint64 => (v >> 1) ^ (v & 1).wrapping_neg(),
        Kind::Bool => u64::from(v != 0),
        _ => v,
    }
}

/// The opposite of `element`.
pub fn raw(kind: Kind, dtype: DataType, bits: u64) -> Raw {
    Raw(match kind {
        Kind::Float if dtype == DataType::Double => u64::from((f64::from_bits(bits) as f32).to_bits()),
        Kind::Int32 | Kind::Enum => i64::from(bits as i32) as u64,
        Kind::Sfixed32 | Kind::Uint32 | Kind::Fixed32 => u64::from(bits as u32),
        Kind::Sint32 => {
            let v = bits as i32;
            u64::from((v << 1 ^ v >> 31) as u32)
        }
        Kind::Sint64 => {
            let v = bits as i64;
            (v << 1 ^ v >> 63) as u64
        }
        Kind::Bool => u64::from(bits != 0),
        _ => bits,
    })
}

/// The bits of a number on the wire: a varint, or four or eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw(pub u64);

impl Raw {
    /// A number that is not packed.
    pub fn of(field: Field<'_>) -> Option<Raw> {
        match field {
            Field::Varint(v) => Some(Raw(v)),
            Field::Fixed64(b) => Some(Raw(u64::from_le_bytes(b))),
            Field::Fixed32(b) => Some(Raw(u64::from(u32::from_le_bytes(b)))),
            Field::Bytes(_) | Field::Group(_) => None,
        }
    }

    /// Appends to memory that the caller has reserved: at most `varint::MAX_LEN` bytes.
    pub fn put(self, kind: Kind, out: &mut Vec<u8>) {
        match kind.wire_type() {
            1 => out.extend_from_slice(&self.0.to_le_bytes()),
            5 => out.extend_from_slice(&(self.0 as u32).to_le_bytes()),
            _ => varint::put(out, self.0),
        }
    }
}

/// The numbers of a packed field.
pub fn for_packed(kind: Kind, bytes: &[u8], mut each: impl FnMut(Raw)) -> Wire<()> {
    match kind.wire_type() {
        0 => {
            let mut rest = Fields(bytes);
            while !rest.0.is_empty() {
                each(Raw(rest.varint()?));
            }
            Ok(())
        }
        fixed => {
            let size = if fixed == 1 { 8 } else { 4 };
            if !bytes.len().is_multiple_of(size) {
                return Err(Malformed);
            }
            for chunk in bytes.chunks_exact(size) {
                let mut whole = [0; 8];
                whole[..size].copy_from_slice(chunk);
                each(Raw(u64::from_le_bytes(whole)));
            }
            Ok(())
        }
    }
}

/// What a message without the field has in its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Default {
    Number(u64),
    Bytes(Vec<u8>),
}

/// The default of a field as an element of a tensor; padding of repeated fields is zero.
pub fn default_of(set: &Descriptors, field: &FieldType<'_>, dtype: DataType) -> Result<Default> {
    let stated = field.default.filter(|_| !field.repeated);
    if dtype == DataType::String {
        return Ok(Default::Bytes(match stated {
            Some(text) if field.kind == Kind::Bytes => unescaped(text)?,
            Some(text) => reserve::copied(text)?,
            None => Vec::new(),
        }));
    }
    if field.kind == Kind::Enum && !field.repeated {
        let value = set.enum_value(field.type_name, stated).unwrap_or(0);
        return Ok(Default::Number(i64::from(value) as u64));
    }
    let text = stated.and_then(|t| std::str::from_utf8(t).ok()).unwrap_or("0");
    Ok(Default::Number(match field.kind {
        Kind::Double | Kind::Float => {
            let value: f64 = text.parse().unwrap_or(0.0);
            match dtype {
                DataType::Float => u64::from(text.parse().unwrap_or(0f32).to_bits()),
                _ if field.kind == Kind::Float => f64::from(value as f32).to_bits(),
                _ => value.to_bits(),
            }
        }
        Kind::Bool => u64::from(text == "true"),
        _ => text.parse::<i64>().map(|v| v as u64).or_else(|_| text.parse()).unwrap_or(0),
    }))
}

/// Bytes that are written with the escapes of C.
fn unescaped(text: &[u8]) -> Result<Vec<u8>> {
    let (mut out, mut rest) = (reserve::with_capacity(text.len())?, text);
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        let [escape, tail @ ..] = rest else { break };
        rest = tail;
        out.push(match escape {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'x' | b'X' => digits(&mut rest, 16, 2, 0),
            b'0'..=b'7' => digits(&mut rest, 8, 2, u32::from(escape - b'0')),
            other => *other,
        });
    }
    Ok(out)
}

/// Up to so many more digits of a number that has begun.
fn digits(rest: &mut &[u8], base: u32, most: usize, mut value: u32) -> u8 {
    for _ in 0..most {
        let Some((first, tail)) = rest.split_first() else { break };
        let Some(digit) = char::from(*first).to_digit(base) else { break };
        value = value * base + digit;
        *rest = tail;
    }
    value as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_elements_and_come_back() {
        for (kind, dtype, bits, expected) in [
            (Kind::Sint32, DataType::Int32, -5i64 as u64, 9),
            (Kind::Sint64, DataType::Int64, i64::MIN as u64, u64::MAX),
            (Kind::Int32, DataType::Int64, -5i64 as u64, -5i64 as u64),
            (Kind::Bool, DataType::Bool, 1, 1),
            (Kind::Float, DataType::Double, (-1.5f64).to_bits(), u64::from((-1.5f32).to_bits())),
        ] {
            assert_eq!(raw(kind, dtype, bits), Raw(expected), "{kind:?}");
            assert_eq!(element(kind, dtype, Raw(expected)), bits, "{kind:?}");
        }
        // Recorded from TensorFlow: the high bits of an int32 do not count.
        assert_eq!(element(Kind::Int32, DataType::Int64, Raw(1 << 32)), 0);
        assert_eq!(raw(Kind::Sint32, DataType::Int64, (1 << 40) + 5), Raw(10));
        assert_eq!(element(Kind::Bool, DataType::Bool, Raw(1 << 32)), 1);
    }

    #[test]
    fn escapes_of_defaults_are_bytes() {
        assert_eq!(unescaped(b"\\001x\\n\\\"\\xff\\").unwrap(), b"\x01x\n\"\xff");
    }
}
