//! `TensorListGetItem`, `TensorListSetItem`: one element of a list.

use super::list::{TensorList, element_shape_of, shape_argument, shape_input};
use crate::by_value::ByValue;
use crate::prelude::*;

pub static TENSOR_LIST_GET_ITEM: Op = Op {
    name: "TensorListGetItem",
    doc: "The element at `index`; zeros if it was not set.",
    inputs: &["input_handle: variant", "index: int32", "element_shape: Tshape"],
    outputs: &["item: element_dtype"],
    attrs: &["element_dtype: type", "Tshape: {int32, int64} = DT_INT32"],
    shape: |c| Ok(vec![shape_argument(c, 2)?]),
    grad: Rule(|g| {
        let (list, index, ditem) = (g.x[0], g.x[1], g.dy()?);
        let (shape, length) = (element_shape_of(g, list)?, g.unary("TensorListLength", list)?);
        let dtype = [("element_dtype", Attr::Type(g.graph.dtype(ditem)))];
        let zeros = g.op("TensorListReserve", [shape.into(), length.into()], &dtype)?;
        let dlist = g.op("TensorListSetItem", [zeros.into(), index.into(), ditem.into()], &[])?;
        Ok(vec![dlist.into(), Grad::None, Grad::None])
    }),
    kernels: cpu!(get),
    ..Op::PURE
};

fn get(c: &mut OpCall<'_>) -> Result<()> {
    let (index, asked, dtype) = (c.scalar::<i32>(1)?, shape_input(c, 2)?, c.output_type(0)?);
    let item = TensorList::look(c, 0, |list| {
        list.check_type(dtype)?;
        let n = list.items.len();
        let at = usize::try_from(index).ok().filter(|at| *at < n);
        let at =
            at.ok_or_else(|| invalid!("Trying to access element {index} in a list with {n} elements."))?;
        let item = list.all_of(at..at + 1, &asked)?.pop();
        item.filter(|t| asked.allows(t.shape()))
            .ok_or_else(|| invalid!("Incompatible shapes: element {index} is not of shape {asked}"))
    })?;
    c.set(0, item);
    Ok(())
}

pub static TENSOR_LIST_SET_ITEM: Op = Op {
    name: "TensorListSetItem",
    doc: "The list with its element at `index` replaced.",
    inputs: &["input_handle: variant", "index: int32", "item: element_dtype"],
    outputs: &["output_handle: variant"],
    attrs: &["element_dtype: type", "resize_if_index_out_of_bounds: bool = false"],
    shape: shape_call::scalar,
    grad: Rule(|g| {
        let (index, item, dlist) = (g.x[1], g.x[2], g.dy()?);
        let zeros = g.unary("ZerosLike", item)?;
        let list = g.op("TensorListSetItem", [dlist.into(), index.into(), zeros.into()], &[])?;
        let shape = g.shape_of(item)?;
        let dtype = [("element_dtype", Attr::Type(g.graph.dtype(item)))];
        let ditem = g.op("TensorListGetItem", [dlist.into(), index.into(), shape.into()], &dtype)?;
        Ok(vec![list.into(), Grad::None, ditem.into()])
    }),
    kernels: cpu!(set),
    ..Op::PURE
};

fn set(c: &mut OpCall<'_>) -> Result<()> {
    let (index, grow) = (c.scalar::<i32>(1)?, c.attrs().bool("resize_if_index_out_of_bounds")?);
    let item = c.take(2)?;
    let mut list = TensorList::take(c, 0)?;
    list.check_type(item.dtype())?;
    if !list.shape.allows(item.shape()) {
        return Err(invalid!(
            "Tried to set a tensor with incompatible shape at a list index. Item element shape: {} list shape: {}",
            item.shape(),
            list.shape
        ));
    }
    let n = list.items.len();
    let at = usize::try_from(index).ok().filter(|at| *at < n || grow);
    let at = at.ok_or_else(|| invalid!("Trying to modify element {index} in a list with {n} elements."))?;
    if at >= n {
        list.resize(at + 1)?;
    }
    list.items[at] = Some(item);
    c.set(0, list.into_tensor());
    Ok(())
}
