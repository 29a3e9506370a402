//! `Split`, `SplitV`: a tensor split along an axis.

use crate::axis::{axis_input, constant_axis};
use crate::moving::Block;
use crate::prelude::*;

pub static SPLIT: Op = Op {
    name: "Split",
    doc: "The value split into `num_split` equal parts along `split_dim`.",
    inputs: &["split_dim: int32", "value: T"],
    outputs: &["output: num_split * T"],
    attrs: &["num_split: int >= 1", "T: type"],
    shape,
    grad: Rule(|g| Ok(vec![Grad::None, joined(g, g.x[0])?])),
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![
            Case::new(vec![Tensor::scalar(1i32), r.tensor(&[2, 4])]).attr("num_split", 2),
            Case::new(vec![Tensor::scalar(-2i32), r.tensor(&[3, 2])]).attr("num_split", 3),
        ]
    },
    host_inputs: &["split_dim"],
    ..Op::PURE
};

pub static SPLIT_V: Op = Op {
    name: "SplitV",
    doc: "The value split along `split_dim` into parts of the sizes given; one size may be -1: it is inferred.",
    inputs: &["value: T", "size_splits: Tlen", "split_dim: int32"],
    attrs: &["num_split: int >= 1", "T: type", "Tlen: {int8, int32, int64} = DT_INT64"],
    shape: shape_v,
    grad: Rule(|g| Ok(vec![joined(g, g.x[2])?, Grad::None, Grad::None])),
    kernels: cpu!(make prepare_v),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 4]), int_vector(&[1, 3]), Tensor::scalar(1i32)])
                .attr("num_split", 2),
            Case::new(vec![r.tensor(&[5, 2]), int_vector(&[2, -1, 0]), Tensor::scalar(0i32)])
                .attr("num_split", 3),
        ]
    },
    host_inputs: &["size_splits", "split_dim"],
    ..SPLIT
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let x = c.rank_at_least(1, 1)?;
    let axis = constant_axis(c, 0, x.rank())?;
    let Some(dims) = x.dims() else { return c.all(PartialShape::unknown()) };
    let Some(axis) = axis else { return c.all(PartialShape::unknown_of_rank(dims.len())) };
    let n = c.attrs.int("num_split")?;
    let mut dims = dims.to_vec();
    if dims[axis] >= 0 {
        dims[axis] = even_part(dims[axis], n, axis)?;
    }
    c.all(dims.into_iter().collect())
}

fn even_part(size: i64, n: i64, axis: usize) -> Result<i64> {
    if n < 1 || size % n != 0 {
        return Err(invalid!(
            "Number of ways to split should evenly divide the split dimension, but got split_dim {axis} (size = {size}) and num_split {n}"
        ));
    }
    Ok(size / n)
}

fn shape_v(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let x = c.rank_at_least(0, 1)?;
    merge_dim(c.rank(1, 1)?.dim(0), c.outputs as i64)?;
    let axis = constant_axis(c, 2, x.rank())?;
    let Some(dims) = x.dims() else { return c.all(PartialShape::unknown()) };
    let Some(axis) = axis else { return c.all(PartialShape::unknown_of_rank(dims.len())) };
    let with = |size: i64| dims.iter().enumerate().map(|(i, d)| if i == axis { size } else { *d }).collect();
    match c.ints(1) {
        Some(sizes) if dims[axis] >= 0 => Ok(part_sizes(&sizes, dims[axis])?.into_iter().map(with).collect()),
        Some(sizes) => Ok(sizes.into_iter().map(with).collect()),
        None if c.outputs == 1 => Ok(vec![x]),
        None => c.all(with(-1)),
    }
}

/// Sizes that add up to the whole; -1 is inferred.
fn part_sizes(sizes: &[i64], whole: i64) -> Result<Vec<i64>> {
    let mut open = None;
    let mut sum = 0i64;
    for (i, size) in sizes.iter().enumerate() {
        match *size {
            -1 if open.is_some() => {
                return Err(invalid!("There can only be one -1 in the input, got {sizes:?}"));
            }
            -1 => open = Some(i),
            s if s < 0 => return Err(invalid!("Split size at index {i} must be >= 0. Got: {s}")),
            s => sum = sum.checked_add(s).ok_or_else(|| invalid!("the sizes {sizes:?} add up past 2^63"))?,
        }
    }
    let mut sizes = reserve::copied(sizes)?;
    match open {
        Some(i) if sum <= whole => sizes[i] = whole - sum,
        None if sum == whole => {}
        _ => {
            return Err(invalid!(
                "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than the size of the input along split_dim if not fully specified. Got: {sum} of {whole}"
            ));
        }
    }
    Ok(sizes)
}

/// The gradients of the parts, concatenated.
fn joined(g: &mut GradCall<'_>, axis: Output) -> Result<Grad> {
    let parts: Vec<Output> = (0..g.y.len()).map(|i| g.dy_or_zeros(i)).collect::<Result<_>>()?;
    match parts.as_slice() {
        [one] => Ok((*one).into()),
        _ => Ok(g.op("ConcatV2", [parts.into(), axis.into()], &[])?.into()),
    }
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let n = node.attrs.int("num_split")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = c.shape(1)?;
        let axis = axis_in_range(c.scalar_int(0)?, shape.rank())?;
        let size = even_part(shape[axis] as i64, n, axis)?;
        split_along(c, 1, axis, &reserve::filled(n as usize, size)?)
    }))
}

fn prepare_v(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let n = node.attrs.int("num_split")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (shape, sizes) = (c.shape(0)?, c.int_vector(1)?);
        if sizes.len() as i64 != n {
            return Err(invalid!(
                "size of the split_tensor must be equal to num_split, but got {} and {n}",
                sizes.len()
            ));
        }
        let axis = axis_input(c, 2, shape.rank())?;
        if let [only] = sizes[..]
            && only != shape[axis] as i64
        {
            return Err(invalid!(
                "If there is only one output, it must have the same size as the input. Input size: {} output size: {only}",
                shape[axis]
            ));
        }
        let sizes = part_sizes(&sizes, shape[axis] as i64)?;
        split_along(c, 0, axis, &sizes)
    }))
}

fn split_along(c: &mut OpCall<'_>, input: usize, axis: usize, sizes: &[i64]) -> Result<()> {
    let mut start = 0;
    for (i, size) in sizes.iter().enumerate() {
        let size = *size as usize;
        let part = part(c, c.input(input)?, axis, start, size)?;
        c.set(i, part);
        start += size;
    }
    Ok(())
}

/// `len` slices from `start` on along an axis; shares memory where they are contiguous.
pub fn part(c: &OpCall<'_>, x: &Tensor, axis: usize, start: usize, len: usize) -> Result<Tensor> {
    let (outer, size, run) = x.shape().around(axis)?;
    let shape = x.shape().with(axis, len)?;
    if outer == 1 {
        let flat = x.clone().reshape(Shape::new(&[size, run])?)?;
        return flat.rows(start, len)?.reshape(shape);
    }
    let mut out = Tensor::uninit(x.dtype(), shape)?;
    Block::at(start * run, 0)
        .dim(outer, (size * run) as isize, (len * run) as isize)
        .dim(len * run, 1, 1)
        .copy(c.par(), x, &mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn negative_or_wrong_sizes_are_refused() {
        let x = floats(&[3], &[1.0, 2.0, 3.0]);
        for sizes in [[-1, -2], [-1, -1], [1, 1], [4, -1], [i32::MAX, i32::MAX]] {
            let inputs = [x.clone(), ints(&[2], &sizes), ints(&[], &[0])];
            assert_eq!(code(call("SplitV", &inputs, &[("num_split", 2.into())])), Code::InvalidArgument);
        }
        let whole = [x.clone(), ints(&[1], &[-1]), ints(&[], &[0])];
        assert_eq!(code(call("SplitV", &whole, &[("num_split", 1.into())])), Code::InvalidArgument);
        let vector = [ints(&[1], &[0]), x.clone()];
        assert_eq!(code(call("Split", &vector, &[("num_split", 3.into())])), Code::InvalidArgument);
        let inputs = [ints(&[], &[0]), x];
        assert_eq!(code(call("Split", &inputs, &[("num_split", 2.into())])), Code::InvalidArgument);
    }

    #[test]
    fn parts_along_the_first_axis_share_memory() {
        let x = floats(&[2, 8], &[1.0; 16]);
        let y = call("Split", &[ints(&[], &[0]), x.clone()], &[("num_split", 2.into())]).unwrap();
        assert!(y[0].clone().reshape(Shape::vector(8)).unwrap().shares_memory_with(&x.rows(0, 1).unwrap()));
    }
}
