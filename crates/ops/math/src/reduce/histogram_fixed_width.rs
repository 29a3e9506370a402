//! `HistogramFixedWidth`: how many values fall into each of several equal bins.

use crate::convert::int_tensor;
use crate::prelude::*;

pub static HISTOGRAM_FIXED_WIDTH: Op = Op {
    name: "HistogramFixedWidth",
    doc: "Counts of values in nbins equal bins over value_range; values outside go to the first or last bin.",
    inputs: &["values: T", "value_range: T", "nbins: int32"],
    outputs: &["out: dtype"],
    attrs: &["T: {int32, int64, float, double}", "dtype: {int32, int64} = DT_INT32"],
    shape,
    kernels: cpu!(run: T in i32, i64, f32, f64),
    cases: |r| {
        let range = |a: f32, b: f32| Tensor::vector(&[a, b]).unwrap_or_else(|_| Tensor::scalar(a));
        vec![
            Case::new(vec![r.tensor(&[2, 5]), range(-1.0, 1.0), Tensor::scalar(4i32)]),
            Case::new(vec![r.tensor(&[3]), range(0.0, 1.0), Tensor::scalar(1i32)])
                .attr("dtype", DataType::Int64),
        ]
    },
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    merge_dim(c.rank(1, 1)?.dim(0), 2)?;
    c.scalar(2)?;
    match c.ints(2).and_then(|n| n.first().copied()) {
        Some(n) if n <= 0 => Err(invalid!("nbins should be a positive number, but got '{n}'")),
        n => Ok(vec![PartialShape::vector(n.unwrap_or(-1))]),
    }
}

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let bins = c.scalar_int(2)?;
    if bins <= 0 {
        return Err(invalid!("nbins should be a positive number, but got '{bins}'"));
    }
    let ([low, high], 1) = (c.slice::<T>(1)?, c.shape(1)?.rank()) else {
        return Err(invalid!("value_range should be a vector of 2 elements, got shape {}", c.shape(1)?));
    };
    let (low, high) = (*low, *high);
    if low.is_nan() || high.is_nan() || low >= high {
        return Err(invalid!(
            "value_range should satisfy value_range[0] < value_range[1], but got '[{}, {}]'",
            low.to_f64(),
            high.to_f64()
        ));
    }
    let values = c.slice::<T>(0)?;
    if values.iter().any(|v| v.is_nan()) {
        return Err(invalid!("Histogram values must not contain NaN"));
    }
    let (low, high) = (low.to_f64(), high.to_f64());
    let step = (high - low) / bins as f64;
    let mut counts = Tensor::zeros(DataType::Int64, Shape::vector(bins as usize))?;
    let out = counts.as_mut_slice::<i64>()?;
    for v in values {
        let bin = ((v.to_f64().clamp(low, high) - low) / step).clamp(0.0, (bins - 1) as f64);
        out[bin as usize] += 1;
    }
    let dtype = c.output_type(0)?;
    let counts =
        if dtype == DataType::Int64 { counts } else { int_tensor(dtype, counts.as_slice::<i64>()?)? };
    c.set(0, counts);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn values_outside_go_to_the_ends_and_nan_is_refused() {
        let range = floats(&[2], &[0.0, 5.0]);
        let of = |v: &[f32], range: &Tensor, bins: i32| {
            call("HistogramFixedWidth", &[floats(&[v.len()], v), range.clone(), Tensor::scalar(bins)], &[])
        };
        let y = of(&[-1.0, 0.0, 1.5, 2.0, 5.0, 15.0, f32::INFINITY], &range, 5).unwrap();
        assert_eq!(y[0].as_slice::<i32>().unwrap(), &[2, 1, 1, 0, 3]);
        assert_eq!(code(of(&[f32::NAN], &range, 5)), Code::InvalidArgument);
        assert_eq!(code(of(&[1.0], &range, 0)), Code::InvalidArgument);
        assert_eq!(code(of(&[1.0], &floats(&[2], &[5.0, 5.0]), 5)), Code::InvalidArgument);
        assert_eq!(code(of(&[1.0], &floats(&[3], &[0.0; 3]), 5)), Code::InvalidArgument);
    }
}
