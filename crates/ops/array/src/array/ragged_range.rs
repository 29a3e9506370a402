//! `RaggedRange`: many ranges, concatenated.

use crate::convert::int_tensor;
use crate::prelude::*;

pub static RAGGED_RANGE: Op = Op {
    name: "RaggedRange",
    doc: "The ranges from `starts` to `limits` by `deltas` concatenated, and where each begins.",
    inputs: &["starts: T", "limits: T", "deltas: T"],
    outputs: &["rt_nested_splits: Tsplits", "rt_dense_values: T"],
    attrs: &["T: {bfloat16, float, double, int32, int64} = DT_INT32", "Tsplits: {int32, int64} = DT_INT64"],
    shape: |c| {
        let mut rows = -1;
        for s in c.inputs {
            match s.dims() {
                Some([n]) => rows = merge_dim(rows, *n)?,
                Some([_, _, ..]) => {
                    return Err(invalid!("starts, limits and deltas must be scalars or vectors, got {s}"));
                }
                _ => {}
            }
        }
        // All scalars: one row. If a rank is unknown, so is the number of rows.
        let scalars = c.inputs.iter().all(|s| s.rank() == Some(0));
        let splits = if scalars {
            2
        } else if rows < 0 {
            -1
        } else {
            rows + 1
        };
        Ok(vec![PartialShape::vector(splits), PartialShape::vector(-1)])
    },
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, bf16, i32, i64),
    cases: |_| {
        vec![
            Case::new(vec![int_vector(&[0, 5, 8]), int_vector(&[3, 5, 2]), int_vector(&[1, 1, -2])]),
            Case::new(vec![Tensor::scalar(0i32), int_vector(&[3, 5]), Tensor::scalar(2i32)]),
        ]
    },
    ..Op::PURE
};

fn run<T: Stepped>(c: &mut OpCall<'_>) -> Result<()> {
    let mut rows = None;
    for i in 0..3 {
        match *c.shape(i)?.dims() {
            [] => {}
            [n] if rows.is_none_or(|r| r == n) => rows = Some(n),
            _ => return Err(invalid!("starts, limits, and deltas must have the same shape")),
        }
    }
    let rows = rows.unwrap_or(1);
    let [starts, limits, deltas] = [c.slice::<T>(0)?, c.slice::<T>(1)?, c.slice::<T>(2)?];
    let mut splits = Tensor::uninit(DataType::Int64, Shape::vector(rows + 1))?;
    let mut total = 0i64;
    let (first, ends) = splits.as_mut_slice::<i64>()?.split_at_mut(1);
    first.fill(0);
    for (i, end) in ends.iter_mut().enumerate() {
        let size = T::steps(of_row(starts, i), of_row(limits, i), of_row(deltas, i))?;
        total = total.checked_add(size).ok_or_else(|| invalid!("the ranges have more than 2^63 elements"))?;
        *end = total;
    }
    let mut values = Tensor::uninit(T::DTYPE, Shape::from_i64(&[total])?)?;
    let mut rest = values.as_mut_slice::<T>()?;
    for (i, ends) in splits.as_slice::<i64>()?.windows(2).enumerate() {
        let (mut value, delta) = (of_row(starts, i), of_row(deltas, i));
        let (row, after) = rest.split_at_mut((ends[1] - ends[0]) as usize);
        for slot in row {
            *slot = value;
            value = value.add(delta);
        }
        rest = after;
    }
    let splits = match c.output_type(0)? {
        DataType::Int64 => splits,
        other => int_tensor(other, splits.as_slice::<i64>()?)?,
    };
    c.set(0, splits);
    c.set(1, values);
    Ok(())
}

/// The value for a row; a single value broadcasts.
#[inline]
fn of_row<V: Copy>(values: &[V], row: usize) -> V {
    values[if values.len() == 1 { 0 } else { row }]
}

/// The numbers of ranges, and how many a range has.
trait Stepped: Real {
    fn steps(start: Self, limit: Self, delta: Self) -> Result<i64>;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Stepped for $t {
            #[inline]
            fn steps(start: Self, limit: Self, delta: Self) -> Result<i64> {
                if delta == 0 {
                    return Err(invalid!("Requires delta != 0"));
                }
                if (delta > 0) != (limit > start) {
                    return Ok(0);
                }
                let (distance, step) = (limit.abs_diff(start), delta.unsigned_abs());
                // Most steps are 1, and divisions are slow.
                let steps = if step == 1 { distance } else { distance.div_ceil(step) };
                i64::try_from(steps).map_err(|_| invalid!("a range has more than 2^63 elements"))
            }
        }
    )* };
}
integers!(i32, i64);

macro_rules! floats {
    ($($t:ty),*) => { $(
        impl Stepped for $t {
            fn steps(start: Self, limit: Self, delta: Self) -> Result<i64> {
                float_steps([start, limit, delta].map(Real::to_f64))
            }
        }
    )* };
}
floats!(f32, f64, bf16);

fn float_steps([start, limit, delta]: [f64; 3]) -> Result<i64> {
    if delta == 0.0 {
        return Err(invalid!("Requires delta != 0"));
    }
    let steps = ((limit - start) / delta).ceil().max(0.0);
    if steps < i64::MAX as f64 && !delta.is_nan() && !(limit - start).is_nan() {
        Ok(steps as i64)
    } else {
        Err(invalid!("Requires ((limit - start) / delta) <= 2^63 - 1, got {start}, {limit} and {delta}"))
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code};

    #[test]
    fn steps_that_lead_nowhere_or_too_far_are_refused() {
        let range = |start: i64, limit: i64, delta: i64| {
            call("RaggedRange", &[Tensor::scalar(start), Tensor::scalar(limit), Tensor::scalar(delta)], &[])
        };
        assert_eq!(code(range(0, 3, 0)), Code::InvalidArgument);
        assert_eq!(code(range(i64::MIN, i64::MAX, 1)), Code::InvalidArgument);
        assert_eq!(code(range(0, i64::MAX, 1)), Code::InvalidArgument);
        let nan = [0f32, f32::NAN, 1.0].map(Tensor::scalar);
        assert_eq!(code(call("RaggedRange", &nan, &[])), Code::InvalidArgument);
    }
}
