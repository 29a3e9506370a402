//! The lexer of the text format.

use super::TextError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Ident(&'a str),
    /// Anything that starts like a number, without its sign.
    Number(&'a str),
    /// The characters between the quotes, escapes unresolved.
    Quoted(&'a str),
    Punct(char),
    End,
}

/// A text, the current token, and its offset.
pub(super) struct Lexer<'a> {
    text: &'a str,
    next: usize,
    pub at: usize,
    pub token: Token<'a>,
}

type Result<T> = std::result::Result<T, TextError>;

/// An error at a byte offset of `text`.
pub(super) fn error(text: &str, at: usize, message: String) -> TextError {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    TextError {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message,
        is_out_of_memory: false,
    }
}

/// Truncates a token for an error message: a text may be one token.
pub(super) fn quote(word: &str) -> &str {
    &word[..word.floor_char_boundary(200)]
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Result<Self> {
        let mut lexer = Lexer { text, next: 0, at: 0, token: Token::End };
        lexer.advance()?;
        Ok(lexer)
    }

    /// An error at the current token.
    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        self.fail_at(self.at, message)
    }

    /// Reserves `more` bytes, fallibly.
    pub fn reserve(&self, out: &mut Vec<u8>, more: usize) -> Result<()> {
        let no_memory = || TextError {
            is_out_of_memory: true,
            ..error(self.text, self.at, format!("out of memory: no {more} bytes more"))
        };
        out.try_reserve(more).map_err(|_| no_memory())
    }

    pub fn fail_at<T>(&self, at: usize, message: impl Into<String>) -> Result<T> {
        Err(error(self.text, at, message.into()))
    }

    /// The error "expected `what`" at the current token.
    pub fn expected<T>(&self, what: &str) -> Result<T> {
        match self.token {
            Token::Ident(s) | Token::Number(s) => self.fail(format!("expected {what}, found `{}`", quote(s))),
            Token::Quoted(_) => self.fail(format!("expected {what}, found a string")),
            Token::Punct(c) => self.fail(format!("expected {what}, found `{c}`")),
            Token::End => self.fail(format!("expected {what}, found the end of the text")),
        }
    }

    /// Takes the current token if it is `c`.
    pub fn eat(&mut self, c: char) -> Result<bool> {
        let found = self.token == Token::Punct(c);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub fn expect(&mut self, c: char) -> Result<()> {
        if self.eat(c)? { Ok(()) } else { self.expected(&format!("`{c}`")) }
    }

    pub fn advance(&mut self) -> Result<()> {
        self.skip_blank();
        self.at = self.next;
        let rest = &self.text[self.at..];
        let mut chars = rest.chars();
        let (first, second) = (chars.next(), chars.next());
        self.token = match first {
            None => Token::End,
            Some('"' | '\'') => return self.quoted(),
            Some('0'..='9') => self.number(),
            Some('.') if second.is_some_and(|c| c.is_ascii_digit()) => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                self.next = self.at + end;
                Token::Ident(&rest[..end])
            }
            Some(c) => {
                self.next = self.at + c.len_utf8();
                Token::Punct(c)
            }
        };
        Ok(())
    }

    /// Takes the current token, a `[`, and all up to the `]`: the name of an extension, or of the type of the
    /// message that an `Any` holds.
    pub fn bracketed(&mut self) -> Result<&'a str> {
        let rest = &self.text[self.next..];
        let legal = |c: char| c.is_ascii_alphanumeric() || "./_-~%".contains(c) || c.is_ascii_whitespace();
        match rest.find(|c| !legal(c)) {
            Some(end) if rest[end..].starts_with(']') => {
                self.next += end + 1;
                self.advance()?;
                Ok(rest[..end].trim())
            }
            _ => self.fail("expected the name of a type between `[` and `]`"),
        }
    }

    fn skip_blank(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(b) = bytes.get(self.next) {
            match b {
                b'#' => {
                    self.next = self.text[self.next..].find('\n').map_or(self.text.len(), |n| self.next + n)
                }
                b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => self.next += 1,
                _ => break,
            }
        }
    }

    fn number(&mut self) -> Token<'a> {
        let rest = &self.text.as_bytes()[self.at..];
        let hex = rest.len() > 1 && matches!(rest[1], b'x' | b'X');
        let belongs = |i: usize| match rest[i] {
            b'+' | b'-' => !hex && matches!(rest[i - 1], b'e' | b'E'),
            b => b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'),
        };
        let end = (0..rest.len()).find(|&i| !belongs(i)).unwrap_or(rest.len());
        self.next = self.at + end;
        Token::Number(&self.text[self.at..self.next])
    }

    fn quoted(&mut self) -> Result<()> {
        let rest = &self.text.as_bytes()[self.at..];
        let mut i = 1;
        loop {
            match rest.get(i) {
                None | Some(b'\n') => return self.fail("string without an end"),
                Some(b'\\') => i += 2,
                Some(&b) if b == rest[0] => break,
                Some(_) => i += 1,
            }
        }
        self.next = self.at + i + 1;
        self.token = Token::Quoted(&self.text[self.at + 1..self.at + i]);
        Ok(())
    }

    /// Takes one or more adjacent strings as one, with escapes resolved.
    pub fn string(&mut self) -> Result<Vec<u8>> {
        let mut value = Vec::new();
        let Token::Quoted(_) = self.token else { return self.expected("a string") };
        while let Token::Quoted(raw) = self.token {
            // No escape is shorter than its result.
            self.reserve(&mut value, raw.len())?;
            if let Err(offset) = unescape(raw, &mut value) {
                return self.fail_at(self.at + 1 + offset, "not a known escape");
            }
            self.advance()?;
        }
        Ok(value)
    }
}

/// Appends `raw` with its escapes resolved, or returns the offset of the first bad one.
fn unescape(raw: &str, out: &mut Vec<u8>) -> std::result::Result<(), usize> {
    let mut rest = raw.as_bytes();
    while let Some(i) = rest.iter().position(|&b| b == b'\\') {
        out.extend_from_slice(&rest[..i]);
        rest = &rest[i..];
        let length = escape(rest, out).ok_or(raw.len() - rest.len())?;
        rest = &rest[length..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// Appends the value of the escape at the start of `text`, and returns the escape's length.
fn escape(text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let simple = match text.get(1)? {
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        c @ (b'\\' | b'\'' | b'"' | b'?') => *c,
        b'x' | b'X' => {
            let (value, count) = digits(&text[2..], 2, 16)?;
            out.push(value as u8);
            return Some(2 + count);
        }
        b'0'..=b'7' => {
            let (value, count) = digits(&text[1..], 3, 8)?;
            out.push(value.try_into().ok()?);
            return Some(1 + count);
        }
        c @ (b'u' | b'U') => {
            let most = if *c == b'u' { 4 } else { 8 };
            let (value, _) = digits(&text[2..], most, 16).filter(|(_, count)| *count == most)?;
            out.extend_from_slice(char::from_u32(value)?.encode_utf8(&mut [0; 4]).as_bytes());
            return Some(2 + most);
        }
        _ => return None,
    };
    out.push(simple);
    Some(2)
}

/// The number that one to `most` digits at the start of `text` make, and how many they are.
fn digits(text: &[u8], most: usize, radix: u32) -> Option<(u32, usize)> {
    let found = text.iter().take(most).map_while(|&b| char::from(b).to_digit(radix));
    let (value, count) = found.fold((0, 0), |(value, count), digit| (value * radix + digit, count + 1));
    (count > 0).then_some((value, count))
}
