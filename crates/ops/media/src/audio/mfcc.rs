//! `Mfcc`: the cepstrum of a spectrogram on the mel scale.

use crate::elementwise::for_chunks_of;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&MFCC];

static MFCC: Op = Op {
    name: "Mfcc",
    doc: "Mel-frequency cepstral coefficients of a spectrogram of squared magnitudes.",
    inputs: &["spectrogram: float", "sample_rate: int32"],
    outputs: &["output: float"],
    attrs: &[
        "upper_frequency_limit: float = 4000",
        "lower_frequency_limit: float = 20",
        "filterbank_channel_count: int = 40",
        "dct_coefficient_count: int = 13",
    ],
    shape: |c| {
        let x = c.rank(0, 3)?;
        c.scalar(1)?;
        let count = match c.attrs.int("dct_coefficient_count")? {
            n if n < 1 => return Err(invalid!("dct_coefficient_count must be positive, got {n}")),
            n => n,
        };
        Ok(vec![[x.dim(0), x.dim(1), count].into_iter().collect()])
    },
    grad: Missing,
    kernels: cpu!(make prepare),
    cases: |r| {
        let mut case =
            |bins: usize| Case::new(vec![r.range(&[2, 3, bins], 0.0, 2.0), Tensor::scalar(8000i32)]);
        let few = case(65).attr("filterbank_channel_count", 10i64).attr("dct_coefficient_count", 5i64);
        vec![case(257), few.attr("upper_frequency_limit", 3000f32)]
    },
    expensive: true,
    ..Op::PURE
};

#[derive(Clone, Copy)]
struct Settings {
    low: f64,
    high: f64,
    bands: usize,
    coefficients: usize,
}

/// Triangles on the mel scale: a bin belongs to two bands.
struct Bank {
    /// For each bin from `first` on: the band that it is on the falling side of, if any, and its weight there.
    bins: Vec<(Option<usize>, f64)>,
    first: usize,
    bands: usize,
    too_short: bool,
}

fn mel(frequency: f64) -> f64 {
    1127.0 * (frequency / 700.0).ln_1p()
}

impl Bank {
    fn new(settings: &Settings, length: usize, rate: f64) -> Result<Option<Bank>> {
        let Settings { low, high, bands, .. } = *settings;
        if rate <= 0.0 || length < 2 || low < 0.0 || high <= low {
            return Ok(None);
        }
        let (start, spacing) = (mel(low), (mel(high) - mel(low)) / (bands + 1) as f64);
        let centre = |band: usize| start + spacing * (band + 1) as f64;
        let width = 0.5 * rate / (length - 1) as f64;
        // Without the mean of the signal.
        let (first, last) = ((1.5 + low / width) as usize, (high / width) as usize);
        if last >= length {
            // A spectrum that ends below the upper limit: TensorFlow's coefficients are zeros then.
            return Ok(Some(Bank { bins: Vec::new(), first, bands, too_short: true }));
        }
        let mut bins = reserve::with_capacity((last + 1).saturating_sub(first))?;
        let mut band = 0;
        for i in first..=last {
            let at = mel(i as f64 * width);
            while band < bands && centre(band) < at {
                band += 1;
            }
            let (from, to) = match band {
                0 => (start, centre(0)),
                band => (centre(band - 1), centre(band)),
            };
            bins.push((band.checked_sub(1), (to - at) / (to - from)));
        }
        Ok(Some(Bank { bins, first, bands, too_short: false }))
    }

    fn energies(&self, frame: &[f32], out: &mut [f64]) {
        out.fill(0.0);
        for ((band, weight), power) in self.bins.iter().zip(&frame[self.first.min(frame.len())..]) {
            let size = f64::from(*power).sqrt();
            if let Some(band) = band {
                out[*band] += size * weight;
            }
            let next = band.map_or(0, |band| band + 1);
            if next < self.bands {
                out[next] += size - size * weight;
            }
        }
    }
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attrs = &node.attrs;
    let count = |name: &str| match attrs.int(name)? {
        n @ 1..=65536 => Ok(n as usize),
        n => Err(invalid!("{name} must be positive and at most 65536, got {n}")),
    };
    let settings = Settings {
        low: attrs.float("lower_frequency_limit")?.into(),
        high: attrs.float("upper_frequency_limit")?.into(),
        bands: count("filterbank_channel_count")?,
        coefficients: count("dct_coefficient_count")?,
    };
    if settings.coefficients > settings.bands {
        return Err(invalid!(
            "Mfcc initialization failed: {} coefficients of {} bands",
            settings.coefficients,
            settings.bands
        ));
    }
    Ok(Box::new(move |c: &mut OpCall<'_>| compute(c, &settings)))
}

fn compute(c: &mut OpCall<'_>, settings: &Settings) -> Result<()> {
    let &[channels, frames, length] = c.shape(0)?.dims() else {
        return Err(invalid!("spectrogram must be 3-dimensional, got shape {}", c.shape(0)?));
    };
    if !c.shape(1)?.is_scalar() {
        return Err(invalid!("Input sample_rate should be a scalar tensor, got {} instead.", c.shape(1)?));
    }
    let rate = c.scalar::<i32>(1)?;
    let Some(bank) = Bank::new(settings, length, rate.into())? else {
        return Err(invalid!("Mfcc initialization failed for channel count {length} and sample rate {rate}"));
    };
    let (bands, count) = (settings.bands, settings.coefficients);
    if bank.too_short {
        c.set(0, Tensor::zeros(DataType::Float, Shape::new(&[channels, frames, count])?)?);
        return Ok(());
    }
    let scale = (2.0 / bands as f64).sqrt();
    let step = std::f64::consts::PI / bands as f64;
    let cosine = |i: usize| scale * ((i / bands) as f64 * ((i % bands) as f64 + 0.5) * step).cos();
    let cosines = reserve::collect((0..bands * count).map(cosine))?;
    let mut out = Tensor::uninit(DataType::Float, Shape::new(&[channels, frames, count])?)?;
    let x = c.slice::<f32>(0)?;
    for_chunks_of(c.par(), out.as_mut_slice::<f32>()?, count, 8, &|range, out| {
        let mut energies = scratch::filled(bands, 0f64);
        for (frame, out) in range.zip(out.chunks_exact_mut(count)) {
            bank.energies(&x[frame * length..][..length], &mut energies);
            energies.iter_mut().for_each(|e| *e = if *e < 1e-12 { 1e-12f64.ln() } else { e.ln() });
            for (out, cosines) in out.iter_mut().zip(cosines.chunks_exact(bands)) {
                *out = energies.iter().zip(cosines).map(|(e, cosine)| e * cosine).sum::<f64>() as f32;
            }
        }
    });
    c.set(0, out);
    Ok(())
}
