//! `SegmentSum`, `SegmentMean`, `SegmentProd`, `SegmentMax`, `SegmentMin`: reductions by sorted ids.

use super::segment_gradients::{extremum_gradient, product_gradient};
use super::segments::{Combine, Segments, by_element, segmented, segmented_shape, sorted_segments};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&SEGMENT_SUM, &SEGMENT_MEAN, &SEGMENT_PROD, &SEGMENT_MAX, &SEGMENT_MIN];

static SEGMENT_SUM: Op = Op {
    name: "SegmentSum",
    doc: "The sum of the rows of each segment; ids are sorted.",
    inputs: &["data: T", "segment_ids: Tindices"],
    outputs: &["output: T"],
    attrs: &["T: numbertype", "Tindices: {int32, int64}"],
    shape: |c| {
        let (data, ids) = (c.rank_at_least(0, 1)?, c.rank(1, 1)?);
        if data.rank().is_some() {
            merge_dim(data.dim(0), ids.dim(0))?;
        }
        Ok(vec![segmented(&data, -1)])
    },
    grad: Rule(|g| {
        let dy = g.dy()?;
        Ok(vec![gather(g, dy)?.into(), Grad::None])
    }),
    kernels: cpu!(sum: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[4, 2]), int_vector(&[0, 0, 1, 3])]).without_difference(&[1]),
            Case::new(vec![r.tensor(&[3]), int_vector(&[0, 1, 1])]).without_difference(&[1]),
            Case::new(vec![r.tensor(&[0, 2]), int_vector(&[])]).without_difference(&[1]),
        ]
    },
    ..Op::PURE
};

static SEGMENT_MEAN: Op = Op {
    name: "SegmentMean",
    doc: "The mean of the rows of each segment, 0 for none; ids are sorted.",
    grad: Rule(mean_grad),
    kernels: cpu!(mean: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    ..SEGMENT_SUM
};

static SEGMENT_PROD: Op = Op {
    name: "SegmentProd",
    doc: "The product of the rows of each segment; ids are sorted.",
    grad: Rule(|g| product_gradient(g, "SegmentSum", "SegmentProd")),
    kernels: cpu!(product: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    ..SEGMENT_SUM
};

static SEGMENT_MAX: Op = Op {
    name: "SegmentMax",
    doc: "The largest element of the rows of each segment, 0 for none; ids are sorted.",
    attrs: &["T: realnumbertype", "Tindices: {int32, int64}"],
    grad: Rule(|g| extremum_gradient(g, "SegmentSum")),
    kernels: cpu!(largest: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    ..SEGMENT_SUM
};

static SEGMENT_MIN: Op = Op {
    name: "SegmentMin",
    doc: "The smallest element of the rows of each segment, 0 for none; ids are sorted.",
    kernels: cpu!(smallest: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    ..SEGMENT_MAX
};

fn gather(g: &mut GradCall<'_>, rows: Output) -> Result<Output> {
    let (ids, axis) = (g.x[1], g.constant(Tensor::scalar(0i32))?);
    g.op("GatherV2", [rows.into(), ids.into(), axis.into()], &[])
}

fn mean_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (data, ids, dy) = (g.x[0], g.x[1], g.dy()?);
    let ones = g.unary("OnesLike", data)?;
    let counts = g.binary("SegmentSum", ones, ids)?;
    let share = g.binary("RealDiv", dy, counts)?;
    Ok(vec![gather(g, share)?.into(), Grad::None])
}

/// Combines the rows of each segment, and calls `finish` on each result with the number of its rows.
fn run<T: Number>(
    c: &mut OpCall<'_>,
    start: T,
    combine: Combine<'_, T>,
    finish: &dyn Fn(&mut [T], u32),
) -> Result<()> {
    let (data, ids) = (c.shape(0)?, c.input(1)?);
    if ids.rank() != 1 {
        return Err(invalid!("segment_ids should be a vector, got shape {}", ids.shape()));
    }
    if data.rank() == 0 || data[0] != ids.elements() {
        return Err(invalid!(
            "segment_ids should be the same size as dimension 0 of input, got {} for {data}",
            ids.shape()
        ));
    }
    let ids = ids.to_i64s()?;
    let rows = sorted_segments(&ids)?;
    let mut out = Tensor::uninit(T::DTYPE, segmented_shape(data, rows)?)?;
    let segments = Segments { ids: &ids, rows: None, width: data[1..].iter().product() };
    let values = out.as_mut_slice::<T>()?;
    segments.combine(c.par(), c.slice::<T>(0)?, values, start, combine);
    if segments.width > 0 {
        for (row, count) in values.chunks_exact_mut(segments.width).zip(segments.counts(rows)?) {
            finish(row, count);
        }
    }
    c.set(0, out);
    Ok(())
}

fn sum<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, T::ZERO, &by_element(T::add), &|_, _| {})
}

fn mean<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, T::ZERO, &by_element(T::add), &|row, n| {
        if n > 1 {
            row.iter_mut().for_each(|v| *v = v.div(T::from_i64(n as i64)));
        }
    })
}

fn product<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, T::ONE, &by_element(T::mul), &|_, _| {})
}

fn largest<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, T::lowest(), &by_element(T::larger), &zero_if_none)
}

fn smallest<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, T::highest(), &by_element(T::smaller), &zero_if_none)
}

fn zero_if_none<T: Number>(row: &mut [T], rows: u32) {
    if rows == 0 {
        row.fill(T::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn segments_without_rows_have_a_value_too() {
        let of = |op: &str, ids: &[i32]| {
            let y = call(op, &[floats(&[3], &[1.0, 2.0, 3.0]), ints(&[3], ids)], &[]).unwrap();
            y[0].as_slice::<f32>().unwrap().to_vec()
        };
        assert_eq!(of("SegmentMax", &[0, 0, 3]), [2.0, 0.0, 0.0, 3.0]);
        assert_eq!(of("SegmentMean", &[0, 0, 3]), [1.5, 0.0, 0.0, 3.0]);
        assert_eq!(of("SegmentProd", &[1, 1, 3]), [1.0, 2.0, 1.0, 3.0]);
    }

    #[test]
    fn errors_have_the_words_that_users_search_for() {
        let text = |op: &str, ids: &[i32]| {
            let data = floats(&[ids.len()], &vec![1.0; ids.len()]);
            let rows = ints(&[ids.len()], &vec![0; ids.len()]);
            let ids = ints(&[ids.len()], ids);
            let inputs = if op == "SegmentSum" { vec![data, ids] } else { vec![data, rows, ids] };
            call(op, &inputs, &[]).unwrap_err().to_string()
        };
        for op in ["SegmentSum", "SparseSegmentSum"] {
            assert!(text(op, &[0, -1]).contains("segment ids must be >= 0"));
            let words =
                "Segment id 1 out of range [0, 1), possibly because 'segment_ids' input is not sorted.";
            assert!(text(op, &[0, 1, 2, 0]).contains(words));
            assert!(text(op, &[0, 2, 1, 3]).contains("segment ids are not increasing"));
        }
    }

    #[test]
    fn ids_that_are_huge_negative_or_not_sorted_are_refused() {
        let data = floats(&[1, 10, 1], &[1.0; 10]);
        let huge = Tensor::vector(&[1676240524292489355i64]).unwrap();
        assert_eq!(code(call("SegmentSum", &[data, huge], &[])), Code::InvalidArgument);
        let data = floats(&[3], &[1.0; 3]);
        for ids in
            [ints(&[3], &[1, 0, 3]), ints(&[3], &[-1, 0, 3]), ints(&[2], &[0, 0]), ints(&[1, 3], &[0; 3])]
        {
            assert_eq!(code(call("SegmentSum", &[data.clone(), ids], &[])), Code::InvalidArgument);
        }
    }
}
