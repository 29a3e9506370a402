//! `TensorListConcatLists`: concatenates lists.

use super::list::TensorList;
use crate::by_value::ByValue;
use crate::prelude::*;

pub static TENSOR_LIST_CONCAT_LISTS: Op = Op {
    name: "TensorListConcatLists",
    doc: "The elements of the first list, then those of the second; for each pair of lists where there are several.",
    inputs: &["input_a: variant", "input_b: variant"],
    outputs: &["output: variant"],
    attrs: &["element_dtype: type"],
    shape: |c| Ok(vec![c.input(0).merge(&c.input(1))?]),
    kernels: cpu!(run),
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let dtype = c.attrs().dtype("element_dtype")?;
    let (a, b) = (c.take(0)?, c.take(1)?);
    if a.shape() != b.shape() {
        return Err(invalid!(
            "input_a and input_b must have the same shape: {} vs. {}",
            a.shape(),
            b.shape()
        ));
    }
    let shape = a.shape().clone();
    let pair = |(a, b): (Variant, Variant)| {
        let (mut a, b) = (TensorList::from_variant(a)?, TensorList::from_variant(b)?);
        a.check_type(dtype)?;
        b.check_type(dtype)?;
        a.shape = a.shape.merge(&b.shape)?;
        reserve::room(&mut a.items, b.items.len())?;
        a.items.extend(b.items);
        Ok(a.into_variant())
    };
    let lists = reserve::try_collect(a.into_variants()?.into_iter().zip(b.into_variants()?).map(pair))?;
    c.set(0, Tensor::from_objects(shape, lists)?);
    Ok(())
}
