//! `Mean` over axes.

use super::axes::{cases, reduced, reduction, spread_dy};
use crate::gradients::cast;
use crate::prelude::*;
use thalweg_math::reduce;

pub static MEAN: Op = Op {
    name: "Mean",
    doc: "The mean over the axes named.",
    inputs: &["input: T", "reduction_indices: Tidx"],
    outputs: &["output: T"],
    attrs: &["keep_dims: bool = false", "T: numbertype", "Tidx: {int32, int64} = DT_INT32"],
    shape: reduced,
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, i64, f16, bf16, u64, Complex32, ComplexDouble; prepare_narrow: T in i32, u8, u16, u32, i8, i16),
    cases,
    host_inputs: &["reduction_indices"],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
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

fn prepare<T: Element + reduce::Element<Acc: reduce::Number>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |plan| reduce::Mean { count: plan.reduced_len() })
}

fn prepare_narrow<T: Number + Into<i64>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
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

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn small_integers_do_not_overflow_on_the_way() {
        let x = Tensor::vector(&[127i8, 127, -3]).unwrap();
        let y = call("Mean", &[x, ints(&[1], &[0])], &[]).unwrap();
        assert_eq!(y[0].to_scalar::<i8>().unwrap(), 83);
    }
}
