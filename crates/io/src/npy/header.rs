//! The npy header: magic number, version, and a Python dictionary
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.

use thalweg_core::error::{Error, Result, data_loss};
use thalweg_core::invalid;
use thalweg_core::shape::{MAX_RANK, Shape};

const MAGIC: &[u8] = b"\x93NUMPY";
/// The data starts at a multiple of this.
const ALIGN: usize = 64;

#[derive(Debug, PartialEq)]
pub struct Header {
    pub descr: String,
    pub fortran_order: bool,
    pub shape: Vec<i64>,
}

/// Splits a file into the header's dictionary and the data.
pub fn split(bytes: &[u8]) -> Result<(&str, &[u8])> {
    let short = || data_loss(format_args!("an .npy file of {} bytes ends within its header", bytes.len()));
    let rest = bytes
        .strip_prefix(MAGIC)
        .ok_or_else(|| data_loss("not an .npy file: it does not start with \\x93NUMPY"))?;
    let (version, rest) = rest.split_at_checked(2).ok_or_else(short)?;
    let (len, rest) = match version[0] {
        1 => {
            let (len, rest) = rest.split_first_chunk::<2>().ok_or_else(short)?;
            (u16::from_le_bytes(*len) as usize, rest)
        }
        2 | 3 => {
            let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
            (u32::from_le_bytes(*len) as usize, rest)
        }
        other => return Err(invalid!("version {other}.{} of the .npy format is not known", version[1])),
    };
    let (header, data) = rest.split_at_checked(len).ok_or_else(short)?;
    let header = std::str::from_utf8(header).map_err(|_| data_loss("the header is not text"))?;
    Ok((header, data))
}

/// A header for data in row-major order.
pub fn make(descr: &str, shape: &Shape) -> Vec<u8> {
    let mut dims = shape.iter().map(|d| d.to_string()).collect::<Vec<_>>().join(", ");
    if shape.rank() == 1 {
        dims.push(',');
    }
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    // Version 1: its limit on the header, 64 KiB, is more than any shape needs.
    let start = MAGIC.len() + 4;
    // Padded with spaces and a newline to the alignment.
    let end = (start + dict.len() + 1).next_multiple_of(ALIGN);
    dict.extend(std::iter::repeat_n(' ', end - start - dict.len() - 1));
    dict.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend((dict.len() as u16).to_le_bytes());
    out.extend(dict.as_bytes());
    out
}

impl Header {
    pub fn parse(text: &str) -> Result<Header> {
        let mut p = Parser { rest: text };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        p.expect('{')?;
        while !p.take('}') {
            let key = p.string()?;
            p.expect(':')?;
            match key {
                "descr" if p.peek() == Some('[') => {
                    return Err(invalid!("the file holds an array of records, which is not a tensor"));
                }
                "descr" => descr = Some(p.string()?.to_string()),
                "fortran_order" => fortran_order = Some(p.bool()?),
                "shape" => shape = Some(p.tuple()?),
                other => {
                    return Err(data_loss(format_args!(
                        "the header has an unknown key '{}'",
                        other.escape_debug()
                    )));
                }
            }
            if !p.take(',') {
                p.expect('}')?;
                break;
            }
        }
        if !p.rest.trim().is_empty() {
            return Err(p.wrong("the end"));
        }
        match (descr, fortran_order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => Ok(Header { descr, fortran_order, shape }),
            _ => Err(data_loss("the header lacks one of 'descr', 'fortran_order', 'shape'")),
        }
    }
}

/// A parser of the Python literals in headers.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn wrong(&self, want: &str) -> Error {
        let here: String = self.rest.chars().take(20).collect();
        data_loss(format_args!("bad .npy header: {want} expected at '{}'", here.escape_debug()))
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.rest = &self.rest[c.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.take(c) { Ok(()) } else { Err(self.wrong(&format!("'{c}'"))) }
    }

    fn string(&mut self) -> Result<&'a str> {
        let quote = self.peek().filter(|c| matches!(c, '\'' | '"')).ok_or_else(|| self.wrong("a string"))?;
        let end = self.rest[1..].find(quote).ok_or_else(|| self.wrong("a whole string"))?;
        let found = &self.rest[1..1 + end];
        self.rest = &self.rest[end + 2..];
        Ok(found)
    }

    fn bool(&mut self) -> Result<bool> {
        self.peek();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.wrong("True or False"))
    }

    fn tuple(&mut self) -> Result<Vec<i64>> {
        self.expect('(')?;
        let mut dims = Vec::new();
        while !self.take(')') {
            if dims.len() == MAX_RANK {
                return Err(invalid!("an array of more than {MAX_RANK} dimensions"));
            }
            dims.push(self.size()?);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(dims)
    }

    fn size(&mut self) -> Result<i64> {
        self.peek();
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let size = self.rest[..end].parse().map_err(|_| self.wrong("a size"))?;
        // Python 2 wrote `3L`.
        self.rest = self.rest[end..].strip_prefix('L').unwrap_or(&self.rest[end..]);
        Ok(size)
    }
}
