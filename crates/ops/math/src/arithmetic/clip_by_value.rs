//! `ClipByValue`: values clipped to two bounds.

use crate::elementwise::for_chunks;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&CLIP_BY_VALUE];

static CLIP_BY_VALUE: Op = Op {
    name: "ClipByValue",
    doc: "t clipped to clip_value_min and clip_value_max; each bound is a scalar or has the shape of t.",
    inputs: &["t: T", "clip_value_min: T", "clip_value_max: T"],
    outputs: &["output: T"],
    attrs: &["T: numbertype"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64; run_complex: T in Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.range(&[], -1.0, -0.5), r.range(&[], 0.5, 1.0)]),
            Case::new(vec![r.tensor(&[5]), r.range(&[5], -1.0, -0.5), r.range(&[5], 0.5, 1.0)]),
        ]
    },
    ..Op::PURE
};

/// The gradient flows to t inside the bounds, and to the bound applied outside of them.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, low, high, dy) = (g.x[0], g.x[1], g.x[2], g.dy()?);
    let zeros = g.unary("ZerosLike", dy)?;
    let (under, over) = (g.binary("Less", x, low)?, g.binary("Greater", x, high)?);
    let outside = g.binary("LogicalOr", under, over)?;
    let dx = g.op("SelectV2", [outside.into(), zeros.into(), dy.into()], &[])?;
    let at_low = g.op("SelectV2", [under.into(), dy.into(), zeros.into()], &[])?;
    let at_high = g.op("SelectV2", [over.into(), dy.into(), zeros.into()], &[])?;
    let low = crate::gradients::sum_to_shape_of(g, at_low, low, x)?;
    let high = crate::gradients::sum_to_shape_of(g, at_high, high, x)?;
    Ok(vec![dx.into(), low.into(), high.into()])
}

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    clip_all(c, |x: T, low, high| clip(x, low, high))
}

/// Clips real and imaginary parts separately.
fn run_complex<T: ComplexNumber<Part: Real>>(c: &mut OpCall<'_>) -> Result<()> {
    clip_all(c, |x: T, low: T, high: T| {
        T::new(clip(x.re(), low.re(), high.re()), clip(x.im(), low.im(), high.im()))
    })
}

/// Elements of a block: some kilobytes.
const BLOCK: usize = 1024;

fn clip_all<T: Element>(c: &mut OpCall<'_>, clip: impl Fn(T, T, T) -> T + Sync) -> Result<()> {
    let shape = c.shape(0)?.clone();
    for i in [1, 2] {
        let s = c.shape(i)?;
        if *s != shape && !s.is_scalar() {
            return Err(invalid!(
                "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. \
                 input shape: {shape}, input {i} has {s}"
            ));
        }
    }
    let par = c.par();
    let reused = c.reuse(0, T::DTYPE, &shape);
    let x = if reused.is_some() { None } else { Some(c.slice::<T>(0)?) };
    let mut out = match reused {
        Some(t) => t,
        None => Tensor::uninit(T::DTYPE, shape)?,
    };
    let (low, high) = (c.slice::<T>(1)?, c.slice::<T>(2)?);
    for_chunks(par, out.as_mut_slice::<T>()?, &|r, out| {
        // Block by block: what is clipped is still in the cache.
        for (start, out) in (r.start..).step_by(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let r = start..start + out.len();
            if let Some(x) = x {
                out.copy_from_slice(&x[r.clone()]);
            }
            match (low, high) {
                ([low], [high]) => out.iter_mut().for_each(|x| *x = clip(*x, *low, *high)),
                ([low], _) => out.iter_mut().zip(&high[r]).for_each(|(x, high)| *x = clip(*x, *low, *high)),
                (_, [high]) => out.iter_mut().zip(&low[r]).for_each(|(x, low)| *x = clip(*x, *low, *high)),
                _ => {
                    for ((x, low), high) in out.iter_mut().zip(&low[r.clone()]).zip(&high[r]) {
                        *x = clip(*x, *low, *high);
                    }
                }
            }
        }
    });
    c.set(0, out);
    Ok(())
}

#[inline]
fn clip<T: Real>(x: T, low: T, high: T) -> T {
    x.smaller(high).larger(low)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn complex_numbers_are_clipped_part_by_part() {
        let z = |re, im| Tensor::scalar(Complex32::new(re, im));
        let y = call("ClipByValue", &[z(3.0, -4.0), z(-1.0, -1.0), z(1.0, 1.0)], &[]).unwrap();
        assert_eq!(y[0].to_scalar::<Complex32>().unwrap(), Complex32::new(1.0, -1.0));
    }

    #[test]
    fn a_vector_of_one_is_no_bound_of_a_matrix() {
        let (x, low, high) = (floats(&[1, 2], &[1.0, 2.0]), floats(&[1], &[0.0]), floats(&[], &[1.0]));
        assert_eq!(code(call("ClipByValue", &[x, low, high], &[])), Code::InvalidArgument);
    }
}
