//! `RFFT`, `IRFFT` and their forms in two and three dimensions: transforms of real numbers, of whose Hermitian spectrum one half is
//! kept.

use super::complex::complex;
use super::transform::{Spectrum, axis, share};
use crate::moving::Block;
use crate::prelude::*;
use thalweg_math::decompose::Scalar;
use thalweg_math::fft::{self, Direction};

pub static OPS: &[&Op] = &[&RFFT, &RFFT2D, &RFFT3D, &IRFFT, &IRFFT2D, &IRFFT3D];

const TYPES: &[&str] =
    &["Treal: {float, double} = DT_FLOAT", "Tcomplex: {complex64, complex128} = DT_COMPLEX64"];

static RFFT: Op = Op {
    name: "RFFT",
    doc: "The Fourier transform of real numbers over the innermost dimension, the first `fft_length` of it: the first half of the spectrum.",
    inputs: &["input: Treal", "fft_length: int32"],
    outputs: &["output: Tcomplex"],
    attrs: TYPES,
    shape: |c| shape(c, 1, true),
    grad: Rule(super::gradients::real_forward),
    kernels: cpu!(make prepare::<1, true>),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 6]), int_vector(&[6])]),
            Case::new(vec![r.tensor(&[7]), int_vector(&[5])]),
            Case::new(vec![r.tensor(&[2, 3, 5]), int_vector(&[5])]),
        ]
    },
    expensive: true,
    host_inputs: &["fft_length"],
    ..Op::PURE
};

static RFFT2D: Op = Op {
    name: "RFFT2D",
    doc: "The Fourier transform of real numbers over the innermost two dimensions: half of the spectrum, along the last.",
    shape: |c| shape(c, 2, true),
    kernels: cpu!(make prepare::<2, true>),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3, 6]), int_vector(&[3, 6])]),
            Case::new(vec![r.tensor(&[4, 5]), int_vector(&[4, 5])]),
        ]
    },
    ..RFFT
};

static RFFT3D: Op = Op {
    name: "RFFT3D",
    doc: "The Fourier transform of real numbers over the innermost three dimensions: half of the spectrum, along the last.",
    shape: |c| shape(c, 3, true),
    grad: Missing,
    kernels: cpu!(make prepare::<3, true>),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 2, 3, 4]), int_vector(&[2, 3, 4])])],
    ..RFFT
};

static IRFFT: Op = Op {
    name: "IRFFT",
    doc: "The real numbers, `fft_length` of them, whose spectrum's first half the innermost dimension is.",
    inputs: &["input: Tcomplex", "fft_length: int32"],
    outputs: &["output: Treal"],
    shape: |c| shape(c, 1, false),
    grad: Rule(super::gradients::real_inverse),
    kernels: cpu!(make prepare::<1, false>),
    cases: |r| {
        vec![
            Case::new(vec![complex(r, &[2, 4]), int_vector(&[6])]),
            Case::new(vec![complex(r, &[4]), int_vector(&[7])]),
            Case::new(vec![complex(r, &[2, 1]), int_vector(&[1])]),
        ]
    },
    ..RFFT
};

static IRFFT2D: Op = Op {
    name: "IRFFT2D",
    doc: "The real numbers whose spectrum's half, along the last dimension, is given: over the innermost two dimensions.",
    shape: |c| shape(c, 2, false),
    kernels: cpu!(make prepare::<2, false>),
    cases: |r| {
        vec![
            Case::new(vec![complex(r, &[2, 3, 4]), int_vector(&[3, 6])]),
            Case::new(vec![complex(r, &[4, 3]), int_vector(&[4, 5])]),
        ]
    },
    ..IRFFT
};

static IRFFT3D: Op = Op {
    name: "IRFFT3D",
    doc: "The real numbers whose spectrum's half, along the last dimension, is given: over the innermost three dimensions.",
    shape: |c| shape(c, 3, false),
    grad: Missing,
    kernels: cpu!(make prepare::<3, false>),
    cases: |r| vec![Case::new(vec![complex(r, &[2, 2, 3, 3]), int_vector(&[2, 3, 4])])],
    ..IRFFT
};

/// Elements kept of a spectrum of this length.
fn half(len: i64) -> i64 {
    if len <= 0 { len } else { len / 2 + 1 }
}

fn shape(c: &ShapeCall<'_>, rank: usize, forward: bool) -> Result<Vec<PartialShape>> {
    let x = c.rank_at_least(0, rank)?;
    merge_dim(c.rank(1, 1)?.dim(0), rank as i64)?;
    let Some(dims) = x.dims() else { return Ok(vec![PartialShape::unknown()]) };
    let lengths = c.ints(1).filter(|l| l.len() == rank && l.iter().all(|l| *l >= 0));
    let mut lengths = lengths.unwrap_or_else(|| vec![-1; rank]);
    if let (Some(last), true) = (lengths.last_mut(), forward) {
        *last = half(*last);
    }
    Ok(vec![dims[..dims.len() - rank].iter().copied().chain(lengths).collect()])
}

fn prepare<const RANK: usize, const FORWARD: bool>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let types = (node.attrs.dtype("Treal")?, node.attrs.dtype("Tcomplex")?);
    let way = match (types, FORWARD) {
        ((DataType::Float, DataType::Complex64), true) => run_forward::<Complex32>,
        ((DataType::Float, DataType::Complex64), false) => run_inverse::<Complex32>,
        ((DataType::Double, DataType::Complex128), true) => run_forward::<ComplexDouble>,
        ((DataType::Double, DataType::Complex128), false) => run_inverse::<ComplexDouble>,
        ((real, complex), _) => {
            return Err(invalid!(
                "Wrong types for a real FFT: {real} and {complex} are of different precision"
            ));
        }
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let sizes = Sizes::of(c, RANK, FORWARD)?;
        way(c, &sizes)
    }))
}

/// The checked sizes of one call.
struct Sizes {
    /// The first dimension that is transformed.
    first: usize,
    lengths: Vec<usize>,
    /// The shape of the part of the input that is used.
    used: Shape,
    out: Shape,
}

impl Sizes {
    fn of(c: &OpCall<'_>, rank: usize, forward: bool) -> Result<Sizes> {
        let x = c.shape(0)?;
        let Some(first) = x.rank().checked_sub(rank) else {
            return Err(invalid!("Input must have rank of at least {rank} but got: {x}"));
        };
        if c.shape(1)?.dims() != [rank] {
            return Err(invalid!("fft_length must have shape [{rank}], got {}", c.shape(1)?));
        }
        let lengths = c.input(1)?.to_i64s()?;
        let (mut used, mut out) = (x.to_i64(), x.to_i64());
        for (i, len) in lengths.iter().enumerate() {
            if *len < 0 {
                return Err(invalid!("fft_length[{i}] must >= 0, but got: {len}"));
            }
            let kept = if i + 1 == rank { half(*len) } else { *len };
            let needed = if forward { *len } else { kept };
            if x[first + i] != 0 && (x[first + i] as i64) < needed {
                return Err(invalid!(
                    "Input dimension {} must have length of at least {needed} but got: {}",
                    first + i,
                    x[first + i]
                ));
            }
            used[first + i] = needed;
            out[first + i] = if forward { kept } else { *len };
        }
        let lengths = lengths.iter().map(|l| *l as usize).collect();
        Ok(Sizes { first, lengths, used: Shape::from_i64(&used)?, out: Shape::from_i64(&out)? })
    }

    fn count(&self) -> usize {
        self.lengths.iter().product()
    }
}

/// The first elements of each dimension of an input.
fn cropped(c: &OpCall<'_>, sizes: &Sizes) -> Result<Tensor> {
    let x = c.input(0)?;
    if *x.shape() == sizes.used {
        return Ok(x.clone());
    }
    let mut out = Tensor::uninit(x.dtype(), sizes.used.clone())?;
    let (from, to) = (x.shape().strides(), sizes.used.strides());
    let mut block = Block::at(0, 0);
    for (i, n) in sizes.used.iter().enumerate() {
        block = block.dim(*n, from[i] as isize, to[i] as isize);
    }
    block.copy(c.par(), x, &mut out)?;
    Ok(out)
}

fn run_forward<C: Spectrum>(c: &mut OpCall<'_>, sizes: &Sizes) -> Result<()>
where
    C::Real: Element,
{
    let mut out = Tensor::zeros(C::DTYPE, sizes.out.clone())?;
    if c.input(0)?.elements() > 0 && out.elements() > 0 {
        let x = cropped(c, sizes)?;
        let len = sizes.lengths.last().copied().unwrap_or(1);
        let data = out.as_mut_slice::<C>()?;
        fft::real::<C::Real>(c.par(), x.as_slice::<C::Real>()?, len, data);
        for i in (sizes.first..sizes.out.rank() - 1).rev() {
            axis(c.par(), Direction::Forward, data, &sizes.out, i);
        }
    }
    c.set(0, out);
    Ok(())
}

fn run_inverse<C: Spectrum>(c: &mut OpCall<'_>, sizes: &Sizes) -> Result<()>
where
    C::Real: Element,
{
    let mut out = Tensor::zeros(<C::Real as Element>::DTYPE, sizes.out.clone())?;
    if c.input(0)?.elements() > 0 && out.elements() > 0 {
        let mut x = cropped(c, sizes)?;
        let half = x.as_mut_slice::<C>()?;
        for i in sizes.first..sizes.used.rank() - 1 {
            axis(c.par(), Direction::Inverse, half, &sizes.used, i);
        }
        let len = sizes.lengths.last().copied().unwrap_or(1);
        let data = out.as_mut_slice::<C::Real>()?;
        fft::inverse_real::<C::Real>(c.par(), half, len, data);
        let share = share(sizes.count());
        data.iter_mut().for_each(|x| *x = x.scale(share));
    }
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let x = floats(&[6], &[1.0; 6]);
        for lengths in [ints(&[1], &[8]), ints(&[1], &[-1]), ints(&[2], &[6, 6]), ints(&[], &[6])] {
            assert_eq!(code(call("RFFT", &[x.clone(), lengths], &[])), Code::InvalidArgument);
        }
        assert_eq!(code(call("RFFT2D", &[x, ints(&[2], &[1, 6])], &[])), Code::InvalidArgument);
    }

    #[test]
    fn a_spectrum_is_that_of_tensorflow() {
        let x = floats(&[6], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let got = call("RFFT", &[x.clone(), ints(&[1], &[4])], &[]).unwrap();
        let want = [(6.0, 0.0), (-2.0, 2.0), (-2.0, 0.0)].map(|(re, im)| Complex32::new(re, im));
        assert_eq!(got[0].as_slice::<Complex32>().unwrap(), &want);
        // The imaginary parts of the first and the middle element do not count.
        let shifted: Vec<Complex32> = (0..3).map(|i| Complex32::new(i as f32, 1.0)).collect();
        let shifted = Tensor::from_slice(Shape::new(&[3]).unwrap(), &shifted).unwrap();
        let got = call("IRFFT", &[shifted, ints(&[1], &[4])], &[]).unwrap();
        assert_eq!(got[0].as_slice::<f32>().unwrap(), &[1.0, -1.0, 0.0, 0.0]);
        let none = call("RFFT", &[x, ints(&[1], &[0])], &[]).unwrap();
        assert_eq!(none[0].elements(), 0);
    }
}
