//! JPEG files: baseline and progressive, Huffman coded, 8 bits. The pixels are those of libjpeg-turbo 2.1, to the bit: the same
//! integer transforms, upsampling and colour conversion. `decode` reads, `encode` writes.

mod bits;
mod color;
mod decoder;
mod encoder;
mod forward;
mod frame;
mod huffman;
mod inverse;
mod optimal;
mod scan;
mod standard;
mod upsample;

#[cfg(test)]
mod tests;

pub use decoder::{Crop, Decode, decode, dimensions};
pub use encoder::{Encode, encode};

/// The place of the coefficients in zigzag order; those beyond the last of a broken file go to the last.
const ZIGZAG: [u8; 80] = {
    let mut order = [63; 80];
    let (mut k, mut diagonal) = (0, 0);
    while diagonal < 15 {
        let mut i = 0;
        while i <= diagonal {
            // Odd diagonals go down, even ones up.
            let (row, col) = if diagonal % 2 == 1 { (i, diagonal - i) } else { (diagonal - i, i) };
            if row < 8 && col < 8 {
                order[k] = (row * 8 + col) as u8;
                k += 1;
            }
            i += 1;
        }
        diagonal += 1;
    }
    order
};

const BLOCK: usize = 64;
