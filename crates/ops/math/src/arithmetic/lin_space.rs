//! `LinSpace`: evenly spaced numbers, by count.

use crate::prelude::*;

pub static OPS: &[&Op] = &[&LIN_SPACE];

static LIN_SPACE: Op = Op {
    name: "LinSpace",
    doc: "num evenly spaced values from start to stop, inclusive.",
    inputs: &["start: T", "stop: T", "num: Tidx"],
    outputs: &["output: T"],
    attrs: &["T: {bfloat16, half, float, double}", "Tidx: {int32, int64} = DT_INT32"],
    shape,
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |_| {
        let case =
            |a: f32, b: f32, n: i32| Case::new(vec![Tensor::scalar(a), Tensor::scalar(b), Tensor::scalar(n)]);
        vec![case(0.0, 1.0, 4), case(3.0, -2.0, 1)]
    },
    host_inputs: &["start", "stop", "num"],
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    for i in 0..3 {
        c.scalar(i)?;
    }
    let Some(num) = c.ints(2).and_then(|n| n.first().copied()) else {
        return Ok(vec![PartialShape::vector(-1)]);
    };
    if num <= 0 {
        return Err(invalid!("Requires num > 0: {num}"));
    }
    Ok(vec![PartialShape::vector(num)])
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let (start, stop, num) = (c.scalar::<T>(0)?, c.scalar::<T>(1)?, c.scalar_int(2)?);
    if num <= 0 {
        return Err(invalid!("Requires num > 0: {num}"));
    }
    let step = if num > 1 { stop.sub(start).div(T::from_i64(num - 1)) } else { T::ZERO };
    let out = Tensor::build(Shape::vector(num as usize), |out: &mut [T]| {
        let last = out.len() - 1;
        for (i, out) in out.iter_mut().enumerate() {
            *out = if i > 0 && i == last { stop } else { start.add(step.mul(T::from_i64(i as i64))) };
        }
    })?;
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn there_is_at_least_one_value() {
        let of =
            |n: i32| call("LinSpace", &[Tensor::scalar(0f32), Tensor::scalar(1f32), Tensor::scalar(n)], &[]);
        assert_eq!(code(of(0)), Code::InvalidArgument);
        assert_eq!(of(1).unwrap()[0].as_slice::<f32>().unwrap(), &[0.0]);
        assert_eq!(of(2).unwrap()[0].as_slice::<f32>().unwrap(), &[0.0, 1.0]);
    }
}
