//! Integers that stand for evenly spaced floats of a range: the arithmetic that all quantised kernels share.

use crate::convert::converted;
use crate::prelude::*;
use thalweg_math::rounding::Round;

/// The lowest and the highest integer of a quantised type.
pub fn limits(dtype: DataType) -> Result<(i64, i64)> {
    Ok(match dtype {
        DataType::Qint8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Quint8 => (0, u8::MAX.into()),
        DataType::Qint16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Quint16 => (0, u16::MAX.into()),
        DataType::Qint32 => (i32::MIN.into(), i32::MAX.into()),
        other => return Err(invalid!("{other} is not a quantised type")),
    })
}

/// The integers of a quantised tensor.
pub fn integers(x: &Tensor) -> Result<Tensor> {
    limits(x.dtype())?;
    converted(x, DataType::Int32)
}

/// Integers, which must fit, as a quantised type.
pub fn quantised(x: Tensor, dtype: DataType) -> Result<Tensor> {
    if dtype == DataType::Qint32 {
        return x.bitcast_same_size(dtype);
    }
    converted(&x, dtype)
}

/// The scalar bounds in inputs `i` and `i + 1`.
pub fn bounds(c: &OpCall<'_>, i: usize) -> Result<(f32, f32)> {
    Ok((bound(c, i)?, bound(c, i + 1)?))
}

pub fn bound(c: &OpCall<'_>, i: usize) -> Result<f32> {
    let t = c.input(i)?;
    if t.rank() != 0 {
        return Err(invalid!("`{}` must be rank 0 but is rank {}", c.input_name(i), t.rank()));
    }
    t.to_scalar()
}

/// A float range and the integers that stand for it. Bounds keep their distance, but 0 is moved onto a level.
#[derive(Clone, Copy)]
pub struct Levels {
    low: f32,
    high: f32,
    least: i64,
    most: i64,
}

impl Levels {
    pub fn new(dtype: DataType, (low, high): (f32, f32)) -> Result<Levels> {
        let (least, most) = limits(dtype)?;
        Ok(Levels { low, high, least, most })
    }

    fn steps(&self) -> f64 {
        (self.most - self.least) as f64
    }

    /// The float that an integer stands for. The distance of levels is computed in two steps, as TensorFlow does, whose
    /// results these must equal to the bit.
    pub fn float(&self, level: i32) -> f32 {
        let count = self.steps() + 1.0;
        let scale = f64::from(self.high - self.low) * (count / self.steps()) / count;
        let bottom = match self.low == self.high {
            true => self.low,
            false => (self.low / scale as f32).round() * scale as f32,
        };
        (f64::from(bottom) + (i64::from(level) - self.least) as f64 * scale) as f32
    }

    /// The level next to a float, which may lie outside of the type.
    pub fn unclamped(&self, x: f32) -> i64 {
        if self.low == self.high {
            return self.least;
        }
        let count = self.steps() + 1.0;
        let scale = count / (f64::from(self.high - self.low) * (count / self.steps()));
        let above = (f64::from(x) * scale).half_away() - (f64::from(self.low) * scale).half_away();
        (above as i64).saturating_add(self.least)
    }

    /// The level next to a float, within the type.
    pub fn level(&self, x: f32) -> i32 {
        self.unclamped(x).clamp(self.least, self.most) as i32
    }

    /// The float between two levels.
    pub fn step(&self) -> f32 {
        (self.high - self.low) / self.steps() as f32
    }

    /// The scale and offset of the loops over whole tensors, in single precision.
    pub fn line(&self) -> (f32, f32) {
        let scale = (f64::from(self.high - self.low) / self.steps()) as f32;
        let bottom = if self.high == self.low { self.low } else { (self.low / scale).round() * scale };
        (scale, bottom - self.least as f32 * scale)
    }

    /// The inverse of `line`: levels by a multiplication in single precision.
    pub fn rounding(&self) -> Rounding {
        let apart = self.high != self.low;
        let scale = if apart { (self.steps() / f64::from(self.high - self.low)) as f32 } else { 0.0 };
        let bottom = if apart { (self.low * scale).round() } else { self.low };
        // The highest int32 is not a float: the one below.
        let most = (self.most as f32).min(2147483520.0);
        Rounding { scale, bottom: bottom - self.least as f32, least: self.least as f32, most }
    }
}

#[derive(Clone, Copy)]
pub struct Rounding {
    scale: f32,
    bottom: f32,
    least: f32,
    most: f32,
}

impl Rounding {
    pub fn level(&self, x: f32) -> i32 {
        ((x * self.scale).half_away() - self.bottom).max(self.least).min(self.most) as i32
    }
}
