//! `Sum`, `Mean`, `Prod`, `Max`, `Min`, `EuclideanNorm`, `All` and `Any` over axes.

use super::axes::{
    REDUCTION, every_axis, positive_axes, reduction, reduction_of_any, spread_dy, with_kept_dims,
};
use super::squares::{IntegerNorm, Squared, Squares};
use crate::gradients::{cast, conj};
use crate::prelude::*;
use thalweg_math::reduce;

pub static OPS: &[&Op] = &[&SUM, &MEAN, &PROD, &MAX, &MIN, &EUCLIDEAN_NORM, &ALL, &ANY];

static SUM: Op = Op {
    name: "Sum",
    doc: "The sum over the given axes.",
    grad: Rule(|g| Ok(vec![spread_dy(g)?.into(), Grad::None])),
    kernels: cpu!(make sum: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    identity_if_same_shape: true,
    ..REDUCTION
};

fn sum<T: Element + reduce::Element<Acc: reduce::Number>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |_| reduce::Sum)
}

static MEAN: Op = Op {
    name: "Mean",
    doc: "The mean over the given axes.",
    grad: Rule(mean_grad),
    kernels: cpu!(make mean: T in f32, f64, i64, f16, bf16, u64, Complex32, ComplexDouble; narrow_mean: T in i32, u8, u16, u32, i8, i16),
    ..REDUCTION
};

fn mean_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y) = (g.x[0], g.y[0]);
    let spread = spread_dy(g)?;
    let count = match (g.graph.shape(x).elements(), g.graph.shape(y).elements()) {
        (Some(x), Some(y)) => g.number((x / y.max(1)) as f64, spread)?,
        _ => {
            let (size_x, size_y) = (g.unary("Size", x)?, g.unary("Size", y)?);
            let one = g.number(1.0, size_y)?;
            let size_y = g.binary("Maximum", size_y, one)?;
            let count = g.binary("FloorDiv", size_x, size_y)?;
            cast(g, count, spread)?
        }
    };
    Ok(vec![g.binary("RealDiv", spread, count)?.into(), Grad::None])
}

fn mean<T: Element + reduce::Element<Acc: reduce::Number>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |plan| reduce::Mean { count: plan.reduced_len() })
}

fn narrow_mean<T: Number + Into<i64>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |plan| NarrowMean { count: plan.reduced_len() as i64 })
}

/// The mean of small integers, summed in int64.
struct NarrowMean {
    count: i64,
}

impl<T: Number + Into<i64>> reduce::Reducer<T> for NarrowMean {
    type Acc = i64;
    type Out = T;
    const WIDE: bool = false;

    #[inline(always)]
    fn init(&self) -> i64 {
        0
    }

    #[inline(always)]
    fn step(&self, acc: i64, x: T) -> i64 {
        acc.wrapping_add(x.into())
    }

    #[inline(always)]
    fn combine(&self, a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn finish(&self, acc: i64) -> T {
        T::from_i64(acc.checked_div(self.count).unwrap_or(0))
    }
}

static PROD: Op = Op {
    name: "Prod",
    doc: "The product over the given axes.",
    grad: Rule(prod_grad),
    kernels: cpu!(make prod: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    ..REDUCTION
};

/// The product of all others, as exclusive Cumprods from both ends, which allows zeros. The reduced
/// dimensions are moved to the front and flattened.
fn prod_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, axes) = (g.x[0], g.x[1]);
    let dy = spread_dy(g)?;
    let (shape, rank) = (g.shape_of(x)?, g.unary("Rank", x)?);
    let axes = positive_axes(g, axes, rank)?;
    let every = every_axis(g, rank)?;
    let others = g.binary("ListDiff", every, axes)?;
    let (front, minus_one) = (g.constant(Tensor::scalar(0i32))?, g.constant(Tensor::scalar(-1i32))?);
    let order = g.op("ConcatV2", [vec![axes, others].into(), front.into()], &[])?;
    let sizes = g.op("GatherV2", [shape.into(), others.into(), front.into()], &[])?;
    let kept = g.op("Prod", [sizes.into(), front.into()], &[])?;
    let matrix = g.op("Pack", [vec![minus_one, kept].into()], &[])?;
    let transposed = g.binary("Transpose", x, order)?;
    let transposed_shape = g.shape_of(transposed)?;
    // For an empty input the -1 cannot be inferred, and there is no gradient to compute.
    let safe = if g.graph.shape(x).elements() == Some(0) { transposed_shape } else { matrix };
    let flat = g.binary("Reshape", transposed, safe)?;
    let scan = |reverse: bool| [("exclusive", Attr::Bool(true)), ("reverse", Attr::Bool(reverse))];
    let before = g.op("Cumprod", [flat.into(), front.into()], &scan(false))?;
    let after = g.op("Cumprod", [flat.into(), front.into()], &scan(true))?;
    let (before, after) = (conj(g, before)?, conj(g, after)?);
    let others = g.binary("Mul", before, after)?;
    let others = g.binary("Reshape", others, transposed_shape)?;
    let back = g.unary("InvertPermutation", order)?;
    let others = g.binary("Transpose", others, back)?;
    Ok(vec![g.binary("Mul", dy, others)?.into(), Grad::None])
}

fn prod<T: Element + reduce::Element<Acc: reduce::Number>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |_| reduce::Prod)
}

static MAX: Op = Op {
    name: "Max",
    doc: "The largest element over the given axes; NaN if there is one.",
    attrs: &[
        "keep_dims: bool = false",
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16, quint16}",
        "Tidx: {int32, int64} = DT_INT32",
    ],
    grad: Rule(extremum_grad),
    kernels: cpu!(make max: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    ..REDUCTION
};

static MIN: Op = Op {
    name: "Min",
    doc: "The smallest element over the given axes; NaN if there is one.",
    kernels: cpu!(make min: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    ..MAX
};

/// The gradient flows to the element selected, in equal parts on ties.
fn extremum_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, axes, y, dy) = (g.x[0], g.x[1], g.y[0], g.dy()?);
    let (y, dy) = (with_kept_dims(g, y)?, with_kept_dims(g, dy)?);
    let taken = g.binary("Equal", y, x)?;
    let taken = cast(g, taken, dy)?;
    let count = g.op("Sum", [taken.into(), axes.into()], &[("keep_dims", Attr::Bool(true))])?;
    let share = g.binary("RealDiv", taken, count)?;
    Ok(vec![g.binary("Mul", share, dy)?.into(), Grad::None])
}

fn max<T: Element + reduce::Element<Acc: reduce::Ordered>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |_| reduce::Max)
}

fn min<T: Element + reduce::Element<Acc: reduce::Ordered>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |_| reduce::Min)
}

static EUCLIDEAN_NORM: Op = Op {
    name: "EuclideanNorm",
    doc: "The square root of the sum of squares over the given axes.",
    grad: Rule(norm_grad),
    kernels: cpu!(make norm: T in f32, f64, f16, bf16, Complex32, ComplexDouble; integer_norm: T in i32, i64, u8, u16, u32, u64, i8, i16),
    ..REDUCTION
};

fn norm_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y, dy) = (g.x[0], g.y[0], g.dy()?);
    let (y, dy) = (with_kept_dims(g, y)?, with_kept_dims(g, dy)?);
    let scale = g.binary("RealDiv", y, dy)?;
    Ok(vec![g.binary("RealDiv", x, scale)?.into(), Grad::None])
}

fn norm<T: Squared>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction_of_any::<T, _>(node, |_| Squares(f64::sqrt))
}

fn integer_norm<T: Integer>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction_of_any::<T, _>(node, |_| IntegerNorm)
}

static ALL: Op = Op {
    name: "All",
    doc: "Whether all elements over the given axes are true.",
    inputs: &["input: bool", "reduction_indices: Tidx"],
    outputs: &["output: bool"],
    attrs: &["keep_dims: bool = false", "Tidx: {int32, int64} = DT_INT32"],
    grad: Stops,
    kernels: cpu!(make all),
    cases: |r| {
        vec![
            Case::new(vec![r.bools(&[2, 3]), int_vector(&[1])]),
            Case::new(vec![r.bools(&[2, 3]), int_vector(&[0, 1])]).attr("keep_dims", true),
            Case::new(vec![r.bools(&[0, 3]), int_vector(&[0])]),
        ]
    },
    ..REDUCTION
};

static ANY: Op = Op {
    name: "Any",
    doc: "Whether any element over the given axes is true.",
    kernels: cpu!(make any),
    ..ALL
};

fn all(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<bool, _>(node, |_| reduce::All)
}

fn any(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<bool, _>(node, |_| reduce::Any)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    /// As in TensorFlow; a plan that removes such a sum computes the same.
    #[test]
    fn a_sum_of_one_each_is_that_one_with_its_sign() {
        let x = floats(&[2, 1], &[-0.0, 3.0]);
        for (op, axes) in [("Sum", &[][..]), ("Sum", &[1]), ("Mean", &[1]), ("Prod", &[1])] {
            let y = call(op, &[x.clone(), ints(&[axes.len()], axes)], &[]).unwrap().remove(0);
            let values = y.as_slice::<f32>().unwrap();
            assert!(values[0].is_sign_negative() && values[1] == 3.0, "{op} over {axes:?}: {values:?}");
        }
        let all = call("Sum", &[x, ints(&[1], &[0])], &[]).unwrap().remove(0);
        assert_eq!(all.as_slice::<f32>().unwrap(), [3.0]);
    }

    #[test]
    fn small_integers_do_not_overflow_on_the_way() {
        let x = Tensor::vector(&[127i8, 127, -3]).unwrap();
        let y = call("Mean", &[x, ints(&[1], &[0])], &[]).unwrap();
        assert_eq!(y[0].to_scalar::<i8>().unwrap(), 83);
    }
}
