//! `AudioSpectrogram`: how strong each frequency is in windows of a signal.

use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use thalweg_math::fft::RealPlan;

pub static OPS: &[&Op] = &[&AUDIO_SPECTROGRAM];

static AUDIO_SPECTROGRAM: Op = Op {
    name: "AudioSpectrogram",
    doc: "Magnitudes of frequencies in windows of each channel: [channels, windows, frequencies].",
    inputs: &["input: float"],
    outputs: &["spectrogram: float"],
    attrs: &["window_size: int", "stride: int", "magnitude_squared: bool = false"],
    shape: |c| {
        let x = c.rank(0, 2)?;
        let (window, stride) = sizes(c.attrs)?;
        let windows = match x.dim(0) {
            -1 => -1,
            n => windows(n as usize, window, stride) as i64,
        };
        Ok(vec![[x.dim(1), windows, (window.next_power_of_two() / 2 + 1) as i64].into_iter().collect()])
    },
    grad: Missing,
    kernels: cpu!(make prepare),
    cases: |r| {
        let mut case = |samples: usize, window: i64, stride: i64| {
            Case::new(vec![r.range(&[samples, 2], -1.0, 1.0)])
                .attr("window_size", window)
                .attr("stride", stride)
        };
        vec![case(20, 8, 3), case(9, 5, 5).attr("magnitude_squared", true), case(3, 8, 2)]
    },
    expensive: true,
    ..Op::PURE
};

/// Window size and stride.
fn sizes(attrs: &Attrs) -> Result<(usize, usize)> {
    match (attrs.int("window_size")?, attrs.int("stride")?) {
        (window, _) if !(2..=1 << 30).contains(&window) => {
            Err(invalid!("window_size must be at least 2 and at most 2^30, got {window}"))
        }
        (_, stride) if stride < 1 => Err(invalid!("stride must be strictly positive, got {stride}")),
        (window, stride) => Ok((window as usize, stride as usize)),
    }
}

fn windows(samples: usize, window: usize, stride: usize) -> usize {
    samples.checked_sub(window).map_or(0, |rest| 1 + rest / stride)
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let ((window, stride), squared) = (sizes(&node.attrs)?, node.attrs.bool("magnitude_squared")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let &[samples, channels] = c.shape(0)?.dims() else {
            return Err(invalid!("input must be 2-dimensional, got shape {}", c.shape(0)?));
        };
        let length = window.next_power_of_two();
        let (count, bins) = (windows(samples, window, stride), length / 2 + 1);
        let shape = Shape::new(&[channels, count, bins])?;
        if shape.elements() == 0 {
            c.set(0, Tensor::zeros(DataType::Float, shape)?);
            return Ok(());
        }
        let step = std::f64::consts::TAU / window as f64;
        let hann = reserve::collect((0..window).map(|i| 0.5 - 0.5 * (step * i as f64).cos()))?;
        let plan = RealPlan::<f64>::new(length);
        let mut out = Tensor::uninit(DataType::Float, shape)?;
        let x = c.slice::<f32>(0)?;
        for_chunks_of(c.par(), out.as_mut_slice::<f32>()?, bins, 4, &|range, out| {
            let mut signal = scratch::filled(length, 0f64);
            let [mut spectrum, mut work] =
                [bins, plan.work_len()].map(|n| scratch::filled(n, ComplexDouble::default()));
            for (i, out) in range.zip(out.chunks_exact_mut(bins)) {
                let (channel, start) = (i / count, i % count * stride);
                for (k, (v, hann)) in signal.iter_mut().zip(&hann).enumerate() {
                    *v = f64::from(x[(start + k) * channels + channel]) * hann;
                }
                signal[window..].fill(0.0);
                plan.forward(&signal, &mut spectrum, &mut work);
                for (out, x) in out.iter_mut().zip(&spectrum) {
                    let power = x.norm_sqr() as f32;
                    *out = if squared { power } else { power.sqrt() };
                }
            }
        });
        c.set(0, out);
        Ok(())
    }))
}
