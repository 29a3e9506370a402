//! `DecodeJpeg`, `DecodeAndCropJpeg`, `DecodeGif`, `DecodeBmp`, `DecodeImage`, `ExtractJpegShape`: pixels of image files. As in
//! TensorFlow, the first bytes of a file decide how it is read, and most of these ops read the other formats too.

use super::decode_png;
use crate::prelude::*;
use thalweg_io::{bmp, gif, jpeg};

pub static OPS: &[&Op] =
    &[&DECODE_JPEG, &DECODE_AND_CROP_JPEG, &DECODE_GIF, &DECODE_BMP, &DECODE_IMAGE, &EXTRACT_JPEG_SHAPE];

static DECODE_JPEG: Op = Op {
    name: "DecodeJpeg",
    doc: "The pixels of a JPEG file, with the channels of the file, or 1 (grey) or 3 (RGB).",
    inputs: &["contents: string"],
    outputs: &["image: uint8"],
    attrs: &[
        "channels: int = 0",
        "ratio: int = 1",
        "fancy_upscaling: bool = true",
        "try_recover_truncated: bool = false",
        "acceptable_fraction: float = 1",
        "dct_method: string = ''",
    ],
    shape: image_shape,
    grad: Missing,
    kernels: cpu!(make prepare),
    cases: |_| {
        let case = || Case::new(vec![Tensor::string(EXAMPLE)]);
        vec![
            case(),
            case().attr("channels", 1i64),
            case().attr("dct_method", "INTEGER_ACCURATE").attr("ratio", 2i64),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static DECODE_AND_CROP_JPEG: Op = Op {
    name: "DecodeAndCropJpeg",
    doc: "A window of the pixels of a JPEG file: [y, x, height, width].",
    inputs: &["contents: string", "crop_window: int32"],
    shape: |c| {
        PartialShape::vector(4).merge(&c.input(1))?;
        let size =
            c.ints(1).filter(|w| w.len() == 4 && w[2] >= 0 && w[3] >= 0).map_or([-1, -1], |w| [w[2], w[3]]);
        Ok(vec![[size[0], size[1], channels_dim(c)?].into_iter().collect()])
    },
    cases: |_| {
        let case = |window: [i32; 4]| Case::new(vec![Tensor::string(EXAMPLE), int_vector(&window)]);
        vec![case([1, 2, 3, 2]), case([0, 0, 5, 6]).attr("channels", 1i64)]
    },
    ..DECODE_JPEG
};

static DECODE_GIF: Op = Op {
    name: "DecodeGif",
    doc: "The frames of a GIF file, each drawn over the one before.",
    attrs: &[],
    shape: |c| {
        c.scalar(0)?;
        Ok(vec![[-1, -1, -1, 3].into_iter().collect()])
    },
    cases: |_| vec![Case::new(vec![Tensor::string(GIF)])],
    ..DECODE_JPEG
};

static DECODE_BMP: Op = Op {
    name: "DecodeBmp",
    doc: "The pixels of a BMP file.",
    attrs: &["channels: int = 0"],
    shape: |c| {
        c.scalar(0)?;
        Ok(vec![[-1, -1, channels_dim(c)?].into_iter().collect()])
    },
    cases: |_| {
        vec![
            Case::new(vec![Tensor::string(BMP)]),
            Case::new(vec![Tensor::string(BMP)]).attr("channels", 4i64),
        ]
    },
    ..DECODE_JPEG
};

static DECODE_IMAGE: Op = Op {
    name: "DecodeImage",
    doc: "The pixels of a BMP, GIF, JPEG or PNG file, in the type asked for.",
    outputs: &["image: dtype"],
    attrs: &[
        "channels: int = 0",
        "dtype: {uint8, uint16, float} = DT_UINT8",
        "expand_animations: bool = true",
    ],
    shape: |c| {
        c.scalar(0)?;
        let channels = channels_dim(c)?;
        Ok(vec![match c.attrs.bool("expand_animations")? {
            true => PartialShape::unknown(),
            false => [-1, -1, channels].into_iter().collect(),
        }])
    },
    cases: |_| {
        let case = |file: &[u8], dtype: DataType| Case::new(vec![Tensor::string(file)]).attr("dtype", dtype);
        vec![
            case(EXAMPLE, DataType::Float),
            case(BMP, DataType::Uint16),
            case(GIF, DataType::Float),
            case(GIF, DataType::Uint8).attr("expand_animations", false),
        ]
    },
    ..DECODE_JPEG
};

static EXTRACT_JPEG_SHAPE: Op = Op {
    name: "ExtractJpegShape",
    doc: "Height, width and channels of a JPEG file, without decoding it.",
    outputs: &["image_shape: output_type"],
    attrs: &["output_type: {int32, int64} = DT_INT32"],
    shape: |c| {
        c.scalar(0)?;
        Ok(vec![PartialShape::vector(3)])
    },
    kernels: cpu!(extract_shape),
    cases: |_| vec![Case::new(vec![Tensor::string(EXAMPLE)])],
    expensive: false,
    ..DECODE_JPEG
};

/// 5 by 6 pixels, red above blue.
const EXAMPLE: &[u8] = include_bytes!("example.jpg");

/// Two frames of 2 by 1 pixels.
const GIF: &[u8] = b"GIF89a\x02\0\x01\0\x80\0\0\xff\0\0\0\x80\xff,\0\0\0\0\x02\0\x01\0\0\x02\x02D\n\0,\x01\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// 2 by 1 pixels: blue above (3, 2, 1).
const BMP: &[u8] = b"BM\x3e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x02\x03\0\xff\0\0\0";

fn channels_dim(c: &ShapeCall<'_>) -> Result<i64> {
    match c.attrs.int("channels")? {
        0 => Ok(-1),
        n if n < 0 => Err(invalid!("channels must be non-negative, got {n}")),
        n => Ok(n),
    }
}

/// The kernel validates the number of channels: a graph may have the node and never run it.
fn image_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.scalar(0)?;
    Ok(vec![[-1, -1, channels_dim(c)?].into_iter().collect()])
}

/// What an op makes of a file.
struct Decoding {
    op: &'static str,
    channels: usize,
    dtype: DataType,
    /// All frames, if there are several.
    expand: bool,
    jpeg: jpeg::Decode,
}

impl Decoding {
    fn of(node: &KernelNode) -> Result<Decoding> {
        let attrs = &node.attrs;
        let channels = match (node.op, attrs.get("channels")) {
            ("DecodeGif", _) | (_, None) => 3,
            _ => match attrs.int("channels")? {
                n @ (0 | 1 | 3 | 4) => n as usize,
                n => return Err(invalid!("`channels` must be 0, 1, 3 or 4 but got {n}")),
            },
        };
        let mut of_jpeg = jpeg::Decode { channels, fast: true, ..Default::default() };
        if attrs.get("ratio").is_some() {
            of_jpeg.ratio = match attrs.int("ratio")? {
                n @ (1 | 2 | 4 | 8) => n as usize,
                n => return Err(invalid!("ratio must be 1, 2, 4, or 8, got {n}")),
            };
            of_jpeg.fancy = attrs.bool("fancy_upscaling")?;
            of_jpeg.recover = attrs.bool("try_recover_truncated")?;
            of_jpeg.fraction = attrs.float("acceptable_fraction")?;
            of_jpeg.fast = match attrs.str("dct_method")? {
                "" | "INTEGER_FAST" => true,
                "INTEGER_ACCURATE" => false,
                _ => {
                    return Err(invalid!(
                        "dct_method must be one of {{'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}}"
                    ));
                }
            };
        }
        let dtype = node.outputs.first().map_or(DataType::Uint8, |p| p.dtype);
        let expand = attrs.get("expand_animations").is_none() || attrs.bool("expand_animations")?;
        Ok(Decoding { op: node.op, channels, dtype, expand, jpeg: of_jpeg })
    }

    fn run(&self, c: &OpCall<'_>) -> Result<Tensor> {
        let contents = match c.input(0)?.strings()? {
            [contents] if c.shape(0)?.is_scalar() => contents.clone(),
            _ => return Err(invalid!("`contents` must be scalar but got shape {}", c.shape(0)?)),
        };
        match &contents[..] {
            [] => Err(invalid!("Input is empty.")),
            [0xff, 0xd8, 0xff, ..] => self.jpeg(c, &contents),
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => {
                self.not_by("PNG", &["DecodeBmp", "DecodeAndCropJpeg"])?;
                let image = decode_png::decode(&contents, self.channels, self.dtype)?;
                self.with_frames(image)
            }
            [b'G', b'I', b'F', b'8', ..] => self.gif(&contents),
            [b'B', b'M', ..] => {
                self.not_by("BMP", &["DecodeJpeg", "DecodeAndCropJpeg", "DecodePng", "DecodeGif"])?;
                if self.channels == 1 {
                    return Err(invalid!("`channels` must be 0, 3 or 4 for BMP, but got 1"));
                }
                self.typed(bmp::decode(&contents, self.channels)?)
            }
            _ => Err(invalid!("Unknown image file format. One of JPEG, PNG, GIF, BMP required.")),
        }
    }

    fn not_by(&self, format: &str, ops: &[&str]) -> Result<()> {
        if self.op == "DecodeAndCropJpeg" && format != "JPEG" {
            return Err(invalid!("DecodeAndCropJpeg operation can run on JPEG only, but detected {format}."));
        }
        match ops.contains(&self.op) {
            true => Err(invalid!("Trying to decode {format} format using a wrong op: {}", self.op)),
            false => Ok(()),
        }
    }

    /// With one frame, where the op gives frames.
    fn with_frames(&self, image: Tensor) -> Result<Tensor> {
        if self.op != "DecodeGif" {
            return Ok(image);
        }
        let dims: Vec<usize> = [1].iter().chain(image.shape().dims()).copied().collect();
        image.reshape(Shape::new(&dims)?)
    }

    fn jpeg(&self, c: &OpCall<'_>, contents: &[u8]) -> Result<Tensor> {
        self.not_by("JPEG", &["DecodeBmp"])?;
        if self.channels == 4 {
            return Err(invalid!("JPEG does not support 4 channels"));
        }
        let mut options = self.jpeg;
        if self.op == "DecodeAndCropJpeg" {
            options.crop = match c.int_vector(1)?[..] {
                [top, left, rows, cols] => Some(jpeg::Crop { top, left, rows, cols }),
                ref other => return Err(invalid!("crop_size must have four elements, got {}", other.len())),
            };
        }
        let wrong = |e: Error| match e.code() {
            Code::InvalidArgument => e.context("Invalid JPEG data or crop window"),
            _ => e,
        };
        let image = jpeg::decode(contents, &options).map_err(wrong)?;
        self.typed(self.with_frames(image)?)
    }

    fn gif(&self, contents: &[u8]) -> Result<Tensor> {
        self.not_by("GIF", &["DecodeBmp"])?;
        if !matches!(self.channels, 0 | 3) {
            return Err(invalid!("channels must be 0 or 3 for GIF, got {}", self.channels));
        }
        let frames = gif::decode(contents, self.expand)?;
        let single = match self.op {
            "DecodePng" | "DecodeJpeg" if frames.shape().dim(0)? > 1 => {
                return Err(invalid!(
                    "Got {} frames, but animated gifs can only be decoded by tf.io.decode_gif or tf.io.decode_image",
                    frames.shape().dim(0)?
                ));
            }
            "DecodePng" | "DecodeJpeg" => true,
            _ => !self.expand,
        };
        let frames = match single {
            true => {
                let inner = frames.shape().without(0);
                frames.reshape(inner)?
            }
            false => frames,
        };
        self.typed(frames)
    }

    /// Bytes as the type asked for.
    fn typed(&self, image: Tensor) -> Result<Tensor> {
        let (shape, bytes) = (image.shape().clone(), image.as_slice::<u8>()?);
        match self.dtype {
            DataType::Uint16 => Tensor::build::<u16>(shape, |out| {
                out.iter_mut().zip(bytes).for_each(|(out, v)| *out = u16::from(*v) << 8)
            }),
            DataType::Float => Tensor::build::<f32>(shape, |out| {
                out.iter_mut().zip(bytes).for_each(|(out, v)| *out = f32::from(*v) * (1.0 / 255.0))
            }),
            _ => Ok(image),
        }
    }
}

pub fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let decoding = Decoding::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let image = decoding.run(c)?;
        c.set(0, image);
        Ok(())
    }))
}

fn extract_shape(c: &mut OpCall<'_>) -> Result<()> {
    let contents = match c.input(0)?.strings()? {
        [contents] if c.shape(0)?.is_scalar() => contents.clone(),
        _ => return Err(invalid!("contents must be scalar, got shape {}", c.shape(0)?)),
    };
    let dims = jpeg::dimensions(&contents)
        .map_err(|e| e.context(format_args!("Invalid JPEG data, size {}", contents.len())))?;
    let out = crate::convert::int_tensor(c.output_type(0)?, &dims.map(|d| d as i64))?;
    c.set(0, out);
    Ok(())
}
