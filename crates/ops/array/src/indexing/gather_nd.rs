//! `GatherNd`: elements or slices of a tensor, by coordinates.

use crate::indices::{BadIndices, NdIndices};
use crate::moving::{Gather, apply};
use crate::prelude::*;

pub static GATHER_ND: Op = Op {
    name: "GatherNd",
    doc: "The slices of `params` at the coordinates in the innermost dimension of `indices`.",
    inputs: &["params: Tparams", "indices: Tindices"],
    outputs: &["output: Tparams"],
    attrs: &["Tparams: type", "Tindices: {int16, int32, int64}", "bad_indices_policy: string = ''"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[4, 3]), r.ints(&[2, 2], 0, 3)]),
            Case::new(vec![r.tensor(&[4, 3]), r.ints(&[2, 1], 0, 4)]),
            Case::new(vec![r.tensor(&[4, 3, 2]), r.ints(&[2, 2, 2], 0, 3)]),
            Case::new(vec![r.tensor(&[2]), r.ints(&[3, 0], 0, 4)]),
        ]
    },
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let indices = c.rank_at_least(1, 1)?;
    let Some((depth, outer)) = indices.dims().and_then(|d| d.split_last()) else {
        return Ok(vec![PartialShape::unknown()]);
    };
    let params = c.input(0);
    let (Some(p), 0..) = (params.dims(), *depth) else { return Ok(vec![PartialShape::unknown()]) };
    let Some(rest) = p.get(*depth as usize..) else {
        return Err(invalid!("indices.shape[-1] must be <= params.rank, but saw {depth} and {params}"));
    };
    Ok(vec![outer.iter().chain(rest).copied().collect()])
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (params, indices, dy) = (g.x[0], g.x[1], g.dy()?);
    let s = g.graph.shape(indices);
    if s.rank() == Some(2) && s.dim(1) == 1 {
        let dense_shape = g.shape_of(params)?;
        let indices = g.op("Squeeze", [indices.into()], &[("squeeze_dims", Attr::ints(&[-1]))])?;
        return Ok(vec![Grad::Slices { values: dy, indices, dense_shape }, Grad::None]);
    }
    let (shape, indices) = match g.graph.dtype(indices) {
        DataType::Int64 => {
            (g.op("Shape", [params.into()], &[("out_type", DataType::Int64.into())])?, indices)
        }
        DataType::Int32 => (g.shape_of(params)?, indices),
        _ => {
            let wide = g.op("Cast", [indices.into()], &[("DstT", DataType::Int32.into())])?;
            (g.shape_of(params)?, wide)
        }
    };
    Ok(vec![g.op("ScatterNd", [indices.into(), dy.into(), shape.into()], &[])?.into(), Grad::None])
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let bad = BadIndices::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (params, indices) = (c.input(0)?, c.input(1)?);
        if params.rank() == 0 {
            return Err(invalid!("params must be at least a vector"));
        }
        let wanted: usize = indices.shape().iter().rev().skip(1).product();
        if params.elements() == 0 && wanted > 0 {
            return Err(invalid!(
                "Requested more than 0 entries, but params is empty. Params shape: {}",
                params.shape()
            ));
        }
        let at = NdIndices::new(indices, params.shape(), bad, "param shape")?;
        let dims: Vec<usize> = at.outer.iter().chain(&params.shape()[at.depth..]).copied().collect();
        let shape = Shape::new(&dims)?;
        let mut out = match bad {
            BadIndices::Error => Tensor::uninit(params.dtype(), shape)?,
            BadIndices::Ignore => Tensor::zeros(params.dtype(), shape)?,
        };
        apply(&Gather::rows(at.runs, at.run, &at.places, c.par()), params, &mut out)?;
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn coordinates_outside_are_refused_or_ignored() {
        let x = floats(&[3], &[1.0, 2.0, 3.0]);
        let inputs = [x, ints(&[2, 1], &[7, 1])];
        let e = call("GatherNd", &inputs, &[]).unwrap_err();
        assert!(e.message().starts_with("indices[0] = [7] does not index into param shape [3]"));
        let y = call("GatherNd", &inputs, &[("bad_indices_policy", "IGNORE".into())]).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), &[0.0, 2.0]);
    }

    #[test]
    fn nothing_can_be_had_from_empty_params() {
        let inputs = [floats(&[0], &[]), ints(&[1, 1], &[0])];
        assert_eq!(code(call("GatherNd", &inputs, &[])), Code::InvalidArgument);
        let deep = [floats(&[1], &[1.0]), ints(&[1, 2], &[0, 0])];
        assert_eq!(code(call("GatherNd", &deep, &[])), Code::InvalidArgument);
        let many = [floats(&[1], &[1.0]), ints(&[1 << 40, 0], &[])];
        assert_eq!(code(call("GatherNd", &many, &[])), Code::ResourceExhausted);
    }
}
