//! `StridedSlice`, `StridedSliceGrad`: numpy's slicing, and its gradient.

use super::slice_spec::{ATTRS, Entries, Masks, Slice};
use crate::prelude::*;

pub static STRIDED_SLICE: Op = Op {
    name: "StridedSlice",
    doc: "The part of the input that `input[begin:end:strides]` means in numpy; masks encode open bounds, ellipsis, newaxis and single indices.",
    inputs: &["input: T", "begin: Index", "end: Index", "strides: Index"],
    outputs: &["output: T"],
    attrs: &[
        "T: type",
        "Index: {int16, int32, int64}",
        "begin_mask: int = 0",
        "end_mask: int = 0",
        "ellipsis_mask: int = 0",
        "new_axis_mask: int = 0",
        "shrink_axis_mask: int = 0",
    ],
    shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare),
    cases: |r| {
        let spec = |x: Tensor, b: &[i32], e: &[i32], s: &[i32]| {
            Case::new(vec![x, int_vector(b), int_vector(e), int_vector(s)])
        };
        vec![
            spec(r.tensor(&[5]), &[1], &[4], &[1]),
            spec(r.tensor(&[5, 3]), &[-1, 0], &[0, 3], &[-2, 2]),
            spec(r.tensor(&[5, 3]), &[2], &[3], &[1]).attr("shrink_axis_mask", 1),
            spec(r.tensor(&[5, 3]), &[0, 1], &[0, 0], &[1, -1]).attr("begin_mask", 1).attr("end_mask", 3),
            spec(r.tensor(&[2, 3, 4]), &[0, 0, 1], &[0, 0, 2], &[1, 1, 1])
                .attr("ellipsis_mask", 1)
                .attr("new_axis_mask", 2)
                .attr("shrink_axis_mask", 4),
            spec(r.tensor(&[4]), &[3], &[1], &[1]),
            spec(r.tensor(&[]), &[0], &[0], &[1]).attr("new_axis_mask", 1),
        ]
    },
    host_inputs: &["begin", "end", "strides"],
    partial_value: Some(element),
    ..Op::PURE
};

pub static STRIDED_SLICE_GRAD: Op = Op {
    name: "StridedSliceGrad",
    doc: "Zeros of shape `shape`, but for the slice, which is `dy`: the gradient of StridedSlice.",
    inputs: &["shape: Index", "begin: Index", "end: Index", "strides: Index", "dy: T"],
    attrs: &[
        "T: type",
        "Index: {int32, int64}",
        "begin_mask: int = 0",
        "end_mask: int = 0",
        "ellipsis_mask: int = 0",
        "new_axis_mask: int = 0",
        "shrink_axis_mask: int = 0",
    ],
    shape: |c| Ok(vec![c.as_shape(0)?]),
    grad: Rule(grad_of_grad),
    kernels: cpu!(make prepare_grad),
    cases: |r| {
        let spec = |shape: &[i32], b: &[i32], e: &[i32], s: &[i32], dy: Tensor| {
            Case::new(vec![int_vector(shape), int_vector(b), int_vector(e), int_vector(s), dy])
        };
        vec![
            spec(&[5, 3], &[-1, 0], &[0, 3], &[-2, 2], r.tensor(&[2, 2])),
            spec(&[5, 3], &[2], &[3], &[1], r.tensor(&[3])).attr("shrink_axis_mask", 1),
        ]
    },
    host_inputs: &["shape", "begin", "end", "strides"],
    partial_value: None,
    ..STRIDED_SLICE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let entries = Entries::known(c, 1)?;
    let x = c.input(0);
    let masks = Masks::of(c.attrs)?;
    match (x.dims(), entries) {
        (Some(dims), Some(entries)) => {
            Ok(vec![Slice::new(dims, &entries, masks)?.dims.into_iter().collect()])
        }
        _ => Ok(vec![PartialShape::unknown()]),
    }
}

/// A single element of a vector.
fn element(c: &mut dyn PartialCall) -> Option<PartialShape> {
    if c.attrs().int("shrink_axis_mask").ok()? != 1 {
        return None;
    }
    let begin = c.constant(1)?.to_i64s().ok()?;
    let [at] = *begin.as_slice() else { return None };
    let whole = c.elements(0)?;
    Some(PartialShape::vector(whole.dim(usize::try_from(at).ok()?)))
}

fn masks_of(g: &GradCall<'_>) -> Result<Vec<(&'static str, Attr)>> {
    ATTRS.iter().map(|name| Ok((*name, g.attrs.int(name)?.into()))).collect()
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let dy = g.dy()?;
    let (x, index) = (g.x[0], g.graph.dtype(g.x[1]));
    // The gradient op does not support int16.
    let wide = if index == DataType::Int64 { index } else { DataType::Int32 };
    let mut args: Vec<Arg> = vec![g.op("Shape", [x.into()], &[("out_type", wide.into())])?.into()];
    for bound in &g.x[1..4] {
        args.push(
            if index == wide { *bound } else { g.op("Cast", [bound.into()], &[("DstT", wide.into())])? }
                .into(),
        );
    }
    args.push(dy.into());
    let dx = g.graph.add("StridedSliceGrad", args, masks_of(g)?.into_iter().collect())?;
    Ok(vec![dx[0].into(), Grad::None, Grad::None, Grad::None])
}

fn grad_of_grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (dx, b, e, s) = (g.dy()?, g.x[1], g.x[2], g.x[3]);
    let masks = masks_of(g)?;
    let ddy = g.op("StridedSlice", [dx.into(), b.into(), e.into(), s.into()], &masks)?;
    Ok(vec![Grad::None, Grad::None, Grad::None, Grad::None, ddy.into()])
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let masks = Masks::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (x, entries) = (c.input(0)?, Entries::of(c, 1)?);
        let slice = Slice::new(&x.shape().to_i64(), &entries, masks)?;
        let out = match slice.rows(x.shape()) {
            Some((start, len)) => x.rows(start, len)?.reshape(slice.shape()?)?,
            None if x.rank() == 0 => x.clone().reshape(slice.shape()?)?,
            None => {
                let mut out = Tensor::uninit(x.dtype(), slice.shape()?)?;
                slice.block(x.shape(), true).copy(c.par(), x, &mut out)?;
                out
            }
        };
        c.set(0, out);
        Ok(())
    }))
}

fn prepare_grad(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let masks = Masks::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (dims, entries, dy) = (c.int_vector(0)?, Entries::of(c, 1)?, c.input(4)?);
        let shape = Shape::from_i64(&dims)?;
        let slice = Slice::new(&dims, &entries, masks)?;
        if slice.shape()? != *dy.shape() {
            return Err(invalid!("shape of dy was {} instead of {}", dy.shape(), slice.shape()?));
        }
        let mut out = Tensor::zeros(dy.dtype(), shape)?;
        let block = slice.block(out.shape(), false);
        block.copy(c.par(), dy, &mut out)?;
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn bad_slices_are_refused() {
        let x = floats(&[3], &[1.0, 2.0, 3.0]);
        let slice = |b: i32, s: i32, mask: (&'static str, i64)| {
            let one = |v| ints(&[1], &[v]);
            call("StridedSlice", &[x.clone(), one(b), one(3), one(s)], &[(mask.0, mask.1.into())])
        };
        assert_eq!(code(slice(0, 0, ("begin_mask", 0))), Code::InvalidArgument);
        assert_eq!(code(slice(3, 1, ("shrink_axis_mask", 1))), Code::InvalidArgument);
        assert_eq!(code(slice(i32::MIN, 1, ("shrink_axis_mask", 1))), Code::InvalidArgument);
        assert_eq!(code(slice(0, 1, ("ellipsis_mask", 3))), Code::InvalidArgument);
        let two = ints(&[2], &[0, 0]);
        let inputs = [x, two.clone(), two, ints(&[2], &[1, 1])];
        assert_eq!(code(call("StridedSlice", &inputs, &[])), Code::InvalidArgument);
    }

    #[test]
    fn extreme_bounds_are_cut_to_the_tensor() {
        let x = floats(&[3], &[1.0, 2.0, 3.0]);
        let v = |v: i64| Tensor::vector(&[v]).unwrap();
        let y = call("StridedSlice", &[x.clone(), v(i64::MAX), v(i64::MIN), v(-2)], &[]).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), &[3.0, 1.0]);
        let y = call("StridedSlice", &[x, v(i64::MIN), v(i64::MAX), v(i64::MAX)], &[]).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), &[1.0]);
    }
}
