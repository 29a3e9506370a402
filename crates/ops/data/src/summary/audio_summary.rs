//! `AudioSummary`, `AudioSummaryV2`: sounds, for event files.

use super::{serialized, tag, value};
use crate::prelude::*;
use bytes::Bytes;
use thalweg_io::wav;
use thalweg_proto::{Summary, summary};

pub static AUDIO_SUMMARY_V2: Op = Op {
    name: "AudioSummaryV2",
    doc: "A serialized Summary with up to `max_outputs` sounds of the batch, as WAV files.",
    inputs: &["tag: string", "tensor: float", "sample_rate: float"],
    outputs: &["summary: string"],
    attrs: &["max_outputs: int >= 1 = 3"],
    shape: |c| {
        c.scalar(0)?;
        shape_call::scalar(c)
    },
    grad: Stops,
    kernels: cpu!(run_v2),
    cases: |r| {
        vec![
            Case::new(vec![Tensor::string("t"), r.tensor(&[4, 3]), Tensor::scalar(100f32)]),
            Case::new(vec![Tensor::string("t"), r.tensor(&[2, 3, 2]), Tensor::scalar(8000f32)])
                .attr("max_outputs", 1),
        ]
    },
    ..Op::PURE
};

pub static AUDIO_SUMMARY: Op = Op {
    name: "AudioSummary",
    inputs: &["tag: string", "tensor: float"],
    attrs: &["sample_rate: float", "max_outputs: int >= 1 = 3"],
    kernels: cpu!(run_v1),
    cases: |r| vec![Case::new(vec![Tensor::string("t"), r.tensor(&[4, 3])]).attr("sample_rate", 100f32)],
    ..AUDIO_SUMMARY_V2
};

fn run_v2(c: &mut OpCall<'_>) -> Result<()> {
    let rate = c.input(2)?.to_scalar()?;
    run(c, rate)
}

fn run_v1(c: &mut OpCall<'_>) -> Result<()> {
    let rate = c.attrs().float("sample_rate")?;
    run(c, rate)
}

fn run(c: &mut OpCall<'_>, rate: f32) -> Result<()> {
    let most = usize::try_from(c.attrs().int("max_outputs")?).unwrap_or(0);
    let summary = sounds(&tag(c, 0)?, c.input(1)?, most, rate)?;
    c.set(0, serialized(&summary)?);
    Ok(())
}

/// The first sounds of a batch, of one channel or of several.
pub fn sounds(tag: &str, batch: &Tensor, most: usize, rate: f32) -> Result<Summary> {
    let (count, frames, channels) = match batch.shape().dims()[..] {
        [count, frames] => (count, frames, 1),
        [count, frames, channels] => (count, frames, channels),
        _ => return Err(invalid!("Tensor must be 3-D or 2-D, got: {}", batch.shape())),
    };
    if rate.is_nan() || rate <= 0.0 {
        return Err(invalid!("sample_rate must be > 0, got {rate}"));
    }
    let mut summary = Summary::default();
    for i in 0..count.min(most) {
        let one = batch.rows(i, 1)?;
        let file = wav::encode(one.as_slice::<f32>()?, (rate as u32).max(1), channels)?;
        let audio = summary::Audio {
            sample_rate: rate,
            num_channels: channels as i64,
            length_frames: frames as i64,
            encoded_audio_string: Bytes::from(file),
            content_type: "audio/wav".to_string(),
        };
        let tag = match most {
            1 => reserve::text(format_args!("{tag}/audio"))?,
            _ => reserve::text(format_args!("{tag}/audio/{i}"))?,
        };
        reserve::push(&mut summary.value, value(tag, summary::value::Value::Audio(audio)))?;
    }
    Ok(summary)
}
