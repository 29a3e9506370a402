//! `ResourceGather`: rows of a resource variable.

use super::target::{initialised, variable_shape};

use crate::prelude::*;
use thalweg_ops_array::indexing::gather::gathered;

pub static RESOURCE_GATHER: Op = Op {
    name: "ResourceGather",
    doc: "The rows `indices` of a resource variable; with batch_dims, of the part that the leading indices name.",
    inputs: &["resource: resource", "indices: Tindices"],
    outputs: &["output: dtype"],
    attrs: &[
        "batch_dims: int = 0",
        "validate_indices: bool = true",
        "dtype: type",
        "Tindices: {int32, int64}",
    ],
    shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare),
    ..Op::STATEFUL
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (params, indices) = (variable_shape(c, 0), c.input(1));
    let (Some(p), Some(i)) = (params.dims(), indices.dims()) else {
        return Ok(vec![PartialShape::unknown()]);
    };
    let batch = batch_dims(c.attrs.int("batch_dims")?, p.len(), i.len())?;
    for (a, b) in p.iter().zip(i).take(batch) {
        merge_dim(*a, *b)?;
    }
    Ok(vec![p[..batch].iter().chain(&i[batch..]).chain(&p[batch + 1..]).copied().collect()])
}

/// `batch_dims`, validated: less than the rank of the variable, at most that of the indices.
fn batch_dims(attr: i64, params: usize, indices: usize) -> Result<usize> {
    if params == 0 {
        return Err(invalid!("params must be at least 1 dimensional"));
    }
    let batch = if attr < 0 { attr.saturating_add(indices as i64) } else { attr };
    match usize::try_from(batch) {
        Ok(b) if b < params && b <= indices => Ok(b),
        _ => Err(invalid!(
            "batch_dims ({attr}) must be less than rank(params) ({params}) and at most rank(indices) ({indices})"
        )),
    }
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    if g.attrs.int("batch_dims")? != 0 {
        return Err(unimplemented("the gradient of ResourceGather with batch_dims"));
    }
    let (variable, indices, dy) = (g.x[0], g.x[1], g.dy()?);
    let dense_shape = g.unary("VariableShape", variable)?;
    let minus_one = g.constant(int_vector(&[-1]))?;
    let flat = g.binary("Reshape", indices, minus_one)?;
    let rows = g.shape_of(flat)?;
    let (one, end) = (g.constant(int_vector(&[1]))?, g.constant(int_vector(&[i32::MAX]))?);
    let row = g.op(
        "StridedSlice",
        [dense_shape.into(), one.into(), end.into(), one.into()],
        &[("end_mask", Attr::Int(1))],
    )?;
    let axis = g.constant(Tensor::scalar(0i32))?;
    let values_shape = g.op("ConcatV2", [vec![rows, row].into(), axis.into()], &[])?;
    let values = g.binary("Reshape", dy, values_shape)?;
    Ok(vec![Grad::Slices { values, indices: flat, dense_shape }, Grad::None])
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attr = node.attrs.int("batch_dims")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (params, indices) = (initialised(c, 0)?.1, c.input(1)?);
        let batch = batch_dims(attr, params.rank(), indices.rank())? as i64;
        let out = gathered(c, &params, indices, batch, batch)?;
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::tests::resource_variable;
    use crate::prelude::*;
    use crate::testing::{call_in, code, floats, ints, step};

    #[test]
    fn gathers_rows_within_batches() {
        let step = step(1);
        let v = resource_variable(&step, floats(&[2, 3], &[1., 2., 3., 4., 5., 6.]));
        let attrs = |b: i64| [("dtype", Attr::Type(DataType::Float)), ("batch_dims", Attr::Int(b))];
        let rows = call_in(&step, "ResourceGather", &[v.clone(), ints(&[1], &[1])], &attrs(0)).unwrap();
        assert_eq!(rows[0].as_slice::<f32>().unwrap(), [4., 5., 6.]);
        let each = call_in(&step, "ResourceGather", &[v.clone(), ints(&[2, 1], &[2, 0])], &attrs(1)).unwrap();
        assert_eq!(each[0].as_slice::<f32>().unwrap(), [3., 4.]);
        for batch in [2, 10, -9] {
            let bad = call_in(&step, "ResourceGather", &[v.clone(), ints(&[2, 1], &[0, 0])], &attrs(batch));
            assert_eq!(code(bad), Code::InvalidArgument);
        }
        let empty = resource_variable(&step, floats(&[0, 1], &[]));
        let bad = call_in(&step, "ResourceGather", &[empty, ints(&[3], &[0, 0, 0])], &attrs(1));
        assert_eq!(code(bad), Code::InvalidArgument);
        let bad = call_in(&step, "ResourceGather", &[v, ints(&[1], &[7])], &attrs(0)).unwrap_err();
        assert!(bad.message().contains("indices[0] = 7 is not in [0, 2)"));
    }
}
