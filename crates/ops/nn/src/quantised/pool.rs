//! `QuantizedMaxPool` and `QuantizedAvgPool`: windows over images in 8 bits, whose range stays.

use super::requantize::row;
use crate::levels::{bounds, integers, quantised};
use crate::nn::pool::parameters::{Pool, with_window};
use crate::prelude::*;
use thalweg_math::parallel::Parallel;
use thalweg_math::window::{Grid, avg_pool, max_pool};

pub static OPS: &[&Op] = &[&QUANTIZED_AVG_POOL, &QUANTIZED_MAX_POOL];

static QUANTIZED_MAX_POOL: Op = Op {
    name: "QuantizedMaxPool",
    doc: "The maximum of each channel over each window position.",
    inputs: &["input: T", "min_input: float", "max_input: float"],
    outputs: &["output: T", "min_output: float", "max_output: float"],
    attrs: &[
        "T: {qint8, quint8, qint32, qint16, quint16}",
        "ksize: list(int)",
        "strides: list(int)",
        "padding: {'SAME', 'VALID'}",
    ],
    shape: |c| {
        let images = c.rank(0, 4)?;
        c.scalar(1)?;
        c.scalar(2)?;
        let out = Pool::of(c.attrs)?.known_output(&images)?;
        Ok(vec![out, PartialShape::scalar(), PartialShape::scalar()])
    },
    grad: Missing,
    kernels: &[row(&[("T", DataType::Qint8)], maxima), row(&[("T", DataType::Quint8)], maxima)],
    cases: |r| {
        let mut of = |dtype: DataType, low: i32| {
            // Multiples of the elements under a window: oneDNN rounds averages, TensorFlow's own kernel does not.
            let mut images = r.ints(&[2, 4, 5, 3], low, low + 20);
            images.as_mut_slice::<i32>().into_iter().flatten().for_each(|x| *x *= 12);
            let images = quantised(images, dtype);
            let bounds = [-5f32, 10.0].map(Tensor::scalar);
            Case::new(images.into_iter().chain(bounds).collect())
        };
        vec![
            with_window(of(DataType::Quint8, 0), [2, 2], [2, 2], "VALID"),
            with_window(of(DataType::Qint8, -10), [3, 2], [1, 1], "SAME"),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static QUANTIZED_AVG_POOL: Op = Op {
    name: "QuantizedAvgPool",
    doc: "The average of each channel over each window position, without its fraction.",
    kernels: &[row(&[("T", DataType::Qint8)], averages), row(&[("T", DataType::Quint8)], averages)],
    ..QUANTIZED_MAX_POOL
};

fn maxima(c: &mut OpCall<'_>) -> Result<()> {
    pooled(c, |par, grid, depth, x, y| max_pool(par, grid, depth, i32::MIN, x, y))
}

fn averages(c: &mut OpCall<'_>) -> Result<()> {
    pooled(c, avg_pool::<i32>)
}

type Run = fn(&dyn Parallel, &Grid, usize, &[i32], &mut [i32]);

fn pooled(c: &mut OpCall<'_>, run: Run) -> Result<()> {
    let (pool, (low, high)) = (Pool::of(c.attrs())?, bounds(c, 1)?);
    let images = c.shape(0)?;
    let grid = pool.grid_of_planes(images)?;
    let stored = integers(c.input(0)?)?;
    let mut out = Tensor::zeros(DataType::Int32, pool.output(images)?)?;
    if images.elements() > 0 && out.elements() > 0 {
        let (x, y) = (stored.as_slice::<i32>()?, out.as_mut_slice::<i32>()?);
        run(c.par(), &grid, pool.channels(images)?, x, y);
    }
    c.set(0, quantised(out, c.output_type(0)?)?);
    c.set(1, Tensor::scalar(low));
    c.set(2, Tensor::scalar(high));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    #[test]
    fn averages_lose_their_fraction() {
        let images = Tensor::from_slice(Shape::new(&[1, 1, 4, 1]).unwrap(), &[0u8, 1, 2, 255]).unwrap();
        let images = images.bitcast_same_size(DataType::Quint8).unwrap();
        let attrs = [
            ("ksize", Attr::ints(&[1, 1, 2, 1])),
            ("strides", Attr::ints(&[1, 1, 1, 1])),
            ("padding", "VALID".into()),
        ];
        let y = call("QuantizedAvgPool", &[images, Tensor::scalar(-1f32), Tensor::scalar(1f32)], &attrs);
        assert_eq!(y.unwrap()[0].bytes().unwrap(), [0, 1, 128]);
    }
}
