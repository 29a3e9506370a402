//! `UnravelIndex`: flat indices to coordinates.

use crate::prelude::*;

pub static UNRAVEL_INDEX: Op = Op {
    name: "UnravelIndex",
    doc: "The coordinates, in an array of shape `dims`, of the elements with the flat `indices`.",
    inputs: &["indices: Tidx", "dims: Tidx"],
    outputs: &["output: Tidx"],
    attrs: &["Tidx: {int32, int64} = DT_INT32"],
    shape: |c| {
        let (indices, n) = (c.input(0), c.rank(1, 1)?.dim(0));
        Ok(vec![match indices.dims() {
            Some([]) => PartialShape::vector(n),
            Some(_) => [n, indices.elements().unwrap_or(-1)].into_iter().collect(),
            None => PartialShape::unknown(),
        }])
    },
    grad: Stops,
    kernels: cpu!(run: Tidx in i32, i64),
    cases: |_| {
        vec![
            Case::new(vec![int_vector(&[2, 5, 7]), int_vector(&[3, 3])]),
            Case::new(vec![Tensor::scalar(22i32), int_vector(&[2, 3, 4])]),
        ]
    },
    ..Op::PURE
};

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let (indices, dims) = (c.input(0)?, c.int_vector(1)?);
    if indices.rank() > 1 {
        return Err(invalid!("The indices can only be scalar or vector, got \"{}\"", indices.shape()));
    }
    if indices.elements() == 0 || dims.is_empty() {
        return Err(invalid!(
            "indices and dims must not be empty, got shapes {} and [{}]",
            indices.shape(),
            dims.len()
        ));
    }
    if let Some(i) = dims.iter().position(|d| *d == 0) {
        return Err(invalid!("Input dims cannot contain a dim of zero, but dims contains zero at index {i}"));
    }
    let shape = Shape::from_i64(&dims)?;
    let total = shape.elements() as i64;
    if T::DTYPE == DataType::Int32 && total > i64::from(i32::MAX) {
        return Err(invalid!("Input dims product is causing integer overflow: {dims:?}"));
    }
    let values = indices.to_i64s()?;
    if let Some(v) = values.iter().find(|v| **v >= total) {
        return Err(invalid!("index is out of bound as with dims: {v} is not less than {total}"));
    }
    let shape = if indices.rank() == 0 {
        Shape::vector(dims.len())
    } else {
        Shape::new(&[dims.len(), values.len()])?
    };
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    let mut rest = values;
    // From the last dimension on: one division yields a coordinate and what is left of the index.
    for (row, size) in out.as_mut_slice::<T>()?.chunks_exact_mut(rest.len()).zip(&dims).rev() {
        for (coordinate, rest) in row.iter_mut().zip(&mut rest) {
            *coordinate = T::from_i64(*rest % size);
            *rest /= size;
        }
    }
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, ints};

    #[test]
    fn empty_dimensions_and_indices_outside_are_refused() {
        let run =
            |i: i32, dims: &[i32]| call("UnravelIndex", &[ints(&[1], &[i]), ints(&[dims.len()], dims)], &[]);
        assert_eq!(code(run(7, &[1, 0, 2])), Code::InvalidArgument);
        assert_eq!(code(run(7, &[2, 2])), Code::InvalidArgument);
        assert_eq!(code(run(0, &[-2, 2])), Code::InvalidArgument);
        assert_eq!(code(run(0, &[i32::MAX; 3])), Code::InvalidArgument);
    }
}
