//! `QuantizedMatMul`, `QuantizedMul` and `QuantizedAdd` of 8-bit integers, in 32 bits. Factors are taken relative to the level of 0,
//! so that the range of the result has 0 in its middle. And the forms of the matrix product that oneDNN has.

use super::exact::multiplied;
use super::onednn::Form;
use super::requantize::row;
use crate::broadcast::BroadcastPlan;
use crate::levels::{Levels, bound, integers, quantised};
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &QUANTIZED_ADD,
    &QUANTIZED_MAT_MUL,
    &QUANTIZED_MAT_MUL_WITH_BIAS,
    &QUANTIZED_MAT_MUL_WITH_BIAS_AND_DEQUANTIZE,
    &QUANTIZED_MAT_MUL_WITH_BIAS_AND_RELU,
    &QUANTIZED_MAT_MUL_WITH_BIAS_AND_RELU_AND_REQUANTIZE,
    &QUANTIZED_MAT_MUL_WITH_BIAS_AND_REQUANTIZE,
    &QUANTIZED_MUL,
];

const T1: &str = "T1: {qint8, quint8, qint32, qint16, quint16}";
const T2: &str = "T2: {qint8, quint8, qint32, qint16, quint16}";
const RESULT: &str = "Toutput: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32";
const LEVELS: &str = "Toutput: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8";
const TBIAS: &str = "Tbias: {float, qint32}";
const TRANSPOSE_A: &str = "transpose_a: bool = false";
const TRANSPOSE_B: &str = "transpose_b: bool = false";
const QUANT_MODE: &str = "input_quant_mode: {'MIN_FIRST', 'SCALED'} = 'MIN_FIRST'";
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
        TRANSPOSE_A,
        TRANSPOSE_B,
        "Tactivation: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8",
    ],
    shape: |c| with_scalars(c, product_shape(c)?, 2),
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
    shape: |c| with_scalars(c, shape_call::broadcast_shapes(&c.input(0), &c.input(1))?, 2),
    grad: Missing,
    kernels: &[row(BYTES, mul)],
    cases: |r| vec![Case::new(factors(r, &[2, 3], &[2, 3])), Case::new(factors(r, &[2, 3], &[3]))],
    ..Op::PURE
};

static QUANTIZED_ADD: Op = Op {
    name: "QuantizedAdd",
    doc: "The sums of elements in 8 bits, broadcast, in 32 bits.",
    kernels: &[row(BYTES, add)],
    ..QUANTIZED_MUL
};

static QUANTIZED_MAT_MUL_WITH_BIAS: Op = Op {
    name: "QuantizedMatMulWithBias",
    doc: "The product of two matrices of 8-bit integers and a bias, in 32 bits.",
    inputs: &[
        "a: T1",
        "b: T2",
        "bias: Tbias",
        "min_a: float",
        "max_a: float",
        "min_b: float",
        "max_b: float",
    ],
    attrs: &[T1, T2, TBIAS, RESULT, TRANSPOSE_A, TRANSPOSE_B, QUANT_MODE],
    shape: |c| with_scalars(c, product_shape(c)?, 3),
    kernels: &[
        row(signed(DataType::Float, DataType::Qint32), fused),
        row(signed(DataType::Qint32, DataType::Qint32), fused),
    ],
    cases: |r| biased(r, &[DataType::Float, DataType::Qint32], 0),
    ..QUANTIZED_MAT_MUL
};

static QUANTIZED_MAT_MUL_WITH_BIAS_AND_RELU: Op = Op {
    name: "QuantizedMatMulWithBiasAndRelu",
    doc: "The product of two matrices of 8-bit integers and a bias of floats, then ReLU, in 32 bits.",
    inputs: &[
        "a: T1",
        "b: T2",
        "bias: float",
        "min_a: float",
        "max_a: float",
        "min_b: float",
        "max_b: float",
    ],
    attrs: &[T1, T2, RESULT, TRANSPOSE_A, TRANSPOSE_B, QUANT_MODE],
    kernels: &[row(
        &[("T1", DataType::Quint8), ("T2", DataType::Qint8), ("Toutput", DataType::Qint32)],
        fused,
    )],
    cases: |r| biased(r, &[DataType::Float], 0),
    ..QUANTIZED_MAT_MUL_WITH_BIAS
};

static QUANTIZED_MAT_MUL_WITH_BIAS_AND_REQUANTIZE: Op = Op {
    name: "QuantizedMatMulWithBiasAndRequantize",
    doc: "The product of two matrices of 8-bit integers and a bias, in 8 bits of the range given.",
    inputs: &[
        "a: T1",
        "b: T2",
        "bias: Tbias",
        "min_a: float",
        "max_a: float",
        "min_b: float",
        "max_b: float",
        "min_freezed_output: float",
        "max_freezed_output: float",
    ],
    attrs: &[T1, T2, TBIAS, LEVELS, TRANSPOSE_A, TRANSPOSE_B, QUANT_MODE],
    kernels: &[
        row(signed(DataType::Float, DataType::Quint8), fused),
        row(signed(DataType::Qint32, DataType::Quint8), fused),
    ],
    cases: |r| biased(r, &[DataType::Float, DataType::Qint32], 2),
    ..QUANTIZED_MAT_MUL_WITH_BIAS
};

static QUANTIZED_MAT_MUL_WITH_BIAS_AND_RELU_AND_REQUANTIZE: Op = Op {
    name: "QuantizedMatMulWithBiasAndReluAndRequantize",
    doc: "The product of two matrices of 8-bit integers and a bias, then ReLU, in 8 bits of the range given.",
    ..QUANTIZED_MAT_MUL_WITH_BIAS_AND_REQUANTIZE
};

static QUANTIZED_MAT_MUL_WITH_BIAS_AND_DEQUANTIZE: Op = Op {
    name: "QuantizedMatMulWithBiasAndDequantize",
    doc: "The product of two matrices of 8-bit integers and a bias, in floats.",
    outputs: &["out: Toutput"],
    attrs: &[T1, T2, TBIAS, "Toutput: {float}", TRANSPOSE_A, TRANSPOSE_B, QUANT_MODE],
    shape: |c| with_scalars(c, product_shape(c)?, 3).map(|shapes| shapes.into_iter().take(1).collect()),
    kernels: &[
        row(signed(DataType::Float, DataType::Float), fused),
        row(signed(DataType::Qint32, DataType::Float), fused),
    ],
    cases: |r| {
        let cases = biased(r, &[DataType::Float, DataType::Qint32], 2);
        cases.into_iter().map(|case| case.attr("Toutput", DataType::Float)).collect()
    },
    ..QUANTIZED_MAT_MUL_WITH_BIAS_AND_REQUANTIZE
};

/// The types of a product that oneDNN has, by those of bias and result.
const fn signed(bias: DataType, out: DataType) -> &'static [(&'static str, DataType)] {
    use DataType::{Float, Qint8, Qint32, Quint8};
    match (bias, out) {
        (Float, Qint32) => &[("T1", Quint8), ("T2", Qint8), ("Tbias", Float), ("Toutput", Qint32)],
        (_, Qint32) => &[("T1", Quint8), ("T2", Qint8), ("Tbias", Qint32), ("Toutput", Qint32)],
        (Float, Quint8) => &[("T1", Quint8), ("T2", Qint8), ("Tbias", Float), ("Toutput", Quint8)],
        (_, Quint8) => &[("T1", Quint8), ("T2", Qint8), ("Tbias", Qint32), ("Toutput", Quint8)],
        (Float, _) => &[("T1", Quint8), ("T2", Qint8), ("Tbias", Float), ("Toutput", Float)],
        (_, _) => &[("T1", Quint8), ("T2", Qint8), ("Tbias", Qint32), ("Toutput", Float)],
    }
}

fn product_shape(c: &ShapeCall<'_>) -> Result<PartialShape> {
    let (a, b) = (c.rank(0, 2)?, c.rank(1, 2)?);
    let [ta, tb] = [c.attrs.bool("transpose_a")?, c.attrs.bool("transpose_b")?].map(usize::from);
    merge_dim(a.dim(1 - ta), b.dim(tb))?;
    Ok([a.dim(ta), b.dim(1 - tb)].into_iter().collect())
}

/// The shape of the result, with those of its bounds; the inputs from `first` on are scalars.
fn with_scalars(c: &ShapeCall<'_>, out: PartialShape, first: usize) -> Result<Vec<PartialShape>> {
    for i in first..c.inputs.len() {
        c.scalar(i)?;
    }
    Ok(vec![out, PartialShape::scalar(), PartialShape::scalar()])
}

/// Cases of a product with a bias of each of these types, and with `frozen` bounds of the result.
fn biased(r: &mut CaseGen, types: &[DataType], frozen: usize) -> Vec<Case> {
    let mut case = |bias: &DataType, mode: &str| {
        let factors = [
            quantised(r.ints(&[2, 3], 0, 255), DataType::Quint8),
            quantised(r.ints(&[3, 4], -128, 127), DataType::Qint8),
        ];
        let bias = match bias {
            DataType::Float => Ok(r.tensor(&[4])),
            bias => quantised(r.ints(&[4], -900, 900), *bias),
        };
        let bounds = [-1f32, 2.0, -3.0, 3.0, -40.0, 50.0].into_iter().take(4 + frozen).map(Tensor::scalar);
        let inputs = factors.into_iter().chain([bias]).flatten().chain(bounds).collect();
        Case::new(inputs).attr("input_quant_mode", Attr::str(mode))
    };
    let modes = ["MIN_FIRST", "SCALED"];
    types.iter().flat_map(|bias| modes.map(|mode| case(bias, mode))).collect()
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
pub fn relative(x: &Tensor, levels: &Levels) -> Result<Tensor> {
    let zero = levels.unclamped(0.0) as i32;
    let mut x = integers(x)?;
    x.as_mut_slice::<i32>()?.iter_mut().for_each(|x| *x = x.wrapping_sub(zero));
    Ok(x)
}

/// Sets the outputs of a product of two factors: its sums, and the range that these stand for.
pub fn finish(c: &mut OpCall<'_>, out: Tensor, a: &Levels, b: &Levels) -> Result<()> {
    let step = a.step() * b.step();
    c.set(0, quantised(out, DataType::Qint32)?);
    c.set(1, Tensor::scalar(step * i32::MIN as f32));
    c.set(2, Tensor::scalar(step * i32::MAX as f32));
    Ok(())
}

fn mat_mul(c: &mut OpCall<'_>) -> Result<()> {
    let (by_a, by_b) = (levels(c, 2)?, levels(c, 4)?);
    let out = product(c, &relative(c.input(0)?, &by_a)?, &relative(c.input(1)?, &by_b)?)?;
    finish(c, out, &by_a, &by_b)
}

fn fused(c: &mut OpCall<'_>) -> Result<()> {
    // TensorFlow 2.21 hands the mode on to oneDNN for results in floats alone; else it is the default.
    let scaled = c.attrs().str("input_quant_mode")? == "SCALED" && c.output_type(0)? == DataType::Float;
    let sums = product(c, &integers(c.input(0)?)?, &integers(c.input(1)?)?)?;
    Form::of(c.node.op).finish_product(c, sums, !scaled)
}

/// The product of two matrices of int32, transposed as the attrs say.
fn product(c: &OpCall<'_>, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    multiplied(c.par(), a, b, [c.attrs().bool("transpose_a")?, c.attrs().bool("transpose_b")?])
}

fn mul(c: &mut OpCall<'_>) -> Result<()> {
    let (by_x, by_y) = (levels(c, 2)?, levels(c, 4)?);
    let (x, y) = (relative(c.input(0)?, &by_x)?, relative(c.input(1)?, &by_y)?);
    let out = broadcast_pairs(&x, &y, i32::wrapping_mul)?;
    finish(c, out, &by_x, &by_y)
}

/// Both summands in a range that is wide enough for their sum, with 0 in its middle.
fn add(c: &mut OpCall<'_>) -> Result<()> {
    let (by_x, by_y) = (levels(c, 2)?, levels(c, 4)?);
    let (low, high) = (bound(c, 2)?.min(bound(c, 4)?), bound(c, 3)?.max(bound(c, 5)?));
    let reach = low.abs().max(high.abs()) * 16384.0;
    let sums = Levels::new(DataType::Qint32, (-reach, reach))?;
    // Of several numbers TensorFlow moves the levels of 0 and 1 and goes on by their distance; a single one it moves by itself.
    let alone = (0..2).find(|i| c.input(*i).is_ok_and(|x| x.elements() == 1));
    let moved = |i: usize, levels: &Levels| -> Result<Tensor> {
        let [zero, one] = [0, 1].map(|level| sums.unclamped(levels.float(level)));
        let step = i64::from(one.wrapping_sub(zero) as i32);
        let mut x = integers(c.input(i)?)?;
        for x in x.as_mut_slice::<i32>()? {
            let level = match alone == Some(i) {
                true => sums.unclamped(levels.float(*x)),
                false => zero.saturating_add(i64::from(*x) * step),
            };
            *x = level.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        }
        Ok(x)
    };
    let out = broadcast_pairs(&moved(0, &by_x)?, &moved(1, &by_y)?, i32::wrapping_add)?;
    c.set(0, quantised(out, DataType::Qint32)?);
    c.set(1, Tensor::scalar(-reach));
    c.set(2, Tensor::scalar(reach));
    Ok(())
}

/// `f` of the pairs of elements of two tensors of int32.
pub fn broadcast_pairs(x: &Tensor, y: &Tensor, f: impl Fn(i32, i32) -> i32) -> Result<Tensor> {
    let plan = BroadcastPlan::new(x.shape(), y.shape())?;
    let (x, y) = (x.as_slice::<i32>()?, y.as_slice::<i32>()?);
    let mut out = Tensor::uninit(DataType::Int32, plan.shape().clone())?;
    let ((dx, dy), mut walk) = (plan.row_steps(), plan.walk());
    for out in out.as_mut_slice::<i32>()?.chunks_mut(plan.row().max(1)) {
        let (i, j) = walk.next_offsets();
        for (k, out) in out.iter_mut().enumerate() {
            *out = f(x[i + k * dx], y[j + k * dy]);
        }
    }
    Ok(out)
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
