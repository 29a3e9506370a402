//! The printer: from the encoded message to text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use prost::encoding::decode_varint;

use super::MAX_DEPTH;
use crate::schema::{self, Field, Kind, MessageType, WireType};

/// Prints an encoded message of type `ty`. Malformed parts are left out; our own encodings have none.
pub(super) fn print(ty: &MessageType, wire: &[u8]) -> String {
    let mut printer = Printer { out: String::new(), depth: 0, foreign: false };
    let _ = printer.message(ty, wire);
    printer.out
}

struct Printer {
    out: String,
    depth: usize,
    /// Inside an `Any`, whose content is not validated yet.
    foreign: bool,
}

/// A value as it is on the wire: a number of any kind, or bytes.
enum Raw<'a> {
    Number(u64),
    Bytes(Cow<'a, [u8]>),
}

/// A map's key, in the order in which entries are printed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum MapKey {
    Number(i128),
    Bytes(Vec<u8>),
}

/// The encoding is malformed.
struct Malformed;

type Result<T> = std::result::Result<T, Malformed>;

impl Printer {
    fn message(&mut self, ty: &MessageType, wire: &[u8]) -> Result<()> {
        if self.foreign && self.depth > MAX_DEPTH {
            return Err(Malformed);
        }
        let values = values(ty, wire)?;
        if ty.name == "google.protobuf.Any" && self.any(&values) {
            return Ok(());
        }
        for run in values.chunk_by(|a, b| a.0 == b.0) {
            let field = &ty.fields[run[0].0];
            match field.message() {
                Some(entry) if entry.map_entry => self.map(field, entry, run)?,
                _ => run.iter().try_for_each(|(_, value)| self.field(field, value))?,
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, value: &Raw<'_>) -> Result<()> {
        let Some(ty) = field.message() else {
            return self.scalar(field, value);
        };
        self.open(field.name);
        self.message(ty, value.bytes())?;
        self.close();
        Ok(())
    }

    /// Prints the entries of a map by key. Halves that are zero are left out, but messages never.
    fn map(&mut self, field: &Field, entry: &MessageType, run: &[(usize, Raw<'_>)]) -> Result<()> {
        let mut entries = BTreeMap::new();
        for (_, value) in run {
            let halves = halves(entry, value.bytes())?;
            let key = match &halves[0] {
                Raw::Number(n) => MapKey::Number(integer(entry.fields[0].kind, *n)),
                Raw::Bytes(b) => MapKey::Bytes(b.to_vec()),
            };
            entries.insert(key, halves);
        }
        for halves in entries.values() {
            self.open(field.name);
            for (half, value) in
                entry.fields.iter().zip(halves).filter(|(half, value)| is_present(half, value))
            {
                self.field(half, value)?;
            }
            self.close();
        }
        Ok(())
    }

    /// Prints an `Any` as the message it holds, if that is known and well-formed.
    fn any(&mut self, values: &[(usize, Raw<'_>)]) -> bool {
        let part =
            |i: usize| values.iter().find(|(index, _)| *index == i).map_or(&[][..], |(_, v)| v.bytes());
        let Ok(url) = std::str::from_utf8(part(0)) else { return false };
        let legal = |c: char| c.is_ascii_alphanumeric() || "./_-~%".contains(c);
        let Some(held) = url.rsplit_once('/').and_then(|(_, name)| schema::message(name)) else {
            return false;
        };
        if !url.chars().all(legal) {
            return false;
        }
        let (length, depth) = (self.out.len(), self.depth);
        let foreign = std::mem::replace(&mut self.foreign, true);
        self.open(&format!("[{url}]"));
        let done = self.message(held, part(1)).is_ok();
        if done {
            self.close();
        } else {
            self.out.truncate(length);
            self.depth = depth;
        }
        self.foreign = foreign;
        done
    }

    fn open(&mut self, name: &str) {
        self.indent();
        self.out.push_str(name);
        self.out.push_str(" {\n");
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.indent();
        self.out.push_str("}\n");
    }

    fn indent(&mut self) {
        self.out.extend(std::iter::repeat_n("  ", self.depth));
    }

    fn scalar(&mut self, field: &Field, value: &Raw<'_>) -> Result<()> {
        self.indent();
        self.out.push_str(field.name);
        self.out.push_str(": ");
        let n = value.number();
        match field.kind {
            Kind::Double => double(f64::from_bits(n), &mut self.out),
            Kind::Float => float(f32::from_bits(n as u32), &mut self.out),
            Kind::Bool => self.out.push_str(if n != 0 { "true" } else { "false" }),
            Kind::String => {
                std::str::from_utf8(value.bytes()).map_err(|_| Malformed)?;
                quote(value.bytes(), true, &mut self.out);
            }
            Kind::Bytes => quote(value.bytes(), false, &mut self.out),
            Kind::Enum(index) => match schema::ENUMS[index].values.iter().find(|(_, v)| *v == n as i32) {
                Some((name, _)) => self.out.push_str(name),
                None => write!(self.out, "{}", n as i32).unwrap(),
            },
            kind => write!(self.out, "{}", integer(kind, n)).unwrap(),
        }
        self.out.push('\n');
        Ok(())
    }
}

impl Raw<'_> {
    fn number(&self) -> u64 {
        match self {
            Raw::Number(n) => *n,
            Raw::Bytes(_) => 0,
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Raw::Number(_) => &[],
            Raw::Bytes(b) => b,
        }
    }
}

/// What a number on the wire stands for, in a field of an integral kind.
fn integer(kind: Kind, n: u64) -> i128 {
    match kind {
        Kind::Int32 | Kind::Sfixed32 | Kind::Enum(_) => (n as i32).into(),
        Kind::Int64 | Kind::Sfixed64 => (n as i64).into(),
        Kind::Sint32 => (((n as u32) >> 1) as i32 ^ -((n & 1) as i32)).into(),
        Kind::Sint64 => ((n >> 1) as i64 ^ -((n & 1) as i64)).into(),
        Kind::Uint32 | Kind::Fixed32 => (n as u32).into(),
        Kind::Bool => (n != 0).into(),
        _ => n.into(),
    }
}

/// The values of a message as indices of fields and what they hold, in the order of fields. Fields that take
/// one value have one, whatever the encoding repeats.
fn values<'a>(ty: &MessageType, mut wire: &'a [u8]) -> Result<Vec<(usize, Raw<'a>)>> {
    let mut values = Vec::new();
    while !wire.is_empty() {
        let key = decode_varint(&mut wire).map_err(|_| Malformed)?;
        let found = ty.fields.binary_search_by_key(&(key >> 3), |f| f.number.into());
        let (wire_type, value) = match key & 7 {
            0 => (WireType::Varint, Raw::Number(decode_varint(&mut wire).map_err(|_| Malformed)?)),
            1 => (WireType::Fixed64, Raw::Number(u64::from_le_bytes(take_array(&mut wire)?))),
            2 => {
                let length = decode_varint(&mut wire).map_err(|_| Malformed)?;
                (WireType::Delimited, Raw::Bytes(take(&mut wire, length)?.into()))
            }
            5 => (WireType::Fixed32, Raw::Number(u32::from_le_bytes(take_array(&mut wire)?).into())),
            _ => return Err(Malformed),
        };
        let Ok(index) = found else { continue };
        let field = &ty.fields[index];
        if wire_type == field.kind.wire_type() {
            values.push((index, value));
        } else if let (Raw::Bytes(Cow::Borrowed(packed)), true) = (value, field.repeated) {
            unpack(index, field, packed, &mut values)?;
        }
    }
    keep_last_of_oneofs(ty, &mut values);
    values.sort_by_key(|(index, _)| *index);
    merge_singular(ty, &mut values);
    values.retain(|(index, value)| is_present(&ty.fields[*index], value));
    Ok(values)
}

fn unpack<'a>(
    index: usize,
    field: &Field,
    mut packed: &'a [u8],
    values: &mut Vec<(usize, Raw<'a>)>,
) -> Result<()> {
    while !packed.is_empty() {
        let n = match field.kind.wire_type() {
            WireType::Varint => decode_varint(&mut packed).map_err(|_| Malformed)?,
            WireType::Fixed64 => u64::from_le_bytes(take_array(&mut packed)?),
            WireType::Fixed32 => u32::from_le_bytes(take_array(&mut packed)?).into(),
            WireType::Delimited => return Err(Malformed),
        };
        values.push((index, Raw::Number(n)));
    }
    Ok(())
}

/// Drops members of a oneof that a later member replaces.
fn keep_last_of_oneofs(ty: &MessageType, values: &mut Vec<(usize, Raw<'_>)>) {
    let mut last = BTreeMap::new();
    for (index, _) in values.iter() {
        if let Some(oneof) = ty.fields[*index].oneof {
            last.insert(oneof, *index);
        }
    }
    values.retain(|(index, _)| ty.fields[*index].oneof.is_none_or(|oneof| last[&oneof] == *index));
}

/// Merges the values of each singular field: the last one wins; messages are merged, which is the same as
/// concatenating their encodings.
fn merge_singular(ty: &MessageType, values: &mut Vec<(usize, Raw<'_>)>) {
    values.dedup_by(|later, earlier| {
        let field = &ty.fields[later.0];
        if later.0 != earlier.0 || field.repeated {
            return false;
        }
        match (&mut earlier.1, &mut later.1) {
            (Raw::Bytes(a), Raw::Bytes(b)) if field.message().is_some() => a.to_mut().extend_from_slice(b),
            (a, b) => std::mem::swap(a, b),
        }
        true
    });
}

/// A singular scalar outside of a oneof is present if it is not zero.
fn is_present(field: &Field, value: &Raw<'_>) -> bool {
    let zero = match value {
        Raw::Number(n) => *n == 0,
        Raw::Bytes(b) => b.is_empty(),
    };
    !zero || field.repeated || field.oneof.is_some() || field.message().is_some()
}

/// Key and value of a map's entry.
fn halves<'a>(entry: &MessageType, wire: &'a [u8]) -> Result<[Raw<'a>; 2]> {
    let mut halves = [0, 1].map(|i: usize| match entry.fields[i].kind.wire_type() {
        WireType::Delimited => Raw::Bytes(Cow::Borrowed(&[])),
        _ => Raw::Number(0),
    });
    for (index, half) in values(entry, wire)? {
        halves[index] = half;
    }
    Ok(halves)
}

fn take<'a>(wire: &mut &'a [u8], length: u64) -> Result<&'a [u8]> {
    let length = usize::try_from(length).map_err(|_| Malformed)?;
    let (head, tail) = wire.split_at_checked(length).ok_or(Malformed)?;
    *wire = tail;
    Ok(head)
}

fn take_array<const N: usize>(wire: &mut &[u8]) -> Result<[u8; N]> {
    let (head, tail) = wire.split_first_chunk::<N>().ok_or(Malformed)?;
    *wire = tail;
    Ok(*head)
}

/// Writes a number with the fewest digits that round-trip, but not fewer than six if there are more.
fn float(value: f32, out: &mut String) {
    if !value.is_finite() {
        return double(value.into(), out);
    }
    let digits = (5..8).map(|n| format!("{value:.n$e}")).find(|s| s.parse() == Ok(value));
    decimal(&digits.unwrap_or_else(|| format!("{value:.8e}")), out);
}

/// Writes a number with the fewest digits that round-trip.
fn double(value: f64, out: &mut String) {
    if value.is_nan() {
        return out.push_str("nan");
    }
    if value.is_infinite() {
        return out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    }
    let shortest = format!("{value:e}");
    // Of two shortest representations that are equally near, the even one.
    let fraction = shortest.bytes().take_while(|&b| b != b'e').filter(u8::is_ascii_digit).count() - 1;
    let even = format!("{value:.fraction$e}");
    decimal(if even.parse() == Ok(value) { &even } else { &shortest }, out);
}

/// Writes a number given in scientific notation in the layout that Python chooses for it.
fn decimal(scientific: &str, out: &mut String) {
    let (mantissa, exponent) = scientific.split_once('e').expect("Rust writes an exponent");
    let exponent: i32 = exponent.parse().expect("Rust writes a decimal exponent");
    let mantissa =
        if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(out, "{mantissa}e{sign}{:02}", exponent.abs()).unwrap();
    }
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |m| ("-", m));
    let digits = mantissa.replace('.', "");
    out.push_str(sign);
    if exponent < 0 {
        write!(out, "0.{:0>zeros$}{digits}", "", zeros = (-exponent - 1) as usize).unwrap();
    } else {
        let whole = exponent as usize + 1;
        let padded = format!("{digits:0<whole$}");
        let (whole, fraction) = padded.split_at(whole);
        write!(out, "{whole}.{}", if fraction.is_empty() { "0" } else { fraction }).unwrap();
    }
}

/// Writes a quoted string. Text keeps non-ASCII characters; non-ASCII bytes are escaped.
fn quote(value: &[u8], is_text: bool, out: &mut String) {
    out.push('"');
    let letters: Cow<'_, str> = match std::str::from_utf8(value) {
        Ok(text) if is_text || value.is_ascii() => text.into(),
        // One letter per byte.
        _ => value.iter().map(|&b| char::from(b)).collect::<String>().into(),
    };
    for c in letters.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' | '\'' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ if is_text && !c.is_ascii() => out.push(c),
            _ => write!(out, "\\{:03o}", u32::from(c)).unwrap(),
        }
    }
    out.push('"');
}
