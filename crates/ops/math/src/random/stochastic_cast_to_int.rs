//! `StochasticCastToInt`: numbers rounded up or down by chance.

use super::drawn::{check_key, key_stream};
use super::stateless_key::example_key;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use thalweg_math::random::{self, Uniform};
use thalweg_math::rounding::Round;

pub static STOCHASTIC_CAST_TO_INT: Op = Op {
    name: "StochasticCastToInt",
    doc: "Whole numbers next to those of the input, the nearer the likelier; NaN is 0, and numbers out of range are the extremes.",
    inputs: &["input: Tin", "key: uint64", "counter: uint64", "alg: int32"],
    outputs: &["output: Tout"],
    attrs: &["Tin: {half, bfloat16, float, double}", "Tout: {int8, int16, int32}"],
    shape: |c| {
        check_key(c, 1)?;
        Ok(vec![c.input(0)])
    },
    grad: Stops,
    kernels: cpu!(run: Tout in i8, i16, i32),
    cases: |_| {
        // Whole numbers: which others are rounded up depends on the width of TensorFlow's vectors.
        let whole = Tensor::vector(&[1f32, -2.0, 300.0, 0.0]).unwrap_or_else(|_| Tensor::scalar(0f32));
        let inputs = [vec![whole], example_key()].concat();
        vec![Case::new(inputs).attr("Tout", DataType::Int32)]
    },
    expensive: true,
    ..Op::PURE
};

fn run<T: Integer>(c: &mut OpCall<'_>) -> Result<()> {
    match c.input(0)?.dtype() {
        DataType::Half => of::<f16, T>(c),
        DataType::Bfloat16 => of::<bf16, T>(c),
        DataType::Double => of::<f64, T>(c),
        _ => of::<f32, T>(c),
    }
}

fn of<F: Float, T: Integer>(c: &mut OpCall<'_>) -> Result<()> {
    let stream = key_stream(c, 1)?;
    let shape = c.shape(0)?.clone();
    let mut chances = Tensor::uninit(DataType::Float, shape.clone())?;
    random::fill(c.par(), &Uniform::<f32>::default(), stream, chances.as_mut_slice::<f32>()?);
    let (values, chances) = (c.slice::<F>(0)?, chances.as_slice::<f32>()?);
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, 1, 1 << 14, &|range, out| {
        for ((x, chance), out) in values[range.clone()].iter().zip(&chances[range]).zip(out) {
            let (x, chance) = (x.to_f64(), f64::from(*chance));
            // The distance from zero is what is rounded.
            let rounded = (x.abs() + 1.0 - chance).down().max(x.abs().down()).copysign(x);
            let whole = if x == x.down() { x } else { rounded };
            // Conversion saturates; NaN becomes 0.
            *out = T::from_f64(whole);
        }
    });
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    #[test]
    fn numbers_are_rounded_to_neighbours_and_whole_ones_stay() {
        let values: Vec<f32> = (0..3000).map(|i| [0.25, -0.75, 3.0][i % 3]).collect();
        let inputs = [vec![Tensor::vector(&values).unwrap()], example_key()].concat();
        let got = call("StochasticCastToInt", &inputs, &[("Tout", Attr::Type(DataType::Int8))]).unwrap();
        let got = got[0].as_slice::<i8>().unwrap();
        let count = |at: usize, v: i8| got.iter().skip(at).step_by(3).filter(|g| **g == v).count();
        assert_eq!((count(0, 0) + count(0, 1), count(1, 0) + count(1, -1), count(2, 3)), (1000, 1000, 1000));
        assert!((200..300).contains(&count(0, 1)) && (700..800).contains(&count(1, -1)));
        let odd = [f32::NAN, 1e9, -1e9, f32::INFINITY];
        let inputs = [vec![Tensor::vector(&odd).unwrap()], example_key()].concat();
        let got = call("StochasticCastToInt", &inputs, &[("Tout", Attr::Type(DataType::Int8))]).unwrap();
        assert_eq!(got[0].as_slice::<i8>().unwrap(), [0, 127, -128, 127]);
    }
}
