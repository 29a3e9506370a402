//! `QuantizedMatMul` and `QuantizedMul`: products of 8-bit integers in 32 bits. Both factors are taken relative to the
//! level of 0, so that the range of the result has 0 in its middle.

use super::levels::{Levels, integers, quantised};
use super::requantize::row;
use crate::broadcast::BroadcastPlan;
use crate::prelude::*;
use thalweg_math::gemm::{Epilogue, MatMut, MatRef, ShapeError, gemm};

pub static OPS: &[&Op] = &[&QUANTIZED_MAT_MUL, &QUANTIZED_MUL];

const T1: &str = "T1: {qint8, quint8, qint32, qint16, quint16}";
const T2: &str = "T2: {qint8, quint8, qint32, qint16, quint16}";
const RESULT: &str = "Toutput: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32";
const BYTES: &[(&str, DataType)] =
    &[("T1", DataType::Quint8), ("T2", DataType::Quint8), ("Toutput", DataType::Qint32)];

static QUANTIZED_MAT_MUL: Op = Op {
    name: "QuantizedMatMul",
    doc: "The product of two matrices of 8-bit integers, in 32 bits.",
    inputs: &["a: T1", "b: T2", "min_a: float", "max_a: float", "min_b: float", "max_b: float"],
    outputs: &["out: Toutput", "min_out: float", "max_out: float"],
    attrs: &[
        T1,
        T2,
        RESULT,
        "transpose_a: bool = false",
        "transpose_b: bool = false",
        "Tactivation: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8",
    ],
    shape: |c| {
        let (a, b) = (c.rank(0, 2)?, c.rank(1, 2)?);
        let [ta, tb] = [c.attrs.bool("transpose_a")?, c.attrs.bool("transpose_b")?].map(usize::from);
        merge_dim(a.dim(1 - ta), b.dim(tb))?;
        with_scalars(c, [a.dim(ta), b.dim(1 - tb)].into_iter().collect())
    },
    grad: Missing,
    kernels: &[row(BYTES, mat_mul)],
    cases: |r| {
        let plain = Case::new(factors(r, &[2, 3], &[3, 4]));
        let turned = Case::new(factors(r, &[3, 2], &[4, 3]));
        vec![plain, turned.attr("transpose_a", true).attr("transpose_b", true)]
    },
    expensive: true,
    ..Op::PURE
};

static QUANTIZED_MUL: Op = Op {
    name: "QuantizedMul",
    doc: "The products of elements in 8 bits, broadcast, in 32 bits.",
    inputs: &["x: T1", "y: T2", "min_x: float", "max_x: float", "min_y: float", "max_y: float"],
    outputs: &["z: Toutput", "min_z: float", "max_z: float"],
    attrs: &[T1, T2, RESULT],
    shape: |c| with_scalars(c, shape_call::broadcast_shapes(&c.input(0), &c.input(1))?),
    grad: Missing,
    kernels: &[row(BYTES, mul)],
    cases: |r| vec![Case::new(factors(r, &[2, 3], &[2, 3])), Case::new(factors(r, &[2, 3], &[3]))],
    ..Op::PURE
};

fn with_scalars(c: &ShapeCall<'_>, out: PartialShape) -> Result<Vec<PartialShape>> {
    for i in 2..6 {
        c.scalar(i)?;
    }
    Ok(vec![out, PartialShape::scalar(), PartialShape::scalar()])
}

fn factors(r: &mut CaseGen, a: &[usize], b: &[usize]) -> Vec<Tensor> {
    let stored = [a, b].map(|dims| quantised(r.ints(dims, 0, 255), DataType::Quint8));
    let bounds = [-1f32, 2.0, -3.0, 3.0].map(Tensor::scalar);
    stored.into_iter().flatten().chain(bounds).collect()
}

/// The levels of the factor whose bounds are inputs `i` and `i + 1`.
fn levels(c: &OpCall<'_>, i: usize) -> Result<Levels> {
    for i in [i, i + 1] {
        if c.input(i)?.rank() != 0 {
            return Err(invalid!("{} must be a scalar, but got shape {}", c.input_name(i), c.shape(i)?));
        }
    }
    let (low, high) = (c.scalar::<f32>(i)?, c.scalar::<f32>(i + 1)?);
    if low.is_nan() || high.is_nan() || high <= low {
        return Err(invalid!("{} must be larger than {}", c.input_name(i + 1), c.input_name(i)));
    }
    Levels::new(DataType::Quint8, (low, high))
}

/// A factor relative to the level of 0.
fn centred(x: &Tensor, levels: &Levels) -> Result<Tensor> {
    let zero = levels.unclamped(0.0) as i32;
    let mut x = integers(x)?;
    x.as_mut_slice::<i32>()?.iter_mut().for_each(|x| *x = x.wrapping_sub(zero));
    Ok(x)
}

fn finish(c: &mut OpCall<'_>, out: Tensor, a: &Levels, b: &Levels) -> Result<()> {
    let step = a.step() * b.step();
    c.set(0, quantised(out, DataType::Qint32)?);
    c.set(1, Tensor::scalar(step * i32::MIN as f32));
    c.set(2, Tensor::scalar(step * i32::MAX as f32));
    Ok(())
}

fn wrong_size(e: ShapeError) -> Error {
    invalid!("{e}")
}

fn mat_mul(c: &mut OpCall<'_>) -> Result<()> {
    let (ta, tb) = (c.attrs().bool("transpose_a")?, c.attrs().bool("transpose_b")?);
    let (by_a, by_b) = (levels(c, 2)?, levels(c, 4)?);
    let (a, b) = (c.shape(0)?, c.shape(1)?);
    let ([a0, a1], [b0, b1]) = (a.dims(), b.dims()) else {
        return Err(invalid!("In[0] or In[1] is not a matrix: {a} and {b}"));
    };
    if (if ta { a0 } else { a1 }) != (if tb { b1 } else { b0 }) {
        return Err(invalid!("Matrix size-incompatible: In[0]: {a}, In[1]: {b}"));
    }
    let (left, right) = (centred(c.input(0)?, &by_a)?, centred(c.input(1)?, &by_b)?);
    let left = MatRef::row_major(left.as_slice::<i32>()?, *a0, *a1).map_err(wrong_size)?.t_if(ta);
    let right = MatRef::row_major(right.as_slice::<i32>()?, *b0, *b1).map_err(wrong_size)?.t_if(tb);
    let (m, n) = (left.rows(), right.cols());
    let mut out = Tensor::uninit(DataType::Int32, Shape::new(&[m, n])?)?;
    let into = MatMut::row_major(out.as_mut_slice::<i32>()?, m, n).map_err(wrong_size)?;
    gemm(c.par(), left, right, into, Epilogue::default()).map_err(wrong_size)?;
    finish(c, out, &by_a, &by_b)
}

fn mul(c: &mut OpCall<'_>) -> Result<()> {
    let (by_x, by_y) = (levels(c, 2)?, levels(c, 4)?);
    let plan = BroadcastPlan::new(c.shape(0)?, c.shape(1)?)?;
    let (x, y) = (centred(c.input(0)?, &by_x)?, centred(c.input(1)?, &by_y)?);
    let (x, y) = (x.as_slice::<i32>()?, y.as_slice::<i32>()?);
    let mut out = Tensor::uninit(DataType::Int32, plan.shape().clone())?;
    let ((dx, dy), mut walk) = (plan.row_steps(), plan.walk());
    for out in out.as_mut_slice::<i32>()?.chunks_mut(plan.row().max(1)) {
        let (i, j) = walk.next_offsets();
        for (k, out) in out.iter_mut().enumerate() {
            *out = x[i + k * dx].wrapping_mul(y[j + k * dy]);
        }
    }
    finish(c, out, &by_x, &by_y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    fn bytes(dims: &[usize], values: &[u8]) -> Tensor {
        let t = Tensor::from_slice(Shape::new(dims).unwrap(), values).unwrap();
        t.bitcast_same_size(DataType::Quint8).unwrap()
    }

    fn result(op: &str, a: Tensor, b: Tensor, bounds: [f32; 4]) -> (Vec<i32>, f32) {
        let y = call(op, &[vec![a, b], bounds.map(Tensor::scalar).to_vec()].concat(), &[]).unwrap();
        let z = y[0].clone().bitcast_same_size(DataType::Int32).unwrap();
        (z.as_slice().unwrap().to_vec(), y[2].to_scalar().unwrap())
    }

    #[test]
    fn products_are_those_of_tensorflow() {
        let (a, b) = (bytes(&[2, 3], &[0, 50, 100, 200, 255, 10]), bytes(&[3, 2], &[1, 2, 100, 200, 255, 0]));
        let (z, high) = result("QuantizedMatMul", a.clone(), b.clone(), [-1.0, 2.0, -3.0, 3.0]);
        assert_eq!((z, high), (vec![13680, 6270, -28890, 7350], 594459.1875));
        let (z, high) = result("QuantizedMatMul", a.clone(), b, [1.0, 2.0, -30.0, -3.0]);
        assert_eq!((z, high), (vec![-137665, -197435, -229060, -245180], 891688.75));
        let (z, high) = result("QuantizedMul", a, bytes(&[3], &[1, 2, 3]), [-1.0, 2.0, -3.0, 3.0]);
        assert_eq!((z, high), (vec![10795, 4410, -1875, -14605, -21420, 9375], 594459.1875));
    }
}
