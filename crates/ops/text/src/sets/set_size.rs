//! `SetSize`: the number of different elements along the last dimension.

use super::items::{Item, Sets};
use crate::prelude::*;
use crate::sparse::{check_sparse, example};
use bytes::Bytes;

pub static OPS: &[&Op] = &[&SET_SIZE];

static SET_SIZE: Op = Op {
    name: "SetSize",
    doc: "How many different elements each row along the last dimension of a sparse tensor has.",
    inputs: &["set_indices: int64", "set_values: T", "set_shape: int64"],
    outputs: &["size: int32"],
    attrs: &["validate_indices: bool = true", "T: {int8, int16, int32, int64, uint8, uint16, string}"],
    shape: |c| {
        check_sparse(c, 0)?;
        Ok(vec![match c.as_shape(2)?.dims() {
            Some([outer @ .., _]) => outer.iter().copied().collect(),
            _ => PartialShape::unknown(),
        }])
    },
    grad: Stops,
    kernels: cpu!(strings for T = String, sizes: T in i8, i16, i32, i64, u8, u16),
    cases: |_| vec![Case::new(example(&[0, 0, 0, 1, 0, 2, 2, 1], int_vector(&[5, 3, 5, 3]), &[3, 3]))],
    ..Op::PURE
};

fn strings(c: &mut OpCall<'_>) -> Result<()> {
    sizes::<Bytes>(c)
}

fn sizes<T: Item>(c: &mut OpCall<'_>) -> Result<()> {
    let sets = Sets::<T>::sparse(c, 0, c.attrs().bool("validate_indices")?)?;
    let mut out = Tensor::zeros(DataType::Int32, sets.outer.clone())?;
    let sizes = out.as_mut_slice::<i32>()?;
    for (at, range) in &sets.groups {
        sizes[*at] = sets.sorted(range.clone())?.len() as i32;
    }
    c.set(0, out);
    Ok(())
}
