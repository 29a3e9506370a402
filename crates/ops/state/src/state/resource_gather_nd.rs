//! `ResourceGatherNd`: slices of a resource variable, by coordinates.

use super::target::{initialised, variable_shape};
use crate::indices::{BadIndices, NdIndices};
use crate::prelude::*;
use crate::rows::pick;

pub static RESOURCE_GATHER_ND: Op = Op {
    name: "ResourceGatherNd",
    doc: "The slices of a resource variable at the coordinates `indices`.",
    inputs: &["resource: resource", "indices: Tindices"],
    outputs: &["output: dtype"],
    attrs: &["dtype: type", "Tindices: {int32, int64}"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (params, indices) = (variable_shape(c, 0), c.rank_at_least(1, 1)?);
    let (Some(p), Some((depth, outer))) = (params.dims(), indices.dims().and_then(|i| i.split_last())) else {
        return Ok(vec![PartialShape::unknown()]);
    };
    match usize::try_from(*depth) {
        Err(_) => Ok(vec![PartialShape::unknown()]),
        Ok(d) if d > p.len() => {
            Err(invalid!("indices have {d} coordinates, but the variable has rank {}", p.len()))
        }
        Ok(d) => Ok(vec![outer.iter().chain(&p[d..]).copied().collect()]),
    }
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (variable, indices, dy) = (g.x[0], g.x[1], g.dy()?);
    let out_type = Attr::Type(g.graph.dtype(indices));
    let shape = g.op("VariableShape", [variable.into()], &[("out_type", out_type)])?;
    let dense = g.op("ScatterNd", [indices.into(), dy.into(), shape.into()], &[])?;
    Ok(vec![dense.into(), Grad::None])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let params = initialised(c, 0)?.1;
    let nd = NdIndices::new(c.input(1)?, params.shape(), BadIndices::Error, "params")?;
    let shape = Shape::new(&[nd.outer.dims(), &params.shape()[nd.depth..]].concat())?;
    let out = pick(c, &params, nd.run, &nd.places, shape)?;
    c.set(0, out);
    Ok(())
}
