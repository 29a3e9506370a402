//! `SparseReduceSum`, `SparseReduceMax` and their sparse forms: dimensions of a sparse tensor reduced, missing elements left out.

use super::coordinates::{check_sparse, example, matrix};
use super::entries::{Entries, show};
use crate::prelude::*;

pub static OPS: &[&Op] =
    &[&SPARSE_REDUCE_SUM, &SPARSE_REDUCE_MAX, &SPARSE_REDUCE_SUM_SPARSE, &SPARSE_REDUCE_MAX_SPARSE];

const SPARSE_REDUCE_SUM: Op = Op {
    name: "SparseReduceSum",
    doc: "Sums of the elements of a sparse tensor along reduction_axes, dense; zero where there is none.",
    inputs: &["input_indices: int64", "input_values: T", "input_shape: int64", "reduction_axes: int32"],
    outputs: &["output: T"],
    attrs: &["keep_dims: bool = false", "T: numbertype"],
    shape: |c| {
        check_sparse(c, 0)?;
        let (Some(dims), Some(axes)) = (c.as_shape(2)?.dims().map(<[i64]>::to_vec), c.ints(3)) else {
            return Ok(vec![PartialShape::unknown()]);
        };
        let groups = Groups::new(dims.len(), &axes, c.attrs.bool("keep_dims")?)?;
        Ok(vec![groups.shape_of(&dims).into_iter().collect()])
    },
    grad: Rule(grad),
    kernels: cpu!(sum: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    cases: |r| {
        let mut case = |axes: &[i32], keep: bool| {
            let all = example(&[0, 1, 0, 2, 1, 0, 1, 2], r.tensor(&[4]), &[2, 3]);
            Case::new(all.into_iter().chain([int_vector(axes)]).collect()).attr("keep_dims", keep)
        };
        vec![
            case(&[0], false),
            case(&[-1], true),
            case(&[0, 1], false),
            case(&[], false),
            case(&[1, 0], true),
        ]
    },
    ..Op::PURE
};

const SPARSE_REDUCE_MAX: Op = Op {
    name: "SparseReduceMax",
    doc: "The largest elements of a sparse tensor along reduction_axes, dense; zero where there is none.",
    attrs: &["keep_dims: bool = false", "T: realnumbertype"],
    grad: Missing,
    kernels: cpu!(max: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    ..SPARSE_REDUCE_SUM
};

const SPARSE_REDUCE_SUM_SPARSE: Op = Op {
    name: "SparseReduceSumSparse",
    doc: "Sums of the elements of a sparse tensor along reduction_axes, as a sparse tensor.",
    outputs: &["output_indices: int64", "output_values: T", "output_shape: int64"],
    shape: |c| {
        check_sparse(c, 0)?;
        Ok(vec![PartialShape::unknown_of_rank(2), PartialShape::vector(-1), PartialShape::vector(-1)])
    },
    grad: Missing,
    kernels: cpu!(sum_sparse: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..SPARSE_REDUCE_SUM
};

const SPARSE_REDUCE_MAX_SPARSE: Op = Op {
    name: "SparseReduceMaxSparse",
    doc: "The largest elements of a sparse tensor along reduction_axes, as a sparse tensor.",
    attrs: &["keep_dims: bool = false", "T: realnumbertype"],
    kernels: cpu!(max_sparse: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    ..SPARSE_REDUCE_SUM_SPARSE
};

/// The gradient of an element is that of its sum: dy under the shape with kept dimensions, at the element's index
/// divided by what the dimensions shrank.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (indices, shape, axes, dy) = (g.x[0], g.x[2], g.x[3], g.dy()?);
    let rank = g.op("Size", [shape.into()], &[("out_type", Attr::Type(DataType::Int32))])?;
    let (zero, one) = (g.constant(Tensor::scalar(0i32))?, g.constant(Tensor::scalar(1i32))?);
    let all = g.op("Range", [zero.into(), rank.into(), one.into()], &[])?;
    let flat = g.constant(int_vector(&[-1]))?;
    let axes = g.binary("Reshape", axes, flat)?;
    let positive = g.binary("AddV2", axes, rank)?;
    let axes = g.binary("FloorMod", positive, rank)?;
    let count = g.shape_of(axes)?;
    let one = g.constant(Tensor::scalar(1i64))?;
    let ones = g.binary("Fill", count, one)?;
    let kept = g.op("DynamicStitch", [vec![all, axes].into(), vec![shape, ones].into()], &[])?;
    let dy = g.binary("Reshape", dy, kept)?;
    let scale = g.binary("FloorDiv", shape, kept)?;
    let at = g.binary("FloorDiv", indices, scale)?;
    let dvalues = g.binary("GatherNd", dy, at)?;
    Ok(vec![Grad::None, dvalues.into(), Grad::None, Grad::None])
}

/// Which dimensions stay, and how the result looks.
struct Groups {
    /// For each dimension, whether it stays.
    stays: Vec<bool>,
    keep_dims: bool,
}

impl Groups {
    fn new(rank: usize, axes: &[i64], keep_dims: bool) -> Result<Groups> {
        let mut stays = reserve::filled(rank, true)?;
        for axis in axes {
            let n = rank as i64;
            if *axis < -n || *axis >= n {
                return Err(invalid!(
                    "Invalid reduction dimension {axis}, for input with {rank} dimensions."
                ));
            }
            stays[axis.rem_euclid(n) as usize] = false;
        }
        Ok(Groups { stays, keep_dims })
    }

    /// The entries of the dimensions that stay; the others left out, or `reduced` if they are kept.
    fn of<'a>(&'a self, row: &'a [i64], reduced: i64) -> impl Iterator<Item = i64> + 'a {
        let each = row.iter().zip(&self.stays);
        each.filter(|(_, stays)| **stays || self.keep_dims)
            .map(move |(v, stays)| if *stays { *v } else { reduced })
    }

    fn shape_of(&self, dims: &[i64]) -> Vec<i64> {
        self.of(dims, 1).collect()
    }
}

/// Elements ordered by group, then by index; and the ends of the groups.
struct Grouped {
    order: Vec<usize>,
    ends: Vec<usize>,
}

fn grouped(all: Entries<'_>, groups: &Groups) -> Result<Grouped> {
    let mut order = reserve::collect(0..all.count())?;
    let key = |i: usize| groups.of(all.row(i), 0);
    order.sort_unstable_by(|a, b| {
        key(*a).cmp(key(*b)).then_with(|| all.row(*a).cmp(all.row(*b))).then(a.cmp(b))
    });
    let mut ends = Vec::new();
    for i in 1..=order.len() {
        if i == order.len() || key(order[i]).ne(key(order[i - 1])) {
            reserve::push(&mut ends, i)?;
        }
    }
    Ok(Grouped { order, ends })
}

fn groups_of(c: &OpCall<'_>, all: Entries<'_>) -> Result<Groups> {
    if c.shape(3)?.rank() > 1 {
        return Err(invalid!("Expected a reduction_axes of a scalar or vector, got shape {}", c.shape(3)?));
    }
    Groups::new(all.rank(), &c.input(3)?.to_i64s()?, c.attrs().bool("keep_dims")?)
}

/// The values of each group, combined.
fn combined<T: Number>(all: Entries<'_>, grouped: &Grouped, combine: fn(T, T) -> T) -> Result<Vec<T>> {
    let values = all.values.as_slice::<T>()?;
    let mut start = 0;
    reserve::collect(grouped.ends.iter().map(|end| {
        let group = &grouped.order[start..*end];
        start = *end;
        group
            .iter()
            .skip(1)
            .fold(group.first().map_or(T::ZERO, |i| values[*i]), |sum, i| combine(sum, values[*i]))
    }))
}

fn dense<T: Number>(c: &mut OpCall<'_>, combine: fn(T, T) -> T) -> Result<()> {
    let all = Entries::of(c, 0)?;
    let groups = groups_of(c, all)?;
    Shape::from_i64(all.dims)?;
    let shape = Shape::from_i64(&groups.shape_of(all.dims))?;
    let grouped = grouped(all, &groups)?;
    let values = combined(all, &grouped, combine)?;
    let mut out = Tensor::zeros(T::DTYPE, shape.clone())?;
    let to = out.as_mut_slice::<T>()?;
    for (end, v) in grouped.ends.iter().zip(values) {
        let row = all.row(grouped.order[*end - 1]);
        // Only the dimensions that stay say where to write.
        let place = groups.of(row, 0).zip(shape.iter()).try_fold(0, |p, (at, n)| {
            let inside = usize::try_from(at).ok().filter(|at| at < n);
            inside.map(|at| p * n + at)
        });
        match place {
            Some(place) => to[place] = v,
            None => {
                return Err(invalid!(
                    "index {} is out of bounds: need 0 <= index < {:?}",
                    show(row),
                    all.dims
                ));
            }
        }
    }
    c.set(0, out);
    Ok(())
}

fn sparse<T: Number>(c: &mut OpCall<'_>, combine: fn(T, T) -> T) -> Result<()> {
    let all = Entries::of(c, 0)?;
    let groups = groups_of(c, all)?;
    Shape::from_i64(all.dims)?;
    let dims = groups.shape_of(all.dims);
    let grouped = grouped(all, &groups)?;
    let values = combined(all, &grouped, combine)?;
    let mut at = reserve::with_capacity(values.len().saturating_mul(dims.len()))?;
    grouped.ends.iter().for_each(|end| at.extend(groups.of(all.row(grouped.order[*end - 1]), 0)));
    c.set(0, matrix(values.len(), dims.len(), &at)?);
    c.set(1, Tensor::vector(&values)?);
    c.set(2, Tensor::vector(&dims)?);
    Ok(())
}

fn sum<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    dense::<T>(c, T::add)
}

fn max<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    dense::<T>(c, T::larger)
}

fn sum_sparse<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    sparse::<T>(c, T::add)
}

fn max_sparse<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    sparse::<T>(c, T::larger)
}
