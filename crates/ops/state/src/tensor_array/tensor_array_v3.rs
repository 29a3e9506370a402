//! `TensorArrayV3`: a new array.

use super::resource::{CONTAINER, Rules, TensorArray, output_array};
use crate::prelude::*;

pub static TENSOR_ARRAY_V3: Op = Op {
    name: "TensorArrayV3",
    doc: "A handle to a new tensor array, freed with the step; the flow value orders the ops on it.",
    inputs: &["size: int32"],
    outputs: &["handle: resource", "flow: float"],
    attrs: &[
        "dtype: type",
        "element_shape: shape = { unknown_rank: true }",
        "dynamic_size: bool = false",
        "clear_after_read: bool = true",
        "identical_element_shapes: bool = false",
        "tensor_array_name: string = ''",
    ],
    shape: |c| {
        c.scalar(0)?;
        Ok(vec![PartialShape::scalar(), PartialShape::scalar()])
    },
    kernels: cpu!(make prepare),
    ..Op::STATEFUL
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attrs = &node.attrs;
    let (dtype, shape) = (attrs.dtype("dtype")?, attrs.shape("element_shape")?.clone());
    let dynamic = attrs.bool("dynamic_size")?;
    let rules = Rules {
        clear_after_read: attrs.bool("clear_after_read")?,
        // Older ops cannot ask for it.
        identical_shapes: attrs.get("identical_element_shapes").is_some_and(|a| *a == Attr::Bool(true)),
        adds_up: false,
    };
    let base = match attrs.str("tensor_array_name")? {
        "" => node.name.to_string(),
        name => name.to_string(),
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        if !c.shape(0)?.is_scalar() {
            return Err(invalid!("TensorArray size must be scalar, but had shape: {}", c.shape(0)?));
        }
        let size = usize::try_from(c.scalar::<i32>(0)?).map_err(|_| invalid!("Size should be >= 0."))?;
        let name = format!("{base}_{}", c.step.fresh());
        let array = c.step.scratch().get_or_create(CONTAINER, &name, || {
            Ok(TensorArray::new(name.clone(), dtype, rules, size, dynamic, shape.clone()))
        })?;
        output_array(c, CONTAINER, array)
    }))
}
