//! `FFT`, `FFT2D`, `FFT3D` and their inverses.

use super::transform::{Spectrum, axis, scale};
use crate::prelude::*;
use thalweg_math::fft::Direction;

pub static OPS: &[&Op] = &[&FFT, &FFT2D, &FFT3D, &IFFT, &IFFT2D, &IFFT3D];

static FFT: Op = Op {
    name: "FFT",
    doc: "The discrete Fourier transform over the innermost dimension.",
    inputs: &["input: Tcomplex"],
    outputs: &["output: Tcomplex"],
    attrs: &["Tcomplex: {complex64, complex128} = DT_COMPLEX64"],
    shape: |c| shape(c, 1),
    grad: Rule(super::gradients::complex),
    kernels: cpu!(forward_1: Tcomplex in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![complex(r, &[2, 6])]), Case::new(vec![complex(r, &[37])])],
    expensive: true,
    ..Op::PURE
};

static FFT2D: Op = Op {
    name: "FFT2D",
    doc: "The discrete Fourier transform over the innermost two dimensions.",
    shape: |c| shape(c, 2),
    kernels: cpu!(forward_2: Tcomplex in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![complex(r, &[2, 3, 4])])],
    ..FFT
};

static FFT3D: Op = Op {
    name: "FFT3D",
    doc: "The discrete Fourier transform over the innermost three dimensions.",
    shape: |c| shape(c, 3),
    kernels: cpu!(forward_3: Tcomplex in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![complex(r, &[2, 2, 3, 2])])],
    ..FFT
};

static IFFT: Op = Op {
    name: "IFFT",
    doc: "The inverse discrete Fourier transform over the innermost dimension.",
    kernels: cpu!(inverse_1: Tcomplex in Complex32, ComplexDouble),
    ..FFT
};

static IFFT2D: Op = Op {
    name: "IFFT2D",
    doc: "The inverse discrete Fourier transform over the innermost two dimensions.",
    kernels: cpu!(inverse_2: Tcomplex in Complex32, ComplexDouble),
    ..FFT2D
};

static IFFT3D: Op = Op {
    name: "IFFT3D",
    doc: "The inverse discrete Fourier transform over the innermost three dimensions.",
    kernels: cpu!(inverse_3: Tcomplex in Complex32, ComplexDouble),
    ..FFT3D
};

/// Random complex numbers.
pub fn complex(r: &mut CaseGen, dims: &[usize]) -> Tensor {
    let (re, im) = (r.tensor(dims), r.tensor(dims));
    let parts = re.as_slice::<f32>().into_iter().flatten().zip(im.as_slice::<f32>().into_iter().flatten());
    let values: Vec<Complex32> = parts.map(|(re, im)| Complex32::new(*re, *im)).collect();
    Tensor::from_slice(re.shape().clone(), &values).unwrap_or_else(|_| Tensor::scalar(Complex32::ZERO))
}

fn shape(c: &ShapeCall<'_>, rank: usize) -> Result<Vec<PartialShape>> {
    Ok(vec![c.rank_at_least(0, rank)?])
}

fn run<C: Spectrum>(c: &mut OpCall<'_>, rank: usize, direction: Direction) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let Some(first) = shape.rank().checked_sub(rank) else {
        return Err(invalid!("Input must have rank of at least {rank} but got: {shape}"));
    };
    let mut out = c.take(0)?;
    let data = out.as_mut_slice::<C>()?;
    for i in (first..shape.rank()).rev() {
        axis(c.par(), direction, data, &shape, i);
    }
    if direction == Direction::Inverse {
        scale(data, shape[first..].iter().product());
    }
    c.set(0, out);
    Ok(())
}

fn forward_1<C: Spectrum>(c: &mut OpCall<'_>) -> Result<()> {
    run::<C>(c, 1, Direction::Forward)
}

fn forward_2<C: Spectrum>(c: &mut OpCall<'_>) -> Result<()> {
    run::<C>(c, 2, Direction::Forward)
}

fn forward_3<C: Spectrum>(c: &mut OpCall<'_>) -> Result<()> {
    run::<C>(c, 3, Direction::Forward)
}

fn inverse_1<C: Spectrum>(c: &mut OpCall<'_>) -> Result<()> {
    run::<C>(c, 1, Direction::Inverse)
}

fn inverse_2<C: Spectrum>(c: &mut OpCall<'_>) -> Result<()> {
    run::<C>(c, 2, Direction::Inverse)
}

fn inverse_3<C: Spectrum>(c: &mut OpCall<'_>) -> Result<()> {
    run::<C>(c, 3, Direction::Inverse)
}
