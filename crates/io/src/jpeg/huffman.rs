//! Huffman tables.

use thalweg_core::error::Result;
use thalweg_core::invalid;

/// A table: how many codes there are of each length, and their symbols.
#[derive(Clone)]
pub struct Table {
    pub counts: [u8; 16],
    pub symbols: [u8; 256],
    /// For the next 8 bits: the length of the code that they begin with, 0 if it is longer, and its symbol.
    pub short: [(u8, u8); 256],
    /// By length less 1: the last code, and what to add to a code for the place of its symbol.
    last: [i32; 16],
    offset: [i32; 16],
}

impl Table {
    pub fn new(counts: [u8; 16], from: &[u8]) -> Result<Table> {
        let mut symbols = [0; 256];
        let total: usize = counts.iter().map(|n| usize::from(*n)).sum();
        if total > 256 || total > from.len() {
            return Err(invalid!("a Huffman table has {total} codes"));
        }
        symbols[..total].copy_from_slice(&from[..total]);
        let mut table = Table { counts, symbols, short: [(0, 0); 256], last: [-1; 16], offset: [0; 16] };
        let (mut code, mut place) = (0i32, 0i32);
        for length in 1..=16usize {
            let count = i32::from(counts[length - 1]);
            if count > 0 {
                table.offset[length - 1] = place - code;
                for _ in 0..count {
                    // All ones is not a code.
                    if code >= 1 << length {
                        return Err(invalid!("the codes of a Huffman table do not fit"));
                    }
                    if length <= 8 {
                        let first = (code as usize) << (8 - length);
                        let entry = (length as u8, symbols[place as usize]);
                        table.short[first..first + (1 << (8 - length))].fill(entry);
                    }
                    (code, place) = (code + 1, place + 1);
                }
                table.last[length - 1] = code - 1;
            }
            code <<= 1;
        }
        Ok(table)
    }

    pub fn find(&self, code: i32, length: usize) -> Option<u8> {
        let (last, offset) = (self.last[length - 1], self.offset[length - 1]);
        (code <= last).then(|| self.symbols[(code + offset) as usize & 0xff])
    }

    /// Symbols of DC tables are sizes of up to 15 bits.
    pub fn check_dc(&self) -> Result<()> {
        let total: usize = self.counts.iter().map(|n| usize::from(*n)).sum();
        match self.symbols[..total].iter().all(|s| *s <= 15) {
            true => Ok(()),
            false => Err(invalid!("a Huffman table for DC coefficients has symbols above 15")),
        }
    }

    /// The code and its length, by symbol; of length 0 where there is none.
    pub fn codes(&self) -> [(u32, u8); 256] {
        let mut codes = [(0, 0); 256];
        let (mut code, mut place) = (0u32, 0);
        for (length, count) in (1u8..).zip(self.counts) {
            for _ in 0..count {
                codes[usize::from(self.symbols[place & 0xff])] = (code, length);
                (code, place) = (code + 1, place + 1);
            }
            code <<= 1;
        }
        codes
    }
}
