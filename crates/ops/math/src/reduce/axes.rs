//! Shared by all reductions: the signature template, parsing of the axes, and helpers for gradients.

use crate::prelude::*;
use thalweg_math::reduce::{Plan, Reducer, reduce};

/// The signature shared by reductions.
pub const REDUCTION: Op = Op {
    inputs: &["input: T", "reduction_indices: Tidx"],
    outputs: &["output: T"],
    attrs: &["keep_dims: bool = false", "T: numbertype", "Tidx: {int32, int64} = DT_INT32"],
    shape: reduced,
    cases,
    host_inputs: &["reduction_indices"],
    ..Op::PURE
};

/// The shape of a reduction of input 0 over the axes in input 1.
fn reduced(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (input, keep) = (c.input(0), c.attrs.bool("keep_dims")?);
    let Some(dims) = input.dims() else { return Ok(vec![PartialShape::unknown()]) };
    let Some(axes) = c.ints(1) else {
        return Ok(vec![if keep {
            PartialShape::unknown_of_rank(dims.len())
        } else {
            PartialShape::unknown()
        }]);
    };
    let over = marked(&axes, dims.len())?;
    // A duplicate axis is a runtime error; no shape is inferred.
    if keep && named_twice(&axes, &over) {
        return Ok(vec![PartialShape::unknown_of_rank(dims.len())]);
    }
    let dims = dims.iter().zip(&over);
    Ok(vec![if keep {
        dims.map(|(d, over)| if *over { 1 } else { *d }).collect()
    } else {
        dims.filter(|(_, over)| !**over).map(|(d, _)| *d).collect()
    }])
}

fn named_twice(axes: &[i64], over: &[bool]) -> bool {
    axes.len() != over.iter().filter(|o| **o).count()
}

/// For each dimension, whether it is reduced.
fn marked(axes: &[i64], rank: usize) -> Result<Vec<bool>> {
    let mut over = vec![false; rank];
    for axis in axes {
        let at = axis_in_range(*axis, rank).map_err(|_| {
            invalid!("Invalid reduction dimension ({axis} for input with {rank} dimension(s)")
        })?;
        over[at] = true;
    }
    Ok(over)
}

/// The kernel of a reduction; `reducer` may look at the plan. A reduction of single elements copies them, as in TensorFlow: -0 stays -0.
pub fn reduction<T: Element, R: Reducer<T, Out = T>>(
    node: &KernelNode,
    reducer: impl Fn(&Plan) -> R + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>> {
    kernel(node, true, reducer)
}

/// As `reduction`, for reducers that change a single element.
pub fn reduction_of_any<T: Element, R: Reducer<T, Out = T>>(
    node: &KernelNode,
    reducer: impl Fn(&Plan) -> R + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>> {
    kernel(node, false, reducer)
}

fn kernel<T: Element, R: Reducer<T, Out = T>>(
    node: &KernelNode,
    one_is_itself: bool,
    reducer: impl Fn(&Plan) -> R + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>> {
    let keep = node.attrs.bool("keep_dims")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (plan, shape) = plan(c, keep)?;
        if one_is_itself && plan.reduced_len() == 1 {
            let same = c.take(0)?.reshape(shape)?;
            c.set(0, same);
            return Ok(());
        }
        let mut out = Tensor::uninit(T::DTYPE, shape)?;
        reduce(c.par(), &plan, &reducer(&plan), c.slice::<T>(0)?, out.as_mut_slice::<T>()?);
        c.set(0, out);
        Ok(())
    }))
}

fn plan(c: &OpCall<'_>, keep: bool) -> Result<(Plan, Shape)> {
    let (shape, axes) = (c.shape(0)?, c.input(1)?.to_i64s()?);
    let over = marked(&axes, shape.rank())?;
    if named_twice(&axes, &over) {
        return Err(invalid!("Invalid reduction arguments: Axes contains duplicate dimension: {axes:?}"));
    }
    let dims = shape.iter().zip(&over);
    let out: Vec<usize> = if keep {
        dims.map(|(d, over)| if *over { 1 } else { *d }).collect()
    } else {
        dims.filter(|(_, over)| !**over).map(|(d, _)| *d).collect()
    };
    Ok((Plan::new(shape, &over), Shape::new(&out)?))
}

/// In the gradient of a reduction: the shape of its output with the reduced dimensions kept as 1, as an int32 vector.
fn kept_shape(g: &mut GradCall<'_>) -> Result<Output> {
    let (x, axes) = (g.x[0], g.x[1]);
    let known = g.graph.shape(x);
    let constant = g.graph.constant(axes).and_then(|t| t.to_i64s().ok());
    if let (Some(dims), Some(axes), true) = (known.dims(), constant, known.is_fully_known()) {
        let over = marked(&axes, dims.len())?;
        let kept: Vec<i32> =
            dims.iter().zip(over).map(|(d, over)| if over { 1 } else { *d as i32 }).collect();
        return g.constant(Tensor::vector(&kept)?);
    }
    let (shape, rank) = (g.shape_of(x)?, g.unary("Rank", x)?);
    let axes = positive_axes(g, axes, rank)?;
    let ones = g.unary("OnesLike", axes)?;
    let every = every_axis(g, rank)?;
    g.op("DynamicStitch", [vec![every, axes].into(), vec![shape, ones].into()], &[])
}

/// Axes as an int32 vector, counted from the first dimension.
pub fn positive_axes(g: &mut GradCall<'_>, axes: Output, rank: Output) -> Result<Output> {
    let axes = crate::gradients::cast(g, axes, rank)?;
    let flat = g.constant(int_vector(&[-1]))?;
    let axes = g.binary("Reshape", axes, flat)?;
    let shifted = g.binary("AddV2", axes, rank)?;
    g.binary("FloorMod", shifted, rank)
}

/// 0, 1, .. up to the rank.
pub fn every_axis(g: &mut GradCall<'_>, rank: Output) -> Result<Output> {
    let (zero, one) = (g.constant(Tensor::scalar(0i32))?, g.constant(Tensor::scalar(1i32))?);
    g.op("Range", [zero.into(), rank.into(), one.into()], &[])
}

/// A tensor shaped as the output of the reduction, with the reduced dimensions put back as 1.
pub fn with_kept_dims(g: &mut GradCall<'_>, t: Output) -> Result<Output> {
    if g.attrs.bool("keep_dims")? {
        return Ok(t);
    }
    let shape = kept_shape(g)?;
    g.binary("Reshape", t, shape)
}

/// The gradient of the output, broadcast over the reduced dimensions.
pub fn spread_dy(g: &mut GradCall<'_>) -> Result<Output> {
    let (x, dy) = (g.x[0], g.dy()?);
    let dy = with_kept_dims(g, dy)?;
    let shape = g.shape_of(x)?;
    g.binary("BroadcastTo", dy, shape)
}

/// Cases for a reduction of floats.
fn cases(r: &mut CaseGen) -> Vec<Case> {
    vec![
        Case::new(vec![r.tensor(&[2, 3, 4]), int_vector(&[1])]).without_difference(&[1]),
        Case::new(vec![r.tensor(&[2, 3, 4]), int_vector(&[0, -1])])
            .attr("keep_dims", true)
            .without_difference(&[1]),
        Case::new(vec![r.tensor(&[2, 3]), int_vector(&[])]).without_difference(&[1]),
        Case::new(vec![r.tensor(&[5]), Tensor::scalar(0i32)]).without_difference(&[1]),
    ]
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::error::Code;

    #[test]
    fn axes_that_are_not_there_or_named_twice_are_refused() {
        let x = floats(&[2, 2], &[1.0; 4]);
        for axes in [&[2][..], &[-3], &[0, 0], &[0, -2]] {
            for op in ["Sum", "Mean", "Max", "Prod", "EuclideanNorm"] {
                let result = call(op, &[x.clone(), ints(&[axes.len()], axes)], &[]);
                assert_eq!(code(result), Code::InvalidArgument, "{op} over {axes:?}");
            }
        }
    }

    #[test]
    fn a_reduction_of_nothing_is_the_neutral_element() {
        let x = floats(&[0, 2], &[]);
        let of = |op: &str| {
            let y = call(op, &[x.clone(), ints(&[1], &[0])], &[]).unwrap();
            y[0].as_slice::<f32>().unwrap().to_vec()
        };
        assert_eq!(of("Sum"), [0.0, 0.0]);
        assert_eq!(of("Prod"), [1.0, 1.0]);
        assert_eq!(of("Max"), [f32::NEG_INFINITY; 2]);
        assert!(of("Mean")[0].is_nan());
    }
}
