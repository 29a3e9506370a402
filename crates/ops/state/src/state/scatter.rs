//! `ScatterUpdate`, `ScatterAdd`, … and their resource forms: updates of rows of a variable.

use super::scatter_runs::{Change, Places, scatter};
use super::target::variable_shape;
use crate::indices::positions;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &Op {
        name: "ScatterUpdate",
        doc: "Sets the rows `indices` of a reference variable to `updates`.",
        attrs: &["T: type", "Tindices: {int32, int64}", "use_locking: bool = true"],
        kernels: cpu!(update),
        ..REF
    },
    &Op {
        name: "ScatterAdd",
        doc: "Adds `updates` to the rows `indices` of a reference variable; rows named twice get both.",
        kernels: cpu!(add: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
        ..REF
    },
    &Op {
        name: "ScatterSub",
        doc: "Subtracts `updates` from the rows `indices` of a reference variable.",
        kernels: cpu!(sub: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
        ..REF
    },
    &Op {
        name: "ScatterMul",
        doc: "Multiplies the rows `indices` of a reference variable by `updates`.",
        kernels: cpu!(mul: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
        ..REF
    },
    &Op {
        name: "ScatterDiv",
        doc: "Divides the rows `indices` of a reference variable by `updates`.",
        kernels: cpu!(div: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
        ..REF
    },
    &Op {
        name: "ScatterMin",
        doc: "Sets the rows `indices` of a reference variable to the minimum with `updates`.",
        attrs: ORDERED,
        kernels: cpu!(min: T in f32, f64, f16, bf16, i32, i64),
        ..REF
    },
    &Op {
        name: "ScatterMax",
        doc: "Sets the rows `indices` of a reference variable to the maximum with `updates`.",
        attrs: ORDERED,
        kernels: cpu!(max: T in f32, f64, f16, bf16, i32, i64),
        ..REF
    },
    &Op {
        name: "ResourceScatterUpdate",
        doc: "Sets the rows `indices` of a resource variable to `updates`.",
        attrs: &["dtype: type", "Tindices: {int32, int64}"],
        kernels: cpu!(update),
        ..RESOURCE
    },
    &Op {
        name: "ResourceScatterAdd",
        doc: "Adds `updates` to the rows `indices` of a resource variable; rows named twice get both.",
        kernels: cpu!(add: dtype in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
        ..RESOURCE
    },
    &Op {
        name: "ResourceScatterSub",
        doc: "Subtracts `updates` from the rows `indices` of a resource variable.",
        kernels: cpu!(sub: dtype in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
        ..RESOURCE
    },
    &Op {
        name: "ResourceScatterMul",
        doc: "Multiplies the rows `indices` of a resource variable by `updates`.",
        kernels: cpu!(mul: dtype in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
        ..RESOURCE
    },
    &Op {
        name: "ResourceScatterDiv",
        doc: "Divides the rows `indices` of a resource variable by `updates`.",
        kernels: cpu!(div: dtype in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
        ..RESOURCE
    },
    &Op {
        name: "ResourceScatterMin",
        doc: "Sets the rows `indices` of a resource variable to the minimum with `updates`.",
        kernels: cpu!(min: dtype in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
        ..RESOURCE
    },
    &Op {
        name: "ResourceScatterMax",
        doc: "Sets the rows `indices` of a resource variable to the maximum with `updates`.",
        kernels: cpu!(max: dtype in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
        ..RESOURCE
    },
];

/// A scatter of numbers into a reference variable.
const REF: Op = Op {
    inputs: &["ref: Ref(T)", "indices: Tindices", "updates: T"],
    outputs: &["output_ref: Ref(T)"],
    attrs: &["T: numbertype", "Tindices: {int32, int64}", "use_locking: bool = false"],
    shape: |c| {
        let var = c.rank_at_least(0, 1)?;
        check_shapes(c, &var)?;
        Ok(vec![var])
    },
    ..Op::STATEFUL
};

const ORDERED: &[&str] = &[
    "T: {half, bfloat16, float, double, int32, int64}",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
];

/// A scatter of numbers into a resource variable.
const RESOURCE: Op = Op {
    inputs: &["resource: resource", "indices: Tindices", "updates: dtype"],
    attrs: &["dtype: numbertype", "Tindices: {int32, int64}"],
    shape: |c| {
        check_shapes(c, &variable_shape(c, 0))?;
        Ok(vec![])
    },
    ..Op::STATEFUL
};

/// `updates` has the shape of `indices` followed by a row of the variable, or one element.
fn check_shapes(c: &ShapeCall<'_>, var: &PartialShape) -> Result<()> {
    let (indices, updates) = (c.input(1), c.input(2));
    let (Some(var), Some(u)) = (var.dims(), updates.dims()) else { return Ok(()) };
    if u.is_empty() {
        return Ok(());
    }
    let row: PartialShape = var.iter().skip(1).copied().collect();
    indices.concat(&row).merge(&updates).map(|_| ())
}

fn update(c: &mut OpCall<'_>) -> Result<()> {
    scatter::<u8>(c, rows, &Change::Replace)
}

fn add<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    scatter::<T>(c, rows, &Change::ADD)
}

fn sub<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    scatter::<T>(c, rows, &Change::SUB)
}

fn mul<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    scatter::<T>(c, rows, &Change::MUL)
}

fn div<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    if T::DTYPE.is_integer() && c.slice::<T>(2)?.contains(&T::ZERO) {
        return Err(invalid!("updates must not contain 0: integer division by zero"));
    }
    scatter::<T>(c, rows, &Change::DIV)
}

fn min<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    scatter::<T>(c, rows, &Change::MIN)
}

fn max<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    scatter::<T>(c, rows, &Change::MAX)
}

/// The rows of the variable at the indices.
fn rows(var: &Shape, indices: &Tensor, updates: &Shape) -> Result<Places> {
    let n = *var.first().ok_or_else(|| invalid!("params must be at least 1-D, got shape {var}"))?;
    let row = &var[1..];
    let fits =
        updates.is_scalar() || (updates.starts_with(indices.shape()) && updates[indices.rank()..] == *row);
    if !fits {
        return Err(invalid!(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], \
             got updates.shape {updates}, indices.shape {}, params.shape {var}",
            indices.shape()
        ));
    }
    Ok(Places { places: positions(indices, n)?, run: row.iter().product() })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{resource_variable, value_of};
    use crate::prelude::*;
    use crate::testing::{call_in, code, floats, ints, step};

    #[test]
    fn rows_named_twice_get_both_updates() {
        let step = step(1);
        let v = resource_variable(&step, floats(&[3, 2], &[1., 2., 3., 4., 5., 6.]));
        let args = [v.clone(), ints(&[3], &[2, 0, 2]), floats(&[3, 2], &[1., 1., 10., 10., 100., 100.])];
        call_in(&step, "ResourceScatterAdd", &args, &[]).unwrap();
        assert_eq!(value_of(&step, &v).as_slice::<f32>().unwrap(), [11., 12., 3., 4., 106., 107.]);
        let args = [v.clone(), ints(&[], &[1]), floats(&[], &[7.])];
        call_in(&step, "ResourceScatterUpdate", &args, &[]).unwrap();
        assert_eq!(value_of(&step, &v).as_slice::<f32>().unwrap(), [11., 12., 7., 7., 106., 107.]);
    }

    #[test]
    fn a_refused_scatter_leaves_the_variable_unchanged() {
        let step = step(1);
        let before = ints(&[4], &[1, 2, 3, 4]);
        let v = resource_variable(&step, before.clone());
        let bad = [
            ("ResourceScatterUpdate", ints(&[1], &[0]), ints(&[5], &[9; 5])),
            ("ResourceScatterDiv", ints(&[2], &[0, 1]), ints(&[2], &[2, 0])),
            ("ResourceScatterAdd", ints(&[2], &[0, 4]), ints(&[2], &[9, 9])),
            ("ResourceScatterAdd", ints(&[2], &[0, -1]), ints(&[2], &[9, 9])),
        ];
        for (op, indices, updates) in bad {
            let got = call_in(&step, op, &[v.clone(), indices, updates], &[]);
            assert_eq!(code(got), Code::InvalidArgument, "{op}");
            assert!(value_of(&step, &v).same_bits(&before), "{op}");
        }
    }
}
