//! The tables that the standard suggests, Annex K. The symbols of AC tables begin with these and go on in order.

use super::huffman::Table;
use thalweg_core::error::Result;

/// Quantisation of luminance and of chrominance, by rows.
#[rustfmt::skip]
pub const QUANTISATION: [[u16; 64]; 2] = [
    [
        16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
        14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
        18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
        49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
    ],
    [
        17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
        24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
        99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
        99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    ],
];

const DC_COUNTS: [[u8; 16]; 2] =
    [[0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]];
const DC_SYMBOLS: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const AC_COUNTS: [[u8; 16]; 2] = [
    [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d],
    [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77],
];
/// Up to the last whole run of symbols with the same number of zeros.
#[rustfmt::skip]
const AC_FIRST: [&[u8]; 2] = [
    &[
        0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71, 0x14, 0x32,
        0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72, 0x82,
    ],
    &[
        0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71, 0x13, 0x22, 0x32, 0x81,
        0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0, 0x15, 0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34,
        0xe1, 0x25, 0xf1,
    ],
];

/// The DC table of luminance (0) or chrominance (1).
pub fn dc(chroma: usize) -> Result<Table> {
    Table::new(DC_COUNTS[chroma], &DC_SYMBOLS)
}

/// The AC table: after the frequent symbols come all others, ascending.
pub fn ac(chroma: usize) -> Result<Table> {
    let first = AC_FIRST[chroma];
    let (mut symbols, mut count) = ([0; 162], 0);
    let rest = (0..=0xffu8).filter(|s| (1..=10).contains(&(s & 15)) && !first.contains(s));
    for symbol in first.iter().copied().chain(rest).take(162) {
        symbols[count] = symbol;
        count += 1;
    }
    Table::new(AC_COUNTS[chroma], &symbols[..count])
}
