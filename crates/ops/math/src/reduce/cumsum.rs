//! `Cumsum` and `Cumprod`: running sums and products along an axis.

use crate::gradients::{conj_x, conj_y};
use crate::prelude::*;
use thalweg_math::reduce::{self, Reducer, Scan, scan};

pub static CUMSUM: Op = Op {
    name: "Cumsum",
    doc: "The sum of all elements up to each one along an axis; exclusive leaves out the element itself, reverse begins at the end.",
    inputs: &["x: T", "axis: Tidx"],
    outputs: &["out: T"],
    attrs: &[
        "exclusive: bool = false",
        "reverse: bool = false",
        "T: numbertype",
        "Tidx: {int32, int64} = DT_INT32",
    ],
    shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases: |r| {
        let mut cases = vec![Case::new(vec![r.tensor(&[4]), Tensor::scalar(-1i64)])];
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            cases.push(
                Case::new(vec![r.tensor(&[2, 3, 2]), Tensor::scalar(1i32)])
                    .attr("exclusive", exclusive)
                    .attr("reverse", reverse),
            );
        }
        cases.into_iter().map(|case| case.without_difference(&[1])).collect()
    },
    host_inputs: &["axis"],
    ..Op::PURE
};

pub static CUMPROD: Op = Op {
    name: "Cumprod",
    doc: "The product of all elements up to each one along an axis; exclusive leaves out the element itself, reverse begins at the end.",
    grad: Rule(product_grad),
    kernels: cpu!(make prepare_product: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    ..CUMSUM
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.scalar(1)?;
    if let (Some(rank), Some(axis)) = (c.input(0).rank(), c.ints(1).and_then(|a| a.first().copied())) {
        axis_in_range(axis, rank)?;
    }
    Ok(vec![c.input(0)])
}

/// The cumulative sum of a gradient in the reverse direction.
fn from_other_end(g: &mut GradCall<'_>, dy: Output) -> Result<Output> {
    let (exclusive, reverse) = (g.attrs.bool("exclusive")?, g.attrs.bool("reverse")?);
    let attrs = [("exclusive", Attr::Bool(exclusive)), ("reverse", Attr::Bool(!reverse))];
    let axis = g.x[1];
    g.op("Cumsum", [dy.into(), axis.into()], &attrs)
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let dy = g.dy()?;
    Ok(vec![from_other_end(g, dy)?.into(), Grad::None])
}

fn product_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (y, dy) = (conj_y(g, 0)?, g.dy()?);
    let weighted = g.binary("Mul", y, dy)?;
    let sum = from_other_end(g, weighted)?;
    let x = conj_x(g, 0)?;
    Ok(vec![g.binary("DivNoNan", sum, x)?.into(), Grad::None])
}

fn prepare<T: Element + reduce::Element<Acc: reduce::Number>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel::<T, _>(node, reduce::Sum)
}

fn prepare_product<T: Element + reduce::Element<Acc: reduce::Number>>(
    node: &KernelNode,
) -> Result<Box<dyn Kernel>> {
    kernel::<T, _>(node, reduce::Prod)
}

fn kernel<T: Element, R: Reducer<T, Out = T> + Send + 'static>(
    node: &KernelNode,
    reducer: R,
) -> Result<Box<dyn Kernel>> {
    let how = Scan { exclusive: node.attrs.bool("exclusive")?, reverse: node.attrs.bool("reverse")? };
    Ok(scan_kernel::<T, R>(how, reducer))
}

/// A scan of input 0 along the axis in input 1.
pub fn scan_kernel<T: Element, R: Reducer<T, Out = T> + Send + 'static>(
    how: Scan,
    reducer: R,
) -> Box<dyn Kernel> {
    Box::new(move |c: &mut OpCall<'_>| {
        let (axis, shape) = (c.scalar_int(1)?, c.shape(0)?.clone());
        let rank = shape.rank() as i64;
        let at = axis_in_range(axis, shape.rank()).map_err(|_| {
            invalid!("ScanOp: Expected scan axis in the range [{}, {rank}), but got {axis}", -rank)
        })?;
        let (outer, len, inner) = shape.around(at)?;
        let mut out = Tensor::uninit(T::DTYPE, shape)?;
        scan(c.par(), how, &reducer, [outer, len, inner], c.slice::<T>(0)?, out.as_mut_slice::<T>()?);
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn the_axis_must_be_there() {
        for (x, axis) in [(floats(&[2], &[1.0; 2]), 1), (floats(&[], &[1.0]), 0)] {
            assert_eq!(code(call("Cumsum", &[x, Tensor::scalar(axis)], &[])), Code::InvalidArgument);
        }
    }
}
