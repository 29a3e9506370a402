//! `DecodeWav`, `EncodeWav`: 16-bit WAV files as samples from -1 to 1, and back.

use crate::prelude::*;
use bytes::Bytes;
use thalweg_io::wav;

pub static OPS: &[&Op] = &[&DECODE_WAV, &ENCODE_WAV];

static DECODE_WAV: Op = Op {
    name: "DecodeWav",
    doc: "The samples of a WAV file, [samples, channels], from -1 to 1, and its sample rate.",
    inputs: &["contents: string"],
    outputs: &["audio: float", "sample_rate: int32"],
    attrs: &["desired_channels: int = -1", "desired_samples: int = -1"],
    shape: |c| {
        c.scalar(0)?;
        let of = |name: &str| match c.attrs.int(name)? {
            n if n < -1 => Err(invalid!("{name} must be non-negative, got {n}")),
            n => Ok(n),
        };
        let (channels, samples) = (of("desired_channels")?, of("desired_samples")?);
        Ok(vec![[samples, channels].into_iter().collect(), PartialShape::scalar()])
    },
    grad: Missing,
    kernels: cpu!(decode),
    cases: |_| {
        let case = || Case::new(vec![Tensor::string(EXAMPLE)]);
        vec![
            case(),
            case().attr("desired_channels", 1i64),
            case().attr("desired_channels", 3i64).attr("desired_samples", 4i64),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static ENCODE_WAV: Op = Op {
    name: "EncodeWav",
    doc: "A WAV file of samples from -1 to 1, [samples, channels].",
    inputs: &["audio: float", "sample_rate: int32"],
    outputs: &["contents: string"],
    attrs: &[],
    shape: |c| {
        c.rank(0, 2)?;
        c.scalar(1)?;
        Ok(vec![PartialShape::scalar()])
    },
    kernels: cpu!(encode),
    cases: |r| vec![Case::new(vec![r.range(&[5, 2], -1.2, 1.2), Tensor::scalar(8000i32)])],
    ..DECODE_WAV
};

/// Three samples of two channels.
const EXAMPLE: &[u8] =
    b"RIFF\x30\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0\x40\x1f\0\0\0\x7d\0\0\x04\0\x10\0data\x0c\0\0\0\0\x10\0\xf0\x34\x12\xff\x7f\0\x80\x01\0";

fn decode(c: &mut OpCall<'_>) -> Result<()> {
    let contents = match c.input(0)?.strings()? {
        [contents] if c.shape(0)?.is_scalar() => contents.clone(),
        _ => return Err(invalid!("contents must be scalar, got shape {}", c.shape(0)?)),
    };
    if contents.len() > i32::MAX as usize {
        return Err(invalid!("WAV contents are too large for int: {}", contents.len()));
    }
    let (audio, rate) =
        wav::decode(&contents, c.attrs().int("desired_channels")?, c.attrs().int("desired_samples")?)?;
    c.set(0, audio);
    c.set(1, Tensor::scalar(rate as i32));
    Ok(())
}

fn encode(c: &mut OpCall<'_>) -> Result<()> {
    let &[_, channels] = c.shape(0)?.dims() else {
        return Err(invalid!("audio must be 2-dimensional, got shape {}", c.shape(0)?));
    };
    if !c.shape(1)?.is_scalar() {
        return Err(invalid!("Input sample_rate should be a scalar tensor, got {} instead.", c.shape(1)?));
    }
    let rate = c.scalar::<i32>(1)?;
    let Ok(rate) = u32::try_from(rate) else {
        return Err(invalid!("sample_rate must be in (0, 2^32), got: {rate}"));
    };
    let file = wav::encode(c.slice::<f32>(0)?, rate, channels)?;
    c.set(0, Tensor::from_object(Bytes::from(file)));
    Ok(())
}
