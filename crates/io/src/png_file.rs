//! Images as PNG files.

use png::{BitDepth, ColorType, Compression, Encoder};
use thalweg_core::error::Result;
use thalweg_core::{invalid, reserve};

/// How an image is written.
#[derive(Clone, Copy, Debug)]
pub struct PngOptions {
    pub width: usize,
    pub height: usize,
    /// 1 is grey, 2 grey and alpha, 3 RGB, 4 RGBA.
    pub channels: usize,
    /// Samples are two bytes each, the more significant first.
    pub wide: bool,
    /// From 0, none, to 9; -1 is the default.
    pub compression: i64,
}

impl PngOptions {
    /// Whether such a file can be written.
    pub fn check(&self) -> Result<()> {
        self.header().map(|_| ())
    }

    fn header(&self) -> Result<(u32, u32, ColorType)> {
        let color = match self.channels {
            1 => ColorType::Grayscale,
            2 => ColorType::GrayscaleAlpha,
            3 => ColorType::Rgb,
            4 => ColorType::Rgba,
            other => return Err(invalid!("image must have 1, 2, 3, or 4 channels, got {other}")),
        };
        let size = |n: usize| u32::try_from(n).ok().filter(|n| *n > 0);
        let (Some(width), Some(height)) = (size(self.width), size(self.height)) else {
            return Err(invalid!(
                "image must have at least one pixel, and at most 2^32 in a row or column, got {} x {}",
                self.height,
                self.width
            ));
        };
        Ok((width, height, color))
    }
}

/// A PNG file of one image; `pixels` are its rows, one after the other.
pub fn encode(pixels: &[u8], options: PngOptions) -> Result<Vec<u8>> {
    let (width, height, color) = options.header()?;
    // The encoder buffers filtered rows and the compressed data.
    reserve::probe(pixels.len().saturating_mul(2))?;
    let mut file = reserve::Written::default();
    let mut encoder = Encoder::new(&mut file, width, height);
    encoder.set_color(color);
    encoder.set_depth(if options.wide { BitDepth::Sixteen } else { BitDepth::Eight });
    encoder.set_compression(compression(options.compression)?);
    let written =
        encoder.write_header().and_then(|mut w| w.write_image_data(pixels).and_then(|()| w.finish()));
    written.map_err(|e| invalid!("cannot write a PNG file of {width} x {height}: {e}"))?;
    Ok(file.0)
}

/// The encoder's setting for a level of zlib.
pub fn compression(level: i64) -> Result<Compression> {
    match level {
        0 => Ok(Compression::NoCompression),
        1..=2 => Ok(Compression::Fastest),
        3..=4 => Ok(Compression::Fast),
        -1 | 5..=6 => Ok(Compression::Balanced),
        7..=9 => Ok(Compression::High),
        other => Err(invalid!("compression should be in [-1,9], got {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_pixels() {
        let pixels: Vec<u8> = (0..2 * 3 * 3).collect();
        let options = PngOptions { width: 3, height: 2, channels: 3, wide: false, compression: -1 };
        let file = encode(&pixels, options).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut back = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut back).unwrap();
        assert_eq!((info.width, info.height, back), (3, 2, pixels.clone()));
        assert!(encode(&pixels[1..], options).is_err());
        assert!(encode(&pixels, PngOptions { channels: 5, ..options }).is_err());
        assert!(encode(&[], PngOptions { width: 0, ..options }).is_err());
        assert!(encode(&pixels, PngOptions { compression: 10, ..options }).is_err());
    }
}
