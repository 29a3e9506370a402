//! The bits of entropy-coded data: stuffed zeros taken out, markers end them.

use super::huffman::Table;
use thalweg_core::error::Error;

/// Why a scan ends early.
pub enum Stop {
    Wrong(Error),
    /// The data ended, and the reader may not go on with zeros.
    Ended,
}

impl From<Error> for Stop {
    fn from(e: Error) -> Stop {
        Stop::Wrong(e)
    }
}

pub type Read<T> = std::result::Result<T, Stop>;

pub struct Bits<'a> {
    data: &'a [u8],
    /// The next byte that was not read.
    pub at: usize,
    held: u64,
    count: u32,
    /// The marker that ended the data.
    pub marker: Option<u8>,
    ended: bool,
    /// Whether the end of the file counts as an end of the image.
    recover: bool,
    /// Zeros were read past the end: later units are left empty.
    pub insufficient: bool,
}

impl<'a> Bits<'a> {
    pub fn new(data: &'a [u8], at: usize, recover: bool) -> Bits<'a> {
        Bits { data, at, held: 0, count: 0, marker: None, ended: false, recover, insufficient: false }
    }

    /// Drops what is held: a restart, or the end of a scan.
    pub fn align(&mut self) {
        (self.held, self.count) = (0, 0);
    }

    /// Reads ahead, to 57 bits or more, or to a marker. A file that ends before that is one that ends early, as to libjpeg: its last
    /// units are missing even if their bits are there.
    fn fill(&mut self) -> Read<()> {
        self.read_ahead();
        match self.ended && self.count < 57 && !self.recover {
            true => Err(Stop::Ended),
            false => Ok(()),
        }
    }

    fn read_ahead(&mut self) {
        while self.count < 57 && self.marker.is_none() && !self.ended {
            let Some(byte) = self.data.get(self.at) else {
                self.ended = true;
                return;
            };
            if *byte != 0xff {
                self.at += 1;
            } else {
                // Fill bytes may stand before a marker.
                let next = self.data[self.at + 1..].iter().position(|b| *b != 0xff);
                let Some(code) = next.map(|n| (n, self.data[self.at + 1 + n])) else {
                    self.ended = true;
                    return;
                };
                self.at += 2 + code.0;
                if code.1 != 0 {
                    self.marker = Some(code.1);
                    return;
                }
            }
            self.held = self.held << 8 | u64::from(*byte);
            self.count += 8;
        }
    }

    /// Makes sure of `n` bits, with zeros after the end.
    fn need(&mut self, n: u32) -> Read<()> {
        if self.count >= n {
            return Ok(());
        }
        self.fill()?;
        if self.count < n {
            self.insufficient = true;
            self.held <<= 32;
            self.count += 32;
        }
        Ok(())
    }

    /// The next `n` bits, at most 16.
    pub fn get(&mut self, n: u32) -> Read<i32> {
        if n == 0 {
            return Ok(0);
        }
        self.need(n)?;
        self.count -= n;
        Ok((self.held >> self.count) as i32 & ((1 << n) - 1))
    }

    /// The next `n` bits as a signed number: those that begin with 0 are negative.
    pub fn signed(&mut self, n: u32) -> Read<i32> {
        let v = self.get(n)?;
        Ok(if n > 0 && v < 1 << (n - 1) { v - (1 << n) + 1 } else { v })
    }

    /// The next symbol.
    pub fn symbol(&mut self, table: &Table) -> Read<u8> {
        if self.count < 8 {
            self.fill()?;
        }
        if self.count >= 8 {
            let (length, symbol) = table.short[(self.held >> (self.count - 8)) as usize & 0xff];
            if length > 0 {
                self.count -= u32::from(length);
                return Ok(symbol);
            }
        }
        let mut code = 0;
        for length in 1..=16 {
            code = code << 1 | self.get(1)?;
            if let Some(symbol) = table.find(code, length) {
                return Ok(symbol);
            }
        }
        // No such code: as if nothing were there.
        Ok(0)
    }
}
