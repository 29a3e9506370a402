//! `QuantizedRelu` and `QuantizedRelu6`: integers not below the one that stands for 0, and not above that of 6.

use super::requantize::{ranged, row};
use crate::elementwise::for_chunks_of;
use crate::levels::{Levels, bounds, integers, quantised};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&QUANTIZED_RELU, &QUANTIZED_RELU6];

static QUANTIZED_RELU: Op = Op {
    name: "QuantizedRelu",
    doc: "The features, not below the integer that stands for 0.",
    inputs: &["features: Tinput", "min_features: float", "max_features: float"],
    outputs: &["activations: out_type", "min_activations: float", "max_activations: float"],
    attrs: &[
        "Tinput: {qint8, quint8, qint32, qint16, quint16}",
        "out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8",
    ],
    shape: |c| ranged(c, 2),
    grad: Missing,
    kernels: &[
        row(&[("Tinput", DataType::Quint8), ("out_type", DataType::Quint8)], relu),
        row(&[("Tinput", DataType::Qint32), ("out_type", DataType::Qint32)], relu),
    ],
    cases,
    ..Op::PURE
};

static QUANTIZED_RELU6: Op = Op {
    name: "QuantizedRelu6",
    doc: "The features, between the integers that stand for 0 and 6.",
    kernels: &[
        row(&[("Tinput", DataType::Quint8), ("out_type", DataType::Quint8)], relu6),
        row(&[("Tinput", DataType::Qint32), ("out_type", DataType::Qint32)], relu6),
    ],
    ..QUANTIZED_RELU
};

fn cases(r: &mut CaseGen) -> Vec<Case> {
    let mut of = |dtype: DataType, low: i32, high: i32| {
        let features = quantised(r.ints(&[2, 3], low, high), dtype);
        let bounds = [-5f32, 10.0].map(Tensor::scalar);
        Case::new(features.into_iter().chain(bounds).collect()).attr("out_type", dtype)
    };
    vec![of(DataType::Quint8, 0, 255), of(DataType::Qint32, -1_000_000_000, 1_000_000_000)]
}

fn relu(c: &mut OpCall<'_>) -> Result<()> {
    clamp(c, None)
}

fn relu6(c: &mut OpCall<'_>) -> Result<()> {
    clamp(c, Some(6.0))
}

fn clamp(c: &mut OpCall<'_>, most: Option<f32>) -> Result<()> {
    let dtype = c.output_type(0)?;
    let (low, high) = bounds(c, 1)?;
    let levels = Levels::new(dtype, (low, high))?;
    let (zero, most) = (levels.level(0.0), most.map_or(i32::MAX, |most| levels.level(most)));
    // The upper bound wins where a range that is upside down has it below 0's.
    let out = match dtype {
        DataType::Quint8 => {
            let byte = |level: i32| level.clamp(0, 255) as u8;
            let (zero, most) = (byte(zero), byte(most));
            let mut out = Tensor::uninit(dtype, c.shape(0)?.clone())?;
            let x = c.input(0)?.bytes()?;
            for_chunks_of(c.par(), out.bytes_mut()?, 1, 1 << 16, &|at, out| {
                out.iter_mut().zip(&x[at]).for_each(|(out, x)| *out = (*x).max(zero).min(most));
            });
            out
        }
        _ => {
            let stored = integers(c.input(0)?)?;
            let x = stored.as_slice::<i32>()?;
            let mut out = Tensor::uninit(DataType::Int32, c.shape(0)?.clone())?;
            for_chunks_of(c.par(), out.as_mut_slice::<i32>()?, 1, 1 << 14, &|at, out| {
                out.iter_mut().zip(&x[at]).for_each(|(out, x)| *out = (*x).max(zero).min(most));
            });
            quantised(out, dtype)?
        }
    };
    c.set(0, out);
    c.set(1, Tensor::scalar(low));
    c.set(2, Tensor::scalar(high));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_six_are_the_levels_of_tensorflow() {
        let levels = |dtype| {
            let levels = Levels::new(dtype, (-5.0, 10.0)).unwrap();
            (levels.level(0.0), levels.level(6.0))
        };
        assert_eq!(levels(DataType::Quint8), (85, 187));
        assert_eq!(levels(DataType::Qint32), (-715827883, 1002159035));
    }
}
