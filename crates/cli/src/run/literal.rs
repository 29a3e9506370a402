//! Literals on a command line: numbers, `true` and `false`, quoted strings, and nested lists of them. There are no
//! expressions.

mod cast;
#[cfg(test)]
mod tests;

use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;

/// The limit on nested lists.
const MAX_DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// As written: the meaning depends on the type it is cast to.
    Number(String),
    Bool(bool),
    Text(Vec<u8>),
    List(Vec<Literal>),
}

pub fn parse(text: &str) -> Result<Literal> {
    let mut p = Parser { text, at: 0 };
    let value = p.value(0)?;
    p.space();
    if p.at < text.len() {
        return Err(p.wrong("nothing more"));
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    /// Bytes read so far.
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.space();
        self.rest().chars().next()
    }

    fn wrong(&self, want: &str) -> Error {
        let column = self.text[..self.at].chars().count() + 1;
        match self.rest().chars().next() {
            Some(c) => invalid!("{want} expected at column {column}, got '{}'", c.escape_debug()),
            None => invalid!("{want} expected, but the value ends"),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Literal> {
        match self.peek() {
            Some('[') => self.list(depth),
            Some(quote @ ('"' | '\'')) => self.string(quote),
            Some(c) if c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.') => self.word(),
            _ => Err(self.wrong("a number, true, false, a quoted string or '['")),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Literal> {
        if depth == MAX_DEPTH {
            return Err(invalid!("lists are nested more than {MAX_DEPTH} deep"));
        }
        self.at += 1;
        let mut items = Vec::new();
        loop {
            if self.peek() == Some(']') {
                self.at += 1;
                return Ok(Literal::List(items));
            }
            items.push(self.value(depth + 1)?);
            match self.peek() {
                Some(',') => self.at += 1,
                Some(']') => {}
                _ => return Err(self.wrong("',' or ']'")),
            }
        }
    }

    fn word(&mut self) -> Result<Literal> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')))
            .unwrap_or(rest.len());
        let word = &rest[..end];
        let literal = match word {
            "true" | "True" => Literal::Bool(true),
            "false" | "False" => Literal::Bool(false),
            number if cast::complex(number).is_some() => Literal::Number(number.to_string()),
            _ => return Err(invalid!("'{word}' is neither a number nor true or false; strings are quoted")),
        };
        self.at += end;
        Ok(literal)
    }

    fn string(&mut self, quote: char) -> Result<Literal> {
        let start = self.at;
        let mut out = Vec::new();
        self.at += 1;
        loop {
            let c = self.rest().chars().next().ok_or_else(|| {
                invalid!("the string that starts at column {} has no closing {quote}", start + 1)
            })?;
            self.at += c.len_utf8();
            match c {
                c if c == quote => return Ok(Literal::Text(out)),
                '\\' => out.push(self.escape()?),
                c => out.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    /// Parses the escape after a backslash.
    fn escape(&mut self) -> Result<u8> {
        let unknown = |p: &Self| p.wrong("one of n, r, t, 0, xHH, a quote or a backslash after '\\'");
        let byte = match self.rest().bytes().next() {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'0') => 0,
            Some(b @ (b'\\' | b'"' | b'\'')) => b,
            Some(b'x') => {
                let digits = self.rest().get(1..3).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
                let byte =
                    digits.and_then(|d| u8::from_str_radix(d, 16).ok()).ok_or_else(|| unknown(self))?;
                self.at += 2;
                byte
            }
            _ => return Err(unknown(self)),
        };
        self.at += 1;
        Ok(byte)
    }
}
