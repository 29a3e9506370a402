//! `GatherV2`, `Gather`: slices of a tensor, by index along an axis.

use crate::axis::constant_axis;
use crate::indices::positions;
use crate::moving::{Gather, apply};
use crate::prelude::*;

pub static GATHER_V2: Op = Op {
    name: "GatherV2",
    doc: "The slices of `params` along `axis` that `indices` name; the first `batch_dims` dimensions are batch dimensions.",
    inputs: &["params: Tparams", "indices: Tindices", "axis: Taxis"],
    outputs: &["output: Tparams"],
    attrs: &[
        "batch_dims: int = 0",
        "Tparams: type",
        "Tindices: {int16, int32, int64}",
        "Taxis: {int32, int64}",
    ],
    shape: |c| {
        c.scalar(2)?;
        let batch = c.attrs.int("batch_dims")?;
        match constant_axis(c, 2, c.input(0).rank())? {
            Some(axis) => shape(c, axis, batch),
            None => match (c.input(0).rank(), c.input(1).rank()) {
                (Some(p), Some(i)) => {
                    let batch = batch_position(batch, i)?;
                    Ok(vec![
                        (p + i)
                            .checked_sub(1 + batch)
                            .map_or(PartialShape::unknown(), PartialShape::unknown_of_rank),
                    ])
                }
                _ => Ok(vec![PartialShape::unknown()]),
            },
        }
    },
    grad: Rule(grad_v2),
    kernels: cpu!(make prepare_v2),
    cases: |r| {
        let axis = |a: i32| Tensor::scalar(a);
        vec![
            Case::new(vec![r.tensor(&[4, 3]), int_vector(&[2, 0, 2]), axis(0)]),
            Case::new(vec![r.tensor(&[4, 3]), r.ints(&[2, 2], 0, 3), axis(-1)]),
            Case::new(vec![r.tensor(&[2, 4, 3]), r.ints(&[2, 2], 0, 3), axis(2)]).attr("batch_dims", 1),
            Case::new(vec![r.tensor(&[2, 4]), r.ints(&[2, 3], 0, 4), axis(1)]).attr("batch_dims", -1),
            Case::new(vec![r.tensor(&[4, 3]), Tensor::scalar(1i64), axis(1)]),
            Case::new(vec![r.tensor(&[4, 0]), int_vector(&[1]), axis(0)]),
        ]
    },
    host_inputs: &["axis"],
    ..Op::PURE
};

pub static GATHER: Op = Op {
    name: "Gather",
    doc: "The slices of `params` along the first dimension that `indices` name.",
    inputs: &["params: Tparams", "indices: Tindices"],
    attrs: &["validate_indices: bool = true", "Tparams: type", "Tindices: {int32, int64}"],
    shape: |c| {
        c.rank_at_least(0, 1)?;
        shape(c, 0, 0)
    },
    grad: Rule(|g| Ok(vec![slices(g)?, Grad::None])),
    kernels: cpu!(run),
    cases: |r| vec![Case::new(vec![r.tensor(&[4, 3]), r.ints(&[2, 2], 0, 4)])],
    host_inputs: &[],
    ..GATHER_V2
};

/// `batch_dims` as a position; negative: from the end of the indices' shape.
fn batch_position(batch: i64, indices_rank: usize) -> Result<usize> {
    let rank = indices_rank as i64;
    if batch < -rank || batch > rank {
        return Err(invalid!("Expected batch_dims in the range [{}, {rank}], but got {batch}", -rank));
    }
    Ok(if batch < 0 { batch + rank } else { batch } as usize)
}

fn shape(c: &ShapeCall<'_>, axis: usize, batch: i64) -> Result<Vec<PartialShape>> {
    let (params, indices) = (c.input(0), c.input(1));
    let (Some(p), Some(i)) = (params.dims(), indices.dims()) else {
        return Ok(vec![PartialShape::unknown()]);
    };
    let batch = batch_position(batch, i.len())?;
    if batch > axis {
        return Err(invalid!("batch_dims ({batch}) must be less than or equal to axis ({axis})"));
    }
    let mut dims: Vec<i64> = Vec::new();
    for d in 0..batch {
        dims.push(merge_dim(p[d], i[d])?);
    }
    dims.extend(p[batch..axis].iter().chain(&i[batch..]).chain(&p[axis + 1..]));
    Ok(vec![dims.into_iter().collect()])
}

fn grad_v2(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let batch = g.attrs.int("batch_dims")?;
    let axis = g.graph.constant(g.x[2]).and_then(|t| t.to_i64s().ok());
    let dx = match axis.as_deref() {
        Some([0]) if batch == 0 => slices(g)?,
        _ => dense(g, batch)?,
    };
    Ok(vec![dx, Grad::None, Grad::None])
}

/// The gradient of gathering rows: IndexedSlices.
fn slices(g: &mut GradCall<'_>) -> Result<Grad> {
    let (params, indices, dy) = (g.x[0], g.x[1], g.dy()?);
    let dense_shape = g.shape_of(params)?;
    let all = g.constant(Tensor::vector(&[-1i32])?)?;
    let flat = g.binary("Reshape", indices, all)?;
    let one = g.constant(Tensor::vector(&[1i32])?)?;
    let row = g.op("Slice", [dense_shape.into(), one.into(), all.into()], &[])?;
    let count = g.shape_of(flat)?;
    let zero = g.constant(Tensor::scalar(0i32))?;
    let shape = g.op("ConcatV2", [vec![count, row].into(), zero.into()], &[])?;
    let values = g.binary("Reshape", dy, shape)?;
    Ok(Grad::Slices { values, indices: flat, dense_shape })
}

/// The gradient along any axis. With `params` as [batch, outer, size, inner] and the indices as [batch, picks], slices of
/// `dy` are scatter-added to their source, batches concatenated.
fn dense(g: &mut GradCall<'_>, batch: i64) -> Result<Grad> {
    let (params, axis, dy) = (g.x[0], g.x[2], g.dy()?);
    let indices = g.op("Cast", [g.x[1].into()], &[("DstT", DataType::Int32.into())])?;
    let axis = g.op("Cast", [axis.into()], &[("DstT", DataType::Int32.into())])?;
    let zero = g.constant(Tensor::scalar(0i32))?;
    let one = g.constant(Tensor::scalar(1i32))?;
    let all = g.constant(Tensor::vector(&[-1i32])?)?;
    let (shape, rank) = (g.shape_of(params)?, g.unary("Rank", params)?);
    let axis = g.binary("FloorMod", axis, rank)?;
    let batch = if batch < 0 {
        let rank = g.unary("Rank", indices)?;
        let back = g.constant(Tensor::scalar(batch as i32))?;
        g.binary("AddV2", rank, back)?
    } else {
        g.constant(Tensor::scalar(batch as i32))?
    };
    let count = |g: &mut GradCall<'_>, from: Output, to: Output| {
        let n = g.binary("Sub", to, from)?;
        let begin = g.op("Pack", [vec![from].into()], &[])?;
        let size = g.op("Pack", [vec![n].into()], &[])?;
        let dims = g.op("Slice", [shape.into(), begin.into(), size.into()], &[])?;
        g.binary("Prod", dims, zero)
    };
    let after = g.binary("AddV2", axis, one)?;
    let batches = count(g, zero, batch)?;
    let outer = count(g, batch, axis)?;
    let size = count(g, axis, after)?;
    let inner = count(g, after, rank)?;
    let picks = {
        let n = g.unary("Size", indices)?;
        let some = g.binary("Maximum", batches, one)?;
        g.binary("FloorDiv", n, some)?
    };
    let pack = |g: &mut GradCall<'_>, dims: &[Output]| g.op("Pack", [dims.into()], &[]);
    let swap = g.constant(int_vector(&[0, 2, 1, 3]))?;
    // dy, transposed: picks before outer dimensions.
    let split = pack(g, &[batches, outer, picks, inner])?;
    let dy = g.binary("Reshape", dy, split)?;
    let dy = g.binary("Transpose", dy, swap)?;
    let n = g.binary("Mul", batches, picks)?;
    let rows = pack(g, &[n, outer, inner])?;
    let dy = g.binary("Reshape", dy, rows)?;
    // Offsets the indices by batch.
    let table = pack(g, &[batches, picks])?;
    let indices = g.binary("Reshape", indices, table)?;
    let starts = g.op("Range", [zero.into(), batches.into(), one.into()], &[])?;
    let starts = g.binary("Mul", starts, size)?;
    let starts = g.binary("ExpandDims", starts, one)?;
    let places = g.binary("AddV2", indices, starts)?;
    let places = g.binary("Reshape", places, all)?;
    let total = g.binary("Mul", batches, size)?;
    let sums = g.op("UnsortedSegmentSum", [dy.into(), places.into(), total.into()], &[])?;
    let split = pack(g, &[batches, size, outer, inner])?;
    let sums = g.binary("Reshape", sums, split)?;
    let sums = g.binary("Transpose", sums, swap)?;
    Ok(g.binary("Reshape", sums, shape)?.into())
}

fn prepare_v2(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let batch = node.attrs.int("batch_dims")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let axis = c.scalar_int(2)?;
        gather(c, axis, batch)
    }))
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    gather(c, 0, 0)
}

fn gather(c: &mut OpCall<'_>, axis: i64, batch: i64) -> Result<()> {
    let out = gathered(c, c.input(0)?, c.input(1)?, axis, batch)?;
    c.set(0, out);
    Ok(())
}

/// The slices of `params` along `axis` at `indices`.
pub fn gathered(c: &OpCall<'_>, params: &Tensor, indices: &Tensor, axis: i64, batch: i64) -> Result<Tensor> {
    let (p, i) = (params.shape(), indices.shape());
    let axis = axis_in_range(axis, p.rank()).map_err(|e| e.context("params"))?;
    let batch = batch_position(batch, i.rank())?;
    if batch > axis {
        return Err(invalid!("batch_dims ({batch}) must be less than or equal to axis ({axis})"));
    }
    if p[..batch] != i[..batch] {
        return Err(invalid!(
            "params.shape[:{batch}] must equal indices.shape[:{batch}], but the shapes are {p} and {i}"
        ));
    }
    let dims: Vec<usize> = p[..axis].iter().chain(&i[batch..]).chain(&p[axis + 1..]).copied().collect();
    let picks = positions(indices, p[axis])?;
    let mut out = Tensor::uninit(params.dtype(), Shape::new(&dims)?)?;
    let motion = Gather {
        batches: p[..batch].iter().product(),
        outer: p[batch..axis].iter().product(),
        size: p[axis],
        run: p[axis + 1..].iter().product(),
        picks: &picks,
        par: c.par(),
    };
    apply(&motion, params, &mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn an_index_outside_is_an_error_and_not_a_zero() {
        let x = floats(&[3], &[1.0, 2.0, 3.0]);
        let e = call("GatherV2", &[x.clone(), ints(&[1], &[7]), ints(&[], &[0])], &[]).unwrap_err();
        assert_eq!((e.code(), e.message()), (Code::InvalidArgument, "indices[0] = 7 is not in [0, 3)"));
        assert_eq!(code(call("Gather", &[x, ints(&[1, 1], &[-1])], &[])), Code::InvalidArgument);
    }

    #[test]
    fn batch_dims_that_do_not_fit_are_refused() {
        let (x, axis) = (floats(&[1, 2], &[1.0, 2.0]), ints(&[], &[0]));
        for (indices, batch) in [(ints(&[1], &[0]), 10), (ints(&[1], &[0]), 1), (ints(&[1], &[0]), -3)] {
            let inputs = [x.clone(), indices, axis.clone()];
            assert_eq!(
                code(call("GatherV2", &inputs, &[("batch_dims", batch.into())])),
                Code::InvalidArgument
            );
        }
        let empty = [floats(&[0, 1], &[]), ints(&[0], &[]), ints(&[], &[1])];
        assert!(call("GatherV2", &empty, &[("batch_dims", 1.into())]).is_ok());
    }
}
