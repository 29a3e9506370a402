//! Elementwise selection between two tensors of any type.

use crate::elementwise::{GRAIN, for_chunks_of};
use crate::prelude::*;
use bytes::Bytes;
use smallvec::SmallVec;
use thalweg_core::resource::ResourceHandle;
use thalweg_math::parallel::Parallel;

/// A tensor of this shape, to which the other three broadcast: `t` where `condition` is true, `e` elsewhere.
pub fn choose(
    par: &dyn Parallel,
    shape: &Shape,
    condition: &Tensor,
    t: &Tensor,
    e: &Tensor,
) -> Result<Tensor> {
    let walk = Walk::new(shape, [condition.shape(), t.shape(), e.shape()]);
    let condition = condition.as_slice::<bool>()?;
    // Plain types are bitcast to a type of their size.
    let as_type = |dtype: DataType| -> Result<(Tensor, Tensor)> {
        Ok((t.clone().bitcast_same_size(dtype)?, e.clone().bitcast_same_size(dtype)?))
    };
    match (t.dtype(), t.dtype().size()) {
        (DataType::String, _) => objects::<Bytes>(&walk, condition, t.strings()?, e.strings()?),
        (DataType::Resource, _) => {
            objects::<ResourceHandle>(&walk, condition, t.resources()?, e.resources()?)
        }
        (DataType::Variant, _) => objects::<Variant>(&walk, condition, t.variants()?, e.variants()?),
        (DataType::Bool, _) => plain::<bool>(par, &walk, condition, (t.clone(), e.clone())),
        (_, 1) => plain::<u8>(par, &walk, condition, as_type(DataType::Uint8)?),
        (_, 2) => plain::<u16>(par, &walk, condition, as_type(DataType::Uint16)?),
        (_, 4) => plain::<u32>(par, &walk, condition, as_type(DataType::Uint32)?),
        (_, 8) => plain::<u64>(par, &walk, condition, as_type(DataType::Uint64)?),
        _ => plain::<ComplexDouble>(par, &walk, condition, as_type(DataType::Complex128)?),
    }?
    .retyped(t.dtype())
}

trait Retyped {
    fn retyped(self, dtype: DataType) -> Result<Tensor>;
}

impl Retyped for Tensor {
    fn retyped(self, dtype: DataType) -> Result<Tensor> {
        if dtype.is_plain() { self.bitcast_same_size(dtype) } else { Ok(self) }
    }
}

fn objects<O: Object>(walk: &Walk, condition: &[bool], t: &[O], e: &[O]) -> Result<Tensor> {
    let mut out = reserve::with_capacity(walk.shape.elements())?;
    for row in 0..walk.rows() {
        let [i, j, k] = walk.offsets(row);
        let [c, x, y] = walk.steps;
        out.extend(
            (0..walk.row).map(
                |n| {
                    if condition[i + n * c] { t[j + n * x].clone() } else { e[k + n * y].clone() }
                },
            ),
        );
    }
    Tensor::from_objects(walk.shape.clone(), out)
}

fn plain<T: Element>(
    par: &dyn Parallel,
    walk: &Walk,
    condition: &[bool],
    (t, e): (Tensor, Tensor),
) -> Result<Tensor> {
    let mut out = Tensor::uninit(T::DTYPE, walk.shape.clone())?;
    let (t, e) = (t.as_slice::<T>()?, e.as_slice::<T>()?);
    let row = walk.row.max(1);
    for_chunks_of(par, out.as_mut_slice::<T>()?, row, GRAIN.div_ceil(row), &|rows, out| {
        for (n, out) in rows.zip(out.chunks_mut(row)) {
            let [i, j, k] = walk.offsets(n);
            match walk.steps {
                [1, 1, 1] => {
                    let values = t[j..j + row].iter().zip(&e[k..k + row]);
                    for ((out, c), (t, e)) in out.iter_mut().zip(&condition[i..i + row]).zip(values) {
                        *out = if *c { *t } else { *e };
                    }
                }
                [0, x, y] => {
                    let (from, step) = if condition[i] { (&t[j..], x) } else { (&e[k..], y) };
                    if step == 1 { out.copy_from_slice(&from[..row]) } else { out.fill(from[0]) }
                }
                [c, x, y] => {
                    for (n, out) in out.iter_mut().enumerate() {
                        *out = if condition[i + n * c] { t[j + n * x] } else { e[k + n * y] };
                    }
                }
            }
        }
    });
    Ok(out)
}

/// How three inputs broadcast to one shape: the row offsets in each input.
struct Walk {
    shape: Shape,
    /// Outer dimensions, outermost first: size, and the stride of each input.
    outer: SmallVec<[(usize, [usize; 3]); 4]>,
    row: usize,
    steps: [usize; 3],
}

impl Walk {
    /// Merges adjacent dimensions that are contiguous in all inputs.
    fn new(shape: &Shape, inputs: [&Shape; 3]) -> Walk {
        let strides = |axis: usize| inputs.map(|s| stride(s, shape.rank(), axis));
        let mut dims: SmallVec<[(usize, [usize; 3]); 4]> = SmallVec::new();
        for axis in (0..shape.rank()).filter(|a| shape[*a] != 1) {
            let (n, steps) = (shape[axis], strides(axis));
            match dims.last_mut() {
                Some((outer, of_outer)) if (0..3).all(|i| of_outer[i] == steps[i] * n) => {
                    *outer *= n;
                    *of_outer = steps;
                }
                _ => dims.push((n, steps)),
            }
        }
        let (row, steps) = dims.pop().unwrap_or((1, [0; 3]));
        Walk { shape: shape.clone(), outer: dims, row, steps }
    }

    fn rows(&self) -> usize {
        self.outer.iter().map(|d| d.0).product()
    }

    fn offsets(&self, mut row: usize) -> [usize; 3] {
        let mut at = [0; 3];
        for (n, steps) in self.outer.iter().rev() {
            for i in 0..3 {
                at[i] += row % n * steps[i];
            }
            row /= n;
        }
        at
    }
}

/// The stride of an input along an axis of the shape it broadcasts to.
fn stride(input: &Shape, rank: usize, axis: usize) -> usize {
    match (axis + input.rank()).checked_sub(rank) {
        Some(i) if input[i] != 1 => input[i + 1..].iter().product(),
        _ => 0,
    }
}
