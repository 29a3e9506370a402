//! `EncodePng`: images as PNG files.

use crate::prelude::*;
use bytes::Bytes;
use png::{BitDepth, ColorType, Compression, Encoder};

pub static ENCODE_PNG: Op = Op {
    name: "EncodePng",
    doc: "A PNG file of each image; its channels are grey, grey and alpha, RGB or RGBA.",
    inputs: &["image: T"],
    outputs: &["contents: string"],
    attrs: &["compression: int = -1", "T: {uint8, uint16} = DT_UINT8"],
    shape: |c| {
        let x = c.rank_at_least(0, 3)?;
        Ok(vec![x.dims().map_or(PartialShape::unknown(), |d| d[..d.len() - 3].iter().copied().collect())])
    },
    grad: Stops,
    kernels: cpu!(make prepare),
    // No cases to compare: encoders compress the same image differently; the tests below decode the result.
    cases: |_| vec![],
    expensive: true,
    ..Op::PURE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let compression = match node.attrs.int("compression")? {
        0 => Compression::NoCompression,
        1..=2 => Compression::Fastest,
        3..=4 => Compression::Fast,
        -1 | 5..=6 => Compression::Balanced,
        7..=9 => Compression::High,
        other => return Err(invalid!("compression should be in [-1,9], got {other}")),
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let x = c.input(0)?;
        let Some((outer, [rows, cols, channels])) = x.shape().split_last_chunk::<3>() else {
            return Err(invalid!("image must be at least rank 3, got shape {}", x.shape()));
        };
        let color = match channels {
            1 => ColorType::Grayscale,
            2 => ColorType::GrayscaleAlpha,
            3 => ColorType::Rgb,
            4 => ColorType::Rgba,
            other => return Err(invalid!("image must have 1, 2, 3, or 4 channels, got {other}")),
        };
        let (Ok(height), Ok(width)) = (u32::try_from(*rows), u32::try_from(*cols)) else {
            return Err(invalid!("image must be at most 2^32 pixels wide and high, got shape {}", x.shape()));
        };
        if height == 0 || width == 0 {
            return Err(invalid!("image must have at least one pixel, got shape {}", x.shape()));
        }
        let (bytes, depth) = match x.dtype() {
            DataType::Uint16 => {
                let mut samples = reserve::with_capacity(x.byte_len())?;
                samples.extend(x.as_slice::<u16>()?.iter().flat_map(|v| v.to_be_bytes()));
                (std::borrow::Cow::Owned(samples), BitDepth::Sixteen)
            }
            _ => (std::borrow::Cow::Borrowed(x.bytes()?), BitDepth::Eight),
        };
        let outer = Shape::new(outer)?;
        let mut files = reserve::with_capacity(outer.elements())?;
        for image in bytes.chunks_exact((bytes.len() / outer.elements().max(1)).max(1)) {
            // The encoder buffers filtered rows and the compressed data.
            reserve::probe(image.len().saturating_mul(2))?;
            let mut file = reserve::Written::default();
            let mut encoder = Encoder::new(&mut file, width, height);
            encoder.set_color(color);
            encoder.set_depth(depth);
            encoder.set_compression(compression);
            let written =
                encoder.write_header().and_then(|mut w| w.write_image_data(image).and_then(|()| w.finish()));
            written.map_err(|e| invalid!("cannot write a PNG file of shape {}: {e}", x.shape()))?;
            files.push(Bytes::from(file.0));
        }
        let out = Tensor::from_objects(outer, files)?;
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code};

    #[test]
    fn images_are_read_back_as_they_were() {
        for channels in 1..=4usize {
            let values: Vec<u16> = (0..2 * 3 * channels as u16).map(|i| i.wrapping_mul(4001)).collect();
            let wide = Tensor::from_slice(Shape::new(&[2, 3, channels]).unwrap(), &values).unwrap();
            let bytes: Vec<u8> = values.iter().map(|v| (v >> 8) as u8).collect();
            let narrow = Tensor::from_slice(Shape::new(&[2, 3, channels]).unwrap(), &bytes).unwrap();
            for image in [wide, narrow] {
                for compression in [-1, 0, 1, 9] {
                    let file =
                        call("EncodePng", &[image.clone()], &[("compression", Attr::Int(compression))])
                            .unwrap();
                    let back = call("DecodePng", &file, &[("dtype", Attr::Type(image.dtype()))]).unwrap();
                    assert!(back[0].same_bits(&image), "{channels} channels");
                }
            }
        }
    }

    #[test]
    fn several_images_are_several_files() {
        let images = Tensor::full(Shape::new(&[2, 3, 1, 1, 1]).unwrap(), 7u8).unwrap();
        assert_eq!(call("EncodePng", &[images], &[]).unwrap()[0].shape().dims(), &[2, 3]);
        for dims in [&[0, 0, 3][..], &[1, 1, 5], &[1, 1], &[1, 0, 1], &[2, 1, 1, 0]] {
            let image = Tensor::full(Shape::new(dims).unwrap(), 7u8).unwrap();
            assert_eq!(code(call("EncodePng", &[image], &[])), Code::InvalidArgument, "{dims:?}");
        }
    }
}
