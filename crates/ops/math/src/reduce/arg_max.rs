//! `ArgMax` and `ArgMin`: the index of the maximum and minimum.

use crate::prelude::*;
use thalweg_math::parallel::Parallel;
use thalweg_math::reduce::{self, arg_max, arg_min};

pub static ARG_MAX: Op = Op {
    name: "ArgMax",
    doc: "The index of the largest element along an axis; the first of equals.",
    inputs: &["input: T", "dimension: Tidx"],
    outputs: &["output: output_type"],
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16, quint16, bool}",
        "Tidx: {int16, int32, int64} = DT_INT32",
        "output_type: {int16, uint16, int32, int64} = DT_INT64",
    ],
    shape,
    grad: Stops,
    kernels: cpu!(run_max: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, bool),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3, 4]), Tensor::scalar(1i32)]),
            Case::new(vec![r.tensor(&[5]), Tensor::scalar(-1i64)]).attr("output_type", DataType::Int32),
        ]
    },
    host_inputs: &["dimension"],
    ..Op::PURE
};

pub static ARG_MIN: Op = Op {
    name: "ArgMin",
    doc: "The index of the smallest element along an axis; the first of equals.",
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16, quint16, bool}",
        "Tidx: {int32, int64} = DT_INT32",
        "output_type: {int32, int64} = DT_INT64",
    ],
    kernels: cpu!(run_min: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, bool),
    ..ARG_MAX
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.scalar(1)?;
    let input = c.input(0);
    let Some(dims) = input.dims() else { return Ok(vec![PartialShape::unknown()]) };
    if dims.is_empty() {
        return Ok(vec![PartialShape::scalar()]);
    }
    let Some(axis) = c.ints(1).and_then(|v| v.first().copied()) else {
        return Ok(vec![PartialShape::unknown_of_rank(dims.len() - 1)]);
    };
    let axis = axis_in_range(axis, dims.len())?;
    Ok(vec![dims.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, d)| *d).collect()])
}

fn run_max<T: Element + reduce::Element + PartialOrd>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, arg_max::<T>)
}

fn run_min<T: Element + reduce::Element + PartialOrd>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, arg_min::<T>)
}

fn run<T: Element>(
    c: &mut OpCall<'_>,
    search: fn(&dyn Parallel, [usize; 3], &[T], &mut [i64]),
) -> Result<()> {
    let (axis, shape) = (c.scalar_int(1)?, c.shape(0)?);
    let rank = shape.rank() as i64;
    let at = axis_in_range(axis, shape.rank())
        .map_err(|_| invalid!("Expected dimension in the range [{}, {rank}), but got {axis}", -rank))?;
    let (outer, len, inner) = shape.around(at)?;
    if len == 0 && outer * inner > 0 {
        return Err(invalid!("Reduction axis {axis} is empty in shape {shape}"));
    }
    let out_shape = shape.without(at);
    let mut found = reserve::filled(out_shape.elements(), 0i64)?;
    if !found.is_empty() {
        search(c.par(), [outer, len, inner], c.slice::<T>(0)?, &mut found);
    }
    let out = match c.output_type(0)? {
        DataType::Int64 => Tensor::from_slice(out_shape, &found)?,
        DataType::Int32 => narrowed(out_shape, &found, |i| i as i32)?,
        DataType::Int16 => narrowed(out_shape, &found, |i| i as i16)?,
        _ => narrowed(out_shape, &found, |i| i as u16)?,
    };
    c.set(0, out);
    Ok(())
}

fn narrowed<I: Element>(shape: Shape, found: &[i64], f: fn(i64) -> I) -> Result<Tensor> {
    Tensor::build(shape, |out: &mut [I]| out.iter_mut().zip(found).for_each(|(out, i)| *out = f(*i)))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn there_is_no_largest_element_of_nothing() {
        let x = floats(&[2, 0], &[]);
        assert_eq!(code(call("ArgMax", &[x.clone(), Tensor::scalar(1i32)], &[])), Code::InvalidArgument);
        assert_eq!(call("ArgMax", &[x.clone(), Tensor::scalar(0i32)], &[]).unwrap()[0].elements(), 0);
        assert_eq!(code(call("ArgMin", &[x.clone(), Tensor::scalar(2i32)], &[])), Code::InvalidArgument);
        assert_eq!(code(call("ArgMin", &[x, ints(&[1], &[0])], &[])), Code::InvalidArgument);
    }
}
