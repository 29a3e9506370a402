//! An operand of an equation: a tensor, and for each of its axes size and stride.

use super::equation::Axis;
use crate::moving::Block;
use crate::prelude::*;
use thalweg_math::gemm::GemmElement;
use thalweg_math::parallel::Parallel;
use thalweg_math::reduce::{Plan, Reducer, Sum, reduce};

/// Element types of operands.
pub trait Contents: Number + GemmElement {
    fn sum(par: &dyn Parallel, plan: &Plan, x: &[Self], out: &mut [Self]);
}

impl<T: Number + GemmElement> Contents for T
where
    Sum: Reducer<T, Out = T>,
{
    fn sum(par: &dyn Parallel, plan: &Plan, x: &[T], out: &mut [T]) {
        reduce(par, plan, &Sum, x, out)
    }
}

pub struct Operand {
    tensor: Tensor,
    /// An axis that is there twice is a diagonal: its strides are added.
    axes: Vec<(Axis, usize, usize)>,
}

impl Operand {
    pub fn new(tensor: Tensor, axes: &[Axis]) -> Result<Operand> {
        let mut found: Vec<(Axis, usize, usize)> = Vec::new();
        let shape = tensor.shape();
        for (i, ((axis, size), stride)) in axes.iter().zip(shape.iter()).zip(&shape.strides()).enumerate() {
            match found.iter_mut().find(|(a, ..)| a == axis) {
                None => reserve::push(&mut found, (*axis, *size, *stride))?,
                Some((_, old, _)) if old != size => return Err(mismatch(*old, i, shape, *size)),
                Some((.., old)) => *old += stride,
            }
        }
        Ok(Operand { tensor, axes: found })
    }

    pub fn axes(&self) -> impl Iterator<Item = Axis> + '_ {
        self.axes.iter().map(|(axis, ..)| *axis)
    }

    pub fn size(&self, axis: &Axis) -> Option<usize> {
        self.axes.iter().find(|(a, ..)| a == axis).map(|(_, size, _)| *size)
    }

    /// A copy with these axes, the others summed.
    pub fn summed_to<T: Contents>(&self, par: &dyn Parallel, order: &[Axis]) -> Result<Tensor> {
        let rest = self.axes.iter().filter(|(a, ..)| !order.contains(a));
        let of = |axis: &Axis| self.axes.iter().find(|(a, ..)| a == axis);
        let all = reserve::collect(order.iter().filter_map(of).chain(rest).copied())?;
        let dims: Vec<usize> = reserve::collect(all.iter().map(|(_, size, _)| *size))?;
        let shape = Shape::new(&dims)?;
        let strides = shape.strides();
        let contiguous = self.tensor.elements() == shape.elements()
            && all.iter().zip(&strides).all(|((_, size, from), to)| from == to || *size == 1);
        let copy = if contiguous {
            self.tensor.clone().reshape(shape.clone())?
        } else {
            let mut copy = Tensor::uninit(T::DTYPE, shape.clone())?;
            let mut block = Block::at(0, 0);
            for ((_, size, from), to) in all.iter().zip(&strides) {
                block = block.dim(*size, *from as isize, *to as isize);
            }
            if copy.elements() > 0 {
                block.copy(par, &self.tensor, &mut copy)?;
            }
            copy
        };
        let kept = all.iter().filter(|(a, ..)| order.contains(a)).count();
        if kept == all.len() {
            return Ok(copy);
        }
        let mut out = Tensor::uninit(T::DTYPE, Shape::new(&dims[..kept])?)?;
        let reduced: Vec<bool> = reserve::collect((0..all.len()).map(|i| i >= kept))?;
        T::sum(par, &Plan::new(&shape, &reduced), copy.as_slice::<T>()?, out.as_mut_slice::<T>()?);
        Ok(out)
    }

    /// As matrices of these axes, or their transposes if the tensor has those already: true.
    pub fn matrices<T: Contents>(
        &self,
        par: &dyn Parallel,
        batch: &[Axis],
        rows: &[Axis],
        cols: &[Axis],
    ) -> Result<(Tensor, bool)> {
        let own = reserve::collect(self.axes())?;
        let turned: Vec<Axis> = reserve::collect(batch.iter().chain(cols).chain(rows).copied())?;
        let is_whole = self.tensor.rank() == self.axes.len();
        if is_whole && own == turned && !rows.is_empty() && !cols.is_empty() {
            return Ok((self.tensor.clone(), true));
        }
        let order: Vec<Axis> = reserve::collect(batch.iter().chain(rows).chain(cols).copied())?;
        Ok((self.summed_to::<T>(par, &order)?, false))
    }
}

fn mismatch(want: usize, axis: usize, shape: &Shape, got: usize) -> Error {
    invalid!("Expected dimension {want} at axis {axis} of the input shaped {shape} but got dimension {got}")
}

/// The size of each axis: of labels the same in all operands, of an ellipsis broadcast.
pub fn sizes_of(operands: &[Operand]) -> Result<Vec<(Axis, usize)>> {
    let mut sizes: Vec<(Axis, usize)> = Vec::new();
    for x in operands {
        for (i, (axis, size, _)) in x.axes.iter().enumerate() {
            let Some((_, old)) = sizes.iter_mut().find(|(a, _)| a == axis) else {
                reserve::push(&mut sizes, (*axis, *size))?;
                continue;
            };
            *old = match (axis, *old, *size) {
                (_, a, b) if a == b => a,
                (Axis::Ellipsis(_), 1, d) | (Axis::Ellipsis(_), d, 1) => d,
                (_, want, got) => return Err(mismatch(want, i, x.tensor.shape(), got)),
            };
        }
    }
    Ok(sizes)
}
