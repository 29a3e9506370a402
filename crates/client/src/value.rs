//! Rust values as tensors.

use thalweg_core::dtype::Element;
use thalweg_core::error::Result;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;

/// Rust values that can be constants and feeds: numbers, strings, arrays of them (of numbers up to four dimensions, of strings up to two),
/// vectors, slices, tensors.
pub trait IntoTensor {
    /// An error if the elements do not fill the shape, or exceed the memory limit.
    fn into_tensor(self) -> Result<Tensor>;
}

impl IntoTensor for Tensor {
    fn into_tensor(self) -> Result<Tensor> {
        Ok(self)
    }
}

impl IntoTensor for &Tensor {
    fn into_tensor(self) -> Result<Tensor> {
        Ok(self.clone())
    }
}

impl IntoTensor for &str {
    fn into_tensor(self) -> Result<Tensor> {
        Ok(Tensor::string(self))
    }
}

impl IntoTensor for String {
    fn into_tensor(self) -> Result<Tensor> {
        Ok(Tensor::string(self))
    }
}

fn copied(dims: &[usize], items: &[&str]) -> Result<Tensor> {
    let items = items.iter().map(|s| bytes::Bytes::copy_from_slice(s.as_bytes())).collect();
    Tensor::from_objects(Shape::new(dims)?, items)
}

impl IntoTensor for Vec<&str> {
    fn into_tensor(self) -> Result<Tensor> {
        copied(&[self.len()], &self)
    }
}

impl IntoTensor for &[&str] {
    fn into_tensor(self) -> Result<Tensor> {
        copied(&[self.len()], self)
    }
}

impl<const A: usize> IntoTensor for [&str; A] {
    fn into_tensor(self) -> Result<Tensor> {
        copied(&[A], &self)
    }
}

impl<const A: usize, const B: usize> IntoTensor for [[&str; B]; A] {
    fn into_tensor(self) -> Result<Tensor> {
        copied(&[A, B], self.as_flattened())
    }
}

impl<const A: usize> IntoTensor for [String; A] {
    fn into_tensor(self) -> Result<Tensor> {
        Vec::from(self).into_tensor()
    }
}

impl IntoTensor for Vec<String> {
    fn into_tensor(self) -> Result<Tensor> {
        let shape = Shape::vector(self.len());
        Tensor::from_objects(shape, self.into_iter().map(bytes::Bytes::from).collect())
    }
}

/// Elements with a shape: `(data, [28, 28])`.
impl<T: Element, const N: usize> IntoTensor for (Vec<T>, [usize; N]) {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::from_slice(Shape::new(&self.1)?, &self.0)
    }
}

macro_rules! numbers {
    ($($t:ty),*) => { $(
        impl IntoTensor for $t {
            fn into_tensor(self) -> Result<Tensor> { Ok(Tensor::scalar(self)) }
        }
        impl IntoTensor for Vec<$t> {
            fn into_tensor(self) -> Result<Tensor> { Tensor::vector(&self) }
        }
        impl IntoTensor for &[$t] {
            fn into_tensor(self) -> Result<Tensor> { Tensor::vector(self) }
        }
        impl<const A: usize> IntoTensor for [$t; A] {
            fn into_tensor(self) -> Result<Tensor> { Tensor::vector(&self) }
        }
        impl<const A: usize, const B: usize> IntoTensor for [[$t; B]; A] {
            fn into_tensor(self) -> Result<Tensor> { Tensor::from_slice(Shape::new(&[A, B])?, self.as_flattened()) }
        }
        impl<const A: usize, const B: usize, const C: usize> IntoTensor for [[[$t; C]; B]; A] {
            fn into_tensor(self) -> Result<Tensor> {
                Tensor::from_slice(Shape::new(&[A, B, C])?, self.as_flattened().as_flattened())
            }
        }
        impl<const A: usize, const B: usize, const C: usize, const D: usize> IntoTensor for [[[[$t; D]; C]; B]; A] {
            fn into_tensor(self) -> Result<Tensor> {
                Tensor::from_slice(Shape::new(&[A, B, C, D])?, self.as_flattened().as_flattened().as_flattened())
            }
        }
    )* };
}
numbers!(
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    bool,
    thalweg_core::dtype::f16,
    thalweg_core::dtype::bf16
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_arrays_become_tensors() {
        let t = [[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]].into_tensor().unwrap();
        assert_eq!((t.shape().dims(), t.as_slice::<f32>().unwrap()[5]), (&[2, 3][..], 6.0));
        let t = (vec![1i64, 2, 3, 4], [2, 2]).into_tensor().unwrap();
        assert_eq!(t.shape().dims(), &[2, 2]);
        assert!((vec![1i64], [2, 2]).into_tensor().is_err());
    }

    #[test]
    fn arrays_of_strings_and_bools_become_tensors() {
        let text = |t: Result<Tensor>| t.unwrap().to_string();
        assert_eq!(text(["a", "b"].into_tensor()), "[b'a' b'b']");
        assert_eq!(text([["a", "b"], ["c", "d"]].into_tensor()), "[[b'a' b'b']\n [b'c' b'd']]");
        assert_eq!(text(["a".to_string()].into_tensor()), "[b'a']");
        assert_eq!(text((&["a"][..]).into_tensor()), "[b'a']");
        assert_eq!(text([true, false].into_tensor()), "[ True False]");
    }
}
