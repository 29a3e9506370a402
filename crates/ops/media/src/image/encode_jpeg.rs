//! `EncodeJpeg`, `EncodeJpegVariableQuality`: images as JPEG files.

use crate::prelude::*;
use bytes::Bytes;
use thalweg_io::jpeg::{Encode, encode};

pub static OPS: &[&Op] = &[&ENCODE_JPEG, &ENCODE_JPEG_VARIABLE_QUALITY];

static ENCODE_JPEG: Op = Op {
    name: "EncodeJpeg",
    doc: "A JPEG file of an image of 1 (grey) or 3 (RGB) channels.",
    inputs: &["image: uint8"],
    outputs: &["contents: string"],
    attrs: &[
        "format: {'', 'grayscale', 'rgb'} = ''",
        "quality: int = 95",
        "progressive: bool = false",
        "optimize_size: bool = false",
        "chroma_downsampling: bool = true",
        "density_unit: {'in', 'cm'} = 'in'",
        "x_density: int = 300",
        "y_density: int = 300",
        "xmp_metadata: string = ''",
    ],
    shape: |c| {
        c.rank(0, 3)?;
        Ok(vec![PartialShape::scalar()])
    },
    grad: Missing,
    kernels: cpu!(make prepare),
    cases: |r| {
        let mut case = |channels: usize| Case::new(vec![pixels(r, channels)]);
        vec![
            case(3),
            case(1).attr("optimize_size", true),
            case(3).attr("progressive", true).attr("quality", 60i64),
            case(3)
                .attr("chroma_downsampling", false)
                .attr("density_unit", "cm")
                .attr("xmp_metadata", "<x/>"),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static ENCODE_JPEG_VARIABLE_QUALITY: Op = Op {
    name: "EncodeJpegVariableQuality",
    doc: "A JPEG file of an image of 1 (grey) or 3 (RGB) channels, of this quality.",
    inputs: &["images: uint8", "quality: int32"],
    attrs: &[],
    shape: |c| {
        c.rank(0, 3)?;
        c.scalar(1)?;
        Ok(vec![PartialShape::scalar()])
    },
    kernels: cpu!(variable_quality),
    cases: |r| vec![Case::new(vec![pixels(r, 3), Tensor::scalar(70i32)])],
    ..ENCODE_JPEG
};

fn pixels(r: &mut CaseGen, channels: usize) -> Tensor {
    let values: Vec<u8> = (0..9 * 11 * channels).map(|_| r.below(256) as u8).collect();
    Shape::new(&[9, 11, channels])
        .and_then(|s| Tensor::from_slice(s, &values))
        .unwrap_or_else(|_| Tensor::scalar(0u8))
}

fn write(c: &OpCall<'_>, format: &str, options: &Encode<'_>) -> Result<Tensor> {
    let shape = c.shape(0)?;
    let &[rows, cols, channels] = shape.dims() else {
        return Err(invalid!("image must be 3-dimensional, got shape {shape}"));
    };
    match (format, channels) {
        ("", 1 | 3) | ("grayscale", 1) | ("rgb", 3) => {}
        ("", _) => return Err(invalid!("image must have 1 or 3 channels, got {channels}")),
        _ => return Err(invalid!("format {format} expects another number of channels, got {channels}")),
    }
    if !(0..=100).contains(&options.quality) {
        return Err(invalid!("quality must be in [0,100], got {}", options.quality));
    }
    if rows == 0 || cols == 0 || rows.saturating_mul(cols) >= 1 << 29 {
        return Err(invalid!("JPEG encoding failed: an image of {rows} by {cols} pixels"));
    }
    let file = encode(c.slice::<u8>(0)?, [rows, cols, channels], options)?;
    Ok(Tensor::from_object(Bytes::from(file)))
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attrs = &node.attrs;
    let density = |name: &str| attrs.int(name).map(|v| v as u16);
    let (format, xmp) = (attrs.bytes("format")?.clone(), attrs.bytes("xmp_metadata")?.clone());
    let quality = attrs.int("quality")?;
    if !(0..=100).contains(&quality) {
        return Err(invalid!("quality must be in [0,100], got {quality}"));
    }
    let options = Encode {
        quality: quality as i32,
        progressive: attrs.bool("progressive")?,
        optimize: attrs.bool("optimize_size")?,
        downsample: attrs.bool("chroma_downsampling")?,
        density_unit: if attrs.str("density_unit")? == "in" { 1 } else { 2 },
        density: [density("x_density")?, density("y_density")?],
        xmp: b"",
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let format = std::str::from_utf8(&format).unwrap_or_default();
        let out = write(c, format, &Encode { xmp: &xmp, ..options.clone() })?;
        c.set(0, out);
        Ok(())
    }))
}

fn variable_quality(c: &mut OpCall<'_>) -> Result<()> {
    let options = Encode {
        quality: c.scalar::<i32>(1)?,
        progressive: false,
        optimize: false,
        downsample: true,
        density_unit: 1,
        density: [300, 300],
        xmp: b"",
    };
    let out = write(c, "", &options)?;
    c.set(0, out);
    Ok(())
}
