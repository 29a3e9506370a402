//! `ScatterNdUpdate`, `ScatterNdAdd`, `ScatterNdSub` and their resource forms: updates of slices of a variable, by
//! coordinates.

use super::scatter_runs::{Change, Places, scatter};
use super::target::variable_shape;
use crate::indices::{BadIndices, NdIndices};
use crate::prelude::*;
use std::ops::{BitOrAssign, BitXorAssign};

pub static OPS: &[&Op] = &[
    &Op {
        name: "ScatterNdUpdate",
        doc: "Sets the slices of a reference variable at the coordinates `indices` to `updates`.",
        kernels: cpu!(update),
        ..REF
    },
    &Op {
        name: "ScatterNdAdd",
        doc: "Adds `updates` to the slices of a reference variable at the coordinates `indices`.",
        attrs: NUMBERS,
        kernels: cpu!(add: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
        ..REF
    },
    &Op {
        name: "ScatterNdSub",
        doc: "Subtracts `updates` from the slices of a reference variable at the coordinates `indices`.",
        attrs: NUMBERS,
        kernels: cpu!(sub: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
        ..REF
    },
    &Op {
        name: "ScatterNdMax",
        doc: "Sets the slices of a reference variable at coordinates `indices` to the maximum with `updates`.",
        attrs: NUMBERS,
        kernels: cpu!(max: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
        ..REF
    },
    &Op {
        name: "ScatterNdMin",
        doc: "Sets the slices of a reference variable at coordinates `indices` to the minimum with `updates`.",
        attrs: NUMBERS,
        kernels: cpu!(min: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
        ..REF
    },
    &Op {
        name: "ResourceScatterNdUpdate",
        doc: "Sets the slices of a resource variable at the coordinates `indices` to `updates`.",
        kernels: cpu!(update),
        ..RESOURCE
    },
    &Op {
        name: "ResourceScatterNdAdd",
        doc: "Adds `updates` to the slices of a resource variable at the coordinates `indices`.",
        kernels: cpu!(add: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble; add_bool: T in bool),
        ..RESOURCE
    },
    &Op {
        name: "ResourceScatterNdSub",
        doc: "Subtracts `updates` from the slices of a resource variable at the coordinates `indices`.",
        kernels: cpu!(sub: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble; sub_bool: T in bool),
        ..RESOURCE
    },
    &Op {
        name: "ResourceScatterNdMax",
        doc: "Sets the slices of a resource variable at coordinates `indices` to the maximum with `updates`.",
        kernels: cpu!(max: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
        ..RESOURCE
    },
    &Op {
        name: "ResourceScatterNdMin",
        doc: "Sets the slices of a resource variable at coordinates `indices` to the minimum with `updates`.",
        kernels: cpu!(min: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
        ..RESOURCE
    },
];

const REF: Op = Op {
    inputs: &["ref: Ref(T)", "indices: Tindices", "updates: T"],
    outputs: &["output_ref: Ref(T)"],
    attrs: &[
        "T: type",
        "Tindices: {int32, int64}",
        "use_locking: bool = true",
        "bad_indices_policy: string = ''",
    ],
    shape: |c| {
        check_shapes(c, &c.input(0))?;
        Ok(vec![c.input(0)])
    },
    ..Op::STATEFUL
};

const NUMBERS: &[&str] = &[
    "T: numbertype",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
    "bad_indices_policy: string = ''",
];

const RESOURCE: Op = Op {
    inputs: &["ref: resource", "indices: Tindices", "updates: T"],
    outputs: &[],
    shape: |c| {
        check_shapes(c, &variable_shape(c, 0))?;
        Ok(vec![])
    },
    ..REF
};

/// `updates` has the shape of `indices` without its last dimension, followed by the dimensions not indexed.
fn check_shapes(c: &ShapeCall<'_>, var: &PartialShape) -> Result<()> {
    let indices = c.rank_at_least(1, 1)?;
    let (Some(var), Some(i)) = (var.dims(), indices.dims()) else { return Ok(()) };
    let (Some(depth), true) = (i.last(), !i.is_empty()) else { return Ok(()) };
    let Ok(depth) = usize::try_from(*depth) else { return Ok(()) };
    if depth > var.len() {
        return Err(invalid!("indices have {depth} coordinates, but the variable has rank {}", var.len()));
    }
    let expected: PartialShape = i[..i.len() - 1].iter().chain(&var[depth..]).copied().collect();
    expected.merge(&c.input(2)).map(|_| ())
}

fn update(c: &mut OpCall<'_>) -> Result<()> {
    change::<u8>(c, Change::Replace)
}

fn add<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    change::<T>(c, Change::ADD)
}

fn sub<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    change::<T>(c, Change::SUB)
}

/// Addition of booleans is or.
fn add_bool<T: Element + BitOrAssign>(c: &mut OpCall<'_>) -> Result<()> {
    change::<T>(c, Change::Combine(|x, d| x.iter_mut().zip(d).for_each(|(x, d)| *x |= *d)))
}

/// Subtraction of booleans is exclusive or.
fn sub_bool<T: Element + BitXorAssign>(c: &mut OpCall<'_>) -> Result<()> {
    change::<T>(c, Change::Combine(|x, d| x.iter_mut().zip(d).for_each(|(x, d)| *x ^= *d)))
}

fn max<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    change::<T>(c, Change::MAX)
}

fn min<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    change::<T>(c, Change::MIN)
}

fn change<T: Element>(c: &mut OpCall<'_>, change: Change<T>) -> Result<()> {
    let bad = BadIndices::of(c.attrs())?;
    scatter(c, |var, indices, updates| slices(var, indices, updates, bad), &change)
}

/// The slices of the variable at the coordinates.
fn slices(var: &Shape, indices: &Tensor, updates: &Shape, bad: BadIndices) -> Result<Places> {
    let nd = NdIndices::new(indices, var, bad, "params")?;
    if !(updates.starts_with(&nd.outer) && updates[nd.outer.rank()..] == var[nd.depth..]) {
        return Err(invalid!(
            "Must have updates.shape = indices.shape[:-1] + params.shape[{}:], \
             got updates.shape {updates}, indices.shape {}, params.shape {var}",
            nd.depth,
            indices.shape()
        ));
    }
    Ok(Places { places: nd.places, run: nd.run })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{resource_variable, value_of};
    use crate::prelude::*;
    use crate::testing::{call_in, code, floats, ints, step};

    #[test]
    fn booleans_are_added_and_subtracted() {
        let step = step(1);
        for (op, want) in [
            ("ResourceScatterNdAdd", [true, true, true, false]),
            ("ResourceScatterNdSub", [false, true, true, false]),
        ] {
            let v = resource_variable(&step, Tensor::vector(&[true, true, false, false]).unwrap());
            let updates = Tensor::vector(&[true, false, true, false]).unwrap();
            call_in(&step, op, &[v.clone(), ints(&[4, 1], &[0, 1, 2, 3]), updates], &[]).unwrap();
            assert_eq!(value_of(&step, &v).as_slice::<bool>().unwrap(), want, "{op}");
        }
    }

    #[test]
    fn coordinates_name_elements_or_slices() {
        let step = step(1);
        let v = resource_variable(&step, floats(&[2, 2], &[1., 2., 3., 4.]));
        let args = [v.clone(), ints(&[2, 2], &[0, 1, 1, 0]), floats(&[2], &[10., 20.])];
        call_in(&step, "ResourceScatterNdAdd", &args, &[]).unwrap();
        assert_eq!(value_of(&step, &v).as_slice::<f32>().unwrap(), [1., 12., 23., 4.]);
        let args = [v.clone(), ints(&[1, 1], &[1]), floats(&[1, 2], &[7., 8.])];
        call_in(&step, "ResourceScatterNdUpdate", &args, &[]).unwrap();
        assert_eq!(value_of(&step, &v).as_slice::<f32>().unwrap(), [1., 12., 7., 8.]);
        let bad = [v.clone(), ints(&[2, 1], &[0, 2]), floats(&[2, 2], &[0.; 4])];
        assert_eq!(code(call_in(&step, "ResourceScatterNdAdd", &bad, &[])), Code::InvalidArgument);
        assert_eq!(value_of(&step, &v).as_slice::<f32>().unwrap(), [1., 12., 7., 8.]);
    }
}
