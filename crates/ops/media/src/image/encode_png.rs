//! `EncodePng`: images as PNG files.

use crate::prelude::*;
use bytes::Bytes;
use thalweg_io::png_file::{self, PngOptions};

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
    let compression = node.attrs.int("compression")?;
    png_file::compression(compression)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let x = c.input(0)?;
        let Some((outer, [height, width, channels])) = x.shape().split_last_chunk::<3>() else {
            return Err(invalid!("image must be at least rank 3, got shape {}", x.shape()));
        };
        let wide = x.dtype() == DataType::Uint16;
        let bytes = if wide {
            let mut samples = reserve::with_capacity(x.byte_len())?;
            samples.extend(x.as_slice::<u16>()?.iter().flat_map(|v| v.to_be_bytes()));
            std::borrow::Cow::Owned(samples)
        } else {
            std::borrow::Cow::Borrowed(x.bytes()?)
        };
        let options = PngOptions { width: *width, height: *height, channels: *channels, wide, compression };
        options.check()?;
        let outer = Shape::new(outer)?;
        let mut files = reserve::with_capacity(outer.elements())?;
        for image in bytes.chunks_exact((bytes.len() / outer.elements().max(1)).max(1)) {
            files.push(Bytes::from(png_file::encode(image, options)?));
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
