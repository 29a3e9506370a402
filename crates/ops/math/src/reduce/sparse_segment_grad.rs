//! `SparseSegmentSumGrad`, `SparseSegmentMeanGrad`, `SparseSegmentSqrtNGrad`: gradients of the sparse segment reductions; the
//! `V2` forms have only the rows that were read.

use super::segments::{Segments, by_element, segmented, segmented_shape};
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &SPARSE_SEGMENT_SUM_GRAD,
    &SPARSE_SEGMENT_MEAN_GRAD,
    &SPARSE_SEGMENT_SQRT_N_GRAD,
    &SPARSE_SEGMENT_SUM_GRAD_V2,
    &SPARSE_SEGMENT_MEAN_GRAD_V2,
    &SPARSE_SEGMENT_SQRT_N_GRAD_V2,
];

const SPARSE_SEGMENT_SUM_GRAD: Op = Op {
    name: "SparseSegmentSumGrad",
    doc: "The gradient of SparseSegmentSum by its data, which has output_dim0 rows.",
    inputs: &["grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "output_dim0: int32"],
    outputs: &["output: T"],
    attrs: &[
        "T: {bfloat16, half, float, double}",
        "Tidx: {int32, int64} = DT_INT32",
        "Tsegmentids: {int32, int64} = DT_INT32",
    ],
    shape: |c| {
        let (dy, indices, ids) = (c.rank_at_least(0, 1)?, c.rank(1, 1)?, c.rank(2, 1)?);
        merge_dim(indices.dim(0), ids.dim(0))?;
        c.scalar(3)?;
        let rows = c.ints(3).and_then(|n| n.first().copied()).unwrap_or(-1);
        Ok(vec![segmented(&dy, rows)])
    },
    kernels: cpu!(sum: T in f32, f64, f16, bf16),
    cases: |r| {
        let (rows, ids) = (int_vector(&[3, 0, 3]), int_vector(&[0, 0, 1]));
        vec![Case::new(vec![r.tensor(&[2, 2]), rows, ids, Tensor::scalar(5i32)])]
    },
    ..Op::PURE
};

static SPARSE_SEGMENT_MEAN_GRAD: Op = Op {
    name: "SparseSegmentMeanGrad",
    doc: "The gradient of SparseSegmentMean by its data, which has output_dim0 rows.",
    kernels: cpu!(mean: T in f32, f64, f16, bf16),
    ..SPARSE_SEGMENT_SUM_GRAD
};

static SPARSE_SEGMENT_SQRT_N_GRAD: Op = Op {
    name: "SparseSegmentSqrtNGrad",
    doc: "The gradient of SparseSegmentSqrtN by its data, which has output_dim0 rows.",
    kernels: cpu!(sqrt_n: T in f32, f64, f16, bf16),
    ..SPARSE_SEGMENT_SUM_GRAD
};

const SPARSE_SEGMENT_SUM_GRAD_V2: Op = Op {
    name: "SparseSegmentSumGradV2",
    doc: "The gradient of SparseSegmentSum by the rows of its data that were read, and which these are, ascending.",
    inputs: &["grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "dense_output_dim0: int32"],
    outputs: &["output: T", "sorted_unique_indices: Tidx"],
    shape: |c| {
        let (dy, indices, ids) = (c.rank_at_least(0, 1)?, c.rank(1, 1)?, c.rank(2, 1)?);
        merge_dim(indices.dim(0), ids.dim(0))?;
        c.scalar(3)?;
        Ok(vec![segmented(&dy, -1), PartialShape::vector(-1)])
    },
    kernels: cpu!(sum_rows: T in f32, f64, f16, bf16),
    ..SPARSE_SEGMENT_SUM_GRAD
};

static SPARSE_SEGMENT_MEAN_GRAD_V2: Op = Op {
    name: "SparseSegmentMeanGradV2",
    doc: "The gradient of SparseSegmentMean by the rows of its data that were read, and which these are, ascending.",
    kernels: cpu!(mean_rows: T in f32, f64, f16, bf16),
    ..SPARSE_SEGMENT_SUM_GRAD_V2
};

static SPARSE_SEGMENT_SQRT_N_GRAD_V2: Op = Op {
    name: "SparseSegmentSqrtNGradV2",
    doc: "The gradient of SparseSegmentSqrtN by the rows of its data that were read, and which these are, ascending.",
    kernels: cpu!(sqrt_n_rows: T in f32, f64, f16, bf16),
    ..SPARSE_SEGMENT_SUM_GRAD_V2
};

/// Which row of the data each entry came from, the segment that it went to, and how many rows the data has.
fn checked(c: &OpCall<'_>) -> Result<(Vec<i64>, Vec<i64>, usize)> {
    let (shape, rows) = (c.shape(0)?, c.scalar_int(3)?);
    let (indices, ids) = (c.int_vector(1)?, c.int_vector(2)?);
    let Ok(rows) = usize::try_from(rows) else {
        return Err(invalid!("output_dim0 must not be negative, got {rows}"));
    };
    if indices.len() != ids.len() {
        return Err(invalid!(
            "segment_ids and indices should have same size, got {} and {}",
            ids.len(),
            indices.len()
        ));
    }
    let segments = segmented_shape(shape, rows).map(|_| shape[0])?;
    if ids.last().is_some_and(|id| *id >= segments as i64) {
        return Err(invalid!(
            "Invalid number of segments: the last id needs more than the {segments} rows of grad"
        ));
    }
    let within = |values: &[i64], limit: usize, what: &str| match values
        .iter()
        .find(|v| !(0..limit as i64).contains(*v))
    {
        Some(v) => Err(invalid!("{what} {v} out of range [0, {limit}).")),
        None => Ok(()),
    };
    if ids.last().is_some_and(|last| *last >= shape[0] as i64) {
        return Err(invalid!(
            "Invalid number of segments: the last id is beyond the {} rows of grad",
            shape[0]
        ));
    }
    within(&indices, rows, "Index")?;
    within(&ids, segments, "Segment id")?;
    Ok((indices, ids, rows))
}

/// Rows of the gradient, by segment, scaled and summed into `rows` rows of the data, at `indices`: the transpose.
fn spread<T: Number>(
    c: &mut OpCall<'_>,
    (indices, ids): (&[i64], &[i64]),
    rows: usize,
    scale: fn(f64) -> f64,
) -> Result<Tensor> {
    let mut dy = c.take(0)?;
    let out_shape = segmented_shape(dy.shape(), rows)?;
    let width: usize = dy.shape()[1..].iter().product();
    let counts = Segments { ids, rows: None, width }.counts(shape_rows(&dy))?;
    if width > 0 {
        for (row, count) in dy.as_mut_slice::<T>()?.chunks_exact_mut(width).zip(counts) {
            if count > 1 && scale(count as f64) != 1.0 {
                let factor = T::from_f64(1.0 / scale(count as f64));
                row.iter_mut().for_each(|v| *v = v.mul(factor));
            }
        }
    }
    let mut out = Tensor::uninit(T::DTYPE, out_shape)?;
    let back = Segments { ids: indices, rows: Some(ids), width };
    back.combine(c.par(), dy.as_slice::<T>()?, out.as_mut_slice::<T>()?, T::ZERO, &by_element(T::add));
    Ok(out)
}

fn run<T: Number>(c: &mut OpCall<'_>, scale: fn(f64) -> f64) -> Result<()> {
    let (indices, ids, rows) = checked(c)?;
    let out = spread::<T>(c, (&indices, &ids), rows, scale)?;
    c.set(0, out);
    Ok(())
}

fn run_rows<T: Number>(c: &mut OpCall<'_>, scale: fn(f64) -> f64) -> Result<()> {
    let (indices, ids, _) = checked(c)?;
    let mut unique = reserve::copied(&indices)?;
    unique.sort_unstable();
    unique.dedup();
    // Found: `unique` has them all.
    let place = |at: &i64| unique.binary_search(at).unwrap_or(0) as i64;
    let places = reserve::collect(indices.iter().map(place))?;
    let out = spread::<T>(c, (&places, &ids), unique.len(), scale)?;
    c.set(0, out);
    let rows = match c.output_type(1)? {
        DataType::Int64 => Tensor::vector(&unique)?,
        // They came from int32.
        _ => Tensor::vector(&reserve::collect(unique.iter().map(|at| *at as i32))?)?,
    };
    c.set(1, rows);
    Ok(())
}

fn shape_rows(t: &Tensor) -> usize {
    t.shape().first().copied().unwrap_or(0)
}

fn sum<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run::<T>(c, |_| 1.0)
}

fn mean<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run::<T>(c, |n| n)
}

fn sqrt_n<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run::<T>(c, f64::sqrt)
}

fn sum_rows<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run_rows::<T>(c, |_| 1.0)
}

fn mean_rows<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run_rows::<T>(c, |n| n)
}

fn sqrt_n_rows<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run_rows::<T>(c, f64::sqrt)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn rows_share_the_gradient_of_their_segment() {
        let of = |rows: &[i32]| {
            let inputs =
                [floats(&[2, 2], &[1.0; 4]), ints(&[3], rows), ints(&[3], &[0, 0, 1]), Tensor::scalar(4i32)];
            call("SparseSegmentMeanGrad", &inputs, &[])
        };
        assert_eq!(
            of(&[0, 1, 0]).unwrap()[0].as_slice::<f32>().unwrap(),
            &[1.5, 1.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]
        );
        assert_eq!(code(of(&[0, 1, 7])), Code::InvalidArgument);
    }

    #[test]
    fn only_the_rows_that_were_read_come_back() {
        let of = |ids: &[i32]| {
            let dy = floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
            let inputs = [dy, ints(&[3], &[9, 2, 9]), ints(&[3], ids), Tensor::scalar(10i32)];
            call("SparseSegmentSumGradV2", &inputs, &[])
        };
        let y = of(&[0, 0, 1]).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), &[1.0, 2.0, 4.0, 6.0]);
        assert_eq!(y[1].as_slice::<i32>().unwrap(), &[2, 9]);
        assert!(of(&[0, 0, 4]).unwrap_err().to_string().contains("Invalid number of segments"));
    }
}
