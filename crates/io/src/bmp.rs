//! Windows bitmaps: uncompressed, 8, 24 or 32 bits a pixel.

use thalweg_core::error::Result;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_core::{dtype::DataType, invalid};

/// The image, of shape [rows, columns, channels]: of the file's channels (1, 3 or 4) if `channels` is 0, else 3 or 4.
pub fn decode(data: &[u8], channels: usize) -> Result<Tensor> {
    if data.len() < 32 {
        return Err(invalid!("Incomplete bmp content, requires at least 32 bytes, got {} bytes", data.len()));
    }
    let word =
        |at: usize| i64::from(i32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]));
    let (header, cols, height) = (word(10), word(18), word(22));
    let own = i16::from_le_bytes([data[28], data[29]]) / 8;
    let own = match own {
        1 | 3 | 4 => own as usize,
        _ => {
            return Err(invalid!("Number of channels inherent in the image must be 1, 3 or 4, was {own}"));
        }
    };
    let want = if channels == 0 { own } else { channels };
    if cols <= 0 || height == 0 || header < 0 {
        return Err(invalid!(
            "Width must be positive, height nonzero, header size nonnegative: {cols}, {height}, {header}"
        ));
    }
    let rows = height.abs();
    if cols.saturating_mul(rows) >= i64::from(i32::MAX / 8) {
        return Err(invalid!(
            "Total possible pixel bytes must be less than 2^30, got {cols} by {rows} pixels"
        ));
    }
    let (header, cols, rows) = (header as usize, cols as usize, rows as usize);
    // Rows are padded to whole words.
    let stride = (own * cols).next_multiple_of(4);
    let size = header.saturating_add(stride.saturating_mul(rows));
    if size != data.len() {
        return Err(invalid!(
            "Input size should match (header_size + row_size * abs_height): {size}, got {}",
            data.len()
        ));
    }
    let mut out = Tensor::uninit(DataType::Uint8, Shape::new(&[rows, cols, want])?)?;
    let lines = out.as_mut_slice::<u8>()?.chunks_exact_mut(cols * want);
    for (row, out) in lines.enumerate() {
        // Upwards, unless the height is negative.
        let row = if height < 0 { row } else { rows - 1 - row };
        let from = data[header + row * stride..][..own * cols].chunks_exact(own);
        for (from, out) in from.zip(out.chunks_exact_mut(want)) {
            let pixel = match from {
                [grey] => [*grey, *grey, *grey, 255],
                [b, g, r] => [*r, *g, *b, 255],
                [b, g, r, alpha] => [*r, *g, *b, *alpha],
                _ => [0; 4],
            };
            out.copy_from_slice(&pixel[..want.min(4)]);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bits: u8, cols: i32, rows: i32, pixels: &[u8]) -> Vec<u8> {
        let mut file = vec![b'B', b'M', 0, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0];
        file.extend(cols.to_le_bytes().into_iter().chain(rows.to_le_bytes()));
        file.extend([1, 0, bits, 0]);
        file.resize(54, 0);
        file.extend(pixels);
        file
    }

    #[test]
    fn rows_go_upwards_and_colours_are_reversed() {
        let pixels = [1, 2, 3, 0, 4, 5, 6, 0];
        let up = decode(&file(24, 1, 2, &pixels), 0).unwrap();
        assert_eq!(up.as_slice::<u8>().unwrap(), &[6, 5, 4, 3, 2, 1]);
        let down = decode(&file(24, 1, -2, &pixels), 4).unwrap();
        assert_eq!(down.as_slice::<u8>().unwrap(), &[3, 2, 1, 255, 6, 5, 4, 255]);
        let grey = decode(&file(8, 2, 1, &[7, 9, 0, 0]), 3).unwrap();
        assert_eq!(grey.as_slice::<u8>().unwrap(), &[7, 7, 7, 9, 9, 9]);
    }

    #[test]
    fn files_cut_or_flipped_anywhere_do_no_harm() {
        let good = file(32, 2, 1, &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(decode(&good, 0).is_ok());
        assert!((0..good.len()).all(|end| decode(&good[..end], 0).is_err()));
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&bytes, 0);
        }
    }
}
