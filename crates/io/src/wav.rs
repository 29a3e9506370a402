//! WAV files of 16-bit samples.

use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::reserve;

/// The size of the header before the samples.
const HEADER: usize = 44;

/// A WAV file of samples in [-1, 1], frame by frame; what is beyond is clipped, and what is no number is silence.
pub fn encode(samples: &[f32], channels: usize, rate: u32) -> Result<Vec<u8>> {
    let too_large =
        || invalid!("{} samples of {channels} channels are too many for a WAV file", samples.len());
    if channels == 0 || !samples.len().is_multiple_of(channels) {
        return Err(invalid!("{} samples are no frames of {channels} channels", samples.len()));
    }
    let data = samples.len().checked_mul(2).and_then(|n| u32::try_from(n).ok()).ok_or_else(too_large)?;
    let total = data.checked_add(HEADER as u32 - 8).ok_or_else(too_large)?;
    let frame = u16::try_from(channels * 2).map_err(|_| too_large())?;
    let per_second = rate.checked_mul(u32::from(frame)).ok_or_else(too_large)?;
    let mut out = reserve::with_capacity(HEADER + data as usize)?;
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&total.to_le_bytes());
    out.extend_from_slice(b"WAVEfmt ");
    out.extend_from_slice(&16u32.to_le_bytes());
    // Samples as they are: pulse-code modulation.
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&(frame / 2).to_le_bytes());
    out.extend_from_slice(&rate.to_le_bytes());
    out.extend_from_slice(&per_second.to_le_bytes());
    out.extend_from_slice(&frame.to_le_bytes());
    out.extend_from_slice(&16u16.to_le_bytes());
    out.extend_from_slice(b"data");
    out.extend_from_slice(&data.to_le_bytes());
    // A cast saturates, and makes 0 of what is no number.
    out.extend(samples.iter().flat_map(|x| ((x * 32768.0).round_ties_even() as i16).to_le_bytes()));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What TensorFlow writes.
    #[test]
    fn samples_are_scaled_rounded_and_clipped() {
        let file = encode(&[0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 0.1], 1, 100).unwrap();
        let header = b"RIFF4\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0d\0\0\0\xc8\0\0\0\x02\0\x10\0data\x10\0\0\0";
        assert_eq!(file[..HEADER], header[..]);
        assert_eq!(file[HEADER..], b"\0\0\0@\0\xc0\xff\x7f\0\x80\xff\x7f\0\x80\xcd\x0c"[..]);
        let file = encode(&[f32::NAN, f32::INFINITY], 2, 8000).unwrap();
        assert_eq!(file[HEADER..], b"\0\0\xff\x7f"[..]);
        assert!(encode(&[0.0; 3], 2, 1).is_err() && encode(&[], 0, 1).is_err());
    }
}
