//! `QuantizeV2` and `Dequantize`: floats to integers that stand for a range, and back.

use crate::convert::converted;
use crate::elementwise::for_slices;
use crate::levels::{Levels, Rounding, integers, limits, quantised};
use crate::prelude::*;
use thalweg_math::rounding::Round;

pub static OPS: &[&Op] = &[&QUANTIZE_V2, &DEQUANTIZE];

const TYPES: &str = "T: {qint8, quint8, qint32, qint16, quint16}";
const MODE: &str = "mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'";

static QUANTIZE_V2: Op = Op {
    name: "QuantizeV2",
    doc: "The integers that stand for floats between min_range and max_range, and the range that they have in the end.",
    inputs: &["input: float", "min_range: float", "max_range: float"],
    outputs: &["output: T", "output_min: float", "output_max: float"],
    attrs: &[
        TYPES,
        MODE,
        "round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'",
        "narrow_range: bool = false",
        "axis: int = -1",
        "ensure_minimum_range: float = 0.01",
    ],
    shape: |c| {
        let input = c.input(0);
        let range = match (c.attrs.int("axis")?, input.rank()) {
            (..=-1, _) => PartialShape::scalar(),
            (axis, Some(rank)) if (axis as usize) < rank && input.dim(axis as usize) > 1 => {
                PartialShape::vector(input.dim(axis as usize))
            }
            // The bounds of a single slice are scalars.
            _ => PartialShape::unknown(),
        };
        Ok(vec![input, range.clone(), range])
    },
    grad: Missing,
    kernels: cpu!(make prepare),
    cases: |r| {
        let range = || vec![Tensor::scalar(-1f32), Tensor::scalar(1.5f32)];
        let mut of = |t: DataType, mode: &str| {
            let inputs = [vec![r.tensor(&[2, 3])], range()].concat();
            Case::new(inputs).attr("T", t).attr("mode", Attr::str(mode))
        };
        vec![
            of(DataType::Quint8, "MIN_COMBINED"),
            of(DataType::Qint8, "MIN_FIRST"),
            of(DataType::Qint16, "SCALED").attr("narrow_range", true),
        ]
    },
    ..Op::PURE
};

static DEQUANTIZE: Op = Op {
    name: "Dequantize",
    doc: "The floats that integers of a range stand for.",
    inputs: &["input: T", "min_range: float", "max_range: float"],
    outputs: &["output: dtype"],
    attrs: &[
        TYPES,
        MODE,
        "narrow_range: bool = false",
        "axis: int = -1",
        "dtype: {bfloat16, float} = DT_FLOAT",
    ],
    shape: same_as_input,
    grad: Missing,
    kernels: cpu!(make prepare_back),
    cases: |r| {
        let mut of = |mode: &str| {
            let stored = quantised(r.ints(&[2, 3], 0, 100), DataType::Quint8);
            let range = vec![Tensor::scalar(-1f32), Tensor::scalar(1.5f32)];
            Case::new([stored.into_iter().collect(), range].concat()).attr("mode", Attr::str(mode))
        };
        ["MIN_COMBINED", "MIN_FIRST", "SCALED"].map(&mut of).to_vec()
    },
    ..Op::PURE
};

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Combined,
    First,
    Scaled,
}

fn mode(node: &KernelNode) -> Result<Mode> {
    Ok(match node.attrs.str("mode")? {
        "MIN_COMBINED" => Mode::Combined,
        "MIN_FIRST" => Mode::First,
        _ => Mode::Scaled,
    })
}

/// How many ranges there are, and the elements of each run of one.
fn slices(shape: &Shape, axis: i64, mode: Mode) -> Result<(usize, usize)> {
    if axis < 0 {
        return Ok((1, shape.elements()));
    }
    if axis as usize >= shape.rank() {
        return Err(invalid!("axis must be less than the input's dims, {}, got {axis}", shape.rank()));
    }
    if mode == Mode::First {
        return Err(unimplemented("MIN_FIRST mode is not implemented for axis != -1."));
    }
    let (_, along, after) = shape.around(axis as usize)?;
    Ok((along, after))
}

/// The bounds in inputs 1 and 2, one pair for each slice.
fn ranges(c: &OpCall<'_>, count: usize, axis: i64) -> Result<Vec<(f32, f32)>> {
    for i in [1, 2] {
        let t = c.input(i)?;
        if t.elements() != count || (axis >= 0 && t.rank() != 1) {
            return Err(invalid!(
                "{} must have as many elements as the input on the quantization axis ({axis}), a single one without: got {}, expected {count}",
                c.input_name(i),
                t.shape()
            ));
        }
    }
    reserve::collect(c.slice::<f32>(1)?.iter().copied().zip(c.slice::<f32>(2)?.iter().copied()))
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (mode, dtype, axis) = (mode(node)?, node.attrs.dtype("T")?, node.attrs.int("axis")?);
    let (narrow, apart) = (node.attrs.bool("narrow_range")?, node.attrs.float("ensure_minimum_range")?);
    let to_even = node.attrs.str("round_mode")? == "HALF_TO_EVEN";
    if to_even && mode != Mode::Scaled {
        return Err(invalid!("Round mode 'HALF_TO_EVEN' is only supported for mode 'SCALED'"));
    }
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = c.shape(0)?.clone();
        let (count, inner) = slices(&shape, axis, mode)?;
        let ranges = ranges(c, count, axis)?.into_iter().map(|range| {
            let range = widened(range, apart)?;
            Quantiser::new(mode, dtype, range, narrow)
        });
        let ranges = reserve::try_collect(ranges)?;
        let x = c.slice::<f32>(0)?;
        let mut out = Tensor::uninit(DataType::Int32, shape)?;
        let (slices, levels) = ((ranges.as_slice(), inner), out.as_mut_slice::<i32>()?);
        // Chosen here: a choice for each element would take longer than the rest.
        match (mode, to_even) {
            (Mode::Combined, _) => for_slices(c.par(), slices, x, levels, Quantiser::with_offset),
            (Mode::First, _) => for_slices(c.par(), slices, x, levels, |q, x| q.rounding.level(x)),
            (Mode::Scaled, true) => for_slices(c.par(), slices, x, levels, Quantiser::scaled_to_even),
            (Mode::Scaled, false) => for_slices(c.par(), slices, x, levels, Quantiser::scaled),
        }
        let low = reserve::collect(ranges.iter().map(|r| r.low))?;
        let high = reserve::collect(ranges.iter().map(|r| r.high))?;
        c.set(0, quantised(out, dtype)?);
        let bounds = if count == 1 { Shape::scalar() } else { Shape::vector(count) };
        c.set(1, Tensor::from_slice(bounds.clone(), &low)?);
        c.set(2, Tensor::from_slice(bounds, &high)?);
        Ok(())
    }))
}

/// A range with 0, wide enough that its levels are not all the same float.
fn widened((low, high): (f32, f32), apart: f32) -> Result<(f32, f32)> {
    if high < low {
        return Err(invalid!("input_max_range must be larger than input_min_range."));
    }
    let least = low.abs().max(high.abs()).max(1.0) * apart;
    let low = low.min(0.0);
    Ok((low, high.max(low + least).max(0.0)))
}

/// How floats of a range become integers, and the range that these have.
struct Quantiser {
    low: f32,
    high: f32,
    /// (x - low) * scale + base, or x * scale, rounded.
    scale: f32,
    base: f32,
    /// Of `Mode::First`.
    rounding: Rounding,
}

impl Quantiser {
    fn new(mode: Mode, dtype: DataType, (low, high): (f32, f32), narrow: bool) -> Result<Quantiser> {
        let (least, most) = limits(dtype)?;
        let rounding = Levels::new(dtype, (low, high))?.rounding();
        Ok(match mode {
            Mode::Combined => {
                let scale = ((most - least) as f64 / f64::from(high - low)) as f32;
                Quantiser { low, high, scale, base: least as f32, rounding }
            }
            Mode::First => Quantiser { low, high, scale: 0.0, base: 0.0, rounding },
            Mode::Scaled => {
                // The side that reaches further decides; 0 stays 0.
                let side =
                    |level: f32, bound: f32| if level * bound > 0.0 { level / bound } else { f32::MAX };
                let (least, most) = ((least + i64::from(narrow)) as f32, most as f32);
                let scale = side(least, low).min(side(most, high));
                Quantiser { low: least / scale, high: most / scale, scale, base: 0.0, rounding }
            }
        })
    }

    #[inline]
    fn clamped(&self, x: f32) -> f32 {
        x.min(self.high).max(self.low)
    }

    #[inline]
    fn with_offset(&self, x: f32) -> i32 {
        as_level(((self.clamped(x) - self.low) * self.scale + self.base).half_away())
    }

    #[inline]
    fn scaled(&self, x: f32) -> i32 {
        as_level((self.clamped(x) * self.scale).half_away())
    }

    #[inline]
    fn scaled_to_even(&self, x: f32) -> i32 {
        as_level((self.clamped(x) * self.scale).nearest())
    }
}

/// 2^31, which the highest int32 rounds to, wraps in TensorFlow, too.
#[inline]
fn as_level(level: f32) -> i32 {
    if level < 2147483648.0 { level as i32 } else { i32::MIN }
}

fn prepare_back(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (mode, dtype, axis) = (mode(node)?, node.attrs.dtype("dtype")?, node.attrs.int("axis")?);
    let (stored, narrow) = (node.attrs.dtype("T")?, node.attrs.bool("narrow_range")?);
    if dtype == DataType::Bfloat16 && mode == Mode::First {
        return Err(invalid!(
            "When output type is bfloat16, Mode string must be 'MIN_COMBINED', is 'MIN_FIRST'"
        ));
    }
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = c.shape(0)?.clone();
        let (count, inner) = slices(&shape, axis, mode)?;
        let lines = ranges(c, count, axis)?.into_iter().map(|range| line(mode, stored, range, narrow));
        let lines = reserve::try_collect(lines)?;
        let stored = integers(c.input(0)?)?;
        let stored = stored.as_slice::<i32>()?;
        let mut out = Tensor::uninit(DataType::Float, shape)?;
        for_slices(c.par(), (&lines, inner), stored, out.as_mut_slice::<f32>()?, |line, stored: i32| {
            let (shift, scale, offset) = *line;
            (stored as f32 + shift) * scale + offset
        });
        c.set(0, converted(&out, dtype)?);
        Ok(())
    }))
}

/// What is added to an integer, what that is multiplied with, and what is added then.
fn line(mode: Mode, dtype: DataType, (low, high): (f32, f32), narrow: bool) -> Result<(f32, f32, f32)> {
    let (least, most) = limits(dtype)?;
    Ok(match mode {
        Mode::Combined => (-least as f32, (high - low) / (most as f32 - least as f32), low),
        Mode::First => {
            let (scale, offset) = Levels::new(dtype, (low, high))?.line();
            (0.0, scale, offset)
        }
        Mode::Scaled => {
            let by_high = high / most as f32;
            let by_low = low / (least + i64::from(narrow)) as f32;
            (0.0, if least == 0 || by_low < by_high { by_high } else { by_low }, 0.0)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f32; 9] = [-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0];

    fn levels(mode: Mode, dtype: DataType) -> Vec<i32> {
        let q = Quantiser::new(mode, dtype, widened((-1.0, 2.0), 0.01).unwrap(), false).unwrap();
        let level = |x: &f32| match mode {
            Mode::Combined => q.with_offset(*x),
            Mode::First => q.rounding.level(*x),
            Mode::Scaled => q.scaled(*x),
        };
        X.iter().map(level).collect()
    }

    #[test]
    fn levels_are_those_of_tensorflow() {
        use DataType::{Qint8, Qint32, Quint8};
        assert_eq!(levels(Mode::Combined, Qint8), [-128, -128, -86, -43, -22, -1, 42, 85, 127]);
        assert_eq!(levels(Mode::First, Qint8), [-128, -128, -86, -43, -22, 0, 42, 85, 127]);
        assert_eq!(levels(Mode::Scaled, Qint8), [-127, -64, -32, 0, 16, 32, 64, 95, 127]);
        assert_eq!(levels(Mode::Combined, Quint8), [0, 0, 43, 85, 106, 128, 170, 213, 255]);
        assert_eq!(levels(Mode::First, Quint8), [0, 0, 42, 85, 106, 128, 170, 213, 255]);
        assert_eq!(levels(Mode::Scaled, Quint8), [0, 0, 0, 0, 32, 64, 128, 191, 255]);
        let first =
            [i32::MIN, i32::MIN, -1431655680, -715827840, -357913888, 64, 715827968, 1431655808, 2147483520];
        assert_eq!(levels(Mode::First, Qint32), first);
    }
}
