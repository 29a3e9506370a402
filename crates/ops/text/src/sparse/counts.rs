//! `SparseBincount`, `RaggedBincount`: counts of small integers by row, dense; and `DenseCountSparseOutput`,
//! `SparseCountSparseOutput`, `RaggedCountSparseOutput`: of any, sparse.

use super::coordinates::{example, matrix};
use super::entries::{Entries, sparse_shape};
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &SPARSE_BINCOUNT,
    &RAGGED_BINCOUNT,
    &DENSE_COUNT_SPARSE_OUTPUT,
    &SPARSE_COUNT_SPARSE_OUTPUT,
    &RAGGED_COUNT_SPARSE_OUTPUT,
];

const SPARSE_BINCOUNT: Op = Op {
    name: "SparseBincount",
    doc: "For each row of a sparse tensor, and each number below size, how often it occurs, or the sum of its weights, or whether it occurs.",
    inputs: &["indices: int64", "values: Tidx", "dense_shape: int64", "size: Tidx", "weights: T"],
    outputs: &["output: T"],
    attrs: &["Tidx: {int32, int64}", "T: {int32, int64, float, double}", "binary_output: bool = false"],
    shape: |c| {
        let (rows, size) = (c.as_shape(2)?, bins_argument(c, 3)?);
        Ok(vec![match rows.rank() {
            None => PartialShape::unknown(),
            Some(1) => PartialShape::vector(size),
            _ => [rows.dim(0), size].into_iter().collect(),
        }])
    },
    kernels: cpu!(make sparse_bins: T in i32, i64, f32, f64),
    cases: |r| {
        let mut case = |weights: usize, binary: bool| {
            let all = example(&[0, 0, 0, 1, 1, 1, 1, 2], int_vector(&[1, 1, 5, 2]), &[2, 3]);
            let more = [Tensor::scalar(4i32), r.tensor(&[weights])];
            Case::new(all.into_iter().chain(more).collect()).attr("binary_output", binary)
        };
        vec![case(4, false), case(0, false), case(0, true)]
    },
    ..Op::PURE
};

const RAGGED_BINCOUNT: Op = Op {
    name: "RaggedBincount",
    doc: "For each row of a ragged tensor, and each number below size, how often it occurs, or the sum of its weights, or whether it occurs.",
    inputs: &["splits: int64", "values: Tidx", "size: Tidx", "weights: T"],
    shape: |c| {
        let splits = c.rank(0, 1)?.dim(0);
        Ok(vec![[if splits > 0 { splits - 1 } else { -1 }, bins_argument(c, 2)?].into_iter().collect()])
    },
    kernels: cpu!(make ragged_bins: T in i32, i64, f32, f64),
    cases: |r| {
        let mut case = |weights: usize, binary: bool| {
            let splits = Tensor::vector(&[0i64, 3, 3, 5]).into_iter();
            let more = [int_vector(&[1, 1, 9, 2, 0]), Tensor::scalar(4i32), r.tensor(&[weights])];
            Case::new(splits.chain(more).collect()).attr("binary_output", binary)
        };
        vec![case(5, false), case(0, true)]
    },
    ..SPARSE_BINCOUNT
};

const DENSE_COUNT_SPARSE_OUTPUT: Op = Op {
    name: "DenseCountSparseOutput",
    doc: "For each row, the numbers that occur in it, with their count, or the sum of their weights, or 1.",
    inputs: &["values: T", "weights: output_type"],
    outputs: &["output_indices: int64", "output_values: output_type", "output_dense_shape: int64"],
    attrs: &[
        "T: {int32, int64}",
        "minlength: int >= -1 = -1",
        "maxlength: int >= -1 = -1",
        "binary_output: bool",
        "output_type: {int32, int64, float, double}",
    ],
    shape: |c| {
        let values = c.input(0);
        match values.rank() {
            Some(rank @ (1 | 2)) => Ok(sparse_shape(rank as i64)),
            None => Ok(sparse_shape(-1)),
            _ => Err(invalid!("Input must be a 1 or 2-dimensional tensor. Got: {values}")),
        }
    },
    kernels: cpu!(make dense_counts: output_type in i32, i64, f32, f64),
    cases: |r| {
        let mut case = |values: Tensor, weights: usize, binary: bool| {
            let shape = if weights > 0 { values.shape().clone() } else { Shape::vector(0) };
            Case::new(vec![values, r.tensor(&shape)]).attr("binary_output", binary)
        };
        let vector = int_vector(&[1, 5, 1]);
        let rows = vector.clone().reshape(Shape::new(&[1, 3]).unwrap_or_default()).into_iter();
        let mut cases = vec![case(vector.clone(), 3, false), case(vector, 0, true).attr("minlength", 8)];
        cases.extend(rows.map(|rows| case(rows, 0, false).attr("maxlength", 4)));
        cases
    },
    ..Op::PURE
};

const SPARSE_COUNT_SPARSE_OUTPUT: Op = Op {
    name: "SparseCountSparseOutput",
    doc: "For each row of a sparse tensor, the numbers that occur in it, with their count, or the sum of their weights, or 1.",
    inputs: &["indices: int64", "values: T", "dense_shape: int64", "weights: output_type"],
    shape: |c| Ok(sparse_shape(c.rank(0, 2)?.dim(1).min(2))),
    kernels: cpu!(make sparse_counts: output_type in i32, i64, f32, f64),
    cases: |r| {
        let mut case = |weights: usize| {
            let all = example(&[0, 0, 0, 1, 1, 1], int_vector(&[1, 1, 5]), &[2, 3]);
            Case::new(all.into_iter().chain([r.tensor(&[weights])]).collect()).attr("binary_output", false)
        };
        vec![case(3), case(0)]
    },
    ..DENSE_COUNT_SPARSE_OUTPUT
};

const RAGGED_COUNT_SPARSE_OUTPUT: Op = Op {
    name: "RaggedCountSparseOutput",
    doc: "For each row of a ragged tensor, the numbers that occur in it, with their count, or the sum of their weights, or 1.",
    inputs: &["splits: int64", "values: T", "weights: output_type"],
    shape: |_| Ok(sparse_shape(2)),
    kernels: cpu!(make ragged_counts: output_type in i32, i64, f32, f64),
    cases: |r| {
        let mut case = |weights: usize| {
            let splits = Tensor::vector(&[0i64, 2, 2, 4]).into_iter();
            let more = [int_vector(&[1, 1, 9, 2]), r.tensor(&[weights])];
            Case::new(splits.chain(more).collect()).attr("binary_output", false)
        };
        vec![case(4), case(0)]
    },
    ..DENSE_COUNT_SPARSE_OUTPUT
};

/// The size, -1 if unknown. Must be a non-negative scalar.
fn bins_argument(c: &ShapeCall<'_>, i: usize) -> Result<i64> {
    c.scalar(i)?;
    match c.ints(i).and_then(|s| s.first().copied()) {
        Some(size) if size < 0 => Err(invalid!("size ({size}) must be non-negative")),
        size => Ok(size.unwrap_or(-1)),
    }
}

/// Numbers, each with its row.
struct Numbers {
    numbers: Vec<i64>,
    /// Which row each is in.
    rows: Vec<usize>,
    count: usize,
    /// One row that is not counted as a dimension.
    flat: bool,
}

/// Those of a sparse tensor in the inputs from 0 on.
fn sparse_numbers(c: &OpCall<'_>) -> Result<Numbers> {
    let all = Entries::of(c, 0)?;
    if all.rank() == 0 {
        return Err(invalid!("The shape argument requires at least one element."));
    }
    all.check_bounds()?;
    let flat = all.rank() == 1;
    let count = if flat { 1 } else { all.dims[0] as usize };
    let rows = reserve::collect(all.rows().map(|row| if flat { 0 } else { row[0] as usize }))?;
    Ok(Numbers { numbers: all.values.to_i64s()?, rows, count, flat })
}

/// Those of a ragged tensor: splits in input 0, values in input 1.
fn ragged_numbers(c: &OpCall<'_>) -> Result<Numbers> {
    let (splits, numbers) = (c.int_vector(0)?, c.input(1)?.to_i64s()?);
    if splits.len() < 2 {
        return Err(invalid!(
            "Must provide at least 2 elements for the splits argument, got {} of them",
            splits.len()
        ));
    }
    if splits.first() != Some(&0) {
        return Err(invalid!("Splits must start with 0, not with {}", splits[0]));
    }
    if splits.last() != Some(&(numbers.len() as i64)) {
        return Err(invalid!(
            "Splits must end with the number of values, got {} instead of {}",
            splits.last().copied().unwrap_or(0),
            numbers.len()
        ));
    }
    let mut rows = reserve::with_capacity(numbers.len())?;
    for (row, ends) in splits.windows(2).enumerate() {
        let n = usize::try_from(ends[1].saturating_sub(ends[0]))
            .ok()
            .filter(|n| n.saturating_add(rows.len()) <= numbers.len())
            .ok_or_else(|| invalid!("Splits must not decrease: {} is followed by {}", ends[0], ends[1]))?;
        rows.extend(std::iter::repeat_n(row, n));
    }
    Ok(Numbers { numbers, rows, count: splits.len() - 1, flat: false })
}

fn dense_numbers(c: &OpCall<'_>) -> Result<Numbers> {
    let t = c.input(0)?;
    let (count, width, flat) = match *t.shape().dims() {
        [n] => (1, n, true),
        [0, _] => return Err(invalid!("Invalid input: Shapes dimension cannot be 0.")),
        [rows, n] => (rows, n, false),
        _ => return Err(invalid!("Input must be a 1 or 2-dimensional tensor. Got: {}", t.shape())),
    };
    let rows = reserve::collect((0..t.elements()).map(|i| i / width.max(1)))?;
    Ok(Numbers { numbers: t.to_i64s()?, rows, count, flat })
}

fn sparse_bins<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    bins::<T>(node, sparse_numbers, 1, 3)
}

fn ragged_bins<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    bins::<T>(node, ragged_numbers, 1, 2)
}

/// A kernel of dense counts: `values` and `size` are the numbers of these inputs; weights follow.
fn bins<T: Number>(
    node: &KernelNode,
    numbers: fn(&OpCall<'_>) -> Result<Numbers>,
    values: usize,
    size: usize,
) -> Result<Box<dyn Kernel>> {
    let binary = node.attrs.bool("binary_output")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        if !c.shape(size)?.is_scalar() {
            return Err(invalid!("Shape must be rank 0 but is rank {} for size", c.shape(size)?.rank()));
        }
        let size_value = c.scalar_int(size)?;
        let Ok(bins) = usize::try_from(size_value) else {
            return Err(invalid!("size ({size_value}) must be non-negative"));
        };
        let of = numbers(c)?;
        // Of a sparse tensor, negative numbers are passed over, and weights that are too many.
        let sparse = values + 1 < size;
        if !sparse && of.numbers.iter().any(|n| *n < 0) {
            return Err(invalid!("Input must be non-negative"));
        }
        let given = c.shape(size + 1)?.elements();
        let weights = match sparse && given >= of.numbers.len() {
            true => c.slice::<T>(size + 1)?,
            false => weights::<T>(c, values, size + 1)?,
        };
        let shape = if of.flat { Shape::vector(bins) } else { Shape::new(&[of.count, bins])? };
        let mut out = Tensor::zeros(T::DTYPE, shape)?;
        let to = out.as_mut_slice::<T>()?;
        for (i, (n, row)) in of.numbers.iter().zip(&of.rows).enumerate() {
            if (0..size_value).contains(n) {
                let bin = &mut to[row * bins + *n as usize];
                *bin = if binary { T::ONE } else { bin.add(weights.get(i).copied().unwrap_or(T::ONE)) };
            }
        }
        c.set(0, out);
        Ok(())
    }))
}

/// The weights of the numbers; empty for ones.
fn weights<'a, T: Number>(c: &'a OpCall<'_>, values: usize, weights: usize) -> Result<&'a [T]> {
    let (of, w) = (c.shape(values)?, c.input(weights)?);
    if w.elements() > 0 && w.shape() != of {
        return Err(invalid!(
            "Weights and values must have the same shape. Weight shape: {}; values shape: {of}",
            w.shape()
        ));
    }
    w.as_slice()
}

fn dense_counts<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    counts::<T>(node, dense_numbers, 0, 1)
}

fn sparse_counts<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    counts::<T>(node, sparse_numbers, 1, 3)
}

fn ragged_counts<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    counts::<T>(node, ragged_numbers, 1, 2)
}

/// A kernel of sparse counts. Numbers that are not below maxlength are left out.
fn counts<T: Number>(
    node: &KernelNode,
    numbers: fn(&OpCall<'_>) -> Result<Numbers>,
    values: usize,
    weight: usize,
) -> Result<Box<dyn Kernel>> {
    let binary = node.attrs.bool("binary_output")?;
    let (least, most) = (node.attrs.int("minlength")?, node.attrs.int("maxlength")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let of = numbers(c)?;
        if of.count == 0 {
            return Err(invalid!("Cannot allocate 0 batches, is the dense shape too wide?"));
        }
        let weights = weights::<T>(c, values, weight)?;
        if of.numbers.iter().any(|n| *n < 0) {
            return Err(invalid!("Input values must all be non-negative"));
        }
        let counted = |n: i64| most < 0 || n < most;
        let mut order = reserve::collect((0..of.numbers.len()).filter(|i| counted(of.numbers[*i])))?;
        order.sort_unstable_by_key(|i| (of.rows[*i], of.numbers[*i], *i));
        let (mut at, mut sums) = (Vec::new(), Vec::<T>::new());
        let mut last = None;
        for i in order {
            let place = (of.rows[i], of.numbers[i]);
            let weight = if binary { T::ONE } else { weights.get(i).copied().unwrap_or(T::ONE) };
            match sums.last_mut() {
                Some(_) if last == Some(place) && binary => {}
                Some(sum) if last == Some(place) => *sum = sum.add(weight),
                _ => {
                    let row = [place.0 as i64, place.1];
                    reserve::extend(&mut at, if of.flat { &row[1..] } else { &row })?;
                    reserve::push(&mut sums, weight)?;
                }
            }
            last = Some(place);
        }
        let seen = of.numbers.iter().copied().filter(|n| counted(*n)).fold(0, i64::max);
        let size = if most >= 0 { most } else { seen.saturating_add(1).max(least) };
        let dims = [of.count as i64, size];
        c.set(0, matrix(sums.len(), if of.flat { 1 } else { 2 }, &at)?);
        c.set(1, Tensor::vector(&sums)?);
        c.set(2, Tensor::vector(if of.flat { &dims[1..] } else { &dims })?);
        Ok(())
    }))
}
