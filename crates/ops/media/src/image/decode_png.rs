//! `DecodePng`: the pixels of a PNG file.

use crate::prelude::*;
use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Transformations};
use std::io::Cursor;

pub static DECODE_PNG: Op = Op {
    name: "DecodePng",
    doc: "The pixels of a PNG file, with the channels of the file, or 1 (grey), 3 (RGB) or 4 (RGBA).",
    inputs: &["contents: string"],
    outputs: &["image: dtype"],
    attrs: &["channels: int = 0", "dtype: {uint8, uint16} = DT_UINT8"],
    shape: |c| {
        c.scalar(0)?;
        // The kernel validates the number of channels: a graph may have the node and never run it.
        let channels = match c.attrs.int("channels")? {
            0 => -1,
            n if n < 0 => return Err(invalid!("channels must be non-negative, got {n}")),
            n => n,
        };
        Ok(vec![[-1, -1, channels].into_iter().collect()])
    },
    grad: Stops,
    kernels: cpu!(make super::decode::prepare),
    cases: |_| {
        let case = |channels: i64| Case::new(vec![Tensor::string(EXAMPLE)]).attr("channels", channels);
        vec![case(0), case(1), case(4), case(3).attr("dtype", DataType::Uint16)]
    },
    expensive: true,
    ..Op::PURE
};

/// Two RGB pixels: (10, 20, 30) and (200, 100, 50).
const EXAMPLE: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x01\x08\x02\0\0\0\x7b\x40\xe8\xdd\
    \0\0\0\x12IDAT\x78\x01\x01\x07\0\xf8\xff\0\x0a\x14\x1e\xc8\x64\x32\x04\x71\x01\x9bK\x05\x75\x7c\0\0\0\0IEND\xaeB\x60\x82";

/// The largest compression ratio of deflate.
const MOST_COMPRESSED: usize = 1100;

/// Memory that the decoder needs for any image.
const DECODER: usize = 1 << 20;

/// The pixels of a file: with so many channels, or its own if 0; as bytes, 16 bits, or parts of 1.
pub fn decode(contents: &[u8], channels: usize, dtype: DataType) -> Result<Tensor> {
    let file = Pixels::read(contents)?;
    let want = if channels == 0 { file.own_channels } else { channels };
    let mut out = Tensor::uninit(dtype, Shape::new(&[file.rows, file.cols, want])?)?;
    match dtype {
        DataType::Uint16 => file.write(want, out.as_mut_slice::<u16>()?, |v| v),
        DataType::Float => file.write(want, out.as_mut_slice::<f32>()?, |v| f32::from(v) * (1.0 / 65535.0)),
        // The high byte of 16 bits; 8-bit samples were widened by repeating it.
        _ => file.write(want, out.as_mut_slice::<u8>()?, |v| (v >> 8) as u8),
    }
    Ok(out)
}

/// A decoded file, with palettes and narrow samples expanded.
struct Pixels {
    rows: usize,
    cols: usize,
    /// Channels in the file; alpha from a transparent colour is not counted, alpha of a palette is.
    own_channels: usize,
    /// Channels in `samples`.
    channels: usize,
    wide: bool,
    samples: Tensor,
}

fn wrong(contents: &[u8], e: DecodingError) -> Error {
    match e {
        DecodingError::LimitsExceeded => resource_exhausted("the PNG image is over the memory limit"),
        e => invalid!("Invalid PNG data, size {}: {e}", contents.len()),
    }
}

impl Pixels {
    fn read(contents: &[u8]) -> Result<Pixels> {
        let limits = Limits { bytes: thalweg_core::buffer::limit() };
        let mut decoder = Decoder::new_with_limits(Cursor::new(contents), limits);
        decoder.set_transformations(Transformations::EXPAND);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        let header = decoder.read_header_info().map_err(|e| wrong(contents, e))?;
        let (rows, cols, own) = (header.height as usize, header.width as usize, header.color_type);
        // The declared size is checked against the length of the file before memory is allocated.
        let raw = header.bits_per_pixel().saturating_mul(cols).div_ceil(8).saturating_mul(rows);
        if raw > contents.len().saturating_mul(MOST_COMPRESSED) {
            return Err(invalid!(
                "Invalid PNG data, size {}: too little for an image of {rows} by {cols} pixels",
                contents.len()
            ));
        }
        let mut reader = decoder.read_info().map_err(|e| wrong(contents, e))?;
        let size =
            reader.output_buffer_size().ok_or_else(|| resource_exhausted("the PNG image is too large"))?;
        let (color, depth) = reader.output_color_type();
        let mut samples = Tensor::uninit(DataType::Uint8, Shape::vector(size))?;
        // The decoder holds some rows and the deflate window.
        reserve::probe(size.checked_div(rows).unwrap_or(0).saturating_mul(8).saturating_add(DECODER))?;
        reader.next_frame(samples.as_mut_slice::<u8>()?).map_err(|e| wrong(contents, e))?;
        let own_channels = if own == ColorType::Indexed { color.samples() } else { own.samples() };
        Ok(Pixels {
            rows,
            cols,
            own_channels,
            channels: color.samples(),
            wide: depth == BitDepth::Sixteen,
            samples,
        })
    }

    fn write<T>(&self, want: usize, out: &mut [T], narrow: fn(u16) -> T) {
        let bytes = self.samples.bytes().unwrap_or(&[]);
        let sample = |i: usize| match self.wide {
            true => u16::from_be_bytes([bytes[2 * i], bytes[2 * i + 1]]),
            false => u16::from(bytes[i]) * 257,
        };
        for (pixel, out) in out.chunks_exact_mut(want.max(1)).enumerate() {
            let at = |channel: usize| sample(pixel * self.channels + channel);
            let (color, alpha) = match self.channels {
                1 => ([at(0); 3], u16::MAX),
                2 => ([at(0); 3], at(1)),
                3 => ([at(0), at(1), at(2)], u16::MAX),
                _ => ([at(0), at(1), at(2)], at(3)),
            };
            let values = match want {
                1 => [self.grey(color), 0, 0, 0],
                2 => [color[0], alpha, 0, 0],
                _ => [color[0], color[1], color[2], alpha],
            };
            out.iter_mut().zip(values).for_each(|(out, v)| *out = narrow(v));
        }
    }

    /// The luminance of a colour, in fixed point: 0.299 red, 0.587 green, 0.114 blue.
    fn grey(&self, [r, g, b]: [u16; 3]) -> u16 {
        if r == g && r == b {
            return r;
        }
        let sum = |r: u16, g: u16, b: u16| 9798 * u32::from(r) + 19235 * u32::from(g) + 3735 * u32::from(b);
        if self.wide {
            ((sum(r, g, b) + 16384) >> 15) as u16
        } else {
            ((sum(r >> 8, g >> 8, b >> 8) >> 15) * 257) as u16
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EXAMPLE;
    use crate::prelude::*;
    use crate::testing::{call, code};

    /// A small file truncated anywhere, or with any bit flipped, is rejected or decodes to an image.
    #[test]
    fn files_cut_or_flipped_anywhere_do_no_harm() {
        let decode = |bytes: &[u8]| call("DecodePng", &[Tensor::string(bytes)], &[]);
        assert_eq!(decode(EXAMPLE).unwrap()[0].as_slice::<u8>().unwrap(), &[10, 20, 30, 200, 100, 50]);
        for end in 0..EXAMPLE.len() - 20 {
            assert_eq!(code(decode(&EXAMPLE[..end])), Code::InvalidArgument, "cut at {end}");
        }
        for bit in 0..EXAMPLE.len() * 8 {
            let mut bytes = EXAMPLE.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn channels_are_those_asked_for() {
        for (channels, want) in [(1, vec![18u8, 124]), (3, vec![10, 20, 30, 200, 100, 50])] {
            let image =
                call("DecodePng", &[Tensor::string(EXAMPLE)], &[("channels", Attr::Int(channels))]).unwrap();
            assert_eq!(image[0].as_slice::<u8>().unwrap(), want);
        }
        let two = call("DecodePng", &[Tensor::string(EXAMPLE)], &[("channels", Attr::Int(2))]);
        assert_eq!(code(two), Code::InvalidArgument);
    }
}
