//! `LowerBound`, `UpperBound`: where values belong in sorted rows.

use crate::convert::converted;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;

pub static LOWER_BOUND: Op = Op {
    name: "LowerBound",
    doc: "For each value, the index of the first element of its sorted row that is not less.",
    inputs: &["sorted_inputs: T", "values: T"],
    outputs: &["output: out_type"],
    attrs: &["T: type", "out_type: {int32, int64} = DT_INT32"],
    shape: |c| {
        let (rows, values) = (c.rank(0, 2)?, c.rank(1, 2)?);
        merge_dim(rows.dim(0), values.dim(0))?;
        Ok(vec![values])
    },
    grad: Stops,
    kernels: cpu!(lower: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    cases: |r| {
        let rows = Tensor::from_slice(
            Shape::new(&[2, 4]).unwrap_or_default(),
            &[1f32, 1.5, 1.5, 3., -1., 0., 0.5, 1.],
        );
        vec![Case::new([rows.into_iter().collect(), vec![r.tensor(&[2, 3])]].concat())]
    },
    ..Op::PURE
};

pub static UPPER_BOUND: Op = Op {
    name: "UpperBound",
    doc: "For each value, the index of the first element of its sorted row that is greater.",
    kernels: cpu!(upper: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    ..LOWER_BOUND
};

fn lower<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    bound::<T>(c, |element, value| element < value)
}

fn upper<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    // NaN is after all.
    bound::<T>(c, |element, value| element <= value || value.is_nan() || element.is_nan())
}

/// How many elements of the row are `before` each value.
fn bound<T: Real>(c: &mut OpCall<'_>, before: impl Fn(T, T) -> bool + Sync) -> Result<()> {
    for (i, name) in ["sorted_inputs", "values"].into_iter().enumerate() {
        let rank = c.shape(i)?.rank();
        if rank != 2 {
            return Err(invalid!("Shape must be rank 2 but is rank {rank} for `{name}` argument"));
        }
    }
    let (rows, values) = (c.shape(0)?, c.shape(1)?);
    if rows[0] != values[0] {
        return Err(invalid!("Leading dim_size of both tensors must match, got {rows} and {values}"));
    }
    let (width, columns) = (rows[1], values[1]);
    let mut out = Tensor::uninit(DataType::Int64, values.clone())?;
    let (rows, values) = (c.slice::<T>(0)?, c.slice::<T>(1)?);
    for_chunks_of(c.par(), out.as_mut_slice::<i64>()?, 1, 1 << 12, &|range, out| {
        for (i, out) in range.zip(out) {
            let row = &rows[i / columns * width..][..width];
            *out = row.partition_point(|element| before(*element, values[i])) as i64;
        }
    });
    let dtype = c.output_type(0)?;
    c.set(0, converted(&out, dtype)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    /// As TensorFlow 2.21, where NaN is before all and after all.
    #[test]
    fn places_of_equals_and_nan() {
        let inputs = [floats(&[1, 3], &[1., 2., 3.]), floats(&[1, 4], &[2., 0., 9., f32::NAN])];
        let of = |op: &str| call(op, &inputs, &[]).unwrap()[0].to_i64s().unwrap();
        assert_eq!(of("LowerBound"), [1, 0, 3, 0]);
        assert_eq!(of("UpperBound"), [2, 0, 3, 3]);
        assert_eq!(
            code(call("LowerBound", &[floats(&[1], &[1.]), floats(&[1], &[1.])], &[])),
            Code::InvalidArgument
        );
    }
}
