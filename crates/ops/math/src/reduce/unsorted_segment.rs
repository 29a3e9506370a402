//! `UnsortedSegmentSum`, `UnsortedSegmentProd`, `UnsortedSegmentMax`, `UnsortedSegmentMin`: ids in any order.

use super::segment_gradients::{extremum_gradient, gather_or_zero, product_gradient};
use super::segments::{Combine, Segments, by_element, overflow};
use crate::prelude::*;

pub static OPS: &[&Op] =
    &[&UNSORTED_SEGMENT_SUM, &UNSORTED_SEGMENT_PROD, &UNSORTED_SEGMENT_MAX, &UNSORTED_SEGMENT_MIN];

static UNSORTED_SEGMENT_SUM: Op = Op {
    name: "UnsortedSegmentSum",
    doc: "The sum of each of num_segments segments; ids have the leading dimensions of data, negative ids are dropped.",
    inputs: &["data: T", "segment_ids: Tindices", "num_segments: Tnumsegments"],
    outputs: &["output: T"],
    attrs: &["T: numbertype", "Tindices: {int16, int32, int64}", "Tnumsegments: {int32, int64} = DT_INT32"],
    shape,
    grad: Rule(|g| {
        let dy = g.dy()?;
        Ok(vec![gather_or_zero(g, dy)?.into(), Grad::None, Grad::None])
    }),
    kernels: cpu!(sum: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases: |r| {
        let five = Tensor::scalar(5i32);
        vec![
            Case::new(vec![r.tensor(&[4, 2]), int_vector(&[3, 0, 3, 1]), five.clone()])
                .without_difference(&[1, 2]),
            Case::new(vec![r.tensor(&[2, 2, 3]), r.ints(&[2, 2], 0, 3), five.clone()])
                .without_difference(&[1, 2]),
            Case::new(vec![r.tensor(&[3]), int_vector(&[0, -1, 1]), five]).without_difference(&[0, 1, 2]),
        ]
    },
    host_inputs: &["num_segments"],
    ..Op::PURE
};

static UNSORTED_SEGMENT_PROD: Op = Op {
    name: "UnsortedSegmentProd",
    doc: "The product of each of num_segments segments.",
    attrs: &["T: numbertype", "Tindices: {int32, int64}", "Tnumsegments: {int32, int64} = DT_INT32"],
    grad: Rule(|g| product_gradient(g, "UnsortedSegmentSum", "UnsortedSegmentProd")),
    kernels: cpu!(product: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    ..UNSORTED_SEGMENT_SUM
};

static UNSORTED_SEGMENT_MAX: Op = Op {
    name: "UnsortedSegmentMax",
    doc: "The maximum of each of num_segments segments; the lowest value of the type if empty.",
    attrs: &["T: realnumbertype", "Tindices: {int32, int64}", "Tnumsegments: {int32, int64} = DT_INT32"],
    grad: Rule(|g| extremum_gradient(g, "UnsortedSegmentSum")),
    kernels: cpu!(largest: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    ..UNSORTED_SEGMENT_SUM
};

static UNSORTED_SEGMENT_MIN: Op = Op {
    name: "UnsortedSegmentMin",
    doc: "The minimum of each of num_segments segments; the highest value of the type if empty.",
    kernels: cpu!(smallest: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    ..UNSORTED_SEGMENT_MAX
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.scalar(2)?;
    let segments = match c.ints(2).and_then(|n| n.first().copied()) {
        Some(n) if n < 0 => return Err(invalid!("Input num_segments == {n} must not be negative.")),
        n => n.unwrap_or(-1),
    };
    let (data, ids) = (c.input(0), c.input(1));
    let (Some(dims), Some(prefix)) = (data.dims(), ids.dims()) else {
        return Ok(vec![PartialShape::unknown()]);
    };
    if prefix.len() > dims.len() {
        return Err(invalid!("data.shape = {data} does not start with segment_ids.shape = {ids}"));
    }
    for (a, b) in dims.iter().zip(prefix) {
        merge_dim(*a, *b)?;
    }
    Ok(vec![[segments].into_iter().chain(dims[prefix.len()..].iter().copied()).collect()])
}

fn run<T: Element>(c: &mut OpCall<'_>, start: T, combine: Combine<'_, T>) -> Result<()> {
    let count = c.shape(2)?;
    if !count.is_scalar() {
        return Err(invalid!("num_segments should be a scalar, not shape {count}"));
    }
    let (data, ids, segments) = (c.shape(0)?, c.input(1)?, c.scalar_int(2)?);
    let Ok(count) = usize::try_from(segments) else {
        return Err(invalid!("Input num_segments == {segments} must not be negative."));
    };
    if !data.starts_with(ids.shape()) {
        return Err(invalid!("data.shape = {data} does not start with segment_ids.shape = {}", ids.shape()));
    }
    let (rest, at) = (&data[ids.rank()..], ids.shape());
    let ids = ids.to_i64s()?;
    if let Some((i, id)) = ids.iter().enumerate().find(|(_, id)| **id >= segments) {
        return Err(invalid!("segment_ids{} = {id} is out of range [0, {segments})", place(at, i)?));
    }
    let dims: Vec<usize> = [count].into_iter().chain(rest.iter().copied()).collect();
    let shape = Shape::new(&dims).map_err(|e| overflow(count, rest.iter().product()).unwrap_or(e))?;
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    let segments = Segments { ids: &ids, rows: None, width: rest.iter().product() };
    segments.combine(c.par(), c.slice::<T>(0)?, out.as_mut_slice::<T>()?, start, combine);
    c.set(0, out);
    Ok(())
}

/// The coordinates of element `i` as a text: `[0,2]`.
fn place(shape: &Shape, mut i: usize) -> Result<Shape> {
    let mut at = reserve::filled(shape.rank(), 0)?;
    for (at, size) in at.iter_mut().zip(shape.dims()).rev() {
        *at = i % size.max(&1);
        i /= size.max(&1);
    }
    Shape::new(&at)
}

fn sum<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, T::ZERO, &by_element(T::add))
}

fn product<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, T::ONE, &by_element(T::mul))
}

fn largest<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, T::least_finite(), &by_element(T::larger))
}

fn smallest<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, T::greatest_finite(), &by_element(T::smaller))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    fn of(op: &str, ids: &[i32], segments: Tensor) -> Result<Vec<Tensor>> {
        call(op, &[floats(&[3], &[1.0, 2.0, 3.0]), ints(&[ids.len()], ids), segments], &[])
    }

    #[test]
    fn negative_ids_are_left_out() {
        let y = of("UnsortedSegmentMax", &[0, -1, 2], Tensor::scalar(3i32)).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), &[1.0, f32::MIN, 3.0]);
    }

    #[test]
    fn a_bad_number_of_segments_is_refused() {
        for segments in [Tensor::scalar(-5i32), ints(&[1], &[4]), ints(&[0], &[]), Tensor::scalar(2i32)] {
            assert_eq!(code(of("UnsortedSegmentSum", &[0, 1, 2], segments)), Code::InvalidArgument);
        }
        assert_eq!(code(of("UnsortedSegmentSum", &[0, 1], Tensor::scalar(3i32))), Code::InvalidArgument);
        assert!(of("UnsortedSegmentSum", &[0, 1, 2], Tensor::scalar(1i64 << 62)).is_err());
    }
}
