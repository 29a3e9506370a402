//! `SparseSegmentSum`, `SparseSegmentMean`, `SparseSegmentSqrtN` and the `WithNumSegments` forms: gathered rows reduced by segment.

use super::segments::{Segments, by_element, segmented, segmented_shape, sorted_segments};
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &SPARSE_SEGMENT_SUM,
    &SPARSE_SEGMENT_MEAN,
    &SPARSE_SEGMENT_SQRT_N,
    &with_num_segments("SparseSegmentSumWithNumSegments", WITH_NUM_ATTRS, SPARSE_SEGMENT_SUM),
    &with_num_segments("SparseSegmentMeanWithNumSegments", WITH_NUM_FLOAT_ATTRS, SPARSE_SEGMENT_MEAN),
    &with_num_segments("SparseSegmentSqrtNWithNumSegments", WITH_NUM_FLOAT_ATTRS, SPARSE_SEGMENT_SQRT_N),
];

const SPARSE_SEGMENT_SUM: Op = Op {
    name: "SparseSegmentSum",
    doc: "The sum of the rows of data at indices, by segment; ids are sorted.",
    inputs: &["data: T", "indices: Tidx", "segment_ids: Tsegmentids"],
    outputs: &["output: T"],
    attrs: &[
        "T: realnumbertype",
        "Tidx: {int32, int64} = DT_INT32",
        "Tsegmentids: {int32, int64} = DT_INT32",
        "sparse_gradient: bool = false",
    ],
    shape,
    grad: Rule(|g| grad(g, "SparseSegmentSumGrad")),
    kernels: cpu!(sum: T in f32, f64, i32, i64, u8, u16, u32, u64, i8, i16; sum_wide: T in f16, bf16),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[4, 2]), int_vector(&[3, 0, 3]), int_vector(&[0, 0, 2])])
                .without_difference(&[1, 2]),
            Case::new(vec![r.tensor(&[4]), int_vector(&[]), int_vector(&[])]).without_difference(&[1, 2]),
        ]
    },
    ..Op::PURE
};

const SPARSE_SEGMENT_MEAN: Op = Op {
    name: "SparseSegmentMean",
    doc: "The mean of the rows of data at indices, by segment; ids are sorted.",
    attrs: FLOAT_ATTRS,
    grad: Rule(|g| grad(g, "SparseSegmentMeanGrad")),
    kernels: cpu!(mean: T in f32, f64; mean_wide: T in f16, bf16),
    ..SPARSE_SEGMENT_SUM
};

const SPARSE_SEGMENT_SQRT_N: Op = Op {
    name: "SparseSegmentSqrtN",
    doc: "The sum of the rows of data at indices, by segment, divided by the root of their number; ids are sorted.",
    grad: Rule(|g| grad(g, "SparseSegmentSqrtNGrad")),
    kernels: cpu!(sqrt_n: T in f32, f64; sqrt_n_wide: T in f16, bf16),
    ..SPARSE_SEGMENT_MEAN
};

const FLOAT_ATTRS: &[&str] = &[
    "T: {bfloat16, half, float, double}",
    "Tidx: {int32, int64} = DT_INT32",
    "Tsegmentids: {int32, int64} = DT_INT32",
    "sparse_gradient: bool = false",
];

const WITH_NUM_INPUTS: &[&str] =
    &["data: T", "indices: Tidx", "segment_ids: Tsegmentids", "num_segments: Tnumsegments"];

const WITH_NUM_ATTRS: &[&str] = &[
    "T: realnumbertype",
    "Tidx: {int32, int64} = DT_INT32",
    "Tnumsegments: {int32, int64} = DT_INT32",
    "Tsegmentids: {int32, int64} = DT_INT32",
    "sparse_gradient: bool = false",
];

const WITH_NUM_FLOAT_ATTRS: &[&str] = &[
    "T: {bfloat16, half, float, double}",
    "Tidx: {int32, int64} = DT_INT32",
    "Tnumsegments: {int32, int64} = DT_INT32",
    "Tsegmentids: {int32, int64} = DT_INT32",
    "sparse_gradient: bool = false",
];

fn with_num_cases(r: &mut CaseGen) -> Vec<Case> {
    let (rows, ids) = (int_vector(&[3, 0, 3]), int_vector(&[0, 0, 2]));
    vec![Case::new(vec![r.tensor(&[4, 2]), rows, ids, Tensor::scalar(5i32)]).without_difference(&[1, 2, 3])]
}

/// The `..WithNumSegments` variant of an op.
const fn with_num_segments(name: &'static str, attrs: &'static [&'static str], op: Op) -> Op {
    Op { name, inputs: WITH_NUM_INPUTS, attrs, cases: with_num_cases, ..op }
}

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (data, indices, ids) = (c.rank_at_least(0, 1)?, c.rank(1, 1)?, c.rank(2, 1)?);
    merge_dim(indices.dim(0), ids.dim(0))?;
    let mut rows = -1;
    if c.inputs.len() == 4 {
        c.scalar(3)?;
        rows = c.ints(3).and_then(|n| n.first().copied()).unwrap_or(-1);
    }
    Ok(vec![segmented(&data, rows)])
}

fn grad(g: &mut GradCall<'_>, op: &str) -> Result<Vec<Grad>> {
    let (data, indices, ids, dy) = (g.x[0], g.x[1], g.x[2], g.dy()?);
    let shape = g.shape_of(data)?;
    let (zero, one) = (g.constant(int_vector(&[0]))?, g.constant(int_vector(&[1]))?);
    let args = [shape.into(), zero.into(), one.into(), one.into()];
    let rows = g.op("StridedSlice", args, &[("shrink_axis_mask", Attr::Int(1))])?;
    let args = [dy.into(), indices.into(), ids.into(), rows.into()];
    let mut grads = vec![match g.attrs.bool("sparse_gradient")? {
        false => g.op(op, args, &[])?.into(),
        true => match g.ops(&format!("{op}V2"), args, &[])?[..] {
            [values, indices] => Grad::Slices { values, indices, dense_shape: shape },
            _ => return Err(internal("two outputs")),
        },
    }];
    grads.resize(g.x.len(), Grad::None);
    Ok(grads)
}

/// The indices and ids of a call, and the number of segments.
fn checked(c: &OpCall<'_>) -> Result<(Vec<i64>, Vec<i64>, usize)> {
    let data = c.shape(0)?;
    let (indices, ids) = (c.int_vector(1)?, c.int_vector(2)?);
    if indices.len() != ids.len() {
        return Err(invalid!(
            "segment_ids and indices should have same size, got {} and {}",
            ids.len(),
            indices.len()
        ));
    }
    let mut rows = sorted_segments(&ids)?;
    if c.inputs.len() == 4 {
        let given = c.scalar_int(3)?;
        let Ok(given) = usize::try_from(given) else {
            return Err(invalid!("num_segments must not be negative, got {given}"));
        };
        if given < rows {
            return Err(invalid!("segment ids must be < num_segments"));
        }
        rows = given;
    }
    segmented_shape(data, rows)?;
    if let Some((i, row)) = indices.iter().enumerate().find(|(_, row)| !(0..data[0] as i64).contains(*row)) {
        return Err(invalid!("Bad: indices[{i}] == {row} out of range [0, {})", data[0]));
    }
    Ok((indices, ids, rows))
}

fn run<T: Number>(c: &mut OpCall<'_>, scale: fn(f64) -> f64) -> Result<()> {
    let (indices, ids, rows) = checked(c)?;
    let data = c.shape(0)?;
    let mut out = Tensor::uninit(T::DTYPE, segmented_shape(data, rows)?)?;
    let segments = Segments { ids: &ids, rows: Some(&indices), width: data[1..].iter().product() };
    let values = out.as_mut_slice::<T>()?;
    segments.combine(c.par(), c.slice::<T>(0)?, values, T::ZERO, &by_element(T::add));
    if segments.width > 0 {
        for (row, count) in values.chunks_exact_mut(segments.width).zip(segments.counts(rows)?) {
            if count > 1 && scale(count as f64) != 1.0 {
                let divisor = T::from_f64(scale(count as f64));
                row.iter_mut().for_each(|v| *v = v.div(divisor));
            }
        }
    }
    c.set(0, out);
    Ok(())
}

fn run_wide<T: Real>(c: &mut OpCall<'_>, scale: fn(f64) -> f64) -> Result<()> {
    let (indices, ids, rows) = checked(c)?;
    let data = c.shape(0)?;
    let mut out = Tensor::uninit(T::DTYPE, segmented_shape(data, rows)?)?;
    let segments = Segments { ids: &ids, rows: Some(&indices), width: data[1..].iter().product() };
    let counts = segments.counts(rows)?;
    let divisors = reserve::collect(counts.iter().map(|n| scale(f64::from((*n).max(1))) as f32))?;
    segments.sum_wide(c.par(), c.slice::<T>(0)?, out.as_mut_slice::<T>()?, &divisors);
    c.set(0, out);
    Ok(())
}

fn sum<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run::<T>(c, |_| 1.0)
}

fn sum_wide<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    run_wide::<T>(c, |_| 1.0)
}

fn mean<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run::<T>(c, |n| n)
}

fn mean_wide<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    run_wide::<T>(c, |n| n)
}

fn sqrt_n<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run::<T>(c, f64::sqrt)
}

fn sqrt_n_wide<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    run_wide::<T>(c, f64::sqrt)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn rows_and_ids_out_of_range_are_refused() {
        let data = floats(&[3, 2], &[1.0; 6]);
        let of = |rows: &[i32], ids: &[i32]| {
            let inputs = [data.clone(), ints(&[rows.len()], rows), ints(&[ids.len()], ids)];
            call("SparseSegmentSum", &inputs, &[])
        };
        assert_eq!(code(of(&[0, 1, 3], &[0, 0, 1])), Code::InvalidArgument);
        assert_eq!(code(of(&[0, 1, -1], &[0, 0, 1])), Code::InvalidArgument);
        assert_eq!(code(of(&[0, 1, 2], &[0, 1, 0])), Code::InvalidArgument);
        assert_eq!(code(of(&[0, 1], &[0, 1, 1])), Code::InvalidArgument);
        assert_eq!(
            of(&[0, 1, 2], &[1, 1, 3]).unwrap()[0].as_slice::<f32>().unwrap(),
            &[0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 1.0, 1.0]
        );
    }

    #[test]
    fn sums_of_few_bits_are_rounded_once() {
        // In float16, 2048 + 1 is 2048.
        let values: Vec<f16> = std::iter::once(2048.0).chain([1.0; 8]).map(f16::from_f32).collect();
        let data = Tensor::vector(&values).unwrap();
        let rows: Vec<i32> = (0..9).collect();
        let inputs = [data, ints(&[9], &rows), ints(&[9], &[0; 9])];
        for (op, expected) in [("SparseSegmentSum", 2056.0), ("SparseSegmentMean", 2056.0 / 9.0)] {
            let [out] = runs::<1>(op, &inputs, &[]);
            assert_eq!(out.as_slice::<f16>().unwrap(), [f16::from_f32(expected)], "{op}");
        }
    }
}
