//! `Case`: an example call of an op, which the every-op tests run; `CaseGen`: a generator of its values.

use crate::attr::Attr;
use crate::shape::Shape;
use crate::tensor::Tensor;

/// Inputs and attrs of one call. For ops with a type attr `T` the tests also run it with the inputs cast to the other types.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub inputs: Vec<Tensor>,
    pub attrs: Vec<(&'static str, Attr)>,
    /// Inputs whose gradient cannot be checked by finite differences: indices, or kinks of the function.
    pub no_difference: Vec<usize>,
}

impl Case {
    pub fn new(inputs: Vec<Tensor>) -> Case {
        Case { inputs, ..Case::default() }
    }

    pub fn attr(mut self, name: &'static str, value: impl Into<Attr>) -> Case {
        self.attrs.push((name, value.into()));
        self
    }

    pub fn without_difference(mut self, inputs: &[usize]) -> Case {
        self.no_difference = inputs.to_vec();
        self
    }
}

/// A source of repeatable test values.
pub struct CaseGen(u64);

impl CaseGen {
    pub fn new(seed: u64) -> Self {
        CaseGen(seed)
    }

    /// The next 64 bits (SplitMix64).
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    fn fill<T: crate::dtype::Element>(
        &mut self,
        dims: &[usize],
        mut f: impl FnMut(&mut Self) -> T,
    ) -> Tensor {
        let shape = Shape::new(dims).unwrap_or_default();
        let values: Vec<T> = (0..shape.elements()).map(|_| f(self)).collect();
        Tensor::from_slice(shape, &values).unwrap_or_else(|_| Tensor::scalar(T::default()))
    }

    /// Floats in [-2, 2), none close to zero or to multiples of each other: finite differences are smooth.
    pub fn tensor(&mut self, dims: &[usize]) -> Tensor {
        self.fill(dims, |r| {
            let v = (r.unit() * 1.9 + 0.1) as f32;
            if r.bits() & 1 == 0 { v } else { -v }
        })
    }

    pub fn range(&mut self, dims: &[usize], low: f32, high: f32) -> Tensor {
        self.fill(dims, |r| low + (high - low) * r.unit() as f32)
    }

    pub fn positive(&mut self, dims: &[usize]) -> Tensor {
        self.range(dims, 0.2, 2.0)
    }

    pub fn ints(&mut self, dims: &[usize], low: i32, high: i32) -> Tensor {
        self.fill(dims, |r| low + r.below((high - low) as usize) as i32)
    }

    pub fn bools(&mut self, dims: &[usize]) -> Tensor {
        self.fill(dims, |r| r.bits() & 1 == 0)
    }
}

/// A vector of int32, for shapes and axes in cases.
pub fn int_vector(values: &[i32]) -> Tensor {
    Tensor::vector(values).unwrap_or_else(|_| Tensor::scalar(0i32))
}
