//! Scales and zero points, and the integer arithmetic that changes them.

use crate::elementwise::for_slices;
use crate::levels::integers;
use crate::prelude::*;
use thalweg_math::parallel::Parallel;
use thalweg_math::rounding::Round;

/// Scales and zero points along an axis, or one of each for all elements.
pub struct Affine {
    pub scales: Vec<f32>,
    pub zeros: Vec<i32>,
    pub axis: Option<usize>,
}

impl Affine {
    /// From input `i`, the scales, and the one after it, the zero points, for data of this shape.
    pub fn of(c: &OpCall<'_>, i: usize, shape: &Shape, axis: i64) -> Result<Affine> {
        let (scales, zeros) = (c.input(i)?, c.input(i + 1)?);
        if scales.shape() != zeros.shape() {
            return Err(invalid!(
                "scales and zero_points shape must be same, but given scales shape {} and zero_points shape {}",
                scales.shape(),
                zeros.shape()
            ));
        }
        let axis = match usize::try_from(axis) {
            Ok(axis) if axis < shape.rank() => Some(axis),
            Err(_) if axis == -1 => None,
            _ => {
                return Err(invalid!(
                    "quantization_axis must be -1 or in range [0, input.rank), but given {axis} for shape {shape}"
                ));
            }
        };
        let fits = match axis {
            None => scales.rank() == 0,
            Some(axis) => scales.rank() == 1 && scales.elements() == shape[axis],
        };
        if !fits {
            return Err(invalid!(
                "scales and zero_points must be scalars if quantization_axis is -1, else have the input's size along it: given axis {axis:?} of shape {shape} and scales of shape {}",
                scales.shape()
            ));
        }
        let scales = scales.as_slice::<f32>()?;
        if scales.iter().any(|scale| scale.is_nan() || *scale <= 0.0) {
            return Err(invalid!("scales elements must be all positive, got {scales:?}"));
        }
        Ok(Affine {
            scales: reserve::copied(scales)?,
            zeros: reserve::copied(zeros.as_slice::<i32>()?)?,
            axis,
        })
    }

    /// As `of`, of an operand for which only these axes are allowed.
    pub fn along(c: &OpCall<'_>, i: usize, shape: &Shape, name: &str, allowed: &[i64]) -> Result<Affine> {
        let axis = c.attrs().int(name)?;
        if axis != -1 && !allowed.contains(&axis) {
            return Err(invalid!("{name} Attr must be -1 (per-tensor) or one of {allowed:?}, got {axis}"));
        }
        Affine::of(c, i, shape, axis)
    }

    /// Of a slice; an axis without slices has none.
    pub fn scale(&self, i: usize) -> f32 {
        self.scales.get(if self.axis.is_some() { i } else { 0 }).copied().unwrap_or(1.0)
    }

    pub fn zero(&self, i: usize) -> i32 {
        self.zeros.get(if self.axis.is_some() { i } else { 0 }).copied().unwrap_or(0)
    }

    /// The integers of a tensor less their zero points.
    pub fn centred(&self, par: &dyn Parallel, x: &Tensor) -> Result<Tensor> {
        let (along, inner) = runs(x.shape(), self.axis)?;
        let x = integers(x)?;
        let zeros = reserve::collect((0..along).map(|i| self.zero(i)))?;
        let mut out = Tensor::uninit(DataType::Int32, x.shape().clone())?;
        let (x, values) = (x.as_slice::<i32>()?, out.as_mut_slice::<i32>()?);
        for_slices(par, (&zeros, inner), x, values, |zero, x| x.wrapping_sub(*zero));
        Ok(out)
    }
}

/// How many slices there are along an axis, and the elements of each run of one.
pub fn runs(shape: &Shape, axis: Option<usize>) -> Result<(usize, usize)> {
    let (along, inner) = match axis {
        None => (1, shape.elements()),
        Some(axis) => shape.around(axis).map(|(_, along, inner)| (along, inner))?,
    };
    Ok((along.max(1), inner.max(1)))
}

/// The least and the greatest integer of a result, from its attrs.
pub fn limits(attrs: &Attrs, prefix: &str) -> Result<(i32, i32)> {
    let of = |end: &str| {
        let value = attrs.int(&format!("{prefix}quantization_{end}_val"))?;
        i32::try_from(value)
            .map_err(|_| invalid!("quantization_{end}_val must be a 32-bit number, got {value}"))
    };
    let (least, most) = (of("min")?, of("max")?);
    if least > most {
        return Err(invalid!("quantization_min_val {least} must not be above quantization_max_val {most}"));
    }
    Ok((least, most))
}

/// A positive factor as 31 bits and a shift.
#[derive(Clone, Copy)]
pub struct Multiplier {
    bits: i32,
    shift: i32,
}

impl Multiplier {
    pub fn new(factor: f64) -> Result<Multiplier> {
        if !factor.is_finite() || factor <= 0.0 {
            return Err(invalid!("the ratio of scales must be a positive finite number, got {factor}"));
        }
        let (fraction, mut shift) = libm::frexp(factor);
        let mut bits = (fraction * (1u64 << 31) as f64).round() as i64;
        if bits == 1 << 31 {
            (bits, shift) = (bits / 2, shift + 1);
        }
        Ok(match shift {
            ..=-32 => Multiplier { bits: 0, shift: 0 },
            31.. => Multiplier { bits: i32::MAX, shift: 30 },
            shift => Multiplier { bits: bits as i32, shift },
        })
    }

    /// The product, rounded, with halves upwards.
    pub fn times(&self, x: i32) -> i32 {
        let shift = 31 - self.shift;
        let product = (i64::from(x) * i64::from(self.bits)).wrapping_add(1 << (shift - 1)) >> shift;
        product.clamp(i32::MIN.into(), i32::MAX.into()) as i32
    }
}

/// A float over the scale, rounded, with halves upwards, and moved by the zero point.
pub fn level(x: f32, per_scale: f32, zero: i32, (least, most): (i32, i32)) -> i32 {
    let level = (x * per_scale + 0.5).down();
    // A float beyond 32 bits converts as on x86.
    let level = if (-2147483648.0..2147483648.0).contains(&level) { level as i32 } else { i32::MIN };
    level.wrapping_add(zero).min(most).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiplier_rounds_once() {
        let half = Multiplier::new(0.5).unwrap();
        assert_eq!([-3, -2, -1, 1, 3].map(|x| half.times(x)), [-1, -1, 0, 1, 2]);
        assert_eq!(Multiplier::new(3.0).unwrap().times(7), 21);
        assert_eq!(Multiplier::new(1e-30).unwrap().times(i32::MAX), 0);
        assert_eq!(Multiplier::new(1e30).unwrap().times(5), i32::MAX);
        assert!(Multiplier::new(0.0).is_err() && Multiplier::new(f64::NAN).is_err());
    }
}
