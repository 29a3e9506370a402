//! `SparseAdd` and its gradient; `SparseTensorDenseAdd`.

use super::coordinates::{check_sparse, example, matrix};
use super::entries::{Entries, sparse_shape};
use crate::prelude::*;
use std::cmp::Ordering;

pub static OPS: &[&Op] = &[&SPARSE_ADD, &SPARSE_ADD_GRAD, &SPARSE_TENSOR_DENSE_ADD];

static SPARSE_ADD: Op = Op {
    name: "SparseAdd",
    doc: "The sum of two sparse tensors of one shape; where both have an element, only if their sum is not smaller than thresh.",
    inputs: &[
        "a_indices: int64",
        "a_values: T",
        "a_shape: int64",
        "b_indices: int64",
        "b_values: T",
        "b_shape: int64",
        "thresh: Treal",
    ],
    outputs: &["sum_indices: int64", "sum_values: T", "sum_shape: int64"],
    attrs: &["T: numbertype", "Treal: realnumbertype"],
    shape: |c| {
        let rank = merge_dim(check_sparse(c, 0)?.1, check_sparse(c, 3)?.1)?;
        c.scalar(6)?;
        Ok(sparse_shape(rank))
    },
    grad: Rule(|g| {
        let dy = g.dy_or_zeros(1)?;
        let args = [dy.into(), g.x[0].into(), g.x[3].into(), g.y[0].into()];
        let grads = g.ops("SparseAddGrad", args, &[])?;
        let mut all = vec![Grad::None; 7];
        for (i, grad) in [1, 4].into_iter().zip(grads) {
            all[i] = grad.into();
        }
        Ok(all)
    }),
    kernels: &[
        cpu_row!([("T", DataType::Float), ("Treal", DataType::Float)], Make::Plain(add::<f32>)),
        cpu_row!([("T", DataType::Double), ("Treal", DataType::Double)], Make::Plain(add::<f64>)),
        cpu_row!([("T", DataType::Int8), ("Treal", DataType::Int8)], Make::Plain(add::<i8>)),
        cpu_row!([("T", DataType::Int16), ("Treal", DataType::Int16)], Make::Plain(add::<i16>)),
        cpu_row!([("T", DataType::Int32), ("Treal", DataType::Int32)], Make::Plain(add::<i32>)),
        cpu_row!([("T", DataType::Int64), ("Treal", DataType::Int64)], Make::Plain(add::<i64>)),
        cpu_row!([("T", DataType::Complex64), ("Treal", DataType::Float)], Make::Plain(add::<Complex32>)),
        cpu_row!(
            [("T", DataType::Complex128), ("Treal", DataType::Double)],
            Make::Plain(add::<ComplexDouble>)
        ),
    ],
    cases: |r| {
        let mut case = |thresh: f32| {
            let a = example(&[0, 1, 1, 0, 1, 2], r.tensor(&[3]), &[2, 3]);
            let b = example(&[0, 0, 1, 0], r.tensor(&[2]), &[2, 3]);
            Case::new(a.into_iter().chain(b).chain([Tensor::scalar(thresh)]).collect())
                .without_difference(&[6])
        };
        vec![case(0.0), case(0.05)]
    },
    ..Op::PURE
};

static SPARSE_ADD_GRAD: Op = Op {
    name: "SparseAddGrad",
    doc: "The gradients of SparseAdd by the values of both: that of the sum at their index, zero where it was dropped.",
    inputs: &["backprop_val_grad: T", "a_indices: int64", "b_indices: int64", "sum_indices: int64"],
    outputs: &["a_val_grad: T", "b_val_grad: T"],
    attrs: &["T: numbertype"],
    shape: |c| {
        c.rank(0, 1)?;
        let (a, b) = (c.rank(1, 2)?, c.rank(2, 2)?);
        c.rank(3, 2)?;
        Ok(vec![PartialShape::vector(a.dim(0)), PartialShape::vector(b.dim(0))])
    },
    grad: Stops,
    kernels: cpu!(add_grad: T in f32, f64, i8, i16, i32, i64, Complex32, ComplexDouble),
    cases: |r| {
        let of = |rows: usize, at: &[i64]| matrix(rows, 2, at).into_iter();
        let inputs = [r.tensor(&[3])].into_iter().chain(of(2, &[0, 1, 1, 0])).chain(of(2, &[0, 0, 1, 0]));
        vec![Case::new(inputs.chain(of(3, &[0, 0, 0, 1, 1, 0])).collect())]
    },
    ..Op::PURE
};

static SPARSE_TENSOR_DENSE_ADD: Op = Op {
    name: "SparseTensorDenseAdd",
    doc: "The sum of a sparse and a dense tensor of one shape.",
    inputs: &["a_indices: Tindices", "a_values: T", "a_shape: Tindices", "b: T"],
    outputs: &["output: T"],
    attrs: &["T: numbertype", "Tindices: {int32, int64}"],
    shape: |c| {
        check_sparse(c, 0)?;
        Ok(vec![c.input(3)])
    },
    grad: Rule(|g| {
        let (indices, dy) = (g.x[0], g.dy()?);
        let dvalues = g.binary("GatherNd", dy, indices)?;
        Ok(vec![Grad::None, dvalues.into(), Grad::None, dy.into()])
    }),
    kernels: cpu!(add_dense: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    cases: |r| {
        let a = example(&[0, 1, 1, 0, 1, 0], r.tensor(&[3]), &[2, 3]);
        vec![Case::new(a.into_iter().chain([r.tensor(&[2, 3])]).collect())]
    },
    ..Op::PURE
};

/// Numbers with a magnitude, compared with a threshold.
trait Magnitude: Number {
    type Real: Element;
    fn reaches(self, threshold: Self::Real) -> bool;
}

macro_rules! magnitudes {
    ($($t:ty, $real:ty, $of:expr;)*) => { $(
        impl Magnitude for $t {
            type Real = $real;
            fn reaches(self, threshold: $real) -> bool { threshold <= $of(self) }
        }
    )* };
}
magnitudes! {
    f32, f32, f32::abs;
    f64, f64, f64::abs;
    i8, i8, |v: i8| v.saturating_abs();
    i16, i16, |v: i16| v.saturating_abs();
    i32, i32, i32::wrapping_abs;
    i64, i64, i64::wrapping_abs;
    Complex32, f32, |v: Complex32| v.norm();
    ComplexDouble, f64, |v: ComplexDouble| v.norm();
}

/// That two sparse tensors have one shape.
pub fn same_dims(a: Entries<'_>, b: Entries<'_>) -> Result<()> {
    if a.rank() != b.rank() {
        return Err(invalid!(
            "Operands do not have the same ranks; got shapes: {:?} and {:?}",
            a.dims,
            b.dims
        ));
    }
    match a.dims.iter().zip(b.dims).position(|(x, y)| x != y) {
        Some(d) => Err(invalid!(
            "Operands' shapes do not match: got {} and {} for dimension {d}",
            a.dims[d],
            b.dims[d]
        )),
        None => Ok(()),
    }
}

fn add<T: Magnitude>(c: &mut OpCall<'_>) -> Result<()> {
    let (a, b) = (Entries::of(c, 0)?, Entries::of(c, 3)?);
    if a.rank() == 0 {
        return Err(invalid!("the sparse tensors must have at least one dimension"));
    }
    same_dims(a, b)?;
    if !c.shape(6)?.is_scalar() {
        return Err(invalid!("The magnitude threshold must be a scalar: got shape {}", c.shape(6)?));
    }
    let thresh = c.scalar::<T::Real>(6)?;
    let (x, y) = (a.values.as_slice::<T>()?, b.values.as_slice::<T>()?);
    let (mut i, mut j) = (0, 0);
    let (mut at, mut values) = (Vec::new(), Vec::new());
    while i < x.len() || j < y.len() {
        // Past the end of one, the other is next.
        let order = match (i < x.len(), j < y.len()) {
            (true, true) => a.row(i).cmp(b.row(j)),
            (true, false) => Ordering::Less,
            _ => Ordering::Greater,
        };
        let (row, sum, kept) = match order {
            Ordering::Less => (a.row(i), x[i], true),
            Ordering::Greater => (b.row(j), y[j], true),
            // The threshold is for sums: they may cancel.
            Ordering::Equal => (a.row(i), x[i].add(y[j]), x[i].add(y[j]).reaches(thresh)),
        };
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
        if kept {
            reserve::extend(&mut at, row)?;
            reserve::push(&mut values, sum)?;
        }
    }
    let (indices, values, shape) =
        (matrix(values.len(), a.rank(), &at)?, Tensor::vector(&values)?, c.take(2)?);
    c.set(0, indices);
    c.set(1, values);
    c.set(2, shape);
    Ok(())
}

fn add_grad<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let (dy, sum) = (c.input(0)?, c.input(3)?);
    let (a, b) = (c.input(1)?, c.input(2)?);
    if a.rank() != 2 || b.rank() != 2 || sum.rank() != 2 {
        return Err(invalid!(
            "Input indices should be matrices but received shapes: {} and {} and {}",
            a.shape(),
            b.shape(),
            sum.shape()
        ));
    }
    if dy.rank() != 1 || dy.elements() != sum.shape()[0] {
        return Err(invalid!(
            "# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of sum): got {} and {}",
            dy.shape(),
            sum.shape()[0]
        ));
    }
    let rank = a.shape()[1];
    if b.shape()[1] != rank || sum.shape()[1] != rank {
        return Err(invalid!(
            "The indices of both operands and of the sum should have the same ndims; got {rank}, {} and {}",
            b.shape()[1],
            sum.shape()[1]
        ));
    }
    let (dy, sum) = (dy.as_slice::<T>()?, sum.as_slice::<i64>()?);
    let of = |rows: &Tensor| {
        let at = rows.as_slice::<i64>()?;
        let mut k = 0;
        Tensor::build(Shape::vector(rows.shape()[0]), |out: &mut [T]| {
            for (i, to) in out.iter_mut().enumerate() {
                let row = &at[i * rank..(i + 1) * rank];
                while k < dy.len() && &sum[k * rank..(k + 1) * rank] < row {
                    k += 1;
                }
                let kept = k < dy.len() && &sum[k * rank..(k + 1) * rank] == row;
                *to = if kept { dy[k] } else { T::ZERO };
            }
        })
    };
    let (da, db) = (of(a)?, of(b)?);
    c.set(0, da);
    c.set(1, db);
    Ok(())
}

fn add_dense<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let (indices, values, shape) = (c.input(0)?, c.input(1)?, c.input(2)?);
    super::entries::check_ranks(indices, values, shape)?;
    let dims = shape.to_i64s()?;
    let dense = c.shape(3)?.clone();
    if values.elements() != indices.shape()[0] {
        return Err(invalid!(
            "The number of elements of a_values ({}) and the rows of a_indices ({}) do not match",
            values.elements(),
            indices.shape()[0]
        ));
    }
    if indices.shape()[1] != dims.len() || dims.len() != dense.rank() {
        return Err(invalid!(
            "Two operands have different ranks; received: a_indices of width {}, a_shape of {} and b of {} dimensions",
            indices.shape()[1],
            dims.len(),
            dense.rank()
        ));
    }
    for (d, (a, b)) in dims.iter().zip(dense.iter()).enumerate() {
        if *a != *b as i64 {
            return Err(invalid!(
                "Dimension {d} does not equal (no broadcasting is supported): sparse side {a} vs dense side {b}"
            ));
        }
    }
    let at = indices.to_i64s()?;
    let rank = dense.rank();
    let place = |k: usize| {
        let row = &at[k * rank..(k + 1) * rank];
        match row.iter().zip(dense.iter()).position(|(i, n)| *i < 0 || *i >= *n as i64) {
            None => Ok(row.iter().zip(dense.iter()).fold(0, |p, (i, n)| p * n + *i as usize)),
            Some(d) => Err(invalid!(
                "Sparse tensor has some invalid index on dimension {d}: {} out of range [0, {})",
                row[d],
                dense[d]
            )),
        }
    };
    let places = reserve::try_collect((0..indices.shape()[0]).map(place))?;
    let mut out = c.take(3)?;
    let to = out.as_mut_slice::<T>()?;
    for (place, v) in places.into_iter().zip(c.slice::<T>(1)?) {
        to[place] = to[place].add(*v);
    }
    c.set(0, out);
    Ok(())
}
