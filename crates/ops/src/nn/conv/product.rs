//! Convolutions as matrix products: a row for each place of the window, with what is under it.
//!
//! Places are taken some rows at a time, so that their patches are still in the cache when they are multiplied. How many is
//! decided by the shapes alone.

use super::sizes::Sizes;
use crate::prelude::*;
use std::ops::Range;
use thalweg_math::gemm::{Epilogue, GemmElement, MatMut, MatRef, ShapeError, gemm};
use thalweg_math::parallel::Parallel;
use thalweg_math::reduce::Number as Summed;
use thalweg_math::window::add_patches;

/// Bytes of patches made at a time.
const PATCH_BYTES: usize = 4 << 20;

pub trait Multiplied: Element + GemmElement + Summed {}
impl<T: Element + GemmElement + Summed> Multiplied for T {}

fn internal_size(e: ShapeError) -> Error {
    internal(e.to_string())
}

/// One group's share of a convolution.
struct Group<'a> {
    sizes: &'a Sizes,
    number: usize,
    /// The columns of the result, and of the filter, that are the group's.
    outputs: usize,
    patch: usize,
}

impl Sizes {
    fn each_group(&self) -> impl Iterator<Item = Group<'_>> {
        let groups = self.groups();
        let outputs = self.outputs.checked_div(groups).unwrap_or(0);
        (0..groups).map(move |number| Group {
            sizes: self,
            number,
            outputs,
            patch: self.patches(number).len(),
        })
    }

    /// Rows of places to be done together.
    fn parts(&self, element: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let row = self.grid.cols.output * self.patches(0).len() * element;
        let step = if self.patches(0).is_identity() { usize::MAX } else { (PATCH_BYTES / row.max(1)).max(1) };
        let rows = self.grid.output_rows();
        (0..rows.div_ceil(step.min(rows).max(1))).map(move |i| {
            let step = step.min(rows).max(1);
            i * step..rows.min((i + 1) * step)
        })
    }
}

impl Group<'_> {
    /// Of a matrix with a column for each output of all groups, this group's.
    fn columns<'m, T>(&self, matrix: &'m [T], rows: usize) -> Result<MatRef<'m, T>> {
        let from = matrix.get(self.number * self.outputs..).unwrap_or(&[]);
        MatRef::new(from, rows, self.outputs, self.sizes.outputs, 1).map_err(internal_size)
    }

    fn columns_mut<'m, T>(&self, matrix: &'m mut [T], rows: usize) -> Result<MatMut<'m, T>> {
        let from = matrix.get_mut(self.number * self.outputs..).unwrap_or(&mut []);
        MatMut::new(from, rows, self.outputs, self.sizes.outputs).map_err(internal_size)
    }

    /// The patches of some rows of places: of `buffer`, or the images themselves where they are the patches.
    fn patches<'m, T: Multiplied>(
        &self,
        par: &dyn Parallel,
        images: &'m [T],
        part: &Range<usize>,
        buffer: &'m mut Tensor,
    ) -> Result<MatRef<'m, T>> {
        let rows = part.len() * self.sizes.grid.cols.output;
        let what = self.sizes.patches(self.number);
        if what.is_identity() {
            return MatRef::row_major(images, rows, self.patch).map_err(internal_size);
        }
        *buffer = sized::<T>(std::mem::replace(buffer, Tensor::scalar(0u8)), rows * self.patch)?;
        what.write(par, images, part.clone(), &mut buffer.as_mut_slice::<T>()?[..rows * self.patch]);
        MatRef::row_major(buffer.as_slice::<T>()?, rows, self.patch).map_err(internal_size)
    }
}

/// The tensor, or a new one if it has too few elements.
fn sized<T: Element>(buffer: Tensor, elements: usize) -> Result<Tensor> {
    if buffer.dtype() == T::DTYPE && buffer.elements() >= elements {
        return Ok(buffer);
    }
    Tensor::uninit(T::DTYPE, Shape::vector(elements))
}

fn buffer() -> Tensor {
    Tensor::scalar(0u8)
}

/// The convolution of images with a filter.
pub fn convolve<T: Multiplied>(
    par: &dyn Parallel,
    sizes: &Sizes,
    images: &[T],
    filter: &[T],
    out: &mut [T],
) -> Result<()> {
    let mut memory = buffer();
    for part in sizes.parts(size_of::<T>()) {
        let width = sizes.grid.cols.output * sizes.outputs;
        let out = &mut out[part.start * width..part.end * width];
        for group in sizes.each_group() {
            let left = group.patches(par, images, &part, &mut memory)?;
            let right = group.columns(filter, group.patch)?;
            let into = group.columns_mut(out, left.rows())?;
            gemm(par, left, right, into, Epilogue::default()).map_err(internal_size)?;
        }
    }
    Ok(())
}

/// The gradient of the convolution by the filter, added to `out`.
pub fn add_by_filter<T: Multiplied>(
    par: &dyn Parallel,
    sizes: &Sizes,
    images: &[T],
    gradient: &[T],
    out: &mut [T],
) -> Result<()> {
    let mut memory = buffer();
    for part in sizes.parts(size_of::<T>()) {
        let width = sizes.grid.cols.output * sizes.outputs;
        let gradient = &gradient[part.start * width..part.end * width];
        for group in sizes.each_group() {
            let left = group.patches(par, images, &part, &mut memory)?;
            let right = group.columns(gradient, left.rows())?;
            let into = group.columns_mut(out, group.patch)?;
            let add = Epilogue { accumulate: true, ..Epilogue::default() };
            gemm(par, left.t(), right, into, add).map_err(internal_size)?;
        }
    }
    Ok(())
}

/// The gradient of the convolution by the images, added to `out`.
pub fn add_by_images<T: Multiplied>(
    par: &dyn Parallel,
    sizes: &Sizes,
    filter: &[T],
    gradient: &[T],
    out: &mut [T],
) -> Result<()> {
    let mut memory = buffer();
    for part in sizes.parts(size_of::<T>()) {
        let places = part.len() * sizes.grid.cols.output;
        let width = sizes.grid.cols.output * sizes.outputs;
        let gradient = &gradient[part.start * width..part.end * width];
        for group in sizes.each_group() {
            let left = group.columns(gradient, places)?;
            let right = group.columns(filter, group.patch)?.t();
            let what = sizes.patches(group.number);
            if what.is_identity() {
                let into = MatMut::row_major(&mut *out, places, group.patch).map_err(internal_size)?;
                gemm(par, left, right, into, Epilogue::default()).map_err(internal_size)?;
                continue;
            }
            memory = sized::<T>(memory, places * group.patch)?;
            let patches = &mut memory.as_mut_slice::<T>()?[..places * group.patch];
            let into = MatMut::row_major(&mut *patches, places, group.patch).map_err(internal_size)?;
            gemm(par, left, right, into, Epilogue::default()).map_err(internal_size)?;
            add_patches(par, &what, patches, part.clone(), out);
        }
    }
    Ok(())
}
