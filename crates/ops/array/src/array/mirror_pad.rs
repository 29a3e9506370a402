//! `MirrorPad`, `MirrorPadGrad`: padding that mirrors the tensor, and its gradient.

use crate::moving::Block;
use crate::paddings::{padded_shape, padded_size, paddings, paddings_input};
use crate::prelude::*;

pub static MIRROR_PAD: Op = Op {
    name: "MirrorPad",
    doc: "The input with its mirror image before and after it along each dimension; REFLECT leaves out the edge itself, SYMMETRIC repeats it.",
    inputs: &["input: T", "paddings: Tpaddings"],
    outputs: &["output: T"],
    attrs: &["T: type", "Tpaddings: {int32, int64} = DT_INT32", "mode: {'REFLECT', 'SYMMETRIC'}"],
    shape: |c| Ok(vec![padded_shape(c, 1)?]),
    grad: Rule(|g| other(g, "MirrorPadGrad")),
    kernels: cpu!(make prepare),
    cases: |r| {
        let paddings = Tensor::from_slice(Shape::new(&[2, 2]).unwrap_or_default(), &[1i32, 0, 2, 1]);
        let modes = ["REFLECT", "SYMMETRIC"].iter().zip(std::iter::repeat(paddings.ok()));
        modes.filter_map(|(m, p)| Some(Case::new(vec![r.tensor(&[2, 3]), p?]).attr("mode", *m))).collect()
    },
    host_inputs: &["paddings"],
    ..Op::PURE
};

pub static MIRROR_PAD_GRAD: Op = Op {
    name: "MirrorPadGrad",
    doc: "The gradient of MirrorPad: adds the padding to the elements it mirrors.",
    shape: inner_shape,
    grad: Rule(|g| other(g, "MirrorPad")),
    kernels: cpu!(make fold: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    cases: |r| {
        let mut cases = (MIRROR_PAD.cases)(r);
        cases.iter_mut().for_each(|c| c.inputs[0] = r.tensor(&[3, 6]));
        cases
    },
    ..MIRROR_PAD
};

fn other(g: &mut GradCall<'_>, op: &str) -> Result<Vec<Grad>> {
    let (paddings, dy) = (g.x[1], g.dy()?);
    let mode = Attr::str(g.attrs.str("mode")?);
    Ok(vec![g.op(op, [dy.into(), paddings.into()], &[("mode", mode)])?.into(), Grad::None])
}

fn inner_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let p = c.rank(1, 2)?;
    merge_dim(p.dim(1), 2)?;
    let values = c.ints(1);
    let rows = values.as_ref().map_or(p.dim(0), |v| v.len() as i64 / 2);
    let x = if rows >= 0 { c.rank(0, rows as usize)? } else { c.input(0) };
    let (Some(dims), Some(values)) = (x.dims(), values) else {
        return Ok(vec![x.rank().map_or(PartialShape::unknown(), PartialShape::unknown_of_rank)]);
    };
    let inner = |(d, (before, after)): (&i64, (usize, usize))| match *d {
        -1 => Ok(-1),
        d => inner_size(d as usize, before, after).map(|n| n as i64),
    };
    Ok(vec![dims.iter().zip(paddings(&values, dims.len())?).map(inner).collect::<Result<_>>()?])
}

fn inner_size(size: usize, before: usize, after: usize) -> Result<usize> {
    size.checked_sub(before)
        .and_then(|n| n.checked_sub(after))
        .ok_or_else(|| invalid!("a dimension of {size} has no border of {before} and {after}"))
}

/// Offset of the mirrored elements from the edge: REFLECT leaves out the edge itself.
fn offset(attrs: &Attrs) -> Result<usize> {
    Ok((attrs.str("mode")? == "REFLECT") as usize)
}

fn check(before: usize, after: usize, size: usize, offset: usize) -> Result<()> {
    let most = (size + 1).saturating_sub(offset);
    if before.max(after) >= most {
        return Err(match offset {
            0 => invalid!(
                "paddings must be no greater than the dimension size: {before}, {after} greater than {size}"
            ),
            _ => invalid!(
                "paddings must be less than the dimension size: {before}, {after} not less than {size}"
            ),
        });
    }
    Ok(())
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let offset = offset(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let mut out = c.input(0)?.clone();
        let paddings = paddings_input(c, 1, out.rank())?;
        for (n, (before, after)) in out.shape().iter().zip(&paddings) {
            check(*before, *after, *n, offset)?;
        }
        for (axis, (before, after)) in paddings.into_iter().enumerate().filter(|(_, p)| *p != (0, 0)) {
            out = mirrored(c, &out, axis, before, after, offset)?;
        }
        c.set(0, out);
        Ok(())
    }))
}

/// Pads one dimension.
fn mirrored(
    c: &OpCall<'_>,
    x: &Tensor,
    axis: usize,
    before: usize,
    after: usize,
    offset: usize,
) -> Result<Tensor> {
    let (outer, n, inner) = x.shape().around(axis)?;
    let size = padded_size(n, before, after)?;
    let mut out = Tensor::uninit(x.dtype(), x.shape().with(axis, size)?)?;
    let step = inner as isize;
    // First source and target slice, number of slices, direction in the source.
    let parts = [
        (0, before, n, step),
        ((before + offset).saturating_sub(1), 0, before, -step),
        (n.saturating_sub(1 + offset), before + n, after, -step),
    ];
    for (from, to, count, direction) in parts {
        Block::at(from * inner, to * inner)
            .dim(outer, (n * inner) as isize, (size * inner) as isize)
            .dim(count, direction, step)
            .dim(inner, 1, 1)
            .copy(c.par(), x, &mut out)?;
    }
    Ok(out)
}

fn fold<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    fold_with(node, folded::<T>)
}

type Folded = fn(&Tensor, usize, usize, usize, usize) -> Result<Tensor>;

fn fold_with(node: &KernelNode, folded: Folded) -> Result<Box<dyn Kernel>> {
    let offset = offset(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let mut out = c.input(0)?.clone();
        for (axis, (before, after)) in paddings_input(c, 1, out.rank())?.into_iter().enumerate() {
            let n = inner_size(out.shape()[axis], before, after)?;
            check(before, after, n, offset)?;
            if (before, after) != (0, 0) {
                out = folded(&out, axis, before, n, offset)?;
            }
        }
        c.set(0, out);
        Ok(())
    }))
}

/// Adds the gradient of the padding of one dimension to the elements it mirrors.
fn folded<T: Number>(x: &Tensor, axis: usize, before: usize, n: usize, offset: usize) -> Result<Tensor> {
    let (outer, size, inner) = x.shape().around(axis)?;
    let mut out = Tensor::uninit(x.dtype(), x.shape().with(axis, n)?)?;
    if out.elements() == 0 {
        return Ok(out);
    }
    let (from, to) = (x.as_slice::<T>()?, out.as_mut_slice::<T>()?);
    for o in 0..outer {
        let from = &from[o * size * inner..][..size * inner];
        let to = &mut to[o * n * inner..][..n * inner];
        to.copy_from_slice(&from[before * inner..][..n * inner]);
        for i in (0..before).chain(before + n..size) {
            let mirror = if i < before { before - 1 - i + offset } else { 2 * n + before - 1 - offset - i };
            for (t, f) in to[mirror * inner..][..inner].iter_mut().zip(&from[i * inner..]) {
                *t = t.add(*f);
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn a_border_wider_than_the_tensor_is_refused() {
        let pad = |op: &str, before: i32, mode: &str| {
            let inputs = [floats(&[2], &[1.0, 2.0]), ints(&[1, 2], &[before, 0])];
            call(op, &inputs, &[("mode", mode.into())])
        };
        assert_eq!(code(pad("MirrorPad", 2, "REFLECT")), Code::InvalidArgument);
        assert_eq!(code(pad("MirrorPad", 3, "SYMMETRIC")), Code::InvalidArgument);
        assert_eq!(code(pad("MirrorPad", -1, "SYMMETRIC")), Code::InvalidArgument);
        assert_eq!(code(pad("MirrorPadGrad", 2, "SYMMETRIC")), Code::InvalidArgument);
        assert_eq!(code(pad("MirrorPadGrad", 3, "REFLECT")), Code::InvalidArgument);
        assert!(pad("MirrorPad", 2, "SYMMETRIC").is_ok());
    }
}
