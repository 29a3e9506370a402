//! `SobolSample`: points that fill a cube evenly.

use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use thalweg_math::random::{MAX_SOBOL_DIM, Sobol};

pub static SOBOL_SAMPLE: Op = Op {
    name: "SobolSample",
    doc: "`num_results` points of Sobol's sequence in `dim` dimensions, after the first `skip`.",
    inputs: &["dim: int32", "num_results: int32", "skip: int32"],
    outputs: &["samples: dtype"],
    attrs: &["dtype: {float, double} = DT_FLOAT"],
    shape: |c| {
        for i in 0..3 {
            c.scalar(i)?;
        }
        let size = |i: usize| c.ints(i).and_then(|v| v.first().copied()).filter(|v| *v >= 0).unwrap_or(-1);
        Ok(vec![[size(1), size(0)].into_iter().collect()])
    },
    grad: Stops,
    kernels: cpu!(run: dtype in f32, f64),
    cases: |_| {
        [(3, 5, 0), (40, 7, 1000)]
            .map(|(dim, n, skip)| Case::new([dim, n, skip].map(Tensor::scalar::<i32>).to_vec()))
            .to_vec()
    },
    host_inputs: &["dim", "num_results", "skip"],
    ..Op::PURE
};

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let (dim, results, skip) = (c.scalar::<i32>(0)?, c.scalar::<i32>(1)?, c.scalar::<i32>(2)?);
    if dim < 1 {
        return Err(invalid!("dim must be at least one, got {dim}"));
    }
    if dim as usize > MAX_SOBOL_DIM {
        return Err(invalid!("dim must be at most {MAX_SOBOL_DIM}, got {dim}"));
    }
    if results < 1 {
        return Err(invalid!("num_results must be at least one, got {results}"));
    }
    if skip < 0 {
        return Err(invalid!("skip must be non-negative, got {skip}"));
    }
    if results.checked_add(skip).is_none_or(|end| end == i32::MAX) {
        return Err(invalid!("num_results+skip must be less than {}, got {results} and {skip}", i32::MAX));
    }
    let dim = dim as usize;
    let sequences: [Sobol; MAX_SOBOL_DIM] = std::array::from_fn(Sobol::new);
    let mut out = Tensor::uninit(T::DTYPE, Shape::new(&[results as usize, dim])?)?;
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, dim, 512, &|range, out| {
        // The origin, point 0, is left out.
        let first = range.start as u32 + skip as u32 + 1;
        let mut at = sequences.map(|s| s.point(first));
        for (n, point) in (first..).zip(out.chunks_mut(dim)) {
            for ((x, at), sequence) in point.iter_mut().zip(&mut at).zip(&sequences) {
                *x = T::from_f64(f64::from(*at) / 4_294_967_296.0);
                *at = sequence.next(*at, n);
            }
        }
    });
    c.set(0, out);
    Ok(())
}
