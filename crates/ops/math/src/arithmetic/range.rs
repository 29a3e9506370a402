//! `Range`: evenly spaced numbers.

use crate::prelude::*;

pub static OPS: &[&Op] = &[&RANGE];

static RANGE: Op = Op {
    name: "Range",
    doc: "start, start + delta, start + 2 delta, .. below (or above) limit.",
    inputs: &["start: Tidx", "limit: Tidx", "delta: Tidx"],
    outputs: &["output: Tidx"],
    attrs: &[
        "Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} = DT_INT32",
    ],
    shape,
    grad: Stops,
    kernels: cpu!(run: Tidx in f32, f64, f16, bf16; run_integer: Tidx in i8, i16, i32, i64, u16, u32, u64),
    cases: |_| {
        let case =
            |a: i32, b: i32, d: i32| Case::new(vec![Tensor::scalar(a), Tensor::scalar(b), Tensor::scalar(d)]);
        vec![
            case(0, 5, 1),
            case(5, 0, -2),
            case(3, 3, 1),
            Case::new(vec![Tensor::scalar(0f32), Tensor::scalar(1f32), Tensor::scalar(0.3f32)]),
        ]
    },
    host_inputs: &["start", "limit", "delta"],
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    for i in 0..3 {
        c.scalar(i)?;
    }
    let (Some(start), Some(limit), Some(delta)) = (c.constant(0), c.constant(1), c.constant(2)) else {
        return Ok(vec![PartialShape::vector(-1)]);
    };
    let length = match start.dtype() {
        DataType::Float => length_of::<f32>(&start, &limit, &delta)?,
        DataType::Double => length_of::<f64>(&start, &limit, &delta)?,
        DataType::Half => length_of::<f16>(&start, &limit, &delta)?,
        DataType::Bfloat16 => length_of::<bf16>(&start, &limit, &delta)?,
        _ => integer_length(whole(&start)?, whole(&limit)?, whole(&delta)?)?,
    };
    Ok(vec![PartialShape::vector(length as i64)])
}

fn length_of<T: Real>(start: &Tensor, limit: &Tensor, delta: &Tensor) -> Result<usize> {
    float_length::<T>(start.to_scalar()?, limit.to_scalar()?, delta.to_scalar()?)
}

fn whole(t: &Tensor) -> Result<i128> {
    match t.as_slice::<u64>() {
        Ok([one]) => Ok(*one as i128),
        _ => Ok(t.to_i64s()?.first().copied().unwrap_or(0) as i128),
    }
}

/// The number of elements; a delta of 0 or wrong sign is an error.
fn float_length<T: Real>(start: T, limit: T, delta: T) -> Result<usize> {
    let shown = (start.to_f64(), limit.to_f64());
    check(delta == T::ZERO, delta > T::ZERO, start <= limit, limit <= start, &shown.0, &shown.1)?;
    // In the element type: TensorFlow's length depends on its rounding.
    let length = limit.sub(start).div(delta).absolute().to_f64().ceil();
    if length.is_nan() || length > i64::MAX as f64 {
        return Err(invalid!("Requires ((limit - start) / delta) <= {}", i64::MAX));
    }
    Ok(length as usize)
}

fn integer_length(start: i128, limit: i128, delta: i128) -> Result<usize> {
    check(delta == 0, delta > 0, start <= limit, limit <= start, &start, &limit)?;
    let (distance, step) = ((limit - start).unsigned_abs(), delta.unsigned_abs());
    let length = distance.div_ceil(step);
    i64::try_from(length)
        .map(|n| n as usize)
        .map_err(|_| invalid!("Requires ((limit - start) / delta) <= {}", i64::MAX))
}

fn check(
    is_zero: bool,
    is_up: bool,
    rises: bool,
    falls: bool,
    start: &dyn std::fmt::Display,
    limit: &dyn std::fmt::Display,
) -> Result<()> {
    if is_zero {
        return Err(invalid!("Requires delta != 0: 0"));
    }
    if is_up && !rises {
        return Err(invalid!("Requires start <= limit when delta > 0: {start}/{limit}"));
    }
    if !is_up && !falls {
        return Err(invalid!("Requires start >= limit when delta < 0: {start}/{limit}"));
    }
    Ok(())
}

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let (start, limit, delta) = (one::<T>(c, 0)?, one::<T>(c, 1)?, one::<T>(c, 2)?);
    let length = float_length(start, limit, delta)?;
    fill(c, start, delta, length)
}

fn run_integer<T: Real + Into<i128>>(c: &mut OpCall<'_>) -> Result<()> {
    let (start, limit, delta) = (one::<T>(c, 0)?, one::<T>(c, 1)?, one::<T>(c, 2)?);
    let length = integer_length(start.into(), limit.into(), delta.into())?;
    fill(c, start, delta, length)
}

/// A scalar, or as TensorFlow allows here, a vector of one element.
fn one<T: Element>(c: &OpCall<'_>, i: usize) -> Result<T> {
    let t = c.input(i)?;
    t.to_scalar::<T>()
        .map_err(|_| invalid!("{} must be a scalar, not shape {}", ["start", "limit", "delta"][i], t.shape()))
}

fn fill<T: Number>(c: &mut OpCall<'_>, start: T, delta: T, length: usize) -> Result<()> {
    if length.checked_mul(T::DTYPE.size()).is_none() {
        return Err(resource_exhausted(format_args!(
            "a range of {length} elements is more than memory can hold"
        )));
    }
    // start + i * delta, not a running sum: rounding errors do not add up, and the bits are TensorFlow's.
    let out = Tensor::build(Shape::vector(length), |out: &mut [T]| {
        for (i, out) in out.iter_mut().enumerate() {
            *out = start.add(T::from_i64(i as i64).mul(delta));
        }
    })?;
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    fn range<T: Element>(start: T, limit: T, delta: T) -> Result<Vec<Tensor>> {
        call("Range", &[Tensor::scalar(start), Tensor::scalar(limit), Tensor::scalar(delta)], &[])
    }

    #[test]
    fn ranges_that_never_end_are_refused_before_memory_is_asked_for() {
        assert_eq!(code(range(-1e38f32, 1.0, 1.0)), Code::InvalidArgument);
        assert_eq!(code(range(0i64, i64::MAX, 1)), Code::ResourceExhausted);
        assert_eq!(code(range(i64::MIN, i64::MAX, 1)), Code::InvalidArgument);
        assert_eq!(code(range(0, 3, 0)), Code::InvalidArgument);
        assert_eq!(code(range(0, -3, 1)), Code::InvalidArgument);
        assert_eq!(code(range(f32::NAN, 1.0, 1.0)), Code::InvalidArgument);
    }

    #[test]
    fn rounding_errors_of_a_range_do_not_add_up() {
        let out = range(-2.700268f32, 2.568935, 1.1681565).unwrap();
        assert_eq!(out[0].as_slice::<f32>().unwrap()[3], -2.700268f32 + 3.0 * 1.1681565f32);
    }

    #[test]
    fn the_limit_is_not_part_of_the_range() {
        assert_eq!(range(5, 0, -2).unwrap()[0].as_slice::<i32>().unwrap(), &[5, 3, 1]);
        assert_eq!(range(0f32, 0.3, 0.1).unwrap()[0].elements(), 3);
        assert_eq!(range(250u16, 256, 2).unwrap()[0].as_slice::<u16>().unwrap(), &[250, 252, 254]);
        assert_eq!(range(i64::MAX - 1, i64::MAX, 5).unwrap()[0].as_slice::<i64>().unwrap(), &[i64::MAX - 1]);
    }
}
