//! `IteratorGetNext`, `IteratorGetNextSync`, `IteratorGetNextAsOptional`: the next element of an iterator.

use super::iterator::Iterator;
use super::optional::Optional;
use super::sequence::Element;
use crate::prelude::*;

pub static ITERATOR_GET_NEXT: Op = Op {
    name: "IteratorGetNext",
    doc: "The next element of `iterator`; OutOfRange after the last one.",
    inputs: &["iterator: resource"],
    outputs: &["components: output_types"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    shape: declared,
    kernels: cpu!(async element),
    ..Op::STATEFUL
};

pub static ITERATOR_GET_NEXT_SYNC: Op = Op { name: "IteratorGetNextSync", ..ITERATOR_GET_NEXT };

pub static ITERATOR_GET_NEXT_AS_OPTIONAL: Op = Op {
    name: "IteratorGetNextAsOptional",
    doc: "The next element of `iterator` as an optional, which is empty after the last one.",
    outputs: &["optional: variant"],
    shape: shape_call::scalar,
    kernels: cpu!(async optional),
    ..ITERATOR_GET_NEXT
};

/// The shapes that attr `output_shapes` declares, one for each output.
pub fn declared(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let shapes = c.attrs.shapes("output_shapes")?;
    if shapes.len() != c.outputs {
        return Err(invalid!(
            "`output_shapes` must be the same length as `output_types` ({} vs. {})",
            shapes.len(),
            c.outputs
        ));
    }
    Ok(shapes)
}

struct GetNext {
    types: Vec<DataType>,
    shapes: Vec<PartialShape>,
    answer: fn(&KernelNode, Element) -> Result<Outputs>,
}

fn element(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    get_next(node, |node, element| match element? {
        Some(tuple) => components(node, tuple).map(outputs),
        None => Err(out_of_range("End of sequence")),
    })
}

fn optional(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    get_next(node, |_, element| Ok(outputs([Optional(element?).into_tensor()])))
}

fn get_next(
    node: &KernelNode,
    answer: fn(&KernelNode, Element) -> Result<Outputs>,
) -> Result<Arc<dyn AsyncKernel>> {
    let (types, shapes) = (node.attrs.types("output_types")?, node.attrs.shapes("output_shapes")?);
    Ok(Arc::new(GetNext { types, shapes, answer }))
}

impl AsyncKernel for GetNext {
    fn start(&self, call: AsyncCall, done: Done) {
        let iterator = match call.resource::<Iterator>(0) {
            Ok(iterator) => iterator,
            Err(e) => return done(Err(e)),
        };
        if iterator.types != self.types {
            return done(
                super::iterator::same_elements(&iterator.types, &iterator.shapes, &self.types, &self.shapes)
                    .and(Err(internal("types differ"))),
            );
        }
        let (node, answer) = (call.node.clone(), self.answer);
        iterator.next(&call.step, Box::new(move |element| done(answer(&node, element))));
    }
}

/// Checks a tuple against the output types of a node.
pub fn components(node: &KernelNode, tuple: Vec<Tensor>) -> Result<Vec<Tensor>> {
    let types = node.outputs.iter().map(|p| p.dtype);
    if types.eq(tuple.iter().map(Tensor::dtype)) {
        return Ok(tuple);
    }
    let got: Vec<DataType> = tuple.iter().map(Tensor::dtype).collect();
    let want: Vec<DataType> = node.outputs.iter().map(|p| p.dtype).collect();
    Err(invalid!("an element has components of types {got:?}, where {want:?} were declared"))
}
