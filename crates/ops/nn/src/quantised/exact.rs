//! Sums of products of small integers by the loops for floats, which are the fastest: exact as long as no sum is larger than the
//! integers that a float holds.

use crate::convert::converted;
use crate::nn::conv::{Multiplied, convolved_tensors};
use crate::prelude::*;
use crate::windows::Sliding;
use thalweg_math::gemm::{Epilogue, MatMut, MatRef, ShapeError, gemm};
use thalweg_math::parallel::Parallel;

fn wrong_size(e: ShapeError) -> Error {
    invalid!("{e}")
}

/// The type to compute in: single precision, double, or integers, which wrap.
fn fastest(a: &Tensor, b: &Tensor, terms: usize) -> Result<DataType> {
    let largest = |x: &Tensor| -> Result<u64> {
        Ok(x.as_slice::<i32>()?.iter().fold(0, |most, x| x.unsigned_abs().max(most)).into())
    };
    let bound = largest(a)?.saturating_mul(largest(b)?).saturating_mul(terms as u64);
    Ok(match bound {
        n if n <= 1 << 24 => DataType::Float,
        n if n < 1 << 31 => DataType::Double,
        _ => DataType::Int32,
    })
}

/// The product of two matrices of int32, each of which may be transposed.
pub fn multiplied(par: &dyn Parallel, a: &Tensor, b: &Tensor, turned: [bool; 2]) -> Result<Tensor> {
    let ([a0, a1], [b0, b1]) = (a.shape().dims(), b.shape().dims()) else {
        return Err(invalid!("In[0] or In[1] is not a matrix: {} and {}", a.shape(), b.shape()));
    };
    let terms = *if turned[0] { a0 } else { a1 };
    if terms != *(if turned[1] { b1 } else { b0 }) {
        return Err(invalid!("Matrix size-incompatible: In[0]: {}, In[1]: {}", a.shape(), b.shape()));
    }
    match fastest(a, b, terms)? {
        DataType::Float => product::<f32>(par, a, b, turned),
        DataType::Double => product::<f64>(par, a, b, turned),
        _ => product::<i32>(par, a, b, turned),
    }
}

fn product<T: Multiplied>(par: &dyn Parallel, a: &Tensor, b: &Tensor, [ta, tb]: [bool; 2]) -> Result<Tensor> {
    let (a, b) = (converted(a, T::DTYPE)?, converted(b, T::DTYPE)?);
    let (of_a, of_b) = (a.shape(), b.shape());
    let left = MatRef::row_major(a.as_slice::<T>()?, of_a[0], of_a[1]).map_err(wrong_size)?.t_if(ta);
    let right = MatRef::row_major(b.as_slice::<T>()?, of_b[0], of_b[1]).map_err(wrong_size)?.t_if(tb);
    let (m, n) = (left.rows(), right.cols());
    let mut out = Tensor::uninit(T::DTYPE, Shape::new(&[m, n])?)?;
    let into = MatMut::row_major(out.as_mut_slice::<T>()?, m, n).map_err(wrong_size)?;
    gemm(par, left, right, into, Epilogue::default()).map_err(wrong_size)?;
    converted(&out, DataType::Int32)
}

/// The convolution of images with a filter, both of int32.
pub fn convolved(par: &dyn Parallel, sliding: &Sliding, images: &Tensor, filter: &Tensor) -> Result<Tensor> {
    let outputs = filter.shape().last().copied().unwrap_or(1).max(1);
    match fastest(images, filter, filter.elements() / outputs)? {
        DataType::Float => convolution::<f32>(par, sliding, images, filter),
        DataType::Double => convolution::<f64>(par, sliding, images, filter),
        _ => convolution::<i32>(par, sliding, images, filter),
    }
}

fn convolution<T: Multiplied>(
    par: &dyn Parallel,
    sliding: &Sliding,
    images: &Tensor,
    filter: &Tensor,
) -> Result<Tensor> {
    let (images, filter) = (converted(images, T::DTYPE)?, converted(filter, T::DTYPE)?);
    let out = convolved_tensors(par, sliding, &images, &filter, Epilogue::<T>::default())?;
    converted(&out, DataType::Int32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_math::parallel::Serial;

    /// At the bounds of each type, and beyond, where integers wrap.
    #[test]
    fn sums_are_exact_in_each_type() {
        for (x, y, terms) in
            [(255i32, 255i32, 258usize), (255, 255, 259), (-255, 127, 60_000), (1 << 20, 1 << 12, 2)]
        {
            let a = Tensor::full(Shape::new(&[2, terms]).unwrap(), x).unwrap();
            let b = Tensor::full(Shape::new(&[3, terms]).unwrap(), y).unwrap();
            let want = x.wrapping_mul(y).wrapping_mul(terms as i32);
            let out = multiplied(&Serial, &a, &b, [false, true]).unwrap();
            assert_eq!(out.as_slice::<i32>().unwrap(), [want; 6]);
        }
    }
}
