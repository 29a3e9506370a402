//! `SparseToDense`: values scattered into a default value.

use crate::gradients::sum_to_shape_of;
use crate::prelude::*;
use crate::rows::{join, pick};

pub static SPARSE_TO_DENSE: Op = Op {
    name: "SparseToDense",
    doc: "A tensor of output_shape with sparse_values at sparse_indices, and default_value elsewhere.",
    inputs: &["sparse_indices: Tindices", "output_shape: Tindices", "sparse_values: T", "default_value: T"],
    outputs: &["dense: T"],
    attrs: &["validate_indices: bool = true", "T: type", "Tindices: {int32, int64}"],
    shape: |c| {
        c.rank(1, 1)?;
        c.scalar(3)?;
        Ok(vec![c.as_shape(1)?])
    },
    grad: Rule(grad),
    kernels: cpu!(make prepare),
    cases: |r| {
        let at = int_vector(&[0, 1, 1, 2]).reshape(Shape::new(&[2, 2]).unwrap_or_default());
        let mut cases: Vec<Case> = at
            .into_iter()
            .map(|at| Case::new(vec![at, int_vector(&[2, 3]), r.tensor(&[2]), r.tensor(&[])]))
            .collect();
        cases.push(Case::new(vec![int_vector(&[1, 3]), int_vector(&[4]), r.tensor(&[]), r.tensor(&[])]));
        cases.push(
            Case::new(vec![int_vector(&[3, 1]), int_vector(&[4]), r.tensor(&[2]), r.tensor(&[])])
                .attr("validate_indices", false),
        );
        cases
    },
    host_inputs: &["output_shape"],
    ..Op::PURE
};

/// The values get the gradient at their indices, the default value the sum of the rest.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (indices, shape, values, dy) = (g.x[0], g.x[1], g.x[2], g.dy()?);
    let rank = g.shape_of(shape)?;
    let (any, zero) = (g.constant(int_vector(&[-1]))?, g.constant(Tensor::scalar(0i32))?);
    let rows = g.op("ConcatV2", [vec![any, rank].into(), zero.into()], &[])?;
    let rows = g.binary("Reshape", indices, rows)?;
    let each = g.binary("GatherNd", dy, rows)?;
    let dvalues = sum_to_shape_of(g, each, values, each)?;
    let (flat, all_each) = (g.binary("Reshape", dy, any)?, g.binary("Reshape", each, any)?);
    let (all, taken) = (g.binary("Sum", flat, zero)?, g.binary("Sum", all_each, zero)?);
    Ok(vec![Grad::None, Grad::None, dvalues.into(), g.binary("Sub", all, taken)?.into()])
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let ordered = node.attrs.bool("validate_indices")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        if c.shape(1)?.rank() != 1 {
            return Err(invalid!("output_shape must be rank 1, got shape {}", c.shape(1)?));
        }
        let shape = Shape::from_i64(&c.int_vector(1)?)?;
        let (count, rank) = match *c.shape(0)?.dims() {
            [] => (1, 1),
            [n] => (n, 1),
            [n, rank] => (n, rank),
            _ => {
                return Err(invalid!(
                    "sparse_indices should be a scalar, vector, or matrix, got shape {}",
                    c.shape(0)?
                ));
            }
        };
        if rank != shape.rank() {
            return Err(invalid!(
                "output_shape has incorrect number of elements: {} should be: {rank}",
                shape.rank()
            ));
        }
        let (values, default) = (c.input(2)?, c.input(3)?);
        let one = values.shape().is_scalar();
        if !one && values.shape().dims() != [count] {
            return Err(invalid!(
                "sparse_values has incorrect shape {}, should be [] or [{count}]",
                values.shape()
            ));
        }
        if !default.shape().is_scalar() {
            return Err(invalid!("default_value should be a scalar, got shape {}", default.shape()));
        }
        let places = places(&c.input(0)?.to_i64s()?, rank, &shape, ordered)?;
        // Each element is a value, or the default, which follows them.
        let mut picks = reserve::filled(shape.elements(), values.elements())?;
        for (i, place) in places.into_iter().enumerate() {
            picks[place] = if one { 0 } else { i };
        }
        let all = [values.clone(), default.clone()];
        let all = join(values.dtype(), Shape::vector(values.elements() + 1), &all)?;
        let out = pick(c, &all, 1, &picks, shape)?;
        c.set(0, out);
        Ok(())
    }))
}

/// Row-major indices in the dense tensor; ascending, if `ordered`.
fn places(at: &[i64], rank: usize, shape: &Shape, ordered: bool) -> Result<Vec<usize>> {
    let mut places = reserve::with_capacity(at.len() / rank.max(1))?;
    for (i, row) in at.chunks_exact(rank.max(1)).enumerate() {
        let mut place = 0;
        for (at, n) in row.iter().zip(shape.iter()) {
            if *at < 0 || *at as u64 >= *n as u64 {
                return Err(invalid!("indices[{i}] = {row:?} is out of bounds: need 0 <= index < {shape}"));
            }
            place = place * n + *at as usize;
        }
        match places.last() {
            Some(last) if ordered && *last == place => {
                return Err(invalid!("indices[{i}] = {row:?} is repeated"));
            }
            Some(last) if ordered && *last > place => {
                return Err(invalid!(
                    "indices[{i}] = {row:?} is out of order. Many sparse ops require sorted indices."
                ));
            }
            _ => places.push(place),
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, ints};

    #[test]
    fn indices_out_of_order_are_refused_only_if_asked() {
        let run = |at: &[i32], validate: bool| {
            let inputs = [ints(&[2], at), ints(&[1], &[3]), ints(&[2], &[5, 6]), ints(&[], &[9])];
            call("SparseToDense", &inputs, &[("validate_indices", validate.into())])
        };
        assert_eq!(run(&[0, 2], true).unwrap()[0].as_slice::<i32>().unwrap(), &[5, 9, 6]);
        assert_eq!(run(&[2, 0], false).unwrap()[0].as_slice::<i32>().unwrap(), &[6, 9, 5]);
        for at in [[2, 0], [1, 1]] {
            assert_eq!(code(run(&at, true)), Code::InvalidArgument);
        }
        for validate in [true, false] {
            assert_eq!(code(run(&[0, 3], validate)), Code::InvalidArgument);
            assert_eq!(code(run(&[-1, 0], validate)), Code::InvalidArgument);
        }
    }
}
