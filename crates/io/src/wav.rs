//! WAV files: 16-bit PCM.

use thalweg_core::error::Result;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_core::{invalid, reserve};

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let part = self.at.checked_add(n).and_then(|end| self.data.get(self.at..end));
        self.at = self.at.saturating_add(n);
        part.ok_or_else(|| {
            invalid!("Data too short when trying to read string: the WAV file has {} bytes", self.data.len())
        })
    }

    fn four(&mut self) -> Result<[u8; 4]> {
        let b = self.take(4)?;
        Ok([b[0], b[1], b[2], b[3]])
    }

    fn long(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.four()?))
    }

    fn short(&mut self) -> Result<u16> {
        let b = self.take(2)?;
        Ok(u16::from_le_bytes([b[0], b[1]]))
    }

    fn expect(&mut self, text: &[u8; 4]) -> Result<()> {
        match self.four()? {
            found if found == *text => Ok(()),
            found => Err(invalid!(
                "Header mismatch: Expected {} but found {}",
                text.escape_ascii(),
                found.escape_ascii()
            )),
        }
    }
}

/// Chunks that may stand before the format.
const BEFORE_FORMAT: [&[u8; 4]; 8] = [b"JUNK", b"bext", b"iXML", b"qlty", b"mext", b"levl", b"link", b"axml"];

/// The samples, from -1 to 1, of shape [samples, channels], and the sample rate. As many samples and channels as wanted, if not -1: what
/// is missing is zero, or the last channel again.
pub fn decode(data: &[u8], want_channels: i64, want_samples: i64) -> Result<(Tensor, u32)> {
    let mut r = Reader { data, at: 0 };
    r.expect(b"RIFF")?;
    r.long()?;
    r.expect(b"WAVE")?;
    let (channels, rate) = format(&mut r)?;
    let (mut found, bytes_per_frame) = (None, 2 * usize::from(channels));
    while r.at < data.len() {
        let (kind, size) = (r.four()?, r.long()?);
        if size > i32::MAX as u32 {
            return Err(invalid!("WAV data chunk '{}' is too large: {size} bytes", kind.escape_ascii()));
        }
        if &kind != b"data" {
            r.at = r.at.saturating_add(size as usize);
            continue;
        }
        if found.is_some() {
            return Err(invalid!("More than one data chunk found in WAV"));
        }
        let frames = size as usize / bytes_per_frame;
        found = Some(r.take(frames * bytes_per_frame)?);
    }
    let Some(found) = found else { return Err(invalid!("No data chunk found in WAV")) };
    let (own_channels, own_samples) = (usize::from(channels), found.len() / bytes_per_frame);
    let wanted =
        |want: i64, own: usize| if want == -1 { Ok(own) } else { usize::try_from(want).map_err(|_| want) };
    let (Ok(channels), Ok(samples)) =
        (wanted(want_channels, own_channels), wanted(want_samples, own_samples))
    else {
        return Err(invalid!(
            "desired_channels and desired_samples must be -1 or more: {want_channels}, {want_samples}"
        ));
    };
    let shape = Shape::new(&[samples, channels])?;
    let out = Tensor::build::<f32>(shape, |out| {
        let value = |sample: usize, channel: usize| {
            let at = (sample * own_channels + channel.min(own_channels - 1)) * 2;
            match found.get(at..at + 2) {
                Some(b) => f32::from(i16::from_le_bytes([b[0], b[1]])) / 32768.0,
                None => 0.0,
            }
        };
        for (i, out) in out.iter_mut().enumerate() {
            *out = value(i / channels, i % channels);
        }
    })?;
    Ok((out, rate))
}

/// The format chunk: channels and sample rate.
fn format(r: &mut Reader<'_>) -> Result<(u16, u32)> {
    loop {
        let kind = r.four()?;
        if &kind == b"fmt " {
            break;
        }
        if !BEFORE_FORMAT.contains(&&kind) {
            return Err(invalid!("Unexpected field {}", kind.escape_ascii()));
        }
        let size = r.long()?;
        r.take(size as usize)?;
    }
    let size = r.long()?;
    if size != 16 && size != 18 {
        return Err(invalid!("Bad format chunk size for WAV: Expected 16 or 18, but got {size}"));
    }
    let (code, channels, rate) = (r.short()?, r.short()?, r.long()?);
    let (bytes_per_second, bytes_per_frame, bits) = (r.long()?, r.short()?, r.short()?);
    if code != 1 {
        return Err(invalid!("Bad audio format for WAV: Expected 1 (PCM), but got {code}"));
    }
    if channels < 1 {
        return Err(invalid!("Bad number of channels for WAV: Expected at least 1, but got {channels}"));
    }
    if bits != 16 {
        return Err(invalid!("Can only read 16-bit WAV files, but received {bits}"));
    }
    if u32::from(bytes_per_frame) != 2 * u32::from(channels) {
        return Err(invalid!("Bad bytes per sample in WAV header: {bytes_per_frame} of {channels} channels"));
    }
    if bytes_per_second != u32::from(bytes_per_frame).wrapping_mul(rate) {
        return Err(invalid!("Bad bytes per second in WAV header: {bytes_per_second} at {rate} samples"));
    }
    if size == 18 {
        r.at = r.at.saturating_add(2);
    }
    Ok((channels, rate))
}

/// The file of samples from -1 to 1, frame by frame.
pub fn encode(samples: &[f32], rate: u32, channels: usize) -> Result<Vec<u8>> {
    let Some(channels) = u16::try_from(channels).ok().filter(|n| *n > 0) else {
        return Err(invalid!("num_channels must be in (0, 2^16), got: {channels}"));
    };
    if rate == 0 {
        return Err(invalid!("sample_rate must be in (0, 2^32), got: 0"));
    }
    let size = samples.len().saturating_mul(2);
    let Some(file) = u32::try_from(size).ok().and_then(|size| size.checked_add(44)) else {
        return Err(invalid!("Provided channels and frames cannot be encoded as a WAV."));
    };
    let per_frame = channels.wrapping_mul(2);
    let mut out = reserve::with_capacity(file as usize)?;
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&(file - 8).to_le_bytes());
    out.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0");
    out.extend_from_slice(&channels.to_le_bytes());
    out.extend_from_slice(&rate.to_le_bytes());
    out.extend_from_slice(&rate.wrapping_mul(2 * u32::from(channels)).to_le_bytes());
    out.extend_from_slice(&per_frame.to_le_bytes());
    out.extend_from_slice(b"\x10\0data");
    out.extend_from_slice(&(size as u32).to_le_bytes());
    for v in samples {
        out.extend_from_slice(&((v * 32768.0).round() as i16).to_le_bytes());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_is_read_back_as_it_was() {
        let samples = [0.5f32, -0.25, 1.5, -1.0];
        let file = encode(&samples, 8000, 2).unwrap();
        let (back, rate) = decode(&file, -1, -1).unwrap();
        assert_eq!((back.shape().dims(), rate), (&[2, 2][..], 8000));
        assert_eq!(back.as_slice::<f32>().unwrap(), &[0.5, -0.25, 32767.0 / 32768.0, -1.0]);
        let (longer, _) = decode(&file, 3, 3).unwrap();
        assert_eq!(longer.as_slice::<f32>().unwrap()[..3], [0.5, -0.25, -0.25]);
        assert_eq!(longer.as_slice::<f32>().unwrap()[6..], [0.0; 3]);
    }

    #[test]
    fn files_cut_or_flipped_anywhere_do_no_harm() {
        let good = encode(&[0.1, 0.2, 0.3], 16000, 1).unwrap();
        assert!((0..good.len()).all(|end| decode(&good[..end], -1, -1).is_err()));
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&bytes, -1, -1);
        }
    }

    /// The bytes that TensorFlow writes.
    #[test]
    fn samples_are_scaled_rounded_and_clipped() {
        let file = encode(&[0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 0.1], 100, 1).unwrap();
        let header = b"RIFF4\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0d\0\0\0\xc8\0\0\0\x02\0\x10\0data\x10\0\0\0";
        assert_eq!(file[..44], header[..]);
        assert_eq!(file[44..], b"\0\0\0@\0\xc0\xff\x7f\0\x80\xff\x7f\0\x80\xcd\x0c"[..]);
        let file = encode(&[f32::NAN, f32::INFINITY], 8000, 2).unwrap();
        assert_eq!(file[44..], b"\0\0\xff\x7f"[..]);
        assert!(encode(&[], 1, 0).is_err());
    }
}
