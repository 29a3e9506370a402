//! `Select` and `SelectV2`: each element from one of two tensors.

use super::choose::choose;
use crate::gradients::sum_to_shape_of;
use crate::prelude::*;
use thalweg_core::shape_call::broadcast_shapes;

pub static OPS: &[&Op] = &[&SELECT_V2, &SELECT];

static SELECT_V2: Op = Op {
    name: "SelectV2",
    doc: "t where condition is true, e elsewhere; the three shapes broadcast.",
    inputs: &["condition: bool", "t: T", "e: T"],
    outputs: &["output: T"],
    attrs: &["T: type"],
    shape: |c| {
        let values = broadcast_shapes(&c.input(1), &c.input(2))?;
        Ok(vec![broadcast_shapes(&c.input(0), &values)?])
    },
    grad: Rule(grad_v2),
    kernels: cpu!(run_v2),
    cases: |r| {
        vec![
            Case::new(vec![r.bools(&[2, 3]), r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.bools(&[]), r.tensor(&[2, 3]), r.tensor(&[3])]),
            Case::new(vec![r.bools(&[3, 1]), r.tensor(&[2, 1, 4]), r.tensor(&[])]),
        ]
    },
    ..Op::PURE
};

static SELECT: Op = Op {
    name: "Select",
    doc: "t where condition is true, e elsewhere; condition has their shape, is a scalar, or a vector selecting rows.",
    shape,
    grad: Rule(grad),
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.bools(&[2, 3]), r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.bools(&[]), r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.bools(&[2]), r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
        ]
    },
    ..SELECT_V2
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let values = c.input(1).merge(&c.input(2))?;
    let condition = c.input(0);
    let (Some(dims), Some(rank)) = (condition.dims(), values.rank()) else { return Ok(vec![values]) };
    match dims {
        [] => Ok(vec![values]),
        [rows] if rank != 1 => {
            if rank == 0 {
                return Err(invalid!(
                    "a vector condition of shape {condition} cannot choose between scalars"
                ));
            }
            merge_dim(*rows, values.dim(0))?;
            Ok(vec![values])
        }
        _ => Ok(vec![values.merge(&condition)?]),
    }
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (condition, t, dy) = (g.x[0], g.x[1], g.dy()?);
    let zeros = g.unary("ZerosLike", t)?;
    let dt = g.op("Select", [condition.into(), dy.into(), zeros.into()], &[])?;
    let de = g.op("Select", [condition.into(), zeros.into(), dy.into()], &[])?;
    Ok(vec![Grad::None, dt.into(), de.into()])
}

fn grad_v2(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (condition, t, e, y, dy) = (g.x[0], g.x[1], g.x[2], g.y[0], g.dy()?);
    let zero = g.number(0.0, dy)?;
    let dt = g.op("SelectV2", [condition.into(), dy.into(), zero.into()], &[])?;
    let de = g.op("SelectV2", [condition.into(), zero.into(), dy.into()], &[])?;
    Ok(vec![Grad::None, sum_to_shape_of(g, dt, t, y)?.into(), sum_to_shape_of(g, de, e, y)?.into()])
}

fn run_v2(c: &mut OpCall<'_>) -> Result<()> {
    let values = crate::broadcast::broadcast_shape(c.shape(1)?, c.shape(2)?)?;
    let shape = crate::broadcast::broadcast_shape(c.shape(0)?, &values)?;
    let chosen = choose(c.par(), &shape, c.input(0)?, c.input(1)?, c.input(2)?)?;
    c.set(0, chosen);
    Ok(())
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (condition, t, e) = (c.input(0)?, c.input(1)?, c.input(2)?);
    let shape = t.shape().clone();
    if *e.shape() != shape {
        return Err(invalid!("'t' and 'e' must have the same size. but received: {shape} vs. {}", e.shape()));
    }
    // A vector selects rows: it is reshaped to broadcast along the first dimension.
    let condition = match condition.shape().dims() {
        [rows] if shape.rank() > 1 && *rows == shape[0] => {
            let mut column = vec![1; shape.rank()];
            column[0] = *rows;
            condition.clone().reshape(Shape::new(&column)?)?
        }
        dims if dims.is_empty() || *dims == *shape => condition.clone(),
        _ => {
            return Err(invalid!(
                "'condition' must be a scalar, shaped as 't', or a vector as long as its first dimension; got {} for {shape}",
                condition.shape()
            ));
        }
    };
    let chosen = choose(c.par(), &shape, &condition, t, e)?;
    c.set(0, chosen);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn objects_are_chosen_too() {
        let condition = Tensor::vector(&[true, false]).unwrap();
        let strings = |a: &str, b: &str| {
            let items = vec![bytes::Bytes::from(a.to_string()), bytes::Bytes::from(b.to_string())];
            Tensor::from_objects(Shape::vector(2), items).unwrap()
        };
        for op in ["Select", "SelectV2"] {
            let y = call(op, &[condition.clone(), strings("a", "b"), strings("c", "d")], &[]).unwrap();
            assert_eq!(y[0].strings().unwrap(), strings("a", "d").strings().unwrap());
        }
    }

    #[test]
    fn a_condition_of_another_length_is_refused() {
        let condition = Tensor::vector(&[true, false, true]).unwrap();
        let x = floats(&[2, 2], &[0.0; 4]);
        assert_eq!(
            code(call("Select", &[condition.clone(), x.clone(), x.clone()], &[])),
            Code::InvalidArgument
        );
        assert_eq!(code(call("SelectV2", &[condition, x.clone(), x], &[])), Code::InvalidArgument);
    }
}
