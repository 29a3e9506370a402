//! `DecodeCompressed`, `DecodePaddedRaw`: the bytes of strings.

use super::samples::strings;
use crate::prelude::*;
use bytes::Bytes;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use std::io::{ErrorKind, Read};
use thalweg_core::memory;

pub static OPS: &[&Op] = &[&DECODE_COMPRESSED, &DECODE_PADDED_RAW];

static DECODE_COMPRESSED: Op = Op {
    name: "DecodeCompressed",
    doc: "Decompresses each string.",
    inputs: &["bytes: string"],
    outputs: &["output: string"],
    attrs: &["compression_type: string = ''"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(make decompress),
    cases: |_| {
        let zlib = vec![0x78, 0x9c, 0x4b, 0x4c, 0x4a, 0x06, 0, 0x02, 0x4d, 0x01, 0x27];
        vec![
            Case::new(vec![strings(&["a", "b"])]),
            Case::new(vec![Tensor::string(zlib)]).attr("compression_type", "ZLIB"),
        ]
    },
    expensive: true,
    ..Op::PURE
};

fn decompress(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let read: fn(&[u8]) -> Result<Vec<u8>> = match node.attrs.str("compression_type")? {
        "" => |bytes| reserve::copied(bytes),
        "ZLIB" => |bytes| inflated(|| ZlibDecoder::new(bytes)),
        "GZIP" => |bytes| match bytes {
            [0x1F, 0x8B, ..] | [] => inflated(|| MultiGzDecoder::new(bytes)),
            _ => Err(data_loss("inflate() failed: incorrect header check")),
        },
        "ZSTD" => return Err(unimplemented("DecodeCompressed of ZSTD; ZLIB and GZIP are there")),
        other => {
            return Err(invalid!("Only ZLIB, GZIP or NONE are supported compressions, got '{other}'"));
        }
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let x = c.input(0)?;
        let out = reserve::try_collect(x.strings()?.iter().map(|s| read(s).map(Bytes::from)))?;
        let out = Tensor::from_objects(x.shape().clone(), out)?;
        c.set(0, out);
        Ok(())
    }))
}

/// What a decoder allocates at most: its window and tables, and the texts in a header.
const DECODER: usize = 512 << 10;

/// All that a decoder gives. As in TensorFlow, input that ends early is decompressed as far as it goes.
fn inflated<R: Read>(decoder: impl FnOnce() -> R) -> Result<Vec<u8>> {
    let _promise = memory::promise(DECODER)?;
    let mut decoder = decoder();
    let (mut out, mut buffer) = (Vec::new(), [0u8; 4096]);
    loop {
        match decoder.read(&mut buffer) {
            Ok(0) => return Ok(out),
            Ok(n) => reserve::extend(&mut out, &buffer[..n])?,
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(out),
            Err(e) => return Err(data_loss(format_args!("inflate() failed: {e}"))),
        }
    }
}

static DECODE_PADDED_RAW: Op = Op {
    name: "DecodePaddedRaw",
    doc: "The bytes of each string, cut or padded with zeros to `fixed_length`, read as elements of `out_type`, along a new last dimension.",
    inputs: &["input_bytes: string", "fixed_length: int32"],
    outputs: &["output: out_type"],
    attrs: &[
        "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}",
        "little_endian: bool = true",
    ],
    shape: |c| {
        c.scalar(1)?;
        let size = c.attrs.dtype("out_type")?.size().max(1) as i64;
        let last = match c.ints(1).as_deref() {
            Some([n]) => {
                check_length(*n, size)?;
                n / size
            }
            _ => -1,
        };
        Ok(vec![c.input(0).concat(&PartialShape::vector(last))])
    },
    grad: Stops,
    kernels: cpu!(padded),
    cases: |_| {
        let text = strings(&["abcdef", "x"]);
        vec![
            Case::new(vec![text.clone(), Tensor::scalar(4i32)]).attr("out_type", DataType::Int16),
            Case::new(vec![text, Tensor::scalar(8i32)])
                .attr("out_type", DataType::Int32)
                .attr("little_endian", false),
        ]
    },
    ..Op::PURE
};

fn check_length(length: i64, size: i64) -> Result<()> {
    if length <= 0 {
        return Err(invalid!("fixed_length ({length}) must be greater than zero."));
    }
    if length % size != 0 {
        return Err(invalid!("fixed_length ({length}) must be a multiple of the size of out_type ({size})"));
    }
    Ok(())
}

fn padded(c: &mut OpCall<'_>) -> Result<()> {
    let (dtype, little) = (c.output_type(0)?, c.attrs().bool("little_endian")?);
    if !c.shape(1)?.is_scalar() {
        return Err(invalid!("k must be scalar, got shape {}", c.shape(1)?));
    }
    let (length, size) = (c.scalar_int(1)?, dtype.size().max(1));
    check_length(length, size as i64)?;
    let length = length as usize;
    let shape = Shape::new(&[c.shape(0)?.dims(), &[length / size]].concat())?;
    let mut out = Tensor::zeros(dtype, shape)?;
    let bytes = out.bytes_mut()?;
    for (row, s) in bytes.chunks_exact_mut(length).zip(c.input(0)?.strings()?) {
        let n = s.len().min(length);
        row[..n].copy_from_slice(&s[..n]);
    }
    if little != cfg!(target_endian = "little") {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    c.set(0, out);
    Ok(())
}
