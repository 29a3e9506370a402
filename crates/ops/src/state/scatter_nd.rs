//! `ScatterNdUpdate`, `ScatterNdAdd`, `ScatterNdSub` and their resource forms: changing slices of a variable that are
//! named by their leading coordinates.

use super::scatter_runs::{Change, Find, scatter};
use super::target::variable_shape;
use crate::prelude::*;
use crate::runs::Runs;

pub static SCATTER_ND_UPDATE: Op = Op {
    name: "ScatterNdUpdate",
    doc: "Sets the slices of a reference variable at the coordinates `indices` to `updates`.",
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
    kernels: cpu!(update),
    ..Op::STATEFUL
};

pub static SCATTER_ND_ADD: Op = Op {
    name: "ScatterNdAdd",
    doc: "Adds `updates` to the slices of a reference variable at the coordinates `indices`.",
    attrs: &[
        "T: numbertype",
        "Tindices: {int32, int64}",
        "use_locking: bool = false",
        "bad_indices_policy: string = ''",
    ],
    kernels: cpu!(add: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..SCATTER_ND_UPDATE
};

pub static SCATTER_ND_SUB: Op = Op {
    name: "ScatterNdSub",
    doc: "Subtracts `updates` from the slices of a reference variable at the coordinates `indices`.",
    kernels: cpu!(sub: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..SCATTER_ND_ADD
};

pub static RESOURCE_SCATTER_ND_UPDATE: Op = Op {
    name: "ResourceScatterNdUpdate",
    doc: "Sets the slices of a resource variable at the coordinates `indices` to `updates`.",
    inputs: &["ref: resource", "indices: Tindices", "updates: T"],
    outputs: &[],
    shape: |c| {
        check_shapes(c, &variable_shape(c, 0))?;
        Ok(vec![])
    },
    ..SCATTER_ND_UPDATE
};

pub static RESOURCE_SCATTER_ND_ADD: Op = Op {
    name: "ResourceScatterNdAdd",
    doc: "Adds `updates` to the slices of a resource variable at the coordinates `indices`.",
    kernels: SCATTER_ND_ADD.kernels,
    ..RESOURCE_SCATTER_ND_UPDATE
};

pub static RESOURCE_SCATTER_ND_SUB: Op = Op {
    name: "ResourceScatterNdSub",
    doc: "Subtracts `updates` from the slices of a resource variable at the coordinates `indices`.",
    kernels: SCATTER_ND_SUB.kernels,
    ..RESOURCE_SCATTER_ND_UPDATE
};

pub static RESOURCE_SCATTER_ND_MAX: Op = Op {
    name: "ResourceScatterNdMax",
    doc: "Raises the slices of a resource variable at the coordinates `indices` to `updates` where those are more.",
    kernels: cpu!(max: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    ..RESOURCE_SCATTER_ND_UPDATE
};

pub static RESOURCE_SCATTER_ND_MIN: Op = Op {
    name: "ResourceScatterNdMin",
    doc: "Lowers the slices of a resource variable at the coordinates `indices` to `updates` where those are less.",
    kernels: cpu!(min: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    ..RESOURCE_SCATTER_ND_UPDATE
};

/// `updates` is shaped as `indices` without its last dimension, followed by the dimensions not named by coordinates.
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
    scatter::<u8>(c, finder(c)?, &Change::Replace)
}

fn add<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let change = Change::Combine(|x: &mut [T], d| x.iter_mut().zip(d).for_each(|(x, d)| *x = x.add(*d)));
    scatter(c, finder(c)?, &change)
}

fn sub<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let change = Change::Combine(|x: &mut [T], d| x.iter_mut().zip(d).for_each(|(x, d)| *x = x.sub(*d)));
    scatter(c, finder(c)?, &change)
}

fn max<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let change = Change::Combine(|x: &mut [T], d| x.iter_mut().zip(d).for_each(|(x, d)| *x = x.larger(*d)));
    scatter(c, finder(c)?, &change)
}

fn min<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let change = Change::Combine(|x: &mut [T], d| x.iter_mut().zip(d).for_each(|(x, d)| *x = x.smaller(*d)));
    scatter(c, finder(c)?, &change)
}

fn finder(c: &OpCall<'_>) -> Result<Find> {
    match c.attrs().str("bad_indices_policy")? {
        "" | "DEFAULT" | "ERROR" => Ok(slices),
        "IGNORE" => Err(unimplemented("bad_indices_policy IGNORE")),
        other => Err(invalid!("unknown bad_indices_policy '{other}'")),
    }
}

/// The slices of the variable that the coordinates name.
fn slices(var: &Shape, indices: &Tensor, updates: &Shape) -> Result<Runs> {
    let Some((depth, outer)) = indices.shape().split_last() else {
        return Err(invalid!("indices must be at least 1-D, got a scalar"));
    };
    if *depth > var.rank() {
        return Err(invalid!("indices have {depth} coordinates, but the variable has shape {var}"));
    }
    if !(updates.starts_with(outer) && updates[outer.len()..] == var[*depth..]) {
        return Err(invalid!(
            "Must have updates.shape = indices.shape[:-1] + params.shape[{depth}:], \
             got updates.shape {updates}, indices.shape {}, params.shape {var}",
            indices.shape()
        ));
    }
    let len = var[*depth..].iter().product();
    Ok(Runs { starts: coordinate_starts(var, &indices.to_i64s()?, *depth, outer.iter().product())?, len })
}

/// The first element of the slice that each of `n` coordinate tuples of this depth names.
pub fn coordinate_starts(shape: &Shape, coordinates: &[i64], depth: usize, n: usize) -> Result<Vec<usize>> {
    if depth == 0 {
        return Ok(vec![0; n]);
    }
    let strides = shape.strides();
    let start = |(i, tuple): (usize, &[i64])| {
        tuple
            .iter()
            .zip(shape.iter().zip(&strides))
            .map(|(at, (n, stride))| usize::try_from(*at).ok().filter(|at| at < n).map(|at| at * stride))
            .sum::<Option<usize>>()
            .ok_or_else(|| {
                let tuple: Vec<String> = tuple.iter().map(i64::to_string).collect();
                invalid!("indices[{i}] = [{}] does not index into shape {shape}", tuple.join(", "))
            })
    };
    coordinates.chunks_exact(depth).enumerate().map(start).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{resource_variable, value_of};
    use crate::prelude::*;
    use crate::testing::{call_in, code, floats, ints, step};

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
