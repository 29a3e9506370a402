//! The static shapes of a graph's outputs.

use crate::attrs;
use crate::graph::{Graph, Port};
use crate::pointers::{Array, Out, need};
use crate::status::{Status, answer};
use std::ffi::c_int;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::shape::PartialShape;

fn shape(graph: Option<&Graph>, output: &Port) -> Result<PartialShape> {
    let graph = &need(graph)?.0;
    let output = graph.output(output)?;
    Ok(graph.scope.read(|g| g.shape(output)))
}

/// Refines what is known of a shape.
#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphSetTensorShape(
    graph: Option<&Graph>,
    output: Port,
    dims: Array<i64>,
    num_dims: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let graph = &need(graph)?.0;
        let output = graph.output(&output)?;
        let given = attrs::partial_shape(&dims, num_dims)?;
        graph.scope.change(|g| {
            let merged = g.shape(output).merge(&given)?;
            match g.node_mut(output.node).shapes.get_mut(output.index as usize) {
                Some(known) => {
                    *known = merged;
                    Ok(())
                }
                None => Err(invalid!("there is no output {}", output.index)),
            }
        })
    });
}

/// -1 if it is unknown.
#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphGetTensorNumDims(
    graph: Option<&Graph>,
    output: Port,
    status: Option<&mut Status>,
) -> c_int {
    answer(status, -1, || Ok(shape(graph, &output)?.rank().map_or(-1, |rank| rank as c_int)))
}

/// -1 for sizes that are unknown.
#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphGetTensorShape(
    graph: Option<&Graph>,
    output: Port,
    dims: Out<i64>,
    num_dims: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let shape = shape(graph, &output)?;
        let Some(known) = shape.dims() else { return Ok(()) };
        if usize::try_from(num_dims) != Ok(known.len()) {
            return Err(invalid!("Expected rank is {num_dims} but actual rank is {}", known.len()));
        }
        dims.fill(num_dims, known.iter().copied());
        Ok(())
    });
}
