//! The parser: from text to the encoded message.

use prost::encoding::encode_varint;

use super::lex::{Lexer, Token, quote};
use super::{MAX_DEPTH, TextError};
use crate::schema::{self, Field, Kind, MessageType, WireType};

type Result<T> = std::result::Result<T, TextError>;

/// Encodes the message of type `ty` that `text` describes.
pub(super) fn parse(ty: &MessageType, text: &str) -> Result<Vec<u8>> {
    let mut parser = Parser { lexer: Lexer::new(text)?, out: Vec::new(), depth: 0 };
    parser.fields(ty, Token::End)?;
    Ok(parser.out)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    out: Vec<u8>,
    depth: usize,
}

/// The fields set so far, as bits by index.
struct Seen(u64);

impl Parser<'_> {
    /// Fields up to the token `end`, which is not consumed.
    fn fields(&mut self, ty: &MessageType, end: Token<'_>) -> Result<()> {
        let mut seen = Seen(0);
        while self.lexer.token != end {
            match self.lexer.token {
                Token::Ident(name) => self.field(ty, name, &mut seen)?,
                Token::Punct('[') => self.any(ty, &mut seen)?,
                _ => return self.lexer.expected("the name of a field"),
            }
            if !self.lexer.eat(',')? {
                self.lexer.eat(';')?;
            }
        }
        Ok(())
    }

    fn field(&mut self, ty: &MessageType, name: &str, seen: &mut Seen) -> Result<()> {
        let Some(index) = ty.fields.iter().position(|f| f.name == name) else {
            return self.lexer.fail(format!("{} has no field `{}`", ty.name, quote(name)));
        };
        self.mark(ty, index, seen)?;
        self.lexer.advance()?;
        let field = &ty.fields[index];
        if field.message().is_some() {
            self.lexer.eat(':')?;
        } else {
            self.lexer.expect(':')?;
        }
        if !(field.repeated && self.lexer.eat('[')?) {
            return self.value(field);
        }
        if self.lexer.eat(']')? {
            return Ok(());
        }
        loop {
            self.value(field)?;
            if self.lexer.eat(']')? {
                return Ok(());
            }
            self.lexer.expect(',')?;
        }
    }

    /// Marks a field as set; an error if it already is.
    fn mark(&self, ty: &MessageType, index: usize, seen: &mut Seen) -> Result<()> {
        let field = &ty.fields[index];
        let given = |i: usize| seen.0 & (1 << i) != 0;
        if !field.repeated && given(index) {
            return self.lexer.fail(format!("{} takes only one `{}`", ty.name, field.name));
        }
        let same_oneof = |i: usize| i != index && field.oneof.is_some() && ty.fields[i].oneof == field.oneof;
        if let Some(other) = (0..ty.fields.len()).find(|&i| given(i) && same_oneof(i)) {
            let (name, other) = (field.name, ty.fields[other].name);
            return self.lexer.fail(format!("{} takes only one of `{other}` and `{name}`", ty.name));
        }
        seen.0 |= 1 << index;
        Ok(())
    }

    /// An `Any` written as the message it holds: `[type.googleapis.com/tensorflow.VersionDef] { producer: 1 }`.
    fn any(&mut self, ty: &MessageType, seen: &mut Seen) -> Result<()> {
        let at = self.lexer.at;
        if ty.name != "google.protobuf.Any" {
            return self.lexer.fail(format!("{} has no extensions", ty.name));
        }
        (0..ty.fields.len()).try_for_each(|i| self.mark(ty, i, seen))?;
        let url = self.lexer.bracketed()?;
        let Some(held) = url.rsplit_once('/').and_then(|(_, name)| schema::message(name)) else {
            return self
                .lexer
                .fail_at(at, format!("`{}` is not the address of a known message type", quote(url)));
        };
        self.lexer.eat(':')?;
        self.key(1, WireType::Delimited)?;
        self.bytes(url.as_bytes())?;
        self.message(2, held)
    }

    /// A message in brackets, as the value of the field `number`.
    fn message(&mut self, number: u32, ty: &MessageType) -> Result<()> {
        let close = match self.lexer.token {
            Token::Punct('{') => '}',
            Token::Punct('<') => '>',
            _ => return self.lexer.expected("`{`"),
        };
        if self.depth == MAX_DEPTH {
            return self.lexer.fail(format!("nested deeper than {MAX_DEPTH}"));
        }
        self.lexer.advance()?;
        self.key(number, WireType::Delimited)?;
        let start = self.out.len();
        self.depth += 1;
        self.fields(ty, Token::Punct(close))?;
        self.depth -= 1;
        let mut length = Vec::with_capacity(10);
        encode_varint((self.out.len() - start) as u64, &mut length);
        self.reserve(length.len())?;
        self.out.splice(start..start, length);
        self.lexer.expect(close)
    }

    fn value(&mut self, field: &Field) -> Result<()> {
        if let Some(ty) = field.message() {
            return self.message(field.number, ty);
        }
        self.key(field.number, field.kind.wire_type())?;
        match field.kind {
            Kind::Double => {
                let bits = self.float::<f64>(f64::INFINITY, f64::NAN)?.to_bits();
                self.write(&bits.to_le_bytes())?;
            }
            Kind::Float => {
                let bits = self.float::<f32>(f32::INFINITY, f32::NAN)?.to_bits();
                self.write(&bits.to_le_bytes())?;
            }
            Kind::String | Kind::Bytes => {
                let at = self.lexer.at;
                let value = self.lexer.string()?;
                if field.kind == Kind::String && std::str::from_utf8(&value).is_err() {
                    return self.lexer.fail_at(at, format!("`{}` must be UTF-8", field.name));
                }
                self.bytes(&value)?;
            }
            Kind::Bool => {
                let value = self.bool()?;
                self.write(&[value.into()])?;
            }
            Kind::Enum(index) => {
                let value = self.enum_value(&schema::ENUMS[index])?;
                self.varint(value as i64 as u64)?;
            }
            kind => self.integer_of(kind)?,
        }
        Ok(())
    }

    fn integer_of(&mut self, kind: Kind) -> Result<()> {
        match kind {
            Kind::Int32 => {
                let value = self.integer::<i32>("a 32-bit integer")?;
                self.varint(value as i64 as u64)?;
            }
            Kind::Sint32 => {
                let value = self.integer::<i32>("a 32-bit integer")?;
                self.varint(((value << 1) ^ (value >> 31)) as u32 as u64)?;
            }
            Kind::Int64 => {
                let value = self.integer::<i64>("a 64-bit integer")?;
                self.varint(value as u64)?;
            }
            Kind::Sint64 => {
                let value = self.integer::<i64>("a 64-bit integer")?;
                self.varint(((value << 1) ^ (value >> 63)) as u64)?;
            }
            Kind::Sfixed32 => {
                let value = self.integer::<i32>("a 32-bit integer")?;
                self.write(&value.to_le_bytes())?;
            }
            Kind::Sfixed64 => {
                let value = self.integer::<i64>("a 64-bit integer")?;
                self.write(&value.to_le_bytes())?;
            }
            Kind::Fixed32 => {
                let value = self.integer::<u32>("an unsigned 32-bit integer")?;
                self.write(&value.to_le_bytes())?;
            }
            Kind::Fixed64 => {
                let value = self.integer::<u64>("an unsigned 64-bit integer")?;
                self.write(&value.to_le_bytes())?;
            }
            Kind::Uint32 => {
                let value = self.integer::<u32>("an unsigned 32-bit integer")?;
                self.varint(value.into())?;
            }
            _ => {
                let value = self.integer::<u64>("an unsigned 64-bit integer")?;
                self.varint(value)?;
            }
        }
        Ok(())
    }

    fn integer<T: TryFrom<i128>>(&mut self, what: &str) -> Result<T> {
        let at = self.lexer.at;
        let negative = self.lexer.eat('-')?;
        let Token::Number(digits) = self.lexer.token else { return self.lexer.expected(what) };
        let magnitude = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => u64::from_str_radix(&digits[2..], 16),
            [b'0', _, ..] => u64::from_str_radix(digits, 8),
            _ => digits.parse(),
        };
        let signed = |m: u64| if negative { -i128::from(m) } else { i128::from(m) };
        match magnitude.ok().and_then(|m| T::try_from(signed(m)).ok()) {
            Some(value) => self.lexer.advance().map(|()| value),
            None => self.lexer.fail_at(at, format!("`{}` is not {what}", quote(digits))),
        }
    }

    fn float<T>(&mut self, infinity: T, nan: T) -> Result<T>
    where
        T: std::str::FromStr + std::ops::Neg<Output = T>,
    {
        let negative = self.lexer.eat('-')?;
        let magnitude = match self.lexer.token {
            Token::Ident(word) => match word.to_ascii_lowercase().as_str() {
                "inf" | "infinity" | "inff" | "infinityf" => Some(infinity),
                "nan" | "nanf" => Some(nan),
                _ => None,
            },
            Token::Number(digits) => {
                // What would be an octal integer is not taken for a decimal fraction.
                let octal =
                    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
                digits.strip_suffix(['f', 'F']).unwrap_or(digits).parse().ok().filter(|_| !octal)
            }
            _ => None,
        };
        match magnitude {
            Some(value) => self.lexer.advance().map(|()| if negative { -value } else { value }),
            None => self.lexer.expected("a number"),
        }
    }

    fn bool(&mut self) -> Result<bool> {
        let value = match self.lexer.token {
            Token::Ident("true" | "True" | "t") | Token::Number("1") => true,
            Token::Ident("false" | "False" | "f") | Token::Number("0") => false,
            _ => return self.lexer.expected("`true` or `false`"),
        };
        self.lexer.advance().map(|()| value)
    }

    /// A value by name or by number, which need not be a known one.
    fn enum_value(&mut self, ty: &schema::EnumType) -> Result<i32> {
        let Token::Ident(name) = self.lexer.token else {
            return self.integer(&format!("a value of {}", ty.name));
        };
        match ty.values.iter().find(|(n, _)| *n == name) {
            Some(&(_, number)) => self.lexer.advance().map(|()| number),
            None => self.lexer.fail(format!("{} has no value `{}`", ty.name, quote(name))),
        }
    }

    fn key(&mut self, number: u32, wire_type: WireType) -> Result<()> {
        self.varint(u64::from(number) << 3 | wire_type as u64)
    }

    fn varint(&mut self, value: u64) -> Result<()> {
        self.reserve(10)?;
        encode_varint(value, &mut self.out);
        Ok(())
    }

    fn bytes(&mut self, value: &[u8]) -> Result<()> {
        self.varint(value.len() as u64)?;
        self.write(value)
    }

    fn write(&mut self, value: &[u8]) -> Result<()> {
        self.reserve(value.len())?;
        self.out.extend_from_slice(value);
        Ok(())
    }

    fn reserve(&mut self, more: usize) -> Result<()> {
        self.lexer.reserve(&mut self.out, more)
    }
}
