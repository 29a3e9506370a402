//! `Cross`: cross products of vectors of three elements.

use crate::elementwise::for_chunks_of;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&CROSS];

static CROSS: Op = Op {
    name: "Cross",
    doc: "The cross products of the vectors of three elements along the innermost dimension.",
    inputs: &["a: T", "b: T"],
    outputs: &["product: T"],
    attrs: &["T: realnumbertype"],
    shape: |c| {
        let (a, b) = (c.rank_at_least(0, 1)?, c.rank_at_least(1, 1)?);
        let both = a.merge(&b)?;
        if let Some(last) = both.dims().and_then(<[i64]>::last) {
            merge_dim(*last, 3)?;
        }
        Ok(vec![both])
    },
    grad: Rule(|g| {
        let (a, b, dy) = (g.x[0], g.x[1], g.dy()?);
        Ok(vec![g.binary("Cross", b, dy)?.into(), g.binary("Cross", dy, a)?.into()])
    }),
    kernels: cpu!(run: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[3]), r.tensor(&[3])]),
        ]
    },
    ..Op::PURE
};

/// Vectors that one thread multiplies at least.
const GRAIN: usize = 1 << 12;

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let shape = c.shape(0)?.clone();
    if shape != *c.shape(1)? {
        return Err(invalid!("Both inputs must be of same shape: {shape} vs. {}", c.shape(1)?));
    }
    match shape.dims() {
        [] => return Err(invalid!("Input must be at least 1D, got {shape}")),
        [.., 3] => {}
        _ => return Err(failed_precondition("Cross-products are only defined for 3-element vectors.")),
    }
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    let (a, b) = (c.slice::<T>(0)?, c.slice::<T>(1)?);
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, 3, GRAIN, &|range, out| {
        let (a, b) = (a[range.start * 3..].as_chunks::<3>().0, b[range.start * 3..].as_chunks::<3>().0);
        for (out, (a, b)) in out.as_chunks_mut::<3>().0.iter_mut().zip(a.iter().zip(b)) {
            let minor = |i: usize, j: usize| a[i].mul(b[j]).sub(a[j].mul(b[i]));
            *out = [minor(1, 2), minor(2, 0), minor(0, 1)];
        }
    });
    c.set(0, out);
    Ok(())
}
