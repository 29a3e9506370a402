//! `DecodeJSONExample`: `Example` messages in JSON as serialized messages.
//!
//! An Example has five levels and no more, so each is a function: nothing recurses as deep as the text says. As protocol
//! buffers' own reader does, it takes single quotes, commas before an end and either spelling of a field's name.

use super::samples::strings;
use crate::prelude::*;
use bytes::Bytes;
use thalweg_io::varint;

pub static DECODE_JSON_EXAMPLE: Op = Op {
    name: "DecodeJSONExample",
    doc: "Example messages in JSON as serialized messages.",
    inputs: &["json_examples: string"],
    outputs: &["binary_examples: string"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        vec![Case::new(vec![strings(&[
            "{}",
            "{\"features\": {\"feature\": {\"a\": {\"floatList\": {\"value\": [1.5, 2]}}, \
             \"b\": {\"bytesList\": {\"value\": [\"YWI=\"]}}, \"c\": {\"int64List\": {\"value\": [\"-3\"]}}}}}",
        ])])]
    },
    expensive: true,
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.input(0)?;
    let parse = |s: &Bytes| {
        let mut text = Text { all: s, at: 0 };
        let example = text.example().map_err(|e| match e.code() {
            Code::InvalidArgument => e.context("Error while parsing JSON"),
            _ => e,
        })?;
        Ok(Bytes::from(example))
    };
    let out = reserve::try_collect(x.strings()?.iter().map(parse))?;
    let out = Tensor::from_objects(x.shape().clone(), out)?;
    c.set(0, out);
    Ok(())
}

/// JSON, read from the front.
struct Text<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Text<'a> {
    fn wrong(&self, what: &str) -> Error {
        invalid!("invalid JSON in tensorflow.Example, near offset {}: {what}", self.at)
    }

    fn example(&mut self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut seen = false;
        self.object(|text, name| {
            if name != b"features" {
                return Err(text.wrong("no such field"));
            }
            if std::mem::replace(&mut seen, true) {
                return Err(text.wrong("a field has already been set"));
            }
            if text.null() {
                return Ok(());
            }
            let features = text.features()?;
            put(&mut out, 1, &features)
        })?;
        match self.peek() {
            None => Ok(out),
            Some(_) => Err(self.wrong("extraneous characters after end of JSON object")),
        }
    }

    fn features(&mut self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.object(|text, name| {
            if name != b"feature" {
                return Err(text.wrong("no such field"));
            }
            if text.null() {
                return Ok(());
            }
            text.object(|text, key| {
                let feature = text.feature()?;
                let mut entry = Vec::new();
                put(&mut entry, 1, &key)?;
                put(&mut entry, 2, &feature)?;
                put(&mut out, 1, &entry)
            })
        })?;
        Ok(out)
    }

    fn feature(&mut self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut set = false;
        self.object(|text, name| {
            let (number, value): (u8, fn(&mut Text<'a>, &mut Vec<u8>) -> Result<()>) = match &name[..] {
                b"bytesList" | b"bytes_list" => (1, Text::bytes_value),
                b"floatList" | b"float_list" => (2, Text::float_value),
                b"int64List" | b"int64_list" => (3, Text::int_value),
                _ => return Err(text.wrong("no such field")),
            };
            if text.null() {
                return Ok(());
            }
            if std::mem::replace(&mut set, true) {
                return Err(text.wrong("a list has already been set"));
            }
            let list = text.list(value)?;
            put(&mut out, number, &list)
        })?;
        Ok(out)
    }

    fn list(&mut self, value: fn(&mut Text<'a>, &mut Vec<u8>) -> Result<()>) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.object(|text, name| {
            if name != b"value" {
                return Err(text.wrong("no such field"));
            }
            if text.null() {
                return Ok(());
            }
            text.expect(b'[')?;
            while !text.eat(b']') {
                value(text, &mut out)?;
                if !text.eat(b',') {
                    text.expect(b']')?;
                    break;
                }
            }
            Ok(())
        })?;
        Ok(out)
    }

    fn bytes_value(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let text = if self.null() { Vec::new() } else { self.string()? };
        let bytes = base64(&text)?.ok_or_else(|| self.wrong("corrupt base64"))?;
        put(out, 1, &bytes)
    }

    fn float_value(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let text = self.number()?;
        let value = match &text[..] {
            b"NaN" => f32::NAN,
            b"Infinity" => f32::INFINITY,
            b"-Infinity" => f32::NEG_INFINITY,
            digits => {
                let plain = digits.iter().all(|b| b.is_ascii_digit() || b"+-.eE".contains(b));
                let value = std::str::from_utf8(digits).ok().filter(|_| plain).and_then(|t| t.parse().ok());
                value.filter(|v: &f32| v.is_finite()).ok_or_else(|| self.wrong("invalid number"))?
            }
        };
        reserve::extend(out, &[1 << 3 | 5])?;
        reserve::extend(out, &value.to_le_bytes())
    }

    fn int_value(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let text = self.number()?;
        let text = std::str::from_utf8(&text).unwrap_or_default();
        let value = text.parse::<i64>().ok().or_else(|| {
            // A whole number may be written as a float.
            let real = text.parse::<f64>().ok()?;
            (real.fract() == 0.0 && real.abs() < 9.2e18).then_some(real as i64)
        });
        let value = value.ok_or_else(|| self.wrong("expected integer"))?;
        reserve::push(out, 1 << 3)?;
        reserve::room(out, varint::MAX_LEN)?;
        varint::put(out, value as u64);
        Ok(())
    }

    /// A number, bare or in quotes; null is 0.
    fn number(&mut self) -> Result<Vec<u8>> {
        if self.null() {
            return reserve::copied(b"0");
        }
        if matches!(self.peek(), Some(b'"' | b'\'')) {
            return self.string();
        }
        let rest = &self.all[self.at..];
        let end = rest.iter().position(|b| !(b.is_ascii_alphanumeric() || b"+-.".contains(b)));
        let (text, n) = (&rest[..end.unwrap_or(rest.len())], end.unwrap_or(rest.len()));
        if n == 0 {
            return Err(self.wrong("expected a number"));
        }
        self.at += n;
        reserve::copied(text)
    }

    /// An object; `each` is called with the name of each member and reads its value.
    fn object(&mut self, mut each: impl FnMut(&mut Self, Vec<u8>) -> Result<()>) -> Result<()> {
        self.expect(b'{')?;
        while !self.eat(b'}') {
            let name = self.string()?;
            self.expect(b':')?;
            each(self, name)?;
            if !self.eat(b',') {
                return self.expect(b'}');
            }
        }
        Ok(())
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.all.get(self.at) {
            self.at += 1;
        }
        self.all.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        match self.eat(byte) {
            true => Ok(()),
            false if self.at == self.all.len() => Err(invalid!("unexpected EOF")),
            false => Err(self.wrong(match byte {
                b'{' => "unexpected character; expected '{'",
                b'}' => "unexpected character; expected ',' or '}'",
                b':' => "unexpected character; expected ':'",
                _ => "unexpected character; expected a list",
            })),
        }
    }

    fn null(&mut self) -> bool {
        self.peek();
        let found = self.all[self.at..].starts_with(b"null");
        self.at += if found { 4 } else { 0 };
        found
    }

    /// A string in either quotes, unescaped.
    fn string(&mut self) -> Result<Vec<u8>> {
        let quote = match self.peek() {
            Some(q @ (b'"' | b'\'')) => q,
            None => return Err(invalid!("unexpected EOF")),
            _ => return Err(self.wrong("expected a string")),
        };
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let rest = &self.all[self.at..];
            let plain = rest.iter().position(|b| *b == quote || *b == b'\\' || *b < 0x20);
            let Some(n) = plain else { return Err(self.wrong("EOF inside string")) };
            reserve::extend(&mut out, &rest[..n])?;
            self.at += n + 1;
            match rest[n] {
                b'\\' => self.escape(&mut out)?,
                b if b == quote => break,
                _ => return Err(self.wrong("control characters must be escaped")),
            }
        }
        match std::str::from_utf8(&out) {
            Ok(_) => Ok(out),
            Err(_) => Err(self.wrong("invalid UTF-8")),
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let Some(b) = self.all.get(self.at) else { return Err(self.wrong("EOF inside string")) };
        self.at += 1;
        let byte = match b {
            b'"' | b'\'' | b'\\' | b'/' => *b,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut code = self.hex()?;
                if (0xD800..0xDC00).contains(&code) && self.all[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let low = self.hex()?;
                    if !(0xDC00..0xE000).contains(&low) {
                        return Err(self.wrong("unpaired surrogate"));
                    }
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                }
                let c = char::from_u32(code).ok_or_else(|| self.wrong("unpaired surrogate"))?;
                return reserve::extend(out, c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return Err(self.wrong("invalid escape")),
        };
        reserve::push(out, byte)
    }

    fn hex(&mut self) -> Result<u32> {
        let digits = self.all.get(self.at..self.at + 4).and_then(|d| std::str::from_utf8(d).ok());
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        self.at += 4;
        code.ok_or_else(|| self.wrong("invalid Unicode escape"))
    }
}

/// A field of bytes.
fn put(out: &mut Vec<u8>, number: u8, contents: &[u8]) -> Result<()> {
    reserve::room(out, contents.len().saturating_add(1 + varint::MAX_LEN))?;
    out.push(number << 3 | 2);
    varint::put(out, contents.len() as u64);
    out.extend_from_slice(contents);
    Ok(())
}

/// Of either alphabet, padded or not.
fn base64(text: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut out = reserve::with_capacity(text.len() / 4 * 3 + 3)?;
    let (mut bits, mut held) = (0u32, 0u32);
    let body = text.iter().rposition(|b| *b != b'=').map_or(0, |i| i + 1);
    if text.len() - body > 2 || body % 4 == 1 {
        return Ok(None);
    }
    for b in &text[..body] {
        let six = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return Ok(None),
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Ok(Some(out))
}
