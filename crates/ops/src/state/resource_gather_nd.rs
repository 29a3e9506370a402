//! `ResourceGatherNd`: slices of a resource variable, named by their leading coordinates.

use super::scatter_nd::coordinate_starts;
use super::target::{initialised, variable_shape};
use crate::prelude::*;
use crate::runs::{Runs, pick};

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
    let (params, indices) = (initialised(c, 0)?.1, c.input(1)?);
    let Some((depth, outer)) = indices.shape().split_last() else {
        return Err(invalid!("indices must be at least a vector"));
    };
    let p = params.shape();
    if *depth > p.rank() {
        return Err(invalid!("indices have {depth} coordinates, but the variable has shape {p}"));
    }
    let n = outer.iter().product();
    let dims: Vec<usize> = outer.iter().chain(&p[*depth..]).copied().collect();
    if n > 0 && p.elements() == 0 {
        return Err(invalid!("Requested more than 0 entries, but params is empty. Params shape: {p}"));
    }
    let starts = coordinate_starts(p, &indices.to_i64s()?, *depth, n)?;
    let out = pick(&params, Shape::new(&dims)?, &Runs { starts, len: p[*depth..].iter().product() })?;
    c.set(0, out);
    Ok(())
}
